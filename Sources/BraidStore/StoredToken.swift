import BraidEngine

/// Times are milliseconds since 1970.
package struct NewToken: Sendable, Equatable {
    /// Not secret; unique among all tokens.
    package var id: String
    /// `controller`, `participant` or `viewer`.
    package var role: String
    package var created: Int
    package var expires: Int
    /// Of the token's text, which is not stored.
    package var hash: String
    /// `{"user"?, "name"?, "claims"?, "sessions"?, "tables"?}`
    package var grants: JSONText?

    package init(id: String, role: String, created: Int, expires: Int, hash: String, grants: JSONText? = nil) {
        self.id = id
        self.role = role
        self.created = created
        self.expires = expires
        self.hash = hash
        self.grants = grants
    }
}

package struct StoredToken: Sendable, Equatable {
    package var token: NewToken
    /// A later session with the same id has another. 0 if the token is for no single one.
    package var session: Int
    /// Empty if the token is for no single session.
    package var sessionID: String
}
