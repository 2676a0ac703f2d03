/// Times are milliseconds since 1970.
public struct NewToken: Sendable, Equatable {
    /// Not secret; unique among all tokens.
    public var id: String
    /// `participant` or `viewer`.
    public var role: String
    public var created: Int
    public var expires: Int
    /// Of the text, which is not stored.
    public var hash: String

    public init(id: String, role: String, created: Int, expires: Int, hash: String) {
        self.id = id
        self.role = role
        self.created = created
        self.expires = expires
        self.hash = hash
    }
}

public struct StoredToken: Sendable, Equatable {
    public var token: NewToken
    /// A later session with the same id has another.
    public var session: Int
    public var sessionID: String
}
