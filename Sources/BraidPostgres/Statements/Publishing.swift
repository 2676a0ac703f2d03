#if PostgreSQL
import BraidEngine

extension TableChange {
    /// The parts of an unpublished commit that copy the published version of what it changes, which clients go on to see.
    var keepingPublished: PostgresStatement {
        var sql: PostgresStatement = """
            , unseen AS (
                INSERT INTO published (session, updated, displayed_sections)
                SELECT fence.number, was.updated, displayed_sections FROM fence, was, state WHERE session = fence.number
                ON CONFLICT DO NOTHING
            )
            """
        let rows = removedRows + writtenRows.map(\.row.key) + placedRows.map(\.key)
        if !rows.isEmpty {
            sql += """
                , unseen_rows AS (
                    INSERT INTO published_model (session, key, section, rank, id, body)
                    SELECT fence.number, k.key, m.section, m.rank, m.id, m.body
                    FROM fence CROSS JOIN unnest(\(rows)) AS k (key) LEFT JOIN model m ON m.session = fence.number AND m.key = k.key
                    ON CONFLICT DO NOTHING
                )
                """
        }
        let sections = removedSections + writtenSections.map(\.number)
        if !sections.isEmpty {
            sql += """
                , unseen_sections AS (
                    INSERT INTO published_section (session, key, ordinal, id, header, footer, prefetched)
                    SELECT fence.number, k.key, s.ordinal, s.id, s.header, s.footer, s.prefetched
                    FROM fence CROSS JOIN unnest(\(sections)) AS k (key) LEFT JOIN section s ON s.session = fence.number AND s.key = k.key
                    ON CONFLICT DO NOTHING
                )
                """
        }
        return sql
    }
}
#endif
