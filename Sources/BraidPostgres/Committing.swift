#if PostgreSQL
import BraidEngine
import BraidStore

// The commits of sessions in PostgreSQL. Each commit is one SQL statement that checks whether it may write, and then
// writes everything or nothing.
//
// The statement consists of several parts (CTEs), which all see the database as it was before the statement. Each part
// that writes joins the part that checks, so it writes only if the check succeeds. A refused commit therefore fails
// alone, without a savepoint. A commit also never overwrites the commits of another server.

extension SessionCommit {
    /// Returns the SQL statement that stores a commit. The row that the statement returns has four Booleans:
    /// - the commit is stored, which requires that the session was at the expected revision (the part `fence`)
    /// - the session exists
    /// - the client's idempotency key already has an answer
    /// - the version of the table description to which the commit binds the session exists (with `restoringVersion`:
    ///   this or a newer version)
    ///
    /// The statement does not wait for a lock of the session. If another server has locked the session's row or holds
    /// the session's lock, the commit is refused, because the session's revision is about to change.
    ///
    /// - Parameters:
    ///   - hasTurn: whether this server holds the session's advisory lock.
    ///   - restoringVersion: whether to store the version of the table description to which the commit binds the
    ///     session again, because it was deleted.
    /// - Precondition: each row's key occurs at most once in all lists of the change, so that no two parts of the
    ///   statement write the same row.
    func statement(
        journalLimit: Int, byteLimit: Int, hasTurn: Bool, restoringVersion: Bool = false
    ) -> PostgresStatement {
        let trimming = JournalTrimming(with: to, limit: journalLimit)
        // Two parts of the SQL statement compare the session's revision: `was` before it locks the session's row, and
        // `fence` after that. The part `oldest` reads the journal only if journal records may have to be deleted.
        var sql: PostgresStatement = """
            WITH was AS MATERIALIZED (
                SELECT updated, greatest(0, least(journal_bytes, \(StoredNumber.bytes.range.upperBound))) + \(journalBytes) AS bytes FROM session WHERE number = \(session) AND revision = \(from)
            """
        if let fromTime { sql += " AND updated = \(fromTime)" }
        if !hasTurn {
            let turn = ClusterCoordinator.turn(of: session)
            sql +=
                " AND CASE WHEN pg_try_advisory_lock_shared(\(turn)) THEN pg_advisory_unlock_shared(\(turn)) ELSE false END"
        }
        if let answer { sql += " AND NOT \(answer.isAnswered)" }
        if let binding { sql += " AND \(binding.isThere(orNewer: restoringVersion))" }
        sql += """
                FOR NO KEY UPDATE SKIP LOCKED
            ), oldest AS MATERIALIZED (
                SELECT revision, bytes FROM (
                    SELECT j.revision, j.bytes, was.bytes - sum(j.bytes) OVER (ORDER BY j.revision) + j.bytes AS remaining
                    FROM was, LATERAL (
                        SELECT revision, octet_length(command)::bigint + octet_length(changes) + coalesce(octet_length(cell_events), 0)
                               + coalesce(octet_length(hidden), 0) + octet_length(undo) AS bytes
                        FROM journal WHERE session = \(session) AND revision < \(to) AND (\(trimming.isDue ? 1 : 0) = 1 OR was.bytes > \(byteLimit))
                        ORDER BY revision LIMIT \(trimming.recordCount)
                    ) j
                ) j WHERE revision <= \(to - journalLimit) OR remaining > \(byteLimit)
            ), fence AS (
                UPDATE session SET revision = \(to), updated = \(at), next_key = \(nextKey), next_section = \(nextSection),
                    total_row_count = \(totalRowCount), journal_bytes = greatest(0, was.bytes - coalesce((SELECT sum(bytes) FROM oldest), 0))
            """
        if let binding { sql += ", table_version = \(binding.version)" }
        sql += """
             FROM was WHERE number = \(session) AND revision = \(from) RETURNING number
            ), trimmed AS (
                DELETE FROM journal j USING fence, oldest WHERE j.session = fence.number AND j.revision = oldest.revision
            ), journalled AS (
                INSERT INTO journal (session, revision, at, command, changes, cell_events, hidden, undo)
                SELECT number, \(to), \(at), \(command), \(update), \(controllerEvents), \(hidden), \(undo) FROM fence
            )
            """
        if publishes {
            sql += ", seen AS (DELETE FROM published p USING fence WHERE p.session = fence.number)"
        } else {
            sql += change.keepingPublished
        }
        sql += change.writing(binding)
        if let binding {
            sql += binding.keepingOpening
            if restoringVersion { sql += binding.restoring(at: at) }
        }
        if let answer { sql += answer.keeping(if: "fence") }
        let isAnswered = answer.map(\.isAnswered) ?? "false"
        let isThere = binding?.isThere(orNewer: restoringVersion) ?? "true"
        sql +=
            "SELECT EXISTS (SELECT FROM fence), EXISTS (SELECT FROM session WHERE number = \(session)), \(isAnswered), \(isThere)"
        return sql
    }

    static func outcome(_ rows: [Rows]) throws {
        guard let row = rows.first?.first else { throw StoreError.sessionMissing }
        if row.bool(0) { return }
        if row.bool(2) { throw StoreError.answered }
        if !row.bool(3) { throw StoreError.tableMissing }
        throw row.bool(1) ? StoreError.revisionConflict : StoreError.sessionMissing
    }
}

extension StoredBinding {
    /// An SQL condition: the bound version of the table description exists. With `orNewer`, it is enough that a newer
    /// version exists.
    fileprivate func isThere(orNewer: Bool) -> PostgresStatement {
        guard let version else { return "true" }
        return
            "EXISTS (SELECT FROM table_description WHERE name = \(name: table) AND version \(raw: orNewer ? ">=" : "=") \(version))"
    }

    /// The part of a commit's SQL statement that stores the table description with which the session was opened. This
    /// stored copy stays when the session is bound to another version.
    fileprivate var keepingOpening: PostgresStatement {
        """
        , kept_opening AS (
            UPDATE opening o SET description = t.description FROM fence, session s, table_description t
            WHERE o.session = fence.number AND o.description IS NULL AND s.number = fence.number
            AND t.name = s.table_name AND t.version = s.table_version
        )
        """
    }

    /// The part of a commit's SQL statement that stores a deleted version of the table description again.
    fileprivate func restoring(at: Int) -> PostgresStatement {
        """
        , restored AS (
            INSERT INTO table_description (name, version, updated, description)
            SELECT \(name: table), \(version), \(at), \(description) FROM fence ON CONFLICT DO NOTHING
        )
        """
    }
}

extension TableChange {
    /// The parts of a commit's SQL statement that write the changed rows and sections and the binding to a table
    /// description. They write only if the part `fence` has a row, that is, if the commit is not refused.
    fileprivate func writing(_ binding: StoredBinding?) -> PostgresStatement {
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
        if state != nil || displayedSections != nil || cells != nil || binding != nil {
            let displayed = displayedSections.flatMap { $0.isNull ? nil : $0 }
            sql += """
                , stated AS (
                    UPDATE state SET state = coalesce(\(state), state), cells = coalesce(\(cells), cells),
                        displayed_sections = CASE \(displayedSections == nil ? 0 : 1) WHEN 0 THEN displayed_sections ELSE \(displayed) END,
                        description = CASE \(binding == nil ? 0 : 1) WHEN 0 THEN description ELSE \(binding?.inlineDescription) END
                    FROM fence WHERE session = fence.number
                )
                """
        }
        return sql
    }

    /// The parts of an unpublished commit's SQL statement that copy the published version of the changed rows and
    /// sections, before the commit overwrites it. Clients continue to see the published version.
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

/// Returns the part (CTE) of an SQL statement that writes rows of a session. `source` is the name of another part of
/// the same statement, whose column `number` contains the session's number.
func rowsWritten(_ rows: [(section: Int, row: StoredRow)], of source: String) -> PostgresStatement {
    """
    , written_rows AS (
        INSERT INTO model (session, key, section, rank, id, body)
        SELECT number, r.* FROM \(raw: source), unnest(
            \(rows.map(\.row.key)), \(rows.map(\.section)), \(rows.map(\.row.rank)), \(names: rows.map(\.row.id?.text)), \(rows.map(\.row.model))) r
        ON CONFLICT (session, key) DO UPDATE SET section = excluded.section, rank = excluded.rank, id = excluded.id, body = excluded.body
    )
    """
}

func sectionsWritten(_ sections: [StoredSectionSummary], of source: String) -> PostgresStatement {
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
#endif
