import BraidEngine
import BraidHTTP
import BraidSessions

extension Looker {
    /// Of routes that show a table: `view`, and `as` for controllers.
    static let parameters: Set = ["view", "as"]
    private static let mostBytes = 4_096

    /// The requester, with their `view`, or whom a controller wants to look as.
    init(_ context: Exchange) throws {
        self.init(context.requester.user)
        // As in most requests: do not search for each parameter.
        guard !context.head.query.isEmpty else { return }
        view = try context.json(inParameter: "view", atMost: Self.mostBytes)
        guard let other = try context.json(inParameter: "as", atMost: Self.mostBytes) else { return }
        try context.requester.require(.controller)
        user = try User(shownAs: other)
    }

    /// With the view in `from`, if there is one.
    init?(inFrom context: Exchange) throws {
        guard let text = try context.members(inParameter: "from")?.last(where: { $0.name == "view" })?.value else {
            return nil
        }
        try self.init(context)
        view = try context.json(text, of: "from", atMost: Self.mostBytes)
    }
}

extension User {
    /// `{"id"?, "name"?, "role"?, "claims"?}`: as in a token, by default a participant.
    fileprivate init(shownAs json: JSONText) throws {
        let object = try json.object(of: ["id", "name", "role", "claims"])
        func string(_ name: String) throws -> String? {
            guard let value = object[name], !value.isNull else { return nil }
            guard let text = value.stringValue else {
                throw Refusal.member(name, .wrongType, "must be a string")
            }
            return text
        }
        var role = Role.participant
        if let name = try string("role") {
            guard let named = Role(rawValue: name) else {
                throw Refusal.member("role", .invalidValue, "must be \"viewer\", \"participant\" or \"controller\"")
            }
            role = named
        }
        let claims = object["claims"] ?? .emptyObject
        guard claims.kind == .object else { throw Refusal.member("claims", .wrongType, "must be an object") }
        self.init(id: try string("id"), name: try string("name"), role: role, claims: claims.detached)
    }
}

extension Exchange {
    /// `nil` without the parameter. Throws `badRequest`.
    fileprivate func json(inParameter name: String, atMost bytes: Int) throws -> JSONText? {
        try query(name).map { try json($0, of: name, atMost: bytes) }
    }

    fileprivate func json(_ text: String, of name: String, atMost bytes: Int) throws -> JSONText {
        guard text.utf8.count <= bytes else {
            throw ProblemError(.badRequest, "The query parameter `\(name)` has more than \(bytes) bytes.")
        }
        do {
            return try JSONText(parsing: text, depthLimit: limits.jsonDepth)
        } catch {
            throw ProblemError(
                .badRequest,
                "The query parameter `\(name)` must be JSON, percent-encoded: column \(error.column): \(error.message)."
            )
        }
    }

    /// From one parameter that contains others, percent-encoded.
    func members(inParameter name: String) throws -> [(name: String, value: String)]? {
        guard let text = query(name) else { return nil }
        let form =
            "`\(name)` must contain the parameters of a window or a `view`, percent-encoded as one value, such as \(name)=offset%3D0%26limit%3D50."
        guard let members = try? HTTPTarget.query(ArraySlice(text.utf8)), !members.isEmpty else {
            throw ProblemError(.badRequest, form)
        }
        if let other = members.first(where: { $0.name != "view" && !WindowQuery.parameters.contains($0.name) }) {
            throw ProblemError(.badRequest, "\(form) It has no parameter `\(other.name)`.")
        }
        return members.map { ($0.name, $0.value) }
    }

    /// Calls `body` with what the requester sees of the path's session.
    func withTable<Value>(
        _ sessions: SessionHost, seenBy looker: Looker? = nil, _ body: (DisplayedTable) async throws -> Value
    ) async throws -> Value {
        let looker = try looker ?? Looker(self)
        return try await withSession(sessions) { session in
            try await body(session.displayed(to: looker, for: account))
        }
    }
}
