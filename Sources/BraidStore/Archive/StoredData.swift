import BraidEngine
import BraidRuntime

/// A database as `export` and `verify` read it, on one thread.
package protocol StoredData {
    var dialect: SQLDialect { get }

    /// Calls `body` for each row, sorted by the primary key, with one in memory at a time.
    func rows(of table: ArchiveTable, _ body: ([ArchiveValue]) throws -> Void) throws
    func summary() throws -> DatabaseSummary

    func integrityFaults() throws -> [String]
    func texts(_ sql: String) throws -> [String]

    func sessions(of table: String?, after: String?, limit: Int) throws -> [SessionSummary]
    func session(_ id: String) throws -> StoredSession?
    func journal(of session: Int, after revision: Int, limit: Int, bytes: Int) throws -> [JournalRecord]
    func journalStart(of id: String) throws -> StoredSession?
}

/// A database that `import` fills. The rows remain only if `finish` returns.
package protocol ArchiveTarget {
    /// May insert later, with other rows. Throws an ``ArchiveError`` if the database refuses a row.
    func insert(_ row: [ArchiveValue], into table: ArchiveTable) throws
    /// Moves the answers to this database's clock, and makes new epochs due. Throws an ``ArchiveError`` for a
    /// dangling reference.
    func finish(_ summary: DatabaseSummary) throws
}

extension StoredData {
    /// Sentences about references to missing rows, at most 100 of a kind. Skips kept answers and the sections of
    /// published rows.
    package func danglingReferences() throws -> [String] {
        var faults = try danglingQueries.flatMap { try texts("\($0) LIMIT 100") }
        let last =
            try texts("SELECT '' || coalesce(max(number), 0) FROM session").first.flatMap { Int(digits: $0) } ?? 0
        let known = try summary().lastSession
        if known < last { faults.append("last_session is \(known), but a session has the number \(last)") }
        return faults
    }

    private var danglingQueries: [String] {
        func session(_ table: ArchiveTable) -> String { table.expressions(dialect)[table.sessionColumn ?? 0] }
        var queries: [String] = []
        // The answer to a refused command may be stored after its session has ended.
        for table in ArchiveTable.all where table.sessionColumn != nil && table.name != "answer" {
            queries.append(
                """
                SELECT DISTINCT 'table \(table.name): session number ' || \(session(table)) || ' does not exist' FROM \(table.name)
                WHERE NOT EXISTS (SELECT 1 FROM session s WHERE s.number = \(session(table)))\(table.name == "token" ? " AND session <> 0" : "")
                """)
            guard table.name.hasPrefix("published_") else { continue }
            queries.append(
                """
                SELECT DISTINCT 'table \(table.name): session number ' || \(session(table)) || ' has no row in table published'
                FROM \(table.name) WHERE NOT EXISTS (SELECT 1 FROM published p WHERE p.session = \(session(table)))
                """)
        }
        let quoted = dialect == .sqlite ? "'\"' || id || '\"'" : "'\"' || encode(id, 'escape') || '\"'"
        for table in ["opening", "state"] {
            queries.append(
                """
                SELECT 'session ' || \(quoted) || ': has no row in table \(table)' FROM session s
                WHERE NOT EXISTS (SELECT 1 FROM \(table) o WHERE o.session = s.number)
                """)
        }
        queries.append(
            """
            SELECT 'session ' || \(quoted) || ': version ' || table_version || ' of its table description does not exist' FROM session s
            WHERE table_version IS NOT NULL AND NOT EXISTS (
                SELECT 1 FROM table_description t WHERE t.name = s.table_name AND t.version = s.table_version)
            """)
        let own =
            dialect == .sqlite
            ? "s.key = (m.key >> \(Key.bits) << \(Key.bits) | m.section)"
            : "s.session = m.session AND s.key = m.section"
        let place =
            dialect == .sqlite
            ? "(m.key >> \(Key.bits)) || ', key ' || (m.key & \(Key.largest))" : "m.session || ', key ' || m.key"
        queries.append(
            """
            SELECT 'table model, session ' || \(place) || ': section ' || m.section || ' does not exist' FROM model m
            WHERE NOT EXISTS (SELECT 1 FROM section s WHERE \(own))
            """)
        return queries
    }
}
