#if PostgreSQL
import BraidStore

// For the commands `verify`, `export` and `import`.

extension PostgresStore {
    /// Reads a database, even while servers use it. Begins no new epochs, unlike opening a store. With `isAtOneMoment`,
    /// all is one transaction, and `body` must not read a whole session, which begins one itself.
    package static func reading<Value>(
        _ url: String, isAtOneMoment: Bool, _ body: (any StoredData) throws -> Value
    ) throws -> Value {
        try connected(url) { connection, name in
            guard try hasTables(connection, name: name) else {
                throw StoreError.io("\(name) has no tables of Braid Server")
            }
            if isAtOneMoment { _ = try connection.query("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY") }
            return try body(PostgresQueries(db: connection))
        }
    }

    /// One transaction: fills an empty database, or leaves it as it is.
    package static func filling<Value>(_ url: String, _ body: (any ArchiveTarget) throws -> Value) throws -> Value {
        try connected(url) { connection, name in
            _ = try connection.all(["BEGIN", "SELECT pg_advisory_xact_lock(\(PostgresOpening.lock))"])
            if try !hasTables(connection, name: name) { try connection.script(PostgresSchema.text) }
            // Servers must store nothing meanwhile.
            let rows = try connection.all([
                "LOCK TABLE session, table_description IN EXCLUSIVE MODE",
                "SELECT \(raw: ArchiveTable.all.map { "EXISTS (SELECT FROM \($0.name))" }.joined(separator: " OR "))",
            ])
            guard rows.last?.first?.bool(0) == false else { throw StoreError.notEmpty(path: name) }
            let value = try body(ArchiveInsertion(into: connection))
            _ = try connection.query("COMMIT")
            return value
        }
    }

    /// Throws a `StoreError` for another schema version.
    private static func hasTables(_ connection: PostgresConnection, name: String) throws -> Bool {
        let schema = try PostgresOpening.check(connection, name: name)
        guard let found = try PostgresOpening.version(connection, schema: schema, name: name) else { return false }
        guard found == PostgresSchema.version else {
            throw StoreError.otherVersion(found: found, known: PostgresSchema.version)
        }
        try PostgresOpening.checkShape(connection, schema: schema, name: name, version: found)
        return true
    }

    /// A statement may take a day, for a whole table.
    private static func connected<Value>(
        _ url: String, _ body: (PostgresConnection, _ name: String) throws -> Value
    ) throws -> Value {
        let name = try Dialer.name(of: url)
        do {
            let connection = try PostgresConnection(
                url: url, timeout: .seconds(20),
                settings: [("synchronous_commit", "on"), ("statement_timeout", "0"), ("lock_timeout", "5000")])
            connection.timeout = .seconds(24 * 60 * 60)
            return try body(connection, name)
        } catch  where error is PostgresError || error is LostConnection {
            throw StoreError(error, of: name)
        }
    }
}
#endif
