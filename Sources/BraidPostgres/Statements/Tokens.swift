#if PostgreSQL
import BraidStore

extension NewToken {
    /// Returns whether the session exists. Also deletes a few expired tokens.
    func statement(for sessionID: String?) -> PostgresStatement {
        let session: PostgresStatement =
            sessionID.map { "SELECT number FROM session WHERE id = \(name: $0)" } ?? "SELECT 0::bigint AS number"
        return """
            WITH made AS (
                INSERT INTO token (id, session, role, created, expires, hash, grants)
                SELECT \(name: id), number, \(role), \(created), \(expires), \(hash), \(grants) FROM (\(session)) s RETURNING 1
            ), forgotten AS (
                DELETE FROM token t USING (
                    SELECT id FROM token WHERE expires <= \(created) ORDER BY expires LIMIT 4 FOR UPDATE SKIP LOCKED) old
                WHERE t.id = old.id
            )
            SELECT EXISTS (SELECT FROM made)
            """
    }

    /// Returns a row if the token existed, and notifies the other servers.
    static func deletion(_ id: String, of sessionID: String?, sender: String) -> PostgresStatement {
        let session: PostgresStatement =
            sessionID.map { "(SELECT number FROM session WHERE id = \(name: $0))" } ?? "0"
        return """
            WITH gone AS (
                DELETE FROM token WHERE id = \(name: id) AND session = \(session) RETURNING 1
            )
            SELECT pg_notify(\(raw: StoreNotice.channel), \(sender + " " + StoreNotice.revokedLetter + id)) FROM gone
            """
    }
}

extension PostgresQueries {
    func token(_ id: String) throws -> StoredToken? {
        try db.query(
            "SELECT \(raw: StoredToken.columns) FROM \(raw: StoredToken.tables) WHERE t.id = \(name: id) AND \(raw: StoredToken.isOfASession)"
        )
        .first.map { try StoredToken($0) }
    }

    func ticketSecret() throws -> String? {
        try db.query("SELECT ticket_secret FROM braid_server").first?.optionalText(0)
    }

    func tokens(of sessionID: String?, after: String?, limit: Int, now: Int) throws -> [StoredToken]? {
        let condition: PostgresStatement = sessionID.map { "s.id = \(name: $0)" } ?? "t.session = 0"
        let session: PostgresStatement = sessionID.map { "SELECT 1 FROM session WHERE id = \(name: $0)" } ?? "SELECT 1"
        let rows = try db.all([
            "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY",
            session,
            """
            SELECT \(raw: StoredToken.columns) FROM \(raw: StoredToken.tables)
            WHERE \(condition) AND t.id > \(name: after ?? "") AND t.expires > \(now) AND \(raw: StoredToken.isSound) ORDER BY t.id LIMIT \(max(0, limit))
            """,
            "COMMIT",
        ])
        return rows[1].count == 0 ? nil : try rows[2].map { try StoredToken($0) }
    }
}
#endif
