/// A token that is about to be stored: its role, its lifetime, and the hash of its text. Times are in milliseconds
/// since 1970.
public struct NewToken: Sendable, Equatable {
    /// The token's id, which is not secret and is unique among all tokens.
    public var id: String
    /// The name of the role that the token grants: `participant` or `viewer`.
    public var role: String
    /// The time at which the token was created.
    public var created: Int
    /// The time at which the token expires. From this time on, the server refuses the token.
    public var expires: Int
    /// The hash with which the server recognizes the token in a request. The token's text itself is not stored.
    public var hash: String

    public init(id: String, role: String, created: Int, expires: Int, hash: String) {
        self.id = id
        self.role = role
        self.created = created
        self.expires = expires
        self.hash = hash
    }
}

/// A stored token, together with the one session to which it gives access.
public struct StoredToken: Sendable, Equatable {
    public var token: NewToken
    /// The number of the session to which the token gives access. A session that is opened later with the same id has
    /// another number.
    public var session: Int
    /// The id of the session to which the token gives access.
    public var sessionID: String

    public init(token: NewToken, session: Int, sessionID: String) {
        self.token = token
        self.session = session
        self.sessionID = sessionID
    }
}
