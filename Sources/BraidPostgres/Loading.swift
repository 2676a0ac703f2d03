#if PostgreSQL
import BraidEngine
import BraidStore

// The PostgreSQL store's reads. Statements that must read the data as it is at one moment run as one transaction in one
// pipeline, in one round trip.

extension PostgresConnection {
    func session(_ id: String) throws -> StoredSession? { try session(id, with: [])?.session }

    func journalStart(of id: String) throws -> StoredSession? {
        let undo: PostgresStatement =
            "SELECT revision, undo FROM journal WHERE session = (SELECT number FROM session WHERE id = \(name: id)) ORDER BY revision DESC"
        guard let (session, rows) = try session(id, with: [undo]), session.facts.revision > 0 else { return nil }
        guard let undo = rows.first, undo.map({ $0.int(0) }).last != 1 else { return nil }
        var rewind = SessionRewind(session)
        try undo.forEach { try rewind.apply(StoredUndo(json: try $0.json(1))) }
        return try rewind.earliest(from: session)
    }

    func session(_ id: String, at revision: Int) throws -> StoredSession? {
        // First read only the undo records of the revisions after `revision`. They do not suffice if changes were
        // unpublished at `revision`. In that case, read all undo records.
        for last in [revision, 0] {
            let undo: PostgresStatement = """
                SELECT undo FROM journal WHERE session = (SELECT number FROM session WHERE id = \(name: id)) AND revision > \(last)
                ORDER BY revision DESC
                """
            guard let (session, rows) = try session(id, with: [undo]),
                (0...session.facts.revision).contains(revision)
            else { return nil }
            var rewind = SessionRewind(session)
            try rows.first?.forEach {
                if !rewind.reaches(revision) { try rewind.apply(StoredUndo(json: try $0.json(0))) }
            }
            if last == 0 || rewind.reaches(revision) { return try rewind.seen(at: revision) }
        }
        return nil
    }

    /// Returns a stored session, together with the result rows of the statements `others`. One transaction reads all
    /// this data at the same moment.
    private func session(_ id: String, with others: [PostgresStatement]) throws -> (
        session: StoredSession, others: [Rows]
    )? {
        let answers = try all(
            [
                "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY",
                """
                SELECT \(raw: SessionSummary.columns), coalesce(st.description, t.description, o.description),
                       st.state, st.displayed_sections, st.cells, s.next_key, s.next_section, s.journal_bytes
                FROM session s JOIN opening o ON o.session = s.number JOIN state st ON st.session = s.number
                LEFT JOIN table_description t ON t.name = s.table_name AND t.version = s.table_version
                WHERE s.id = \(name: id)
                """,
                Self.part("section", Self.sectionColumns, of: id), Self.part("model", Self.rowColumns, of: id),
                Self.part("published", "updated, displayed_sections", of: id),
                Self.part("published_section", Self.sectionColumns, of: id),
                Self.part("published_model", Self.rowColumns, of: id),
            ] + others + ["COMMIT"])
        guard answers.count == 8 + others.count, let found = answers[1].first else { return nil }
        let facts = try SessionSummary(found)
        _ = try found.number(15, .bytes, "journal_bytes")
        var content = StoredContent([])
        try content.add(sections: answers[2], rows: answers[3])
        var session = StoredSession(
            facts: facts, description: try found.optionalJSON(9),
            state: try found.json(10), displayedSections: try found.optionalJSON(11), cells: try found.optionalJSON(12),
            nextKey: try found.number(13, .nextKey, "next_key"),
            nextSection: try found.number(14, .nextKey, "next_section"),
            sections: try content.sorted(facts.number))
        if let published = answers[4].first {
            try content.add(sections: answers[5], rows: answers[6])
            session.published = PublishedTable(
                updated: try published.number(0, .time, "updated"), displayedSections: try published.optionalJSON(1),
                sections: try content.sorted(facts.number))
        }
        return (session, Array(answers[7..<7 + others.count]))
    }

    private static var sectionColumns: String { "key, id, ordinal, header, footer, prefetched" }
    private static var rowColumns: String { "key, section, rank, id, body" }

    private static func part(_ table: String, _ columns: String, of id: String) -> PostgresStatement {
        "SELECT \(raw: columns) FROM \(raw: table) WHERE session = (SELECT number FROM session WHERE id = \(name: id))"
    }

    func opening(_ id: String) throws -> StoredOpening? {
        let rows = try query(
            """
            SELECT \(raw: SessionSummary.columns), coalesce(o.description, t.description), o.body
            FROM session s JOIN opening o ON o.session = s.number
            LEFT JOIN table_description t ON t.name = s.table_name AND t.version = s.table_version
            WHERE s.id = \(name: id)
            """)
        return try rows.first.map {
            StoredOpening(facts: try SessionSummary($0), description: try $0.optionalJSON(9), body: try $0.json(10))
        }
    }

    func sessionSummary(_ id: String) throws -> SessionSummary? {
        try query("SELECT \(raw: SessionSummary.columns) FROM session s WHERE s.id = \(name: id)").first.map {
            try SessionSummary($0)
        }
    }

    func sessions(of table: String?, after: String?, limit: Int) throws -> [SessionSummary] {
        // If `after` is `nil`, start after the empty string: session IDs are not empty, so every ID is greater.
        let condition: PostgresStatement = if let table { " AND s.table_name = \(name: table)" } else { "" }
        return try query(
            "SELECT \(raw: SessionSummary.columns) FROM session s WHERE s.id > \(name: after ?? "")\(condition) AND \(raw: SessionSummary.isSound) ORDER BY s.id LIMIT \(max(0, limit))"
        )
        .map { try SessionSummary($0) }
    }

    func unusedSessions() throws -> [UnusedSession] {
        try query(
            "SELECT \(raw: UnusedSession.columns) FROM session s WHERE s.used IS NOT NULL AND \(raw: UnusedSession.isSound)"
        )
        .map { try UnusedSession($0) }
    }

    func journal(of session: Int, after revision: Int, limit: Int, bytes: Int) throws -> [JournalRecord] {
        let rows = try query(
            """
            SELECT revision, at, command, changes, cell_events, hidden FROM (
                SELECT *, sum(bytes) OVER (ORDER BY revision) - bytes AS before FROM (
                    SELECT *, octet_length(command)::bigint + octet_length(changes) + coalesce(octet_length(cell_events), 0)
                              + coalesce(octet_length(hidden), 0) AS bytes
                    FROM journal WHERE session = \(session) AND revision > \(revision) ORDER BY revision LIMIT \(max(0, limit))
                ) j
            ) j WHERE before < \(bytes) ORDER BY revision
            """)
        return try rows.map {
            JournalRecord(
                revision: try $0.number(0, .revision, "revision"), at: try $0.number(1, .time, "at"),
                command: try $0.json(2), update: try $0.json(3), controllerEvents: try $0.optionalJSON(4),
                hidden: try $0.optionalJSON(5))
        }
    }

    func answer(to key: String, by requester: String, of session: Int, now: Int) throws -> KeptAnswer? {
        let rows = try query(
            """
            SELECT at, request, answer FROM answer
            WHERE session = \(session) AND requester = \(name: requester) AND key = \(name: key) AND at > \(now - KeptAnswer.lifetime)
            """)
        return try rows.first.map {
            KeptAnswer(
                session: session, requester: requester, key: key, at: try $0.number(0, .time, "at"),
                request: $0.int(1), answer: try $0.json(2))
        }
    }

    /// Returns the number of stored sessions, and the size of all tables in the PostgreSQL schema with their indexes in
    /// bytes.
    func size() throws -> (sessions: Int, bytes: Int) {
        let rows = try query(
            """
            SELECT (SELECT count(*) FROM session), (
                SELECT sum(pg_total_relation_size(c.oid))::bigint FROM pg_class c
                WHERE c.relnamespace = quote_ident(current_schema())::regnamespace AND c.relkind = 'r')
            """)
        return rows.first.map { ($0.int(0), $0.int(1)) } ?? (0, 0)
    }
}

extension StoredContent {
    /// Adds the sections and rows of a session from result rows of the database. An added section or row replaces a
    /// collected one with the same key. A result row with a null `id` removes the collected section, and one with a
    /// null `section` removes the collected row.
    mutating func add(sections: Rows, rows: Rows) throws {
        self.sections.reserveCapacity(sections.count)
        self.rows.reserveCapacity(rows.count)
        try sections.forEach {
            let number = try $0.number(0, .key, "key")
            self.sections[number] =
                $0.optionalText(1) == nil
                ? nil
                : StoredSectionSummary(
                    number: number, id: SectionID($0.text(1)), ordinal: try $0.number(2, .place, "ordinal"),
                    header: try $0.optionalJSON(3), footer: try $0.optionalJSON(4),
                    prefetched: try $0.optionalNumber(5, .count, "prefetched"))
        }
        try rows.forEach { columns in
            let key = try columns.number(0, .key, "key")
            self.rows[key] = try columns.optionalNumber(1, .key, "section").map { section in
                (
                    section,
                    StoredRow(
                        key: key, rank: try columns.number(2, .place, "rank"),
                        id: columns.optionalText(3).map { RowID($0) }, model: try columns.json(4))
                )
            }
        }
    }
}
#endif
