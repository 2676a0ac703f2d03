import Foundation
internal import GRDB
internal import GRDBSQLite

/// Opens a database file, or makes it: locked against other processes, recognised, with the settings that the
/// store's promises rest on, each read back.
struct Opening {
    let path: String
    let options: SQLiteStoreOptions

    /// A link is followed first, as SQLite does: the lock and the log are where the file is, by whatever name it came.
    init(path: String, options: SQLiteStoreOptions) {
        let real = realpath(path, nil)
        defer { free(real) }
        self.path = real.map { String(cString: $0) } ?? path
        self.options = options
    }

    /// A database in memory: one connection reads and writes.
    static func inMemory() throws -> DatabaseQueue {
        var configuration = Configuration()
        configuration.foreignKeysEnabled = false
        let queue = try DatabaseQueue(configuration: configuration)
        try queue.writeWithoutTransaction { try SQLiteSchema.prepare($0, found: 0) }
        return queue
    }

    var reserve: ReserveFile? {
        options.reserveBytes > 0 ? ReserveFile(path: path + "-reserve", size: options.reserveBytes) : nil
    }

    func file() throws -> (database: DatabasePool, lock: ProcessLock) {
        try Self.refuseDirectory(path)
        let lock = try ProcessLock(database: path)
        do {
            // From here to the opening no connection of this process is open: the file can be looked at by other means.
            try checkFile(knowsDatabase: lock.knowsDatabase)
            try lock.lockDatabase(path)
            do {
                return (try open(lock), lock)
            } catch  where StoreError(error, path: path) == .full && reserve?.isInPlace == true {
                // Opening writes a little. With the reserve given back, what is there can be read, and deleted.
                reserve?.release()
                return (try open(lock), lock)
            }
        } catch {
            lock.removeIfNew()
            throw error
        }
    }

    private func open(_ lock: ProcessLock) throws -> DatabasePool {
        let pool = try DatabasePool(path: path, configuration: configuration)
        try pool.writeWithoutTransaction { db in
            let found = try pragma("user_version", db)
            if found < SQLiteSchema.version { try SQLiteSchema.prepare(db, found: found) }
            // On disk before the first commit, which may not wait for the disk.
            try db.execute(sql: "PRAGMA synchronous = FULL")
            try db.beginEpochs(options)
            try configureWriter(db)
            try checkLength(db)
        }
        lock.rememberDatabase()
        try lock.lockDatabase(path)  // a new one
        return pool
    }

    /// Without these, SQLite would make a new database of what is the rest of an old one.
    private func checkFile(knowsDatabase: Bool) throws {
        let size = size(of: path)
        if let size, size > 0 { return }
        if size == 0, knowsDatabase {
            throw StoreError.corrupt(
                "\(path) is empty, and was not. Restore it from a backup; for a new database, delete it and \(path)-lock."
            )
        }
        if (self.size(of: path + "-wal") ?? 0) > 0 {
            throw StoreError.corrupt(
                "\(path) is \(size == nil ? "missing" : "empty"), but \(path)-wal holds changes to it. "
                    + "Put the two together again; for a new database, delete \(path)-wal.")
        }
    }

    static let busyMilliseconds: CInt = 5_000

    private var configuration: Configuration {
        var configuration = Configuration()
        configuration.label = "store"
        configuration.foreignKeysEnabled = false
        configuration.maximumReaderCount = options.readers
        // Another program may hold the write lock for a moment: the sqlite3 shell, a backup.
        configuration.busyMode = .timeout(Double(Self.busyMilliseconds) / 1000)
        // Runs for every connection, before GRDB changes anything in the file: a database of others must stay as it is.
        configuration.prepareDatabase { [path] db in
            // A page that cannot be read must be an error of a statement, not a signal.
            try db.execute(sql: "PRAGMA mmap_size = 0")
            guard !db.configuration.readonly else { return }
            guard sqlite3_db_readonly(db.sqliteConnection, "main") == 0 else { throw StoreError.readOnly(path: path) }
            try Opening.recognise(db, path: path)
        }
        return configuration
    }

    static func recognise(_ db: Database, path: String) throws {
        let id = try Int.fetchOne(db, sql: "PRAGMA application_id") ?? 0
        let version = try Int.fetchOne(db, sql: "PRAGMA user_version") ?? 0
        let isEmpty = try Int.fetchOne(db, sql: "SELECT count(*) FROM sqlite_master") == 0
        // A start that was broken off leaves a database without tables: as good as none.
        if id == 0, version == 0, isEmpty { return }
        guard id == SQLiteSchema.applicationID else { throw StoreError.wrongApplication(path: path) }
        guard version <= SQLiteSchema.version else {
            throw StoreError.newerVersion(found: version, known: SQLiteSchema.version)
        }
        guard version > 0, !isEmpty else {
            throw StoreError.damaged(path, "it has Braid Server's mark, but not its tables")
        }
    }

    /// After the opening: `DatabasePool` sets `synchronous` to NORMAL once it has prepared the connection.
    private func configureWriter(_ db: Database) throws {
        let synchronous = options.synchronous == .full ? 2 : 1
        try db.execute(sql: "PRAGMA synchronous = \(synchronous)")
        try db.execute(sql: "PRAGMA temp_store = MEMORY")
        // 4 MiB: the last leaves of a few hundred busy sessions. With 16 MiB neither 256 nor 2,048 of them were
        // quicker, as what is not here is in the system's cache, and edits all over a large table filled it with rows
        // that nobody reads again.
        try db.execute(sql: "PRAGMA cache_size = -4096")
        // Debian's SQLite writes zeros over each page that a delete leaves unused: as much to the log as was stored, on
        // a day when deleting must make room. What is deleted from a page that stays in use is overwritten, at no cost.
        try db.execute(sql: "PRAGMA secure_delete = FAST")
        // After a large write the log gives back what it has beyond this.
        try db.execute(sql: "PRAGMA journal_size_limit = 67108864")
        guard try pragma("synchronous", db) == synchronous, try pragma("mmap_size", db) == 0,
            try String.fetchOne(db, sql: "PRAGMA journal_mode") == "wal"
        else { throw StoreError.io("SQLite did not take the settings that make commits durable (\(path)).") }
    }

    /// With the log emptied, the file must be as long as its header says: one that was cut off would fail only when
    /// someone asks for what is gone.
    private func checkLength(_ db: Database) throws {
        try db.execute(sql: "PRAGMA wal_checkpoint(TRUNCATE)")
        guard size(of: path + "-wal") ?? 0 == 0 else { return }  // a reader of another program was in the way
        let length = try pragma("page_count", db) * pragma("page_size", db)
        guard let size = size(of: path), size < length else { return }
        throw StoreError.damaged(path, "it has \(size) of its \(length) bytes")
    }

    private func pragma(_ name: String, _ db: Database) throws -> Int {
        try Int.fetchOne(db, sql: "PRAGMA \(name)") ?? -1
    }

    /// SQLite says of one that it cannot be opened, or that the disk failed.
    static func refuseDirectory(_ path: String) throws {
        var facts = stat()
        guard stat(path, &facts) == 0, facts.st_mode & S_IFMT == S_IFDIR else { return }
        throw StoreError.io("\(path) is a directory. Name a file in it, such as \(path)/braid.sqlite.")
    }

    /// Nil: there is no such file. `stat` opens nothing, so no lock is lost by it.
    private func size(of path: String) -> Int? {
        var facts = stat()
        return stat(path, &facts) == 0 ? Int(facts.st_size) : nil
    }
}
