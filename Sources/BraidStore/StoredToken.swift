/// Times are milliseconds since 1970.
package struct NewToken: Sendable, Equatable {
    /// Not secret; unique among all tokens.
    package var id: String
    /// `participant` or `viewer`.
    package var role: String
    package var created: Int
    package var expires: Int
    /// Of the token's text, which is not stored.
    package var hash: String

    package init(id: String, role: String, created: Int, expires: Int, hash: String) {
        self.id = id
        self.role = role
        self.created = created
        self.expires = expires
        self.hash = hash
    }
}

package struct StoredToken: Sendable, Equatable {
    package var token: NewToken
    /// A later session with the same id has another.
    package var session: Int
    package var sessionID: String
}
