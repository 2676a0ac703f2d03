/// A token that is about to be stored. Times are in milliseconds since 1970.
public struct NewToken: Sendable, Equatable {
    /// Not secret, and unique among all tokens.
    public var id: String
    /// `participant` or `viewer`.
    public var role: String
    public var created: Int
    /// From then on, the server refuses the token.
    public var expires: Int
    /// Of the token's text, which is not stored.
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
    /// The session's number. A later session with the same id has another.
    public var session: Int
    /// The session's id.
    public var sessionID: String
}
