import BraidEngine

/// Which sessions and tables a token covers. A session must match both; one without a description matches no tables.
package struct TokenScope: Sendable, Equatable {
    /// Ids, or prefixes such as `team-*`. `nil`: all.
    package var sessions: [String]?
    /// Names. `nil`: all.
    package var tables: [String]?

    package init(sessions: [String]? = nil, tables: [String]? = nil) {
        self.sessions = sessions
        self.tables = tables
    }

    package static let all = TokenScope()

    package var isLimited: Bool { self != .all }

    package func covers(session id: String) -> Bool {
        sessions?.contains { Self.prefix($0).map { id.hasPrefix($0) } ?? ($0 == id) } ?? true
    }

    package func covers(table: String?) -> Bool {
        guard let tables else { return true }
        return table.map { tables.contains($0) } ?? false
    }

    /// `team-` of `team-*`; `nil` for an id.
    static func prefix(_ pattern: String) -> Substring? { pattern.hasSuffix("*") ? pattern.dropLast() : nil }

    /// The most of each.
    package static let mostNames = 32

    package static func isSessionPattern(_ text: String) -> Bool {
        // A prefix may be `.`, but not an id.
        TableDescription.isName(prefix(text).map { $0.isEmpty ? "" : "\($0)x" } ?? text)
    }
}

/// Whose a token is, and what it allows.
package struct TokenGrant: Sendable, Equatable {
    package var user: User
    package var scope = TokenScope.all

    package init(user: User, scope: TokenScope = .all) {
        self.user = user
        self.scope = scope
    }

    /// `nil` if it is damaged: a part that cannot be read must not widen what the token allows.
    init?(role: String, stored grants: JSONText?) {
        guard let role = Role(rawValue: role) else { return nil }
        user = User(role: role)
        guard let members = grants == nil ? [] : grants?.members() else { return nil }
        for (name, value) in members {
            switch name {
            case "user": user.id = value.stringValue
            case "name": user.name = value.stringValue
            case "claims" where value.kind == .object: user.claims = value.detached
            case "sessions": scope.sessions = Self.names(value)
            case "tables": scope.tables = Self.names(value)
            default: return nil
            }
        }
    }

    /// What is no name covers nothing.
    private static func names(_ list: JSONText) -> [String] { (list.elements() ?? []).compactMap(\.stringValue) }

    /// `{"user"?, "name"?, "claims"?, "sessions"?, "tables"?}`; `nil` if it would be empty.
    var stored: JSONText? {
        let text = JSONText.object { writeMembers(to: &$0) }
        return text == .emptyObject ? nil : text
    }

    private func writeMembers(to writer: inout JSONWriter) {
        writer.member("user", user.id)
        writer.member("name", user.name)
        if user.claims != .emptyObject { writer.member("claims", user.claims) }
        writer.member("sessions", scope.sessions)
        writer.member("tables", scope.tables)
    }
}
