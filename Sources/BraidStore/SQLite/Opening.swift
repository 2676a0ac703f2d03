import Glibc

/// Opens or creates a database file, locks it against other processes, and checks that it belongs to Braid Server. Sets
/// the SQLite settings on which durability depends, and reads each setting back to check it.
struct Opening {
    let path: String
    let options: SQLiteStoreOptions

    /// Creates an opening of the database file at `path`. If `path` is a symbolic link, the initializer follows it, as
    /// SQLite does. The lock file and the write-ahead log are therefore next to the file itself, even if the link is in
    /// another directory.
    init(path: String, options: SQLiteStoreOptions) {
        let real = realpath(path, nil)
        defer { free(real) }
        self.path = real.map { String(cString: $0) } ?? path
        self.options = options
    }

    /// Creates a database in memory. One single connection is used both for reading and for writing.
    static func inMemory() throws -> SQLiteDatabase {
        let connection = try SQLiteConnection(path: "", mode: .inMemory)
        try SQLiteSchema.prepare(connection, found: 0, path: ":memory:")
        try connection.prepareSharedTables()
        let shared = SQLiteSharedConnection(connection)
        return SQLiteDatabase(
            writer: shared, readers: SQLiteReaderPool(count: 1) { shared }, schemaVersion: 0)
    }

    var reserve: ReserveFile? {
        options.reserveBytes > 0 ? ReserveFile(path: path + "-reserve", size: options.reserveBytes) : nil
    }

    func file() throws -> (database: SQLiteDatabase, lock: ProcessLock) {
        try Self.refuseDirectory(path)
        let lock = try ProcessLock(database: path)
        do {
            // Before the call of `open` below, this process has no SQLite connection to the database. So closing
            // another descriptor of the database file cannot drop locks of SQLite.
            try checkFile(knowsDatabase: lock.knowsDatabase)
            try lock.lockDatabase(path)
            do {
                return (try open(lock), lock)
            } catch  where StoreError(error, path: path) == .full && reserve?.isInPlace == true {
                // Opening a database writes a little, which fails on a full disk. After the reserve file is deleted,
                // the server can open the database, read it, and make it smaller by deletes.
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
        let found: Int
        do {
            found = try prepare(connection)
            lock.rememberDatabase()
            // If the database is new, its file did not exist at the first call of `lockDatabase`.
            try lock.lockDatabase(path)
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
            }, schemaVersion: found)
    }

    /// Checks that the file is a database of Braid Server, creates or upgrades its schema, and applies SQLite's
    /// settings. The check comes first, because a database of another application must not be changed. Returns the
    /// schema version that the database had before, or 0 for a new database.
    private func prepare(_ db: SQLiteConnection) throws -> Int {
        try Self.readPages(db)
        guard !db.isReadOnly else { throw StoreError.readOnly(path: path) }
        try Self.recognise(db, path: path)
        // With FULL, SQLite flushes the settings and the schema to disk before the first commit. After that,
        // `configureWriter` sets the store's own option, with which commits may not wait for the disk.
        try db.execute("PRAGMA synchronous = FULL")
        guard try db.first("PRAGMA journal_mode = WAL", value: { $0.text(0) }) == "wal" else { throw refusedSettings }
        let found = try db.pragma("user_version")
        try SQLiteSchema.prepare(db, found: found, path: path, before: options.upgrading)
        try db.beginEpochs(options)
        try configureWriter(db)
        try checkLength(db)
        return found
    }

    /// Makes the connection read database pages by system calls, not from mapped memory. If a page cannot be read, a
    /// statement then fails. In mapped memory, an unreadable page would send a signal to the process.
    private static func readPages(_ db: SQLiteConnection) throws { try db.execute("PRAGMA mmap_size = 0") }

    /// Refuses an empty database file if its lock file shows that a database was there. Also refuses an empty or
    /// missing database file if its write-ahead log has content. Without this check, SQLite would create a new, empty
    /// database instead.
    ///
    /// If both the database file and its log are missing, the server creates a new database, even if the lock file
    /// shows that a database was there. To start with an empty database, it is enough to delete these two files.
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

    /// The longest time that a statement waits for a lock that another program holds, such as the sqlite3 shell or a
    /// backup, in milliseconds.
    static let busyMilliseconds: CInt = 5_000

    static func recognise(_ db: SQLiteConnection, path: String) throws {
        let id = try db.pragma("application_id")
        let version = try db.pragma("user_version")
        let isEmpty = try db.first("SELECT count(*) FROM sqlite_master") { $0.int(0) } == 0
        // If a server was killed during its first start, it has left a database without tables, which counts as a new
        // database.
        if id == 0, version == 0, isEmpty { return }
        guard id == SQLiteSchema.applicationID else { throw StoreError.wrongApplication(path: path) }
        if version > SQLiteSchema.version {
            guard let minimum = try db.minimumVersion(), minimum <= SQLiteSchema.version else {
                throw StoreError.newerVersion(found: version, known: SQLiteSchema.version)
            }
        }
        guard version > 0, !isEmpty else {
            throw StoreError.damaged(path, "it has Braid Server's mark, but not its tables")
        }
    }

    /// Applies the SQLite settings of the connection that writes, such as `synchronous`. Reads the settings on which
    /// durability depends back to check them.
    private func configureWriter(_ db: SQLiteConnection) throws {
        let synchronous = options.synchronous == .full ? 2 : 1
        try db.execute("PRAGMA synchronous = \(synchronous)")
        try db.execute("PRAGMA temp_store = MEMORY")
        // A page cache of 4 MiB holds the last leaf pages of a few hundred busy sessions. In measurements, a cache of
        // 16 MiB was not faster with 256 or with 2,048 sessions, because the system also caches pages. Edits all over a
        // large table filled the larger cache with rows that nobody reads again.
        try db.execute("PRAGMA cache_size = -4096")
        // By default, Debian's SQLite writes zeros over each page that a delete leaves unused. These zeros would make
        // the write-ahead log grow, but on a full disk, deletes must make room. With FAST, SQLite only overwrites
        // deleted data on pages that stay in use, which needs no additional page writes.
        try db.execute("PRAGMA secure_delete = FAST")
        // If a large write has made the file of the write-ahead log larger, SQLite later cuts the file down to this
        // size.
        try db.execute("PRAGMA journal_size_limit = 67108864")
        // If the process may not write files beyond a size (`ulimit -f`), refuse what makes the database longer. The
        // write-ahead log can then always be copied into it, and has room for deletes.
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

    /// Empties the write-ahead log, and then checks that the database file is as long as its header says. Without this
    /// check, a truncated file would fail only when a request reads the missing part.
    private func checkLength(_ db: SQLiteConnection) throws {
        do {
            try db.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        } catch {
            guard error.isOutOfRoom else { throw error }
        }
        // If a reader of another program or a full disk keeps the log from being emptied, the file may be shorter than
        // its header says. Then the length cannot be checked.
        guard size(of: path + "-wal") ?? 0 == 0 else { return }
        let length = try db.pragma("page_count") * db.pragma("page_size")
        guard let size = size(of: path), size < length else { return }
        throw StoreError.damaged(path, "it has \(size) of its \(length) bytes")
    }

    /// Throws a clear error if the path is a directory. SQLite's own error would only say that it cannot open the file,
    /// or that the disk failed.
    static func refuseDirectory(_ path: String) throws {
        var facts = stat()
        guard stat(path, &facts) == 0, facts.st_mode & S_IFMT == S_IFDIR else { return }
        throw StoreError.io("\(path) is a directory. Name a file in it, such as \(path)/braid.sqlite.")
    }

    /// Returns a file's size, or `nil` if the file does not exist. This method does not open the file, because closing
    /// it again would drop this process's locks on the file.
    private func size(of path: String) -> Int? {
        var facts = stat()
        return stat(path, &facts) == 0 ? Int(facts.st_size) : nil
    }
}
