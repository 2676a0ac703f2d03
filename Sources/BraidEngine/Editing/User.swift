/// Who sends a command.
public struct User: Sendable, Hashable {
    /// `nil` for a token without a user.
    public var id: String?
    /// For people.
    public var name: String?
    /// What the user may do.
    public var role: Role
    /// An object.
    public var claims: JSONText

    /// Without claims by default.
    public init(id: String? = nil, name: String? = nil, role: Role, claims: JSONText = .emptyObject) {
        self.id = id
        self.name = name
        self.role = role
        self.claims = claims
    }

    /// Without a user.
    public static let controller = User(role: .controller)
}
