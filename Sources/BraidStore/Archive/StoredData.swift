import BraidEngine

/// The data of a database, as the commands `export` and `verify` read it. Reading the data changes nothing in the
/// database.
///
/// A value of this type is a connection to the database, which only the calling thread uses.
package protocol StoredData {
    var dialect: SQLDialect { get }

    /// Calls `body` with each row of a table, sorted by the table's primary key. Only one row at a time is in memory.
    func rows(of table: ArchiveTable, _ body: ([ArchiveValue]) throws -> Void) throws
    func facts() throws -> DatabaseFacts

    /// Returns the faults that SQLite's integrity check finds in the database file. For PostgreSQL, the result is
    /// always empty.
    func integrityFaults() throws -> [String]
    /// Runs a query whose result rows have one text column each, and returns these texts.
    func texts(_ sql: String) throws -> [String]

    func sessions(of table: String?, after: String?, limit: Int) throws -> [SessionSummary]
    func session(_ id: String) throws -> StoredSession?
    func journal(of session: Int, after revision: Int, limit: Int, bytes: Int) throws -> [JournalRecord]
    func journalStart(of id: String) throws -> StoredSession?
}

/// An empty database that the command `import` fills. The inserted rows remain in the database only if `finish` returns
/// without an error.
package protocol ArchiveTarget {
    /// Inserts a row, either at once or later together with other rows. Throws an ``ArchiveFault`` if the database
    /// refuses a row, for example because another row has the same key.
    func insert(_ row: [ArchiveValue], into table: ArchiveTable) throws
    /// Completes an import. Stores the database's `facts`, and converts the times of kept answers to the clock of this
    /// database. Throws an ``ArchiveFault`` if `danglingReferences` finds a fault.
    ///
    /// Also marks the database, so that the next server that connects begins new epochs for all sessions, as
    /// after the restore of a backup.
    func finish(_ facts: DatabaseFacts) throws
}

extension StoredData {
    /// Returns a sentence for each reference to a row that does not exist, for example to the session of a row. Does
    /// not check the references of kept answers, nor the sections of published rows. Returns at most 100 sentences for
    /// each kind of reference. Also checks that no session that is opened later can get the number of a stored session.
    package func danglingReferences() throws -> [String] {
        var faults = try danglingQueries.flatMap { try texts("\($0) LIMIT 100") }
        let last = try texts("SELECT '' || coalesce(max(number), 0) FROM session").first.flatMap { Int($0) } ?? 0
        let known = try facts().lastSession
        if known < last { faults.append("last_session is \(known), but a session has the number \(last)") }
        return faults
    }

    private var danglingQueries: [String] {
        func session(_ table: ArchiveTable) -> String { table.expressions(dialect)[table.sessionColumn ?? 0] }
        var queries: [String] = []
        // A kept answer may stay stored after its session was ended. For example, the answer to a refused command may
        // be stored after the end of the session.
        for table in ArchiveTable.all where table.sessionColumn != nil && table.name != "answer" {
            queries.append(
                """
                SELECT DISTINCT 'table \(table.name): session number ' || \(session(table)) || ' does not exist' FROM \(table.name)
                WHERE NOT EXISTS (SELECT 1 FROM session s WHERE s.number = \(session(table)))
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
