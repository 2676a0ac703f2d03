import BraidEngine

// What clients see while a session has unpublished changes. Before such a change first overwrites a row or section,
// its published version is copied to `published_…`, which grow with the changes.

extension SQLiteQueries {
    /// Call it before the unpublished change is written. `OR IGNORE` keeps the first copy, which is the published one.
    func keepPublished(_ change: TableChange, of session: Int, updated: Int) throws {
        try copySharedRows(of: session)
        try db.run(
            """
            INSERT OR IGNORE INTO published (session, updated, displayed_sections)
            SELECT session, ?2, displayed_sections FROM state WHERE session = ?1
            """,
            session, updated)
        let rows = change.removedRows + change.writtenRows.map(\.row.key) + change.placedRows.map(\.key)
        for key in rows {
            try db.run(
                """
                INSERT OR IGNORE INTO published_model (key, section, rank, id, body)
                SELECT ?1, section, rank, id, body FROM (SELECT 1) LEFT JOIN model ON key = ?1
                """,
                Key.of(session, key))
        }
        for number in change.removedSections + change.writtenSections.map(\.number) {
            try db.run(
                """
                INSERT OR IGNORE INTO published_section (key, ordinal, id, header, footer, prefetched)
                SELECT ?1, ordinal, id, header, footer, prefetched FROM (SELECT 1) LEFT JOIN section ON key = ?1
                """,
                Key.of(session, number))
        }
    }

    func publish(_ session: Int) throws {
        guard try db.run("DELETE FROM published WHERE session = ?", session) > 0 else { return }
        for table in ["published_model", "published_section"] { try deleteRows(of: session, in: table) }
    }

    /// `nil` if all changes are published.
    func published(_ session: StoredSession) throws -> PublishedTable? {
        let number = session.summary.number
        guard
            var published = try db.first(
                "SELECT updated, displayed_sections FROM published WHERE session = ?", number,
                value: { try PublishedTable($0) })
        else { return nil }
        var content = StoredContent(session.sections)
        try query(StoredSectionSummary.columns, of: number, in: "published_section") {
            try content.setSection(from: $0, number: Key.number(in: $0.int(0)))
        }
        try query(StoredRow.columns, of: number, in: "published_model") {
            try content.setRow(from: $0, key: Key.number(in: $0.int(0)))
        }
        published.sections = try content.sorted(number)
        return published
    }
}
