import BraidEngine

// Storage of the table that clients see, while a session has changes that are stored but not published. Before an
// unpublished change overwrites a row or section for the first time, the published version is copied to the tables
// `published_…`. The tables `published_…` therefore grow with the changes, not with the size of the session's table.

extension SQLiteConnection {
    /// Copies the published rows and sections that an unpublished change is about to overwrite to the tables
    /// `published_…`. Must be called before the change is written.
    func keepPublished(_ change: TableChange, of session: Int, updated: Int) throws {
        try copySharedRows(of: session)
        try run(
            """
            INSERT OR IGNORE INTO published (session, updated, displayed_sections)
            SELECT session, ?2, displayed_sections FROM state WHERE session = ?1
            """,
            session, updated)
        let rows = change.removedRows + change.writtenRows.map(\.row.key) + change.placedRows.map(\.key)
        for key in rows {
            try run(
                """
                INSERT OR IGNORE INTO published_model (key, section, rank, id, body)
                SELECT ?1, section, rank, id, body FROM (SELECT 1) LEFT JOIN model ON key = ?1
                """,
                Key.of(session, key))
        }
        for number in change.removedSections + change.writtenSections.map(\.number) {
            try run(
                """
                INSERT OR IGNORE INTO published_section (key, ordinal, id, header, footer, prefetched)
                SELECT ?1, ordinal, id, header, footer, prefetched FROM (SELECT 1) LEFT JOIN section ON key = ?1
                """,
                Key.of(session, number))
        }
    }

    /// Publishes a session's stored table. From then on, clients see all stored changes of the session.
    func publish(_ session: Int) throws {
        guard try run("DELETE FROM published WHERE session = ?", session) > 0 else { return }
        let keys = Key.all(of: session)
        for table in ["published_model", "published_section"] {
            try run("DELETE FROM \(table) WHERE key BETWEEN ? AND ?", keys.lowerBound, keys.upperBound)
        }
    }

    /// Returns the published table of a session, which clients see. Returns `nil` if all changes are published, so that
    /// clients see the stored table.
    ///
    /// - Complexity: O(rows · log rows).
    func published(_ session: StoredSession) throws -> PublishedTable? {
        let number = session.facts.number
        let found = try first("SELECT updated, displayed_sections FROM published WHERE session = ?", number) {
            PublishedTable(
                updated: try $0.number(0, .time, "updated"), displayedSections: try $0.optionalJSON(1), sections: [])
        }
        guard var published = found else { return nil }
        let keys = Key.all(of: number)

        var content = StoredContent(session.sections)
        try query(
            "SELECT key, id, ordinal, header, footer, prefetched FROM published_section WHERE key BETWEEN ? AND ?",
            keys.lowerBound, keys.upperBound
        ) {
            content.sections[Key.number(in: $0.int(0))] = $0.optionalText(1) == nil ? nil : try Self.section($0)
        }
        try query(
            "SELECT key, section, rank, id, body FROM published_model WHERE key BETWEEN ? AND ?",
            keys.lowerBound, keys.upperBound
        ) { columns in
            content.rows[Key.number(in: columns.int(0))] = try columns.optionalNumber(1, .key, "section").map {
                ($0, try Self.row(columns))
            }
        }
        published.sections = try content.sorted(number)
        return published
    }
}
