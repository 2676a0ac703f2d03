/// Who sends a command.
public struct User: Sendable, Equatable {
    /// `nil` for a token without a user.
    public var id: String?
    /// To be shown to others.
    public var name: String?
    /// What the token allows.
    public var role: Role
    /// A JSON object.
    public var claims: JSONText

    /// A user with a token's role.
    public init(id: String? = nil, name: String? = nil, role: Role, claims: JSONText = .emptyObject) {
        self.id = id
        self.name = name
        self.role = role
        self.claims = claims
    }

    /// One without a user.
    public static let controller = User(role: .controller)

    /// `{"id", "name", "role", "claims"}`, as expressions read it: `id` and `name` can be null.
    public var json: JSONText { self == .controller ? Self.controllerJSON : json(claims: claims) }

    private static let controllerJSON = User.controller.json(claims: .emptyObject)

    /// A journal record's `by`: as `json`, without empty claims. `nil` for a plain controller.
    public var by: JSONText? {
        self == .controller ? nil : json(claims: claims == .emptyObject ? nil : claims)
    }

    /// `{"id", "name", "role"}`, for controllers. `nil` for a plain one.
    public var author: JSONText? { self == .controller ? nil : json(claims: nil) }

    /// `{"id", "name"}`, as an update's ``BatchUpdate/by``. `nil` without an id.
    var shown: JSONText? { id == nil ? nil : json(claims: nil, role: nil) }

    private func json(claims: JSONText?) -> JSONText { json(claims: claims, role: role) }

    private func json(claims: JSONText?, role: Role?) -> JSONText {
        .object(capacity: 96 + (claims?.count ?? 0)) {
            $0.member("id", id.map { .string($0) } ?? JSONText.null)
            $0.member("name", name.map { .string($0) } ?? JSONText.null)
            $0.member("role", role?.rawValue)
            $0.member("claims", claims)
        }
    }

    /// From a journal record's `by`; `nil` if it is none.
    public init?(by: JSONText?) {
        guard let by else {
            self = .controller
            return
        }
        guard let role = by["role"]?.stringValue.flatMap(Role.init) else { return nil }
        let claims = by["claims"] ?? .emptyObject
        guard claims.kind == .object else { return nil }
        self.init(id: by["id"]?.stringValue, name: by["name"]?.stringValue, role: role, claims: claims.detached)
    }
}
