extension SQLiteQueries {
    func create(_ token: NewToken, for sessionID: String?) throws {
        guard let session = try tokenSession(sessionID) else { throw StoreError.sessionMissing }
        try db.run(
            "INSERT INTO token (id, session, role, created, expires, hash, grants) VALUES (?, ?, ?, ?, ?, ?, ?)",
            token.id, session, token.role, token.created, token.expires, token.hash, token.grants)
        // Few expired ones, so that no commit takes long, but more than the one that is new.
        try db.run(
            "DELETE FROM token WHERE id IN (SELECT id FROM token WHERE expires <= ? ORDER BY expires LIMIT 4)",
            token.created)
    }

    func token(_ id: String) throws -> StoredToken? {
        try db.first(
            "SELECT \(StoredToken.columns) FROM \(StoredToken.tables) WHERE t.id = ? AND \(StoredToken.isOfASession)",
            id, value: { try StoredToken($0) })
    }

    func tokens(of sessionID: String?, after: String?, limit: Int, now: Int) throws -> [StoredToken]? {
        guard let session = try tokenSession(sessionID) else { return nil }
        return try db.rows(
            """
            SELECT \(StoredToken.columns) FROM \(StoredToken.tables)
            WHERE t.session = ? AND t.id > ? AND t.expires > ? AND \(StoredToken.isSound) ORDER BY t.id LIMIT ?
            """,
            session, after ?? "", now, max(0, limit)
        ) { try StoredToken($0) }
    }

    func deleteToken(_ id: String, of sessionID: String?) throws -> Bool {
        guard let session = try tokenSession(sessionID) else { return false }
        return try db.run("DELETE FROM token WHERE id = ? AND session = ?", id, session) > 0
    }

    /// 0 without a session; `nil` if it does not exist.
    private func tokenSession(_ id: String?) throws -> Int? {
        guard let id else { return 0 }
        return try number(of: id)
    }
}
