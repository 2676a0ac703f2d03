#if PostgreSQL
import BraidStore

extension KeptAnswer {
    /// Whether the key has an answer that has not expired.
    var isAnswered: PostgresStatement {
        "EXISTS (SELECT FROM answer WHERE \(isOwn()) AND key = \(name: key) AND at > \(at - Self.lifetime))"
    }

    private func isOwn(_ table: String = "") -> PostgresStatement {
        "\(raw: table)session = \(session) AND \(raw: table)requester = \(name: requester)"
    }

    /// Stores this answer if the part `source` has a row, and deletes a few that have expired or exceed the quota,
    /// unless another server has locked them.
    ///
    /// If another server has stored an answer under the same key since the statement began, this sets the time to
    /// null and so fails. The writer repeats the statement, which then sees the other answer.
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

    static func outcome(_ rows: [PostgresRows]) throws {
        guard rows.first?.first?.bool(0) == true else { throw StoreError.answered }
    }
}

extension PostgresQueries {
    func answer(to key: String, by requester: String, of session: Int, now: Int) throws -> KeptAnswer? {
        let rows = try db.query(
            """
            SELECT at, request, answer FROM answer
            WHERE session = \(session) AND requester = \(name: requester) AND key = \(name: key) AND at > \(now - KeptAnswer.lifetime)
            """)
        return try rows.first.map { try KeptAnswer($0, key: key, requester: requester, session: session) }
    }
}
#endif
