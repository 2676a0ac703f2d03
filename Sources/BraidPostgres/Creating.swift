#if PostgreSQL
import BraidEngine
import BraidStore

extension NewSession {
    /// Returns the SQL statement that stores a new session. The row that the statement returns contains the session's
    /// number.
    ///
    /// If the session's number is null, the session was not stored, and the row's other columns say why. The id is
    /// taken, the version of the table description does not exist, or the client's idempotency key already has an
    /// answer.
    ///
    /// - Parameter restoringVersion: whether to restore the version of the table description that the session needs.
    ///   This version may have been deleted because a newer version exists and no session used it. Restoring waits for
    ///   registrations of other descriptions, so pass `true` only if the version is known to be deleted.
    func statement(restoringVersion: Bool = false) -> PostgresStatement {
        var sql: PostgresStatement = """
            WITH description AS MATERIALIZED (
                SELECT \(tableVersion) IS NULL OR EXISTS (
                    SELECT FROM table_description WHERE name = \(name: table) AND version \(raw: restoringVersion ? ">=" : "=") \(tableVersion)) AS is_there
            ), made AS (
                INSERT INTO session (id, table_name, table_version, epoch, revision, created, updated, next_key, next_section, total_row_count, unused_limit, used)
                SELECT \(name: id), \(name: table), \(tableVersion), \(name: epoch), 0, \(created), \(created), \(nextKey), \(nextSection), \(totalRowCount), \(unusedLimit), \(used)
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
        if restoringVersion {
            sql += """
                , restored AS (
                    INSERT INTO table_description (name, version, updated, description)
                    SELECT \(name: table), \(tableVersion), \(created), \(description) FROM made ON CONFLICT DO NOTHING
                )
                """
        }
        if !sections.isEmpty { sql += sectionsWritten(sections, of: "made") }
        if !rows.isEmpty { sql += rowsWritten(rows, of: "made") }
        if let answer { sql += answer.keeping(if: "made") }
        sql +=
            "SELECT (SELECT number FROM made), EXISTS (SELECT FROM session WHERE id = \(name: id)), (SELECT is_there FROM description)"
        if let answer { sql += ", \(answer.isAnswered)" }
        return sql
    }

    static func outcome(_ rows: [Rows]) throws -> Int {
        guard let row = rows.first?.first else { throw StoreError.sessionExists }
        if let number = try row.optionalNumber(0, .session, "number") { return number }
        if row.count > 3, row.bool(3) { throw StoreError.answered }
        // If the table description exists but no session was stored, the session's id is taken. The result row does not
        // show this if the session with the same id was created after the statement began.
        throw row.bool(1) || row.bool(2) ? StoreError.sessionExists : StoreError.tableMissing
    }
}

enum Ending {
    /// Returns the SQL statements that delete a session. The first statement waits for a commit of the session that is
    /// in progress. The second statement therefore deletes everything that this commit wrote.
    static func statements(of id: String, as facts: SessionSummary?, sender: String) -> [PostgresStatement] {
        let condition: PostgresStatement =
            if let facts { " AND number = \(facts.number) AND revision = \(facts.revision)" } else { "" }
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

extension KeptAnswer {
    /// An SQL condition: the idempotency key already has an answer to the same requester in this session, and this
    /// answer has not expired.
    var isAnswered: PostgresStatement {
        "EXISTS (SELECT FROM answer WHERE \(isOwn()) AND key = \(name: key) AND at > \(at - Self.lifetime))"
    }

    /// An SQL condition on a row of the table `answer`: the row has the same requester and the same session as this
    /// answer.
    private func isOwn(_ table: String = "") -> PostgresStatement {
        "\(raw: table)session = \(session) AND \(raw: table)requester = \(name: requester)"
    }

    /// Returns the parts of an SQL statement that store this answer, and that delete some old answers. They store the
    /// answer only if the part with the name `source` has a row.
    ///
    /// The deleted answers are those that exceed the requester's quota, and those that have expired. Each statement
    /// adds one answer and can delete a limited number, so that the number of answers falls and no commit waits for a
    /// long delete. Answers that another server has locked are skipped.
    ///
    /// The statement fails if another server has stored an answer under the same idempotency key since the statement
    /// began. It fails because it sets the time of the answer to null, which the column forbids. The writer then
    /// repeats the statement, and the repeated statement sees the other server's answer.
    func keeping(if source: String) -> PostgresStatement {
        """
        , costs AS MATERIALIZED (
            SELECT coalesce((SELECT cost_before + cost FROM answer WHERE \(isOwn()) AND \(raw: KeptAnswer.hasSoundCost) ORDER BY cost_before DESC LIMIT 1), 0) AS before
        ), answered AS (
            INSERT INTO answer (session, requester, key, at, request, answer, cost_before, cost)
            SELECT \(session), \(name: requester), \(name: key), \(at), \(request), \(answer), before, \(cost) FROM \(raw: source), costs
            ON CONFLICT (session, requester, key) DO UPDATE SET
                at = CASE WHEN answer.at <= \(at - KeptAnswer.lifetime) THEN excluded.at END, request = excluded.request, answer = excluded.answer,
                cost_before = excluded.cost_before, cost = excluded.cost
        ), evicted AS (
            DELETE FROM answer a USING (
                SELECT key FROM answer
                WHERE \(isOwn()) AND cost_before < (SELECT before FROM costs) + \(cost - KeptAnswer.quota) AND key <> \(name: key)
                ORDER BY cost_before LIMIT \(KeptAnswer.mostEvicted) FOR UPDATE SKIP LOCKED) old
            WHERE \(isOwn("a.")) AND a.key = old.key
        ), forgotten AS (
            DELETE FROM answer a USING (
                SELECT session, requester, key FROM answer WHERE at <= \(at - KeptAnswer.lifetime) ORDER BY at LIMIT 4 FOR UPDATE SKIP LOCKED) old
            WHERE a.session = old.session AND a.requester = old.requester AND a.key = old.key AND NOT (\(isOwn("a.")) AND a.key = \(name: key))
        )
        """
    }

    var statement: PostgresStatement {
        var sql: PostgresStatement = "WITH open AS MATERIALIZED (SELECT 1 WHERE NOT \(isAnswered))"
        sql += keeping(if: "open")
        sql += "SELECT EXISTS (SELECT FROM open)"
        return sql
    }

    static func outcome(_ rows: [Rows]) throws {
        guard rows.first?.first?.bool(0) == true else { throw StoreError.answered }
    }
}
#endif
