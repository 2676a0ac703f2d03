import BraidEngine
import BraidRuntime
import Glibc

// The work of the commands `verify`, `export`, `import` and `compact` on SQLite files.

extension SQLiteStore {
    /// Calls `body` with the data of a database file at one moment. A server may use the database at the same time.
    ///
    /// Throws a `StoreError` if the file is not a database with this server's schema.
    package static func reading<Value>(_ path: String, _ body: (any StoredData) throws -> Value) throws -> Value {
        try reading(path) { connection, path in
            try connection.inTransaction(.deferred) {
                let version = try connection.pragma("user_version")
                guard version == SQLiteSchema.version else {
                    throw StoreError.otherVersion(found: version, known: SQLiteSchema.version)
                }
                try SQLiteSchema.check(connection, path: path, version: version)
                return try body(connection)
            }
        }
    }

    /// Opens a database file for reading, and calls `body` with the connection and the file's path. The database may
    /// have this server's schema, an older schema, or a newer schema that this server can use.
    static func reading<Value>(_ path: String, _ body: (SQLiteConnection, String) throws -> Value) throws -> Value {
        let path = literal(path)
        do {
            try requireFile(path)
            try ProcessLock.refuseOtherName(of: path)
            let source = try SQLiteConnection(path: path, mode: .readOnly, busyTimeout: Opening.busyMilliseconds)
            defer { source.close() }
            try requireSchema(of: source, path: path)
            return try body(source, path)
        } catch let error as SQLiteError {
            throw StoreError(error, path: path)
        }
    }

    private static func requireFile(_ path: String) throws {
        guard access(path, F_OK) == 0 else { throw StoreError.missing(path: path) }
        try Opening.refuseDirectory(path)
    }

    /// Throws an error unless the file is a database of Braid Server. The method also refuses an empty file, because it
    /// may be a damaged database that has lost its content.
    private static func requireSchema(of connection: SQLiteConnection, path: String) throws {
        try Opening.recognise(connection, path: path)
        guard try connection.pragma("application_id") == SQLiteSchema.applicationID else {
            throw StoreError.wrongApplication(path: path)
        }
    }

    /// Creates an SQLite database file, and calls `body`, which fills the database. The file gets its final name when
    /// it is complete and on disk. If `body` throws, no file remains.
    package static func creating<Value>(_ path: String, _ body: (any ArchiveTarget) throws -> Value) throws -> Value {
        let file = try NewFile(literal(path), isDatabase: true)
        do {
            let connection = try SQLiteConnection(path: file.partial, mode: .readWrite)
            defer { connection.close() }
            // These settings make SQLite write without a rollback journal and without flushes. The settings are safe
            // here, because a failure removes the partial file, and `finish` flushes the complete file.
            try connection.execute("PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF")
            try SQLiteSchema.prepare(connection, found: 0, path: file.partial)
            let value = try connection.inTransaction(.immediate) { try body(connection) }
            connection.close()
            try file.finish()
            return value
        } catch let error as SQLiteError {
            // SQLite does not always report why a write failed. So write to the file once more: this write throws
            // `noRoom` if the disk is full.
            if error.isFailedWrite { try file.write([UInt8](repeating: 0, count: 64 << 10)) }
            throw StoreError(error, writing: file.partial, from: file.partial)
        }
    }

    /// Rewrites an SQLite database file without its unused pages, and empties the write-ahead log. If the machine
    /// crashes meanwhile, the file has either its old or its new form, with all data.
    ///
    /// - Returns: the size of the database with its write-ahead log in bytes, before and after the rewrite.
    /// - Throws: `locked` if a server uses the database, because the server's commands would have to wait until the end
    ///   of the rewrite.
    package static func compact(_ path: String) throws -> (before: Int, after: Int) {
        var path = literal(path)
        try requireFile(path)
        path = Opening(path: path, options: SQLiteStoreOptions()).path
        let lock = try ProcessLock(database: path)
        defer { lock.removeIfNew() }
        do {
            try lock.lockDatabase(path)
            let connection = try SQLiteConnection(path: path, mode: .readWrite, busyTimeout: Opening.busyMilliseconds)
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

    private static func size(of path: String) -> Int {
        [path, path + "-wal"].reduce(0) { sum, path in
            var facts = stat()
            return stat(path, &facts) == 0 ? sum + Int(facts.st_size) : sum
        }
    }
}

extension SQLiteConnection: StoredData {
    package var dialect: SQLDialect { .sqlite }

    package func rows(of table: ArchiveTable, _ body: ([ArchiveValue]) throws -> Void) throws {
        try query(table.select(.sqlite)) { try body(table.values($0)) }
    }

    package func facts() throws -> DatabaseFacts {
        let found = try first("SELECT suffix, last_session, is_due FROM epoch_suffix") {
            guard (0...1).contains($0.int(2)) else {
                throw StoreError.corrupt("table epoch_suffix: is_due is \($0.int(2)), not 0 or 1")
            }
            return ($0.text(0), try $0.number(1, .answeredSession, "table epoch_suffix: last_session"))
        }
        guard let (suffix, suffixed) = found else { throw StoreError.corrupt("it has no epoch_suffix") }
        let minimum = try first("SELECT minimum_version FROM compatibility") { $0.int(0) } ?? 0
        guard (1...SQLiteSchema.version).contains(minimum) else {
            throw StoreError.corrupt("table compatibility: minimum_version is \(minimum)")
        }
        let last = try first("SELECT seq FROM sqlite_sequence WHERE name = 'session'") {
            try $0.number(0, .answeredSession, "table sqlite_sequence: seq")
        }
        return DatabaseFacts(epochSuffix: suffix, suffixedSessions: suffixed, lastSession: last ?? 0)
    }

    package func integrityFaults() throws -> [String] { try texts("PRAGMA integrity_check").filter { $0 != "ok" } }

    package func texts(_ sql: String) throws -> [String] {
        var texts: [String] = []
        try query(sql) { texts.append($0.text(0)) }
        return texts
    }
}

extension SQLiteConnection: ArchiveTarget {
    package func insert(_ row: [ArchiveValue], into table: ArchiveTable) throws {
        let names = table.columns.map(\.name), parameters = names.indices.map { "?\($0 + 1)" }
        let isCombined = table.hasSessionKey
        let columns = isCombined ? ["key"] + names.dropFirst(2) : names
        let values = isCombined ? ["?1 << \(Key.bits) | ?2"] + parameters.dropFirst(2) : parameters
        let statement = try take(
            "INSERT INTO \(table.name) (\(columns.joined(separator: ", "))) VALUES (\(values.joined(separator: ", ")))")
        defer { release(statement) }
        for (index, value) in row.enumerated() { try value.bind(to: statement, at: CInt(index + 1)) }
        do {
            _ = try statement.step()
        } catch {
            guard error.code.primary == .constraint else { throw error }
            throw ArchiveFault("\(table.place(of: row)): \(error.message)")
        }
    }

    package func finish(_ facts: DatabaseFacts) throws {
        try run(
            "UPDATE epoch_suffix SET suffix = ?, last_session = ?", facts.epochSuffix, facts.suffixedSessions)
        try setNewEpochsDue(true)
        try run("DELETE FROM sqlite_sequence WHERE name = 'session'")
        try run("INSERT INTO sqlite_sequence (name, seq) VALUES ('session', ?)", facts.lastSession)
        // In an archive, the newest kept answer has the time 0. Here this answer gets the machine's time, with which
        // the server's clock of kept answers then starts.
        try run("UPDATE answer SET at = at + ?", systemMilliseconds())
        if let fault = try danglingReferences().first { throw ArchiveFault(fault) }
    }
}

extension ArchiveValue: SQLiteBindable {
    func bind(to statement: SQLiteStatement, at index: CInt) throws(SQLiteError) {
        switch self {
        case .null, .damaged: try statement.bindNull(at: index)
        case .integer(let number): try number.bind(to: statement, at: index)
        case .text(let text): try text.bind(to: statement, at: index)
        case .json(let json): try json.bind(to: statement, at: index)
        }
    }
}
