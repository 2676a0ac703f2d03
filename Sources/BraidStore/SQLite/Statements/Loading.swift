import BraidEngine

extension SQLiteQueries {
    func session(_ id: String) throws -> StoredSession? {
        guard
            var session = try db.first(
                "\(StoredSession.select) WHERE s.id = ?", id, value: { try StoredSession($0) })
        else { return nil }
        session.sections = try sections(of: session.summary.number)
        session.published = try published(session)
        return session
    }

    func opening(_ id: String) throws -> StoredOpening? {
        try db.first("\(StoredOpening.select) WHERE s.id = ?", id) {
            var opening = try StoredOpening($0)
            if let shared = try sharedTable(of: opening.summary.number) { opening.body = try shared.opening() }
            return opening
        }
    }

    func sections(of session: Int) throws -> [SectionRows] {
        var sections: [SectionRows] = []
        try query(StoredSectionSummary.columns, of: session, in: "section") {
            sections.append((try StoredSectionSummary($0, number: Key.number(in: $0.int(0))), []))
        }
        sections.sort { $0.summary.ordinal < $1.summary.ordinal }
        // Rows come in the order of keys, so of pages, and are sorted by rank in memory. An index by rank would be a
        // second tree to write; a sort in SQL would copy the bodies.
        let positions = Dictionary(uniqueKeysWithValues: sections.enumerated().map { ($1.summary.number, $0) })
        try query(StoredRow.columns, of: session, in: "model") {
            guard let position = positions[$0.int(1)] else { throw StoreError.rowsWithoutSection(session) }
            sections[position].rows.append(try StoredRow($0, key: Key.number(in: $0.int(0))))
        }
        for position in sections.indices { sections[position].rows.sort { $0.rank < $1.rank } }
        return try sharedSections(sections, of: session) ?? sections
    }

    func sessionSummary(_ id: String) throws -> SessionSummary? {
        try db.first(
            "SELECT \(SessionSummary.columns) FROM session s WHERE s.id = ?", id, value: { try SessionSummary($0) })
    }

    func sessions(of table: String?, after: String?, limit: Int) throws -> [SessionSummary] {
        // Every id follows "". Two texts, because a common condition could use no index.
        let condition = table == nil ? "?1 IS NULL" : "s.table_name = ?1"
        return try db.rows(
            "SELECT \(SessionSummary.columns) FROM session s WHERE \(condition) AND s.id > ?2 AND \(SessionSummary.isSound) ORDER BY s.id LIMIT ?3",
            table, after ?? "", max(0, limit)
        ) { try SessionSummary($0) }
    }

    func unusedSessions() throws -> [UnusedSession] {
        try db.rows(
            "SELECT \(UnusedSession.columns) FROM session s WHERE s.used IS NOT NULL AND \(UnusedSession.isSound)"
        ) { try UnusedSession($0) }
    }

    func journalStart(of id: String) throws -> StoredSession? {
        guard let session = try session(id) else { return nil }
        let number = session.summary.number
        let first = try db.first(
            "SELECT key FROM journal WHERE key BETWEEN ? AND ? ORDER BY key LIMIT 1", Key.of(number, 0),
            Key.of(number, Key.largest)
        ) { $0.int(0) }
        guard session.summary.revision > 0, first != Key.of(number, 1) else { return nil }
        var rewind = SessionRewind(session)
        try rewindJournal(of: number, &rewind) { _ in true }
        return try rewind.earliest(from: session)
    }

    func session(_ id: String, at revision: Int) throws -> StoredSession? {
        guard let session = try session(id), (0...session.summary.revision).contains(revision) else { return nil }
        var rewind = SessionRewind(session)
        try rewindJournal(of: session.summary.number, &rewind) { !$0.reaches(revision) }
        return try rewind.seen(at: revision)
    }

    /// Undoes journal records, the last first, while the condition holds before each.
    private func rewindJournal(
        of number: Int, _ rewind: inout SessionRewind, while condition: (SessionRewind) -> Bool
    ) throws {
        guard condition(rewind) else { return }
        try db.queryRows(
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
        try db.queryRows(
            of:
                "SELECT key, at, command, changes, cell_events, hidden, author FROM journal WHERE key BETWEEN ? AND ? ORDER BY key LIMIT ?",
            Key.of(session, max(0, revision) + 1), Key.of(session, Key.largest), max(0, limit),
            while: {
                let record = try JournalRecord($0, revision: Key.number(in: $0.int(0)))
                records.append(record)
                size += record.bytes
                return size < bytes
            })
        return records
    }

    func undos(of session: Int, from revision: Int, limit: Int, bytes: Int) throws -> [JournalUndo] {
        var undos: [JournalUndo] = [], size = 0
        try db.queryRows(
            of: "SELECT key, command, undo, author FROM journal WHERE key BETWEEN ? AND ? ORDER BY key DESC LIMIT ?",
            Key.of(session, 0), Key.of(session, max(0, min(revision, Key.largest))), max(0, limit),
            while: {
                let undo = try JournalUndo($0, revision: Key.number(in: $0.int(0)))
                undos.append(undo)
                size += undo.bytes
                return size < bytes
            })
        return undos
    }
}
