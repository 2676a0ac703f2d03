import BraidEngine

// The SQLite store's reads. Each of these methods runs in a transaction, so it returns the data as it is at one moment.

extension SQLiteConnection {
    func session(_ id: String) throws -> StoredSession? {
        let found = try first(
            """
            SELECT \(SessionSummary.columns), coalesce(st.description, t.description, o.description),
                   st.state, st.displayed_sections, st.cells, s.next_key, s.next_section, s.journal_bytes
            FROM session s JOIN opening o ON o.session = s.number JOIN state st ON st.session = s.number
            LEFT JOIN table_description t ON t.name = s.table_name AND t.version = s.table_version
            WHERE s.id = ?
            """,
            id
        ) {
            _ = try $0.number(15, .bytes, "journal_bytes")
            return StoredSession(
                facts: try SessionSummary($0), description: try $0.optionalJSON(9),
                state: try $0.json(10), displayedSections: try $0.optionalJSON(11), cells: try $0.optionalJSON(12),
                nextKey: try $0.number(13, .nextKey, "next_key"),
                nextSection: try $0.number(14, .nextKey, "next_section"), sections: [])
        }
        guard var session = found else { return nil }
        session.sections = try sections(of: session.facts.number)
        session.published = try published(session)
        return session
    }

    func opening(_ id: String) throws -> StoredOpening? {
        try first(
            """
            SELECT \(SessionSummary.columns), coalesce(o.description, t.description), o.body
            FROM session s JOIN opening o ON o.session = s.number
            LEFT JOIN table_description t ON t.name = s.table_name AND t.version = s.table_version
            WHERE s.id = ?
            """,
            id
        ) {
            let facts = try SessionSummary($0)
            return StoredOpening(
                facts: facts, description: try $0.optionalJSON(9),
                body: try sharedTable(of: facts.number)?.opening() ?? $0.json(10))
        }
    }

    func sections(of session: Int) throws -> [(facts: StoredSectionSummary, rows: [StoredRow])] {
        let keys = Key.all(of: session)
        var facts: [StoredSectionSummary] = []
        try query(
            "SELECT key, id, ordinal, header, footer, prefetched FROM section WHERE key BETWEEN ? AND ? ORDER BY ordinal",
            keys.lowerBound, keys.upperBound
        ) {
            facts.append(try Self.section($0))
        }
        // Read the rows in the order of their keys, which is the order of the database pages, and then sort them by
        // rank in memory. An index by rank would be a second tree to write. A sort in SQL would copy the rows' bodies.
        var rows = [[StoredRow]](repeating: [], count: facts.count)
        let positions = Dictionary(uniqueKeysWithValues: facts.enumerated().map { ($1.number, $0) })
        try query(
            "SELECT key, section, rank, id, body FROM model WHERE key BETWEEN ? AND ?", keys.lowerBound, keys.upperBound
        ) {
            guard let position = positions[$0.int(1)] else {
                throw StoreError.corrupt("session \(session) has rows of a section that it has not")
            }
            rows[position].append(try Self.row($0))
        }
        let sections = facts.indices.map { (facts: facts[$0], rows: rows[$0].sorted { $0.rank < $1.rank }) }
        return try sharedSections(sections, of: session) ?? sections
    }

    /// Decodes a section of a session from a result row with the columns key, id, ordinal, header, footer, prefetched.
    static func section(_ columns: SQLiteRow) throws -> StoredSectionSummary {
        StoredSectionSummary(
            number: Key.number(in: columns.int(0)), id: SectionID(columns.text(1)),
            ordinal: try columns.number(2, .place, "ordinal"), header: try columns.optionalJSON(3),
            footer: try columns.optionalJSON(4), prefetched: try columns.optionalNumber(5, .count, "prefetched"))
    }

    /// Decodes a row of a session's table from a result row with the columns key, section, rank, id, body.
    static func row(_ columns: SQLiteRow) throws -> StoredRow {
        StoredRow(
            key: Key.number(in: columns.int(0)), rank: try columns.number(2, .place, "rank"),
            id: columns.optionalText(3).map { RowID($0) }, model: try columns.json(4))
    }

    func sessionSummary(_ id: String) throws -> SessionSummary? {
        try first(
            "SELECT \(SessionSummary.columns) FROM session s WHERE s.id = ?", id, value: { try SessionSummary($0) })
    }

    func sessions(of table: String?, after: String?, limit: Int) throws -> [SessionSummary] {
        var sessions: [SessionSummary] = []
        // If `after` is `nil`, start after the empty string: session ids are not empty, so every id is greater. The
        // query has one text for all tables and one for a single table, because a common condition could not use an
        // index.
        let condition = table == nil ? "?1 IS NULL" : "s.table_name = ?1"
        try query(
            "SELECT \(SessionSummary.columns) FROM session s WHERE \(condition) AND s.id > ?2 AND \(SessionSummary.isSound) ORDER BY s.id LIMIT ?3",
            table, after ?? "", max(0, limit)
        ) {
            sessions.append(try SessionSummary($0))
        }
        return sessions
    }

    func unusedSessions() throws -> [UnusedSession] {
        var sessions: [UnusedSession] = []
        try query(
            "SELECT \(UnusedSession.columns) FROM session s WHERE s.used IS NOT NULL AND \(UnusedSession.isSound)"
        ) {
            sessions.append(try UnusedSession($0))
        }
        return sessions
    }

    func journalStart(of id: String) throws -> StoredSession? {
        guard let session = try session(id) else { return nil }
        let number = session.facts.number
        let first = try first(
            "SELECT key FROM journal WHERE key BETWEEN ? AND ? ORDER BY key LIMIT 1", Key.of(number, 0),
            Key.of(number, Key.largest)
        ) { $0.int(0) }
        guard session.facts.revision > 0, first != Key.of(number, 1) else { return nil }
        var rewind = SessionRewind(session)
        try rewindJournal(of: number, &rewind) { _ in true }
        return try rewind.earliest(from: session)
    }

    func session(_ id: String, at revision: Int) throws -> StoredSession? {
        guard let session = try session(id), (0...session.facts.revision).contains(revision) else { return nil }
        var rewind = SessionRewind(session)
        try rewindJournal(of: session.facts.number, &rewind) { !$0.reaches(revision) }
        return try rewind.seen(at: revision)
    }

    /// Applies the undo records of a session's journal, the last record first. Before each record, `condition` decides
    /// whether to go on.
    private func rewindJournal(
        of number: Int, _ rewind: inout SessionRewind, while condition: (SessionRewind) -> Bool
    ) throws {
        guard condition(rewind) else { return }
        try queryRows(
            of: "SELECT undo FROM journal WHERE key BETWEEN ? AND ? ORDER BY key DESC", Key.of(number, 0),
            Key.of(number, Key.largest),
            while: {
                try rewind.apply(StoredUndo(json: try $0.json(0)))
                return condition(rewind)
            })
    }

    func journal(of session: Int, after revision: Int, limit: Int, bytes: Int) throws -> [JournalRecord] {
        guard revision < Key.largest else { return [] }
        var records: [JournalRecord] = [], size = 0
        try queryRows(
            of:
                "SELECT key, at, command, changes, cell_events, hidden FROM journal WHERE key BETWEEN ? AND ? ORDER BY key LIMIT ?",
            Key.of(session, max(0, revision) + 1), Key.of(session, Key.largest), max(0, limit),
            while: {
                let record = JournalRecord(
                    revision: Key.number(in: $0.int(0)), at: try $0.number(1, .time, "at"), command: try $0.json(2),
                    update: try $0.json(3), controllerEvents: try $0.optionalJSON(4), hidden: try $0.optionalJSON(5))
                records.append(record)
                size += record.bytes
                return size < bytes
            })
        return records
    }
}
