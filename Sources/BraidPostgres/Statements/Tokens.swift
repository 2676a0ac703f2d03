#if PostgreSQL
import BraidStore

extension NewToken {
    /// Returns whether the session exists. Also deletes a few expired tokens.
    func statement(for sessionID: String) -> PostgresStatement {
        """
        WITH made AS (
            INSERT INTO token (id, session, role, created, expires, hash)
            SELECT \(name: id), number, \(role), \(created), \(expires), \(hash) FROM session WHERE id = \(name: sessionID) RETURNING 1
        ), forgotten AS (
            DELETE FROM token t USING (
                SELECT id FROM token WHERE expires <= \(created) ORDER BY expires LIMIT 4 FOR UPDATE SKIP LOCKED) old
            WHERE t.id = old.id
        )
        SELECT EXISTS (SELECT FROM made)
        """
    }

    /// Returns a row if the token existed, and notifies the other servers.
    static func deletion(_ id: String, of sessionID: String, sender: String) -> PostgresStatement {
        """
        WITH gone AS (
            DELETE FROM token WHERE id = \(name: id) AND session = (SELECT number FROM session WHERE id = \(name: sessionID)) RETURNING 1
        )
        SELECT pg_notify(\(raw: StoreNotice.channel), \(sender + " " + StoreNotice.revokedLetter + id)) FROM gone
        """
    }
}

extension PostgresQueries {
    func token(_ id: String) throws -> StoredToken? {
        try db.query(
            "SELECT \(raw: StoredToken.columns) FROM token t JOIN session s ON s.number = t.session WHERE t.id = \(name: id)"
        )
        .first.map { try StoredToken($0) }
    }

    func tokens(of sessionID: String, after: String?, limit: Int, now: Int) throws -> [StoredToken]? {
        let rows = try db.all([
            "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY",
            "SELECT 1 FROM session WHERE id = \(name: sessionID)",
            """
            SELECT \(raw: StoredToken.columns) FROM token t JOIN session s ON s.number = t.session
            WHERE s.id = \(name: sessionID) AND t.id > \(name: after ?? "") AND t.expires > \(now) AND \(raw: StoredToken.isSound) ORDER BY t.id LIMIT \(max(0, limit))
            """,
            "COMMIT",
        ])
        return rows[1].count == 0 ? nil : try rows[2].map { try StoredToken($0) }
    }
}
#endif
