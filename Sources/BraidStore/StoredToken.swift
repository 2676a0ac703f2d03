/// A token to be stored: what its bearer may do, for how long, and how to know it again. Times are milliseconds since
/// 1970.
public struct NewToken: Sendable, Equatable {
    /// Not secret; unique among all tokens.
    public var id: String
    public var role: String
    public var created: Int
    public var expires: Int
    /// Of the token itself, which is not kept.
    public var hash: String

    public init(id: String, role: String, created: Int, expires: Int, hash: String) {
        self.id = id
        self.role = role
        self.created = created
        self.expires = expires
        self.hash = hash
    }
}

/// A token, and the one session that it is for.
public struct StoredToken: Sendable, Equatable {
    public var token: NewToken
    /// The session's number, which no later session under the same id has.
    public var session: Int
    public var sessionID: String

    public init(token: NewToken, session: Int, sessionID: String) {
        self.token = token
        self.session = session
        self.sessionID = sessionID
    }
}
