/// A new token: the rights of its bearer, its lifetime, and the hash that identifies it. Times are in milliseconds
/// since 1970.
public struct NewToken: Sendable, Equatable {
    /// The token's public id, which is unique among all tokens.
    public var id: String
    /// The name of the role that the token grants.
    public var role: String
    /// The time of creation.
    public var created: Int
    /// The time from which the token is not accepted any more.
    public var expires: Int
    /// The hash of the secret token. The token itself is not stored.
    public var hash: String

    public init(id: String, role: String, created: Int, expires: Int, hash: String) {
        self.id = id
        self.role = role
        self.created = created
        self.expires = expires
        self.hash = hash
    }
}

/// A token with the session to which it gives access.
public struct StoredToken: Sendable, Equatable {
    public var token: NewToken
    /// The session's number. A later session with the same id has another number.
    public var session: Int
    /// The session's id.
    public var sessionID: String

    public init(token: NewToken, session: Int, sessionID: String) {
        self.token = token
        self.session = session
        self.sessionID = sessionID
    }
}
