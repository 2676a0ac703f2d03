#if PostgreSQL
import BraidEngine
import BraidStore

extension PostgresQueries {
    func session(_ id: String) throws -> StoredSession? { try session(id, with: [])?.session }

    func journalStart(of id: String) throws -> StoredSession? {
        let undo: PostgresStatement =
            "SELECT revision, undo FROM journal WHERE session = (SELECT number FROM session WHERE id = \(name: id)) ORDER BY revision DESC"
        guard let (session, rows) = try session(id, with: [undo]), session.summary.revision > 0 else { return nil }
        guard let undo = rows.first, undo.map({ $0.int(0) }).last != 1 else { return nil }
        var rewind = SessionRewind(session)
        try undo.forEach { try rewind.apply(StoredUndo(json: try $0.json(1))) }
        return try rewind.earliest(from: session)
    }

    func session(_ id: String, at revision: Int) throws -> StoredSession? {
        // Later revisions' undo records. If changes were unpublished at this one, all are needed.
        for last in [revision, 0] {
            let undo: PostgresStatement = """
                SELECT undo FROM journal WHERE session = (SELECT number FROM session WHERE id = \(name: id)) AND revision > \(last)
                ORDER BY revision DESC
                """
            guard let (session, rows) = try session(id, with: [undo]),
                (0...session.summary.revision).contains(revision)
            else { return nil }
            var rewind = SessionRewind(session)
            try rows.first?.forEach {
                if !rewind.reaches(revision) { try rewind.apply(StoredUndo(json: try $0.json(0))) }
            }
            if last == 0 || rewind.reaches(revision) { return try rewind.seen(at: revision) }
        }
        return nil
    }

    private func session(_ id: String, with others: [PostgresStatement]) throws -> (
        session: StoredSession, others: [PostgresRows]
    )? {
        let answers = try db.all(
            [
                "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY",
                "\(raw: StoredSession.select) WHERE s.id = \(name: id)",
                Self.part("section", StoredSectionSummary.columns, of: id),
                Self.part("model", StoredRow.columns, of: id),
                Self.part("published", "updated, displayed_sections", of: id),
                Self.part("published_section", StoredSectionSummary.columns, of: id),
                Self.part("published_model", StoredRow.columns, of: id),
            ] + others + ["COMMIT"])
        guard answers.count == 8 + others.count, let found = answers[1].first else { return nil }
        var session = try StoredSession(found), content = StoredContent([])
        try content.add(sections: answers[2], rows: answers[3])
        session.sections = try content.sorted(session.summary.number)
        if let found = answers[4].first {
            var published = try PublishedTable(found)
            try content.add(sections: answers[5], rows: answers[6])
            published.sections = try content.sorted(session.summary.number)
            session.published = published
        }
        return (session, Array(answers[7..<7 + others.count]))
    }

    private static func part(_ table: String, _ columns: String, of id: String) -> PostgresStatement {
        "SELECT \(raw: columns) FROM \(raw: table) WHERE session = (SELECT number FROM session WHERE id = \(name: id))"
    }

    func opening(_ id: String) throws -> StoredOpening? {
        try db.query("\(raw: StoredOpening.select) WHERE s.id = \(name: id)").first.map { try StoredOpening($0) }
    }

    func sessionSummary(_ id: String) throws -> SessionSummary? {
        try db.query("SELECT \(raw: SessionSummary.columns) FROM session s WHERE s.id = \(name: id)").first.map {
            try SessionSummary($0)
        }
    }

    func sessions(of table: String?, after: String?, limit: Int) throws -> [SessionSummary] {
        // Every id follows "".
        let condition: PostgresStatement = if let table { " AND s.table_name = \(name: table)" } else { "" }
        return try db.query(
            "SELECT \(raw: SessionSummary.columns) FROM session s WHERE s.id > \(name: after ?? "")\(condition) AND \(raw: SessionSummary.isSound) ORDER BY s.id LIMIT \(max(0, limit))"
        )
        .map { try SessionSummary($0) }
    }

    func unusedSessions() throws -> [UnusedSession] {
        try db.query(
            "SELECT \(raw: UnusedSession.columns) FROM session s WHERE s.used IS NOT NULL AND \(raw: UnusedSession.isSound)"
        )
        .map { try UnusedSession($0) }
    }

    func journal(of session: Int, after revision: Int, limit: Int, bytes: Int) throws -> [JournalRecord] {
        let rows = try db.query(
            """
            SELECT revision, at, command, changes, cell_events, hidden, author FROM (
                SELECT *, sum(bytes) OVER (ORDER BY revision) - bytes AS before FROM (
                    SELECT *, octet_length(command)::bigint + octet_length(changes) + coalesce(octet_length(cell_events), 0)
                              + coalesce(octet_length(hidden), 0) + coalesce(octet_length(author), 0) AS bytes
                    FROM journal WHERE session = \(session) AND revision > \(revision) ORDER BY revision LIMIT \(max(0, limit))
                ) j
            ) j WHERE before < \(bytes) ORDER BY revision
            """)
        return try rows.map { try JournalRecord($0, revision: try $0.number(0, .revision, "revision")) }
    }

    func undos(of session: Int, from revision: Int, limit: Int, bytes: Int) throws -> [JournalUndo] {
        let rows = try db.query(
            """
            SELECT revision, command, undo, author FROM (
                SELECT *, sum(bytes) OVER (ORDER BY revision DESC) - bytes AS before FROM (
                    SELECT *, octet_length(command)::bigint + octet_length(undo)
                              + coalesce(octet_length(author), 0) AS bytes
                    FROM journal WHERE session = \(session) AND revision <= \(revision)
                    ORDER BY revision DESC LIMIT \(max(0, limit))
                ) j
            ) j WHERE before < \(bytes) ORDER BY revision DESC
            """)
        return try rows.map { try JournalUndo($0, revision: try $0.number(0, .revision, "revision")) }
    }

    func size() throws -> (sessions: Int, bytes: Int) {
        let rows = try db.query(
            """
            SELECT (SELECT count(*) FROM session), (
                SELECT sum(pg_total_relation_size(c.oid))::bigint FROM pg_class c
                WHERE c.relnamespace = quote_ident(current_schema())::regnamespace AND c.relkind = 'r')
            """)
        return rows.first.map { ($0.int(0), $0.int(1)) } ?? (0, 0)
    }
}

extension StoredContent {
    fileprivate mutating func add(sections: PostgresRows, rows: PostgresRows) throws {
        self.sections.reserveCapacity(sections.count)
        self.rows.reserveCapacity(rows.count)
        try sections.forEach { try setSection(from: $0, number: try $0.number(0, .key, "key")) }
        try rows.forEach { try setRow(from: $0, key: try $0.number(0, .key, "key")) }
    }
}
#endif
