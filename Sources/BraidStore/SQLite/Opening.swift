import Glibc

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
    static func inMemory() throws -> SQLiteDatabase {
        let connection = try SQLiteConnection(path: "", mode: .inMemory)
        try SQLiteSchema.prepare(connection, found: 0)
        let shared = SQLiteSharedConnection(connection)
        return SQLiteDatabase(writer: shared, readers: SQLiteReaderPool(count: 1) { shared })
    }

    var reserve: ReserveFile? {
        options.reserveBytes > 0 ? ReserveFile(path: path + "-reserve", size: options.reserveBytes) : nil
    }

    func file() throws -> (database: SQLiteDatabase, lock: ProcessLock) {
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

    private func open(_ lock: ProcessLock) throws -> SQLiteDatabase {
        let connection = try SQLiteConnection(path: path, mode: .readWrite, busyTimeout: Self.busyMilliseconds)
        do {
            try prepare(connection)
            lock.rememberDatabase()
            try lock.lockDatabase(path)  // a new one
        } catch {
            connection.close()
            throw error
        }
        return SQLiteDatabase(
            writer: SQLiteSharedConnection(connection),
            readers: SQLiteReaderPool(count: options.readers) { [path] in
                let connection = try SQLiteConnection(
                    path: path, mode: .readOnly, busyTimeout: Self.busyMilliseconds)
                try Self.readPages(connection)
                return SQLiteSharedConnection(connection)
            })
    }

    /// Recognises the database before it changes anything in the file: a database of others must stay as it is.
    private func prepare(_ db: SQLiteConnection) throws {
        try Self.readPages(db)
        guard !db.isReadOnly else { throw StoreError.readOnly(path: path) }
        try Self.recognise(db, path: path)
        // On disk before the first commit, which may not wait for the disk.
        try db.execute("PRAGMA synchronous = FULL")
        try db.execute("PRAGMA journal_mode = WAL")
        let found = try db.pragma("user_version")
        if found < SQLiteSchema.version { try SQLiteSchema.prepare(db, found: found) }
        try db.beginEpochs(options)
        try configureWriter(db)
        try checkLength(db)
    }

    /// Makes the connection read pages by system calls. A page that cannot be read must be an error of a statement, and
    /// would be a signal in memory that is mapped.
    private static func readPages(_ db: SQLiteConnection) throws { try db.execute("PRAGMA mmap_size = 0") }

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

    /// How long a statement waits for another program's lock: the sqlite3 shell's, a backup's.
    static let busyMilliseconds: CInt = 5_000

    static func recognise(_ db: SQLiteConnection, path: String) throws {
        let id = try db.pragma("application_id")
        let version = try db.pragma("user_version")
        let isEmpty = try db.first("SELECT count(*) FROM sqlite_master") { $0.int(0) } == 0
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

    /// Sets what a commit is to mean, and reads it back.
    private func configureWriter(_ db: SQLiteConnection) throws {
        let synchronous = options.synchronous == .full ? 2 : 1
        try db.execute("PRAGMA synchronous = \(synchronous)")
        try db.execute("PRAGMA temp_store = MEMORY")
        // 4 MiB: the last leaves of a few hundred busy sessions. With 16 MiB neither 256 nor 2,048 of them were
        // quicker, as what is not here is in the system's cache, and edits all over a large table filled it with rows
        // that nobody reads again.
        try db.execute("PRAGMA cache_size = -4096")
        // Debian's SQLite writes zeros over each page that a delete leaves unused: as much to the log as was stored, on
        // a day when deleting must make room. What is deleted from a page that stays in use is overwritten, at no cost.
        try db.execute("PRAGMA secure_delete = FAST")
        // After a large write the log gives back what it has beyond this.
        try db.execute("PRAGMA journal_size_limit = 67108864")
        guard try db.pragma("synchronous") == synchronous, try db.pragma("mmap_size") == 0,
            try db.first("PRAGMA journal_mode", value: { $0.text(0) }) == "wal"
        else { throw StoreError.io("SQLite did not take the settings that make commits durable (\(path)).") }
    }

    /// With the log emptied, the file must be as long as its header says: one that was cut off would fail only when
    /// someone asks for what is gone.
    private func checkLength(_ db: SQLiteConnection) throws {
        try db.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        guard size(of: path + "-wal") ?? 0 == 0 else { return }  // a reader of another program was in the way
        let length = try db.pragma("page_count") * db.pragma("page_size")
        guard let size = size(of: path), size < length else { return }
        throw StoreError.damaged(path, "it has \(size) of its \(length) bytes")
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
