import Glibc

/// Locks a database, checks that it is Braid Server's, and reads the settings for durability back.
struct SQLiteOpening {
    struct Opened {
        let database: SQLiteDatabase
        let readers: ReaderPool<SQLiteQueries>
        /// The version before an upgrade, 0 if the database is new.
        let schemaVersion: Int
        /// `nil` in memory, like `reserve`.
        let lock: ProcessLock?
        let reserve: ReserveFile?
    }

    let path: String
    private let options: StoreOptions
    private let file: SQLiteFileOptions

    init(path: String, options: StoreOptions, file: SQLiteFileOptions) {
        self.path = path == ":memory:" ? path : Self.followingLink(path)
        self.options = options
        self.file = file
    }

    /// Follows a symbolic link, as SQLite does: the lock file and the log are next to the file itself.
    static func followingLink(_ path: String) -> String {
        let real = realpath(path, nil)
        defer { free(real) }
        return real.map { String(cString: $0) } ?? path
    }

    func opened() throws -> Opened { path == ":memory:" ? try inMemory() : try onDisk() }

    private func inMemory() throws -> Opened {
        let connection = try SQLiteConnection(path: "", mode: .inMemory)
        try SQLiteSchema.prepare(connection, found: 0, path: path)
        let database = SQLiteDatabase(connection)
        try database.use { try $0.prepareSharedTables() }
        return Opened(
            database: database,
            readers: ReaderPool(limit: 1) { read, _ in
                database.use { Self.serve(read, $0) }
                return nil
            }, schemaVersion: 0, lock: nil, reserve: nil)
    }

    private func onDisk() throws -> Opened {
        try Self.refuseDirectory(path)
        let lock = try ProcessLock(database: path)
        let reserve = file.reserveBytes > 0 ? ReserveFile(path: path + "-reserve", size: file.reserveBytes) : nil
        do {
            // Before SQLite opens the file: closing a descriptor later would drop its locks.
            try checkFile(knowsDatabase: lock.knowsDatabase)
            try lock.lockDatabase(path)
            do {
                return try onDisk(lock, reserve)
            } catch  where StoreError(error, path: path) == .full && reserve?.isInPlace == true {
                // Opening writes a little. Without the reserve file there is room for that, reads and deletes.
                reserve?.release()
                return try onDisk(lock, reserve)
            }
        } catch {
            lock.removeIfNew()
            throw error
        }
    }

    private func onDisk(_ lock: ProcessLock, _ reserve: ReserveFile?) throws -> Opened {
        let connection = try SQLiteConnection(path: path, mode: .readWrite, busyTimeout: Self.busyMilliseconds)
        let found: Int
        do {
            found = try prepare(connection)
            lock.rememberDatabase()
            // A new file did not exist at the first call.
            try lock.lockDatabase(path)
        } catch {
            connection.close()
            throw error
        }
        return Opened(
            database: SQLiteDatabase(connection), readers: Self.readers(of: path), schemaVersion: found, lock: lock,
            reserve: reserve)
    }

    static func readers(of path: String, limit: Int = 4) -> ReaderPool<SQLiteQueries> {
        ReaderPool(limit: limit) { read, kept in
            do {
                let queries = try kept ?? reader(path)
                serve(read, queries)
                return queries
            } catch {
                read.fail(error)
                return nil
            }
        }
    }

    private static func reader(_ path: String) throws -> SQLiteQueries {
        let connection = try SQLiteConnection(path: path, mode: .readOnly, busyTimeout: busyMilliseconds)
        try readPages(connection)
        return SQLiteQueries(connection)
    }

    private static func serve(_ read: ReaderPool<SQLiteQueries>.Read, _ queries: SQLiteQueries) {
        do {
            try queries.db.inTransaction(.deferred) { try read.perform(queries) }()
        } catch {
            read.fail(error)
        }
    }

    /// Checks before it changes anything. Returns the schema version found.
    private func prepare(_ db: SQLiteConnection) throws -> Int {
        try Self.readPages(db)
        guard !db.isReadOnly else { throw StoreError.readOnly(path: path) }
        try Self.recognise(db, path: path)
        // The tables are on disk before the first commit. `configureWriter` sets the store's option.
        try db.execute("PRAGMA synchronous = FULL")
        guard try db.first("PRAGMA journal_mode = WAL", value: { $0.text(0) }) == "wal" else { throw refusedSettings }
        let found = try db.pragma("user_version")
        try SQLiteSchema.prepare(db, found: found, path: path, before: options.upgrading)
        try SQLiteQueries(db).beginEpochs(options)
        try configureWriter(db)
        try checkLength(db)
        return found
    }

    /// Turns memory mapping off: a mapped page that cannot be read would send the process a signal.
    private static func readPages(_ db: SQLiteConnection) throws { try db.execute("PRAGMA mmap_size = 0") }

    /// SQLite would replace lost content by an empty database. So refuse an empty file where a database was, and a
    /// missing or empty one whose log has content. If both are missing, a new database is meant.
    private func checkFile(knowsDatabase: Bool) throws {
        let size = fileSize(path)
        if let size, size > 0 { return }
        if size == 0, knowsDatabase {
            throw StoreError.corrupt(
                "\(path) is empty, and was not. Restore it from a backup; for a new database, delete it and \(path)-lock."
            )
        }
        if (fileSize(path + "-wal") ?? 0) > 0 {
            throw StoreError.corrupt(
                "\(path) is \(size == nil ? "missing" : "empty"), but \(path)-wal holds changes to it. "
                    + "Put the two together again; for a new database, delete \(path)-wal.")
        }
    }

    /// How long to wait for a lock of the sqlite3 shell or a backup.
    static let busyMilliseconds: CInt = 5_000

    /// Throws unless the database is empty, or Braid Server's with a schema that this server can use.
    static func recognise(_ db: SQLiteConnection, path: String) throws {
        let id = try db.pragma("application_id")
        let version = try db.pragma("user_version")
        let isEmpty = try db.first("SELECT count(*) FROM sqlite_master") { $0.int(0) } == 0
        // A server killed during its first start leaves a database without tables.
        if id == 0, version == 0, isEmpty { return }
        guard id == SQLiteSchema.applicationID else { throw StoreError.wrongApplication(path: path) }
        if version > SQLiteSchema.version {
            guard let minimum = try SQLiteSchema.minimumVersion(of: db), minimum <= SQLiteSchema.version else {
                throw StoreError.newerVersion(found: version, known: SQLiteSchema.version)
            }
        }
        guard version > 0, !isEmpty else {
            throw StoreError.damaged(path, "it has Braid Server's mark, but not its tables")
        }
    }

    private func configureWriter(_ db: SQLiteConnection) throws {
        let synchronous = options.synchronous == .full ? 2 : 1
        try db.execute("PRAGMA synchronous = \(synchronous)")
        try db.execute("PRAGMA temp_store = MEMORY")
        // 4 MiB hold the last leaf pages of a few hundred busy sessions. 16 MiB measured no faster with 256 or 2,048:
        // the system caches pages too, and edits all over a large table fill them with rows that nobody reads again.
        try db.execute("PRAGMA cache_size = -4096")
        // Debian's default writes zeros over each freed page. That makes the log grow, but on a full disk deletes
        // must make room. FAST overwrites only on pages that stay in use.
        try db.execute("PRAGMA secure_delete = FAST")
        // The log's file is cut to this after a large write.
        try db.execute("PRAGMA journal_size_limit = 67108864")
        // Under `ulimit -f`, refuse what makes the database longer: then the log can always be copied into it, and
        // has room for deletes.
        var limit = rlimit()
        if getrlimit(__rlimit_resource_t(RLIMIT_FSIZE.rawValue), &limit) == 0, let bytes = Int(exactly: limit.rlim_cur)
        {
            try db.execute("PRAGMA max_page_count = \(max(1, bytes / (try db.pragma("page_size"))))")
        }
        guard try db.pragma("synchronous") == synchronous, try db.pragma("mmap_size") == 0,
            try db.first("PRAGMA journal_mode", value: { $0.text(0) }) == "wal"
        else { throw refusedSettings }
    }

    private var refusedSettings: StoreError {
        .io("SQLite did not take the settings that make commits durable (\(path)).")
    }

    /// A truncated file would fail only when a request reads the missing part.
    private func checkLength(_ db: SQLiteConnection) throws {
        do {
            try db.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        } catch {
            guard error.isOutOfRoom else { throw error }
        }
        // While a reader or a full disk keeps the log, the file may be shorter.
        guard fileSize(path + "-wal") ?? 0 == 0 else { return }
        let length = try db.pragma("page_count") * db.pragma("page_size")
        guard let size = fileSize(path), size < length else { return }
        throw StoreError.damaged(path, "it has \(size) of its \(length) bytes")
    }

    /// SQLite would only say that it cannot open the file, or that the disk failed.
    static func refuseDirectory(_ path: String) throws {
        guard let status = fileStatus(path), status.st_mode & S_IFMT == S_IFDIR else { return }
        throw StoreError.io("\(path) is a directory. Name a file in it, such as \(path)/braid.sqlite.")
    }
}
