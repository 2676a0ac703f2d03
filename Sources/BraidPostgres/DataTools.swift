#if PostgreSQL
import BraidEngine
import BraidStore

// The work of the commands `verify`, `export` and `import` on PostgreSQL databases.

extension PostgresStore {
    /// Calls `body` with the data of a database. Servers may use the database meanwhile. Begins no new epochs.
    ///
    /// - Parameter isAtOneMoment: whether everything is read in one transaction. Then `body` must not call the methods
    ///   that read a whole session, which are transactions themselves.
    package static func reading<Value>(
        _ url: String, isAtOneMoment: Bool, _ body: (any StoredData) throws -> Value
    ) throws -> Value {
        try connected(url) { connection, name in
            let schema = try Opening.check(connection, name: name)
            switch try Opening.version(connection, schema: schema, name: name) {
            case nil: throw StoreError.io("\(name) has no tables of Braid Server")
            case let found? where found < PostgresSchema.version:
                throw StoreError.olderVersion(found: found, known: PostgresSchema.version)
            default: break
            }
            if isAtOneMoment { _ = try connection.query("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY") }
            return try body(connection)
        }
    }

    /// Calls `body` with an empty database that it fills, in one transaction: if `body` throws, the database stays as it
    /// is. Creates the tables if there are none.
    package static func filling<Value>(_ url: String, _ body: (any ArchiveTarget) throws -> Value) throws -> Value {
        try connected(url) { connection, name in
            let schema = try Opening.check(connection, name: name)
            _ = try connection.all(["BEGIN", "SELECT pg_advisory_xact_lock(\(Opening.lock))"])
            switch try Opening.version(connection, schema: schema, name: name) {
            case nil: try connection.script(PostgresSchema.text)
            case let found? where found < PostgresSchema.version:
                throw StoreError.olderVersion(found: found, known: PostgresSchema.version)
            default: break
            }
            // The lock stops a server from storing the first session or table description during the import.
            let rows = try connection.all([
                "LOCK TABLE session, table_description IN EXCLUSIVE MODE",
                "SELECT EXISTS (SELECT FROM session) OR EXISTS (SELECT FROM table_description)",
            ])
            guard rows.last?.first?.bool(0) == false else { throw StoreError.notEmpty(path: name) }
            let value = try body(ArchiveInsertion(into: connection))
            _ = try connection.query("COMMIT")
            return value
        }
    }

    /// Calls `body` with a new connection and the database's name. A statement may take a day, because
    /// the statements of these commands read whole tables.
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
        return DatabaseFacts(epochSuffix: found.text(0), suffixedSessions: found.int(1), lastSession: found.int(2))
    }

    package func integrityFaults() throws -> [String] { [] }

    package func texts(_ sql: String) throws -> [String] { try query("\(raw: sql)").map { $0.text(0) } }
}

/// Inserts the rows of an archive, many with each statement.
private final class ArchiveInsertion: ArchiveTarget {
    private let connection: PostgresConnection
    private var table: ArchiveTable?
    private var rows: [[ArchiveValue]] = []
    /// The approximate size of `rows`, in bytes.
    private var size = 0
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
            case .integer: sql += "\(rows.map { if case .integer(let number) = $0[index] { number } else { nil } })"
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
        // No real place has this name, so the first server that connects begins new epochs.
        _ = try connection.query(
            "UPDATE epoch_suffix SET suffix = \(name: facts.epochSuffix), last_session = \(facts.suffixedSessions), place = 'import', loses_commits = false"
        )
        if facts.lastSession > 0 {
            _ = try connection.query(
                "SELECT setval(pg_get_serial_sequence('session', 'number'), \(facts.lastSession))")
        }
        // The age of the answers counts on from the newest one, as in a database that was closed.
        _ = try connection.query(
            "UPDATE braid_server SET answer_time = coalesce((SELECT max(at) FROM answer), answer_time)")
        if let fault = try connection.danglingReferences().first { throw ArchiveFault(fault) }
    }
}
#endif
