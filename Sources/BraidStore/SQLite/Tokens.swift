internal import GRDB

// Tokens for one session each.
extension Database {
    func create(_ token: NewToken, for sessionID: String) throws {
        guard let session = try number(of: sessionID) else { throw StoreError.sessionMissing }
        try run(
            "INSERT INTO token (id, session, role, created, expires, hash) VALUES (?, ?, ?, ?, ?, ?)",
            token.id, session, token.role, token.created, token.expires, token.hash)
        // A few at a time, as with answers: more go than come.
        try run("DELETE FROM token WHERE id IN (SELECT id FROM token WHERE expires <= ? ORDER BY expires LIMIT 4)", token.created)
    }

    func token(_ id: String) throws -> StoredToken? {
        try first("SELECT \(Self.tokenColumns) FROM token t JOIN session s ON s.number = t.session WHERE t.id = ?", id, value: Self.token)
    }

    func tokens(of sessionID: String, after: String?, limit: Int, now: Int) throws -> [StoredToken]? {
        guard let session = try number(of: sessionID) else { return nil }
        var tokens: [StoredToken] = []
        try query(
            """
            SELECT \(Self.tokenColumns) FROM token t JOIN session s ON s.number = t.session
            WHERE t.session = ? AND t.id > ? AND t.expires > ? ORDER BY t.id LIMIT ?
            """,
            session, after ?? "", now, max(0, limit)
        ) { tokens.append(Self.token($0)) }
        return tokens
    }

    func deleteToken(_ id: String, of sessionID: String) throws -> Bool {
        try run("DELETE FROM token WHERE id = ? AND session = (SELECT number FROM session WHERE id = ?)", id, sessionID) > 0
    }

    private static var tokenColumns: String { "t.id, t.role, t.created, t.expires, t.hash, t.session, s.id" }

    private static func token(_ columns: Columns) -> StoredToken {
        StoredToken(
            token: NewToken(
                id: columns.text(0), role: columns.text(1), created: columns.int(2), expires: columns.int(3), hash: columns.text(4)),
            session: columns.int(5), sessionID: columns.text(6))
    }
}
