#if PostgreSQL
import BraidEngine
import BraidStore

// Each commit is one SQL statement that checks whether it may write, then writes everything or nothing. Its parts
// (CTEs) all see the database as before, and each that writes joins the one that checks. So a refused commit fails
// alone, without a savepoint, and none overwrites another server's.

extension SessionCommit {
    /// Returns Booleans: the commit is stored (`fence`), the session exists, the idempotency key has an answer, the
    /// description's version exists. `restoringVersion` stores a deleted version again, if a newer one exists.
    ///
    /// Waits for no lock: while another server locks the session, its revision is about to change, so the commit is
    /// refused. `hasTurn`: this server holds the session's advisory lock.
    ///
    /// - Precondition: each row's key occurs at most once in the change, so that no two parts write the same row.
    func statement(
        journalLimit: Int, byteLimit: Int, hasTurn: Bool, restoringVersion: Bool = false
    ) -> PostgresStatement {
        let to = record.revision
        // `was` compares the revision before it locks the session's row, `fence` after.
        var sql: PostgresStatement = """
            WITH was AS MATERIALIZED (
                SELECT updated, greatest(0, least(journal_bytes, \(StoredNumber.bytes.range.upperBound))) + \(journalBytes) AS bytes FROM session WHERE number = \(session) AND revision = \(from)
            """
        if let fromTime { sql += " AND updated = \(fromTime)" }
        if followsInTransaction {
            // `xmin` has the lower half of the number of the transaction that has written the row.
            sql += """
                 AND EXISTS (
                    SELECT FROM journal WHERE session = \(session) AND revision = \(from)
                    AND xmin::text::bigint = txid_current_if_assigned() & 4294967295)
                """
        }
        // Refused while another server has the session's turn.
        if !hasTurn {
            let turn = ClusterCoordinator.turn(of: session)
            sql +=
                " AND CASE WHEN pg_try_advisory_lock_shared(\(turn)) THEN pg_advisory_unlock_shared(\(turn)) ELSE false END"
        }
        if let answer { sql += " AND NOT \(answer.isAnswered)" }
        if let description { sql += " AND \(description.isThere(orNewer: restoringVersion))" }
        sql += """
                FOR NO KEY UPDATE SKIP LOCKED
            )\(oldestRecords(journalLimit, byteLimit)), fence AS (
                UPDATE session SET revision = \(to), updated = \(record.at), next_key = \(nextKey), next_section = \(nextSection),
                    total_row_count = \(totalRowCount), journal_bytes = greatest(0, was.bytes - coalesce((SELECT sum(bytes) FROM oldest), 0))
            """
        if let description { sql += ", table_version = \(description.version)" }
        sql += """
             FROM was WHERE number = \(session) AND revision = \(from) RETURNING number
            ), trimmed AS (
                DELETE FROM journal j USING fence, oldest WHERE j.session = fence.number AND j.revision = oldest.revision
            ), journalled AS (
                INSERT INTO journal (session, revision, at, command, changes, cell_events, hidden, undo, author)
                SELECT number, \(to), \(record.at), \(record.command), \(record.update), \(record.controllerEvents), \(record.hidden), \(undo), \(record.by) FROM fence
            )
            """
        if publishes {
            sql += ", seen AS (DELETE FROM published p USING fence WHERE p.session = fence.number)"
        } else {
            sql += change.keepingPublished
        }
        sql += change.writing(description)
        if let description {
            sql += description.keepingOpening
            if restoringVersion {
                sql += restoring(
                    description.version, of: description.table, description.text, at: record.at, if: "fence")
            }
        }
        if let answer { sql += answer.keeping(if: "fence") }
        let isAnswered = answer.map(\.isAnswered) ?? "false"
        let isThere = description?.isThere(orNewer: restoringVersion) ?? "true"
        sql +=
            "SELECT EXISTS (SELECT FROM fence), EXISTS (SELECT FROM session WHERE number = \(session)), \(isAnswered), \(isThere)"
        return sql
    }

    /// Reads the journal only if records may have to go.
    private func oldestRecords(_ limit: Int, _ byteLimit: Int) -> PostgresStatement {
        let to = record.revision, trimming = JournalTrimming(with: to, limit: limit)
        return """
            , oldest AS MATERIALIZED (
                SELECT revision, bytes FROM (
                    SELECT j.revision, j.bytes, was.bytes - sum(j.bytes) OVER (ORDER BY j.revision) + j.bytes AS remaining
                    FROM was, LATERAL (
                        SELECT revision, octet_length(command)::bigint + octet_length(changes) + coalesce(octet_length(cell_events), 0)
                               + coalesce(octet_length(hidden), 0) + octet_length(undo)
                               + coalesce(octet_length(author), 0) AS bytes
                        FROM journal WHERE session = \(session) AND revision < \(to) AND (\(trimming.isDue ? 1 : 0) = 1 OR was.bytes > \(byteLimit))
                        ORDER BY revision LIMIT \(trimming.recordCount)
                    ) j
                ) j WHERE revision <= \(to - limit) OR remaining > \(byteLimit)
            )
            """
    }

    static func outcome(_ rows: [PostgresRows]) throws {
        guard let row = rows.first?.first else { throw StoreError.sessionMissing }
        if row.bool(0) { return }
        if row.bool(2) { throw StoreError.answered }
        if !row.bool(3) { throw StoreError.tableMissing }
        throw row.bool(1) ? StoreError.revisionConflict : StoreError.sessionMissing
    }
}

extension SessionDescription {
    /// Whether this version, or with `orNewer` a newer one, is registered.
    fileprivate func isThere(orNewer: Bool) -> PostgresStatement {
        guard let version else { return "true" }
        return
            "EXISTS (SELECT FROM table_description WHERE name = \(name: table) AND version \(raw: orNewer ? ">=" : "=") \(version))"
    }

    /// Copies the description of the opening.
    fileprivate var keepingOpening: PostgresStatement {
        """
        , kept_opening AS (
            UPDATE opening o SET description = t.description FROM fence, session s, table_description t
            WHERE o.session = fence.number AND o.description IS NULL AND s.number = fence.number
            AND t.name = s.table_name AND t.version = s.table_version
        )
        """
    }
}

extension TableChange {
    /// Parts that write if `fence` has a row.
    fileprivate func writing(_ description: SessionDescription?) -> PostgresStatement {
        var sql: PostgresStatement = ""
        if !removedRows.isEmpty {
            sql +=
                ", removed_rows AS (DELETE FROM model m USING fence WHERE m.session = fence.number AND m.key = ANY (\(removedRows)))"
        }
        if !writtenRows.isEmpty { sql += rowsWritten(writtenRows, of: "fence") }
        if !placedRows.isEmpty {
            sql += """
                , placed_rows AS (
                    UPDATE model m SET section = p.section, rank = p.rank
                    FROM fence, unnest(\(placedRows.map(\.key)), \(placedRows.map(\.section)), \(placedRows.map(\.rank))) AS p (key, section, rank)
                    WHERE m.session = fence.number AND m.key = p.key
                )
                """
        }
        if !removedSections.isEmpty {
            sql +=
                ", removed_sections AS (DELETE FROM section s USING fence WHERE s.session = fence.number AND s.key = ANY (\(removedSections)))"
        }
        if !writtenSections.isEmpty { sql += sectionsWritten(writtenSections, of: "fence") }
        if state != nil || displayedSections != nil || cells != nil || description != nil {
            let displayed = displayedSections.flatMap { $0.isNull ? nil : $0 }
            sql += """
                , stated AS (
                    UPDATE state SET state = coalesce(\(state), state), cells = coalesce(\(cells), cells),
                        displayed_sections = CASE \(displayedSections == nil ? 0 : 1) WHEN 0 THEN displayed_sections ELSE \(displayed) END,
                        description = CASE \(description == nil ? 0 : 1) WHEN 0 THEN description ELSE \(description?.inlineText) END
                    FROM fence WHERE session = fence.number
                )
                """
        }
        return sql
    }
}

private func restoring(
    _ version: Int?, of table: String?, _ description: JSONText?, at: Int, if source: String
) -> PostgresStatement {
    """
    , restored AS (
        INSERT INTO table_description (name, version, updated, description)
        SELECT \(name: table), \(version), \(at), \(description) FROM \(raw: source) ON CONFLICT DO NOTHING
    )
    """
}

/// `source` has the session's number in its column `number`.
private func rowsWritten(_ rows: [(section: Int, row: StoredRow)], of source: String) -> PostgresStatement {
    """
    , written_rows AS (
        INSERT INTO model (session, key, section, rank, id, body)
        SELECT number, r.* FROM \(raw: source), unnest(
            \(rows.map(\.row.key)), \(rows.map(\.section)), \(rows.map(\.row.rank)), \(names: rows.map(\.row.id?.text)), \(rows.map(\.row.model))) r
        ON CONFLICT (session, key) DO UPDATE SET section = excluded.section, rank = excluded.rank, id = excluded.id, body = excluded.body
    )
    """
}

private func sectionsWritten(_ sections: [StoredSectionSummary], of source: String) -> PostgresStatement {
    """
    , written_sections AS (
        INSERT INTO section (session, key, ordinal, id, header, footer, prefetched)
        SELECT number, s.* FROM \(raw: source), unnest(
            \(sections.map(\.number)), \(sections.map(\.ordinal)), \(names: sections.map(\.id.text)), \(sections.map(\.header)),
            \(sections.map(\.footer)), \(sections.map(\.prefetched))) s
        ON CONFLICT (session, key) DO UPDATE SET ordinal = excluded.ordinal, id = excluded.id, header = excluded.header,
            footer = excluded.footer, prefetched = excluded.prefetched
    )
    """
}

extension NewSession {
    /// Returns the session's number, or null and why: the id is taken, the description's version does not exist, the
    /// idempotency key has an answer. `restoringVersion` stores a version again that is known to be deleted, and
    /// waits for registrations of other descriptions.
    func statement(restoringVersion: Bool = false) -> PostgresStatement {
        let table = summary.table, version = summary.tableVersion
        var sql: PostgresStatement = """
            WITH description AS MATERIALIZED (
                SELECT \(version) IS NULL OR EXISTS (
                    SELECT FROM table_description WHERE name = \(name: table) AND version \(raw: restoringVersion ? ">=" : "=") \(version)) AS is_there
            ), made AS (
                INSERT INTO session (id, table_name, table_version, epoch, revision, created, updated, next_key, next_section, total_row_count, unused_limit, used)
                SELECT \(name: summary.id), \(name: table), \(version), \(name: summary.epoch), 0, \(summary.created), \(summary.created), \(nextKey), \(nextSection), \(summary.totalRowCount), \(unusedLimit), \(used)
                FROM description WHERE is_there
            """
        if let answer { sql += " AND NOT \(answer.isAnswered)" }
        sql += """
                ON CONFLICT (id) DO NOTHING RETURNING number
            ), opened AS (
                INSERT INTO opening (session, body, description) SELECT number, \(opening), \(inlineDescription) FROM made
            ), stated AS (
                INSERT INTO state (session, state, displayed_sections, cells) SELECT number, \(state), \(displayedSections), \(cells) FROM made
            )
            """
        if restoringVersion { sql += restoring(version, of: table, description, at: summary.created, if: "made") }
        if !sections.isEmpty { sql += sectionsWritten(sections, of: "made") }
        if !rows.isEmpty { sql += rowsWritten(rows, of: "made") }
        if let answer { sql += answer.keeping(if: "made") }
        sql +=
            "SELECT (SELECT number FROM made), EXISTS (SELECT FROM session WHERE id = \(name: summary.id)), (SELECT is_there FROM description)"
        if let answer { sql += ", \(answer.isAnswered)" }
        return sql
    }

    static func outcome(_ rows: [PostgresRows]) throws -> Int {
        guard let row = rows.first?.first else { throw StoreError.sessionExists }
        if let number = try row.optionalNumber(0, .session, "number") { return number }
        if row.count > 3, row.bool(3) { throw StoreError.answered }
        // With the description there, the id must be taken, perhaps since the statement began.
        throw row.bool(1) || row.bool(2) ? StoreError.sessionExists : StoreError.tableMissing
    }
}

extension PostgresQueries {
    /// The first statement waits for a commit in progress, so that the second also deletes what that has written.
    static func deleteSession(_ id: String, as summary: SessionSummary?, sender: String) -> [PostgresStatement] {
        let condition: PostgresStatement =
            if let summary { " AND number = \(summary.number) AND revision = \(summary.revision)" } else { "" }
        return [
            "SELECT number FROM session WHERE id = \(name: id) FOR UPDATE",
            """
            WITH gone AS (DELETE FROM session WHERE id = \(name: id)\(condition) RETURNING number, table_name, table_version),
            a AS (DELETE FROM model t USING gone WHERE t.session = gone.number),
            b AS (DELETE FROM section t USING gone WHERE t.session = gone.number),
            c AS (DELETE FROM journal t USING gone WHERE t.session = gone.number),
            d AS (DELETE FROM opening t USING gone WHERE t.session = gone.number),
            e AS (DELETE FROM state t USING gone WHERE t.session = gone.number),
            f AS (DELETE FROM answer t USING gone WHERE t.session = gone.number),
            g AS (DELETE FROM token t USING gone WHERE t.session = gone.number),
            h AS (DELETE FROM published t USING gone WHERE t.session = gone.number),
            i AS (
                DELETE FROM table_description t USING gone WHERE t.name = gone.table_name AND t.version = gone.table_version
                AND t.version <= (SELECT max(version) FROM table_description WHERE name = gone.table_name) - \(StoredTable.keptVersions)
                AND NOT EXISTS (
                    SELECT FROM session s
                    WHERE s.table_name = gone.table_name AND s.table_version = gone.table_version AND s.number <> gone.number)
            )
            SELECT number, pg_notify(\(raw: StoreNotice.channel), \(sender + " " + StoreNotice.endedLetter)::text || number) FROM gone
            """,
        ]
    }
}

extension TableChange {
    /// Parts that keep the published version of what an unpublished commit changes.
    fileprivate var keepingPublished: PostgresStatement {
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
