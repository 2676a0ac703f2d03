#if PostgreSQL
import BraidEngine
import BraidStore

// The work of the commands `verify`, `export` and `import` on PostgreSQL databases.

extension PostgresStore {
    /// Calls `body` with the data of a PostgreSQL database. Servers may use the database at the same time. The method
    /// does not begin new epochs, although opening a store may do so.
    ///
    /// - Parameter isAtOneMoment: whether `body` reads everything in one transaction. If so, `body` must not call the
    ///   methods that read a whole session, because each of them begins a transaction itself.
    package static func reading<Value>(
        _ url: String, isAtOneMoment: Bool, _ body: (any StoredData) throws -> Value
    ) throws -> Value {
        try connected(url) { connection, name in
            guard try hasTables(connection, name: name) else {
                throw StoreError.io("\(name) has no tables of Braid Server")
            }
            if isAtOneMoment { _ = try connection.query("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY") }
            return try body(connection)
        }
    }

    /// Calls `body`, which fills an empty PostgreSQL database in one transaction. If `body` throws, the database stays
    /// as it is. The method first creates Braid Server's tables if they do not exist.
    package static func filling<Value>(_ url: String, _ body: (any ArchiveTarget) throws -> Value) throws -> Value {
        try connected(url) { connection, name in
            _ = try connection.all(["BEGIN", "SELECT pg_advisory_xact_lock(\(Opening.lock))"])
            if try !hasTables(connection, name: name) { try connection.script(PostgresSchema.text) }
            // The lock on the tables `session` and `table_description` stops servers from storing a session or a table
            // description during the import.
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

    /// Returns whether the database contains Braid Server's tables. Throws a `StoreError` if the tables do not have
    /// this version's schema.
    private static func hasTables(_ connection: PostgresConnection, name: String) throws -> Bool {
        let schema = try Opening.check(connection, name: name)
        guard let found = try Opening.version(connection, schema: schema, name: name) else { return false }
        guard found == PostgresSchema.version else {
            throw StoreError.otherVersion(found: found, known: PostgresSchema.version)
        }
        try Opening.checkShape(connection, schema: schema, name: name, version: found)
        return true
    }

    /// Calls `body` with a new connection and the database's name. A statement on this connection may take up to a day,
    /// because `verify`, `export` and `import` read or write whole tables.
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
        } catch let error as ServerError {
            throw StoreError(error, of: name)
        } catch let error as LostConnection {
            throw StoreError(error, of: name)
        }
    }
}

extension PostgresConnection: StoredData {
    package var dialect: SQLDialect { .postgres }

    package func rows(of table: ArchiveTable, _ body: ([ArchiveValue]) throws -> Void) throws {
        try stream("\(raw: table.select(.postgres))") { try body(table.values($0)) }
    }

    package func facts() throws -> DatabaseFacts {
        let found = try query(
            """
            SELECT suffix, last_session, coalesce(pg_sequence_last_value(pg_get_serial_sequence('session', 'number')::regclass), 0)
            FROM epoch_suffix
            """)
        guard let found = found.first else { throw StoreError.corrupt("it has no epoch_suffix") }
        let minimum = try query("SELECT minimum_version FROM braid_server").first?.int(0) ?? 0
        guard (1...PostgresSchema.version).contains(minimum) else {
            throw StoreError.corrupt("table braid_server: minimum_version is \(minimum)")
        }
        _ = try sharedAnswerTime()
        return DatabaseFacts(
            epochSuffix: found.text(0),
            suffixedSessions: try found.number(1, .answeredSession, "table epoch_suffix: last_session"),
            lastSession: try found.number(2, .answeredSession, "the sequence of session numbers"))
    }

    package func integrityFaults() throws -> [String] { [] }

    package func texts(_ sql: String) throws -> [String] { try query("\(raw: sql)").map { $0.text(0) } }
}

/// Inserts the rows of an archive into a PostgreSQL database, with many rows in each INSERT statement.
private final class ArchiveInsertion: ArchiveTarget {
    private let connection: PostgresConnection
    private var table: ArchiveTable?
    private var rows: [[ArchiveValue]] = []
    /// The approximate size of the rows that wait in `rows` for the next INSERT, in bytes.
    private var size = 0
    /// Bytes of one INSERT, which bound the memory of an import.
    private static let largestSize = 1 << 20

    init(into connection: PostgresConnection) { self.connection = connection }

    func insert(_ row: [ArchiveValue], into table: ArchiveTable) throws {
        if table.name != self.table?.name || size >= Self.largestSize { try insertRows() }
        self.table = table
        rows.append(row)
        for value in row {
            switch value {
            case .text(let text): size += text.utf8.count
            case .json(let json): size += json.count
            default: size += 8
            }
        }
    }

    private func insertRows() throws {
        guard let table, !rows.isEmpty else { return }
        defer {
            rows.removeAll(keepingCapacity: true)
            size = 0
        }
        var sql: PostgresStatement =
            "INSERT INTO \(raw: table.name) (\(raw: table.columns.map(\.name).joined(separator: ", "))) OVERRIDING SYSTEM VALUE SELECT * FROM unnest("
        for (index, column) in table.columns.enumerated() {
            if index > 0 { sql += ", " }
            switch column.kind {
            case .integer(_), .answerTime:
                sql += "\(rows.map { if case .integer(let number) = $0[index] { number } else { nil } })"
            case .name: sql += "\(names: rows.map { if case .text(let text) = $0[index] { text } else { nil } })"
            case .word: sql += "\(texts: rows.map { if case .text(let text) = $0[index] { text } else { nil } })"
            case .json: sql += "\(rows.map { if case .json(let json) = $0[index] { json } else { nil } })"
            }
        }
        sql += ")"
        do {
            _ = try connection.query(sql)
        } catch let error as ServerError where error.code.hasPrefix("23") {
            throw ArchiveFault("table \(table.name): \(error.message)")
        }
    }

    func finish(_ facts: DatabaseFacts) throws {
        try insertRows()
        // The stored place `import` differs from the place of every real database. So the first server that connects
        // sees that the data was moved, and begins new epochs for all sessions.
        _ = try connection.query(
            "UPDATE epoch_suffix SET suffix = \(name: facts.epochSuffix), last_session = \(facts.suffixedSessions), place = 'import', loses_commits = false"
        )
        let last = facts.lastSession
        let sequence = try connection.texts("SELECT pg_get_serial_sequence('session', 'number')").first ?? ""
        // A ROLLBACK does not undo `setval` on the sequence of session numbers, except after an ALTER SEQUENCE …
        // RESTART in the same transaction.
        _ = try connection.query("ALTER SEQUENCE \(raw: sequence) RESTART")
        _ = try connection.query("SELECT setval(\(sequence)::regclass, \(max(last, 1)), \(raw: "\(last > 0)"))")
        _ = try connection.query("UPDATE answer SET at = at + (SELECT answer_time FROM braid_server)")
        if let fault = try connection.danglingReferences().first { throw ArchiveFault(fault) }
    }
}
#endif
