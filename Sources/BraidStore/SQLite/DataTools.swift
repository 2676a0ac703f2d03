import Glibc

extension SQLiteStore {
    /// Reads a database as of one moment, even while a server uses it. Only with this server's schema version.
    package static func reading<Value>(_ path: String, _ body: (any StoredData) throws -> Value) throws -> Value {
        try reading(path) { connection, path in
            try connection.inTransaction(.deferred) {
                let version = try connection.pragma("user_version")
                guard version == SQLiteSchema.version else {
                    throw StoreError.otherVersion(found: version, known: SQLiteSchema.version)
                }
                try SQLiteSchema.check(connection, path: path, version: version)
                return try body(SQLiteQueries(connection))
            }
        }
    }

    /// Like the other, but with any schema version that this server can use.
    static func reading<Value>(_ path: String, _ body: (SQLiteConnection, String) throws -> Value) throws -> Value {
        let path = literal(path)
        do {
            try requireFile(path)
            try ProcessLock.refuseOtherName(of: path)
            let source = try SQLiteConnection(path: path, mode: .readOnly, busyTimeout: SQLiteOpening.busyMilliseconds)
            defer { source.close() }
            try requireSchema(of: source, path: path)
            return try body(source, path)
        } catch let error as SQLiteError {
            throw StoreError(error, path: path)
        }
    }

    private static func requireFile(_ path: String) throws {
        guard access(path, F_OK) == 0 else { throw StoreError.missing(path: path) }
        try SQLiteOpening.refuseDirectory(path)
    }

    /// Refuses an empty file, too: it may have lost its content.
    private static func requireSchema(of connection: SQLiteConnection, path: String) throws {
        try SQLiteOpening.recognise(connection, path: path)
        guard try connection.pragma("application_id") == SQLiteSchema.applicationID else {
            throw StoreError.wrongApplication(path: path)
        }
    }

    /// Makes a new database, which takes its name only if `body` returns.
    package static func creating<Value>(_ path: String, _ body: (any ArchiveTarget) throws -> Value) throws -> Value {
        let file = try NewFile(literal(path), isDatabase: true)
        do {
            let connection = try SQLiteConnection(path: file.partial, mode: .readWrite)
            defer { connection.close() }
            // Safe: a failure removes the file, and `finish` flushes it.
            try connection.execute("PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF")
            try SQLiteSchema.prepare(connection, found: 0, path: file.partial)
            let value = try connection.inTransaction(.immediate) { try body(SQLiteQueries(connection)) }
            connection.close()
            try file.finish()
            return value
        } catch let error as SQLiteError {
            // SQLite does not always say why a write failed: this one throws `noRoom` if the disk is full.
            if error.isFailedWrite { try file.write([UInt8](repeating: 0, count: 64 << 10)) }
            throw StoreError(error, writing: file.partial, from: file.partial)
        }
    }

    /// Drops unused pages and empties the log. A crash leaves the old or the new form, with all data. Throws `locked`
    /// while a server uses the database: its commands would have to wait.
    package static func compact(_ path: String) throws -> (before: Int, after: Int) {
        var path = literal(path)
        try requireFile(path)
        path = SQLiteOpening.followingLink(path)
        let lock = try ProcessLock(database: path)
        defer { lock.removeIfNew() }
        do {
            try lock.lockDatabase(path)
            let connection = try SQLiteConnection(
                path: path, mode: .readWrite, busyTimeout: SQLiteOpening.busyMilliseconds)
            defer { connection.close() }
            guard !connection.isReadOnly else { throw StoreError.readOnly(path: path) }
            try requireSchema(of: connection, path: path)
            let before = size(of: path)
            try connection.execute("PRAGMA synchronous = FULL")
            try connection.checkpoint(.truncate)
            try connection.run("VACUUM")
            try connection.checkpoint(.truncate)
            connection.close()
            return (before, size(of: path))
        } catch {
            throw StoreError(error, writing: path, from: path)
        }
    }

    private static func size(of path: String) -> Int { (fileSize(path) ?? 0) + (fileSize(path + "-wal") ?? 0) }
}
