#if PostgreSQL
import BraidEngine
import BraidStore

extension PostgresQueries: StoredData {
    package var dialect: SQLDialect { .postgres }

    package func rows(of table: ArchiveTable, _ body: ([ArchiveValue]) throws -> Void) throws {
        try db.stream("\(raw: table.select(.postgres))") { try body(table.values($0)) }
    }

    package func summary() throws -> DatabaseSummary {
        let found = try db.query(
            """
            SELECT suffix, last_session, coalesce(pg_sequence_last_value(pg_get_serial_sequence('session', 'number')::regclass), 0)
            FROM epoch_suffix
            """)
        guard let found = found.first else { throw StoreError.corrupt("it has no epoch_suffix") }
        let minimum = try db.query("SELECT minimum_version FROM braid_server").first?.int(0) ?? 0
        guard (1...PostgresSchema.version).contains(minimum) else {
            throw StoreError.corrupt("table braid_server: minimum_version is \(minimum)")
        }
        _ = try sharedAnswerTime()
        return DatabaseSummary(
            epochSuffix: found.text(0),
            suffixedSessions: try found.number(1, .answeredSession, "table epoch_suffix: last_session"),
            lastSession: try found.number(2, .answeredSession, "the sequence of session numbers"))
    }

    package func integrityFaults() throws -> [String] { [] }

    package func texts(_ sql: String) throws -> [String] { try db.query("\(raw: sql)").map { $0.text(0) } }
}

/// Inserts many rows with each statement.
final class ArchiveInsertion: ArchiveTarget {
    private let queries: PostgresQueries
    private var table: ArchiveTable?
    private var rows: [[ArchiveValue]] = []
    private var size = 0
    /// Bytes.
    private static let largestSize = 1 << 20

    init(into connection: PostgresConnection) { queries = PostgresQueries(db: connection) }

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
            _ = try queries.db.query(sql)
        } catch let error as PostgresError where error.code.hasPrefix("23") {
            throw ArchiveError("table \(table.name): \(error.message)")
        }
    }

    func finish(_ summary: DatabaseSummary) throws {
        try insertRows()
        // 'import' is no real place, so new epochs are due.
        _ = try queries.db.query(
            "UPDATE epoch_suffix SET suffix = \(name: summary.epochSuffix), last_session = \(summary.suffixedSessions), place = 'import', loses_commits = false"
        )
        let last = summary.lastSession
        let sequence = try queries.texts("SELECT pg_get_serial_sequence('session', 'number')").first ?? ""
        // ROLLBACK undoes `setval` only after an ALTER SEQUENCE … RESTART in the same transaction.
        _ = try queries.db.query("ALTER SEQUENCE \(raw: sequence) RESTART")
        _ = try queries.db.query("SELECT setval(\(sequence)::regclass, \(max(last, 1)), \(raw: "\(last > 0)"))")
        _ = try queries.db.query("UPDATE answer SET at = at + (SELECT answer_time FROM braid_server)")
        if let fault = try queries.danglingReferences().first { throw ArchiveError(fault) }
    }
}
#endif
