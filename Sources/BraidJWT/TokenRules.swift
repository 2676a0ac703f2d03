#if JWT
import BraidEngine
import BraidRuntime
import BraidSessions

/// What claims must be, and what they give.
package struct TokenRules: Sendable {
    package var issuer: String?
    package var audience: String?
    /// Milliseconds.
    package var leeway = 30_000
    /// The claim with `{"role", "sessions", "tables", "claims"}`.
    package var claim = "braid"
    /// For tokens without that claim.
    package var roles: [RoleRule] = []

    package init() {}

    private static let mostNameCharacters = 128
    private static let mostClaimBytes = 4 << 10
    /// 9999-12-31: what `expires` can be written as.
    private static let latest = 253_402_300_799_000.0

    struct Granted {
        let grant: TokenGrant
        /// Milliseconds since 1970, with the leeway.
        let expires: Int
    }

    /// `now` in milliseconds since 1970.
    func granted(_ claims: JSONText, now: Int) throws(TokenRefusal) -> Granted {
        guard let expires = try Self.time("exp", of: claims) else { throw TokenRefusal("exp") }
        guard now < expires + leeway else { throw TokenRefusal("exp") }
        if let start = try Self.time("nbf", of: claims), now < start - leeway { throw TokenRefusal("nbf") }
        _ = try Self.time("iat", of: claims)
        if let issuer { guard claims["iss"]?.stringValue == issuer else { throw TokenRefusal("iss") } }
        try checkAudience(claims["aud"])
        guard let id = claims["sub"]?.stringValue, (1...Self.mostNameCharacters).contains(id.unicodeScalars.count)
        else {
            throw TokenRefusal("sub")
        }
        var grant = try grant(of: claims)
        grant.user.id = id
        grant.user.name = claims["name"]?.stringValue.map { String($0.unicodeScalars.prefix(Self.mostNameCharacters)) }
        return Granted(grant: grant, expires: expires + leeway)
    }

    private static func time(_ name: String, of claims: JSONText) throws(TokenRefusal) -> Int? {
        guard let claim = claims[name] else { return nil }
        guard let seconds = claim.doubleValue, seconds.isFinite else { throw TokenRefusal(name) }
        return Int(max(0, min(latest, seconds * 1000)))
    }

    /// A token for others is not for us, even if no audience is expected (RFC 7519, 4.1.3).
    private func checkAudience(_ claim: JSONText?) throws(TokenRefusal) {
        guard let claim else {
            if audience != nil { throw TokenRefusal("aud") }
            return
        }
        let names = claim.elements() ?? [claim]
        guard let audience, names.contains(where: { $0.stringValue == audience }),
            names.allSatisfy({ $0.kind == .string })
        else { throw TokenRefusal("aud") }
    }

    /// Without id and name of the user.
    private func grant(of claims: JSONText) throws(TokenRefusal) -> TokenGrant {
        guard let own = claims[claim] else {
            guard let role = roles.filter({ $0.matches(claims) }).map(\.role).max() else { throw TokenRefusal("role") }
            return TokenGrant(user: User(role: role))
        }
        // A misspelled restriction would give more than was meant.
        let known = ["role", "sessions", "tables", "claims"]
        guard let members = own.members(), members.allSatisfy({ known.contains($0.name) }),
            let role = own["role"]?.stringValue.flatMap(Role.init(rawValue:))
        else { throw TokenRefusal("role") }
        let readable = own["claims"] ?? .emptyObject
        guard readable.kind == .object, readable.count <= Self.mostClaimBytes else { throw TokenRefusal("role") }
        return TokenGrant(
            user: User(role: role, claims: readable.detached),
            scope: TokenScope(
                sessions: try names(own["sessions"], TokenScope.isSessionPattern),
                tables: try names(own["tables"], TableDescription.isName)))
    }

    private func names(_ list: JSONText?, _ isName: (String) -> Bool) throws(TokenRefusal) -> [String]? {
        guard let list else { return nil }
        guard let names = list.elements()?.map(\.stringValue), names.count <= TokenScope.mostNames else {
            throw TokenRefusal("role")
        }
        let valid = names.compactMap(\.self).filter(isName)
        guard valid.count == names.count else { throw TokenRefusal("role") }
        return valid
    }
}

/// `ROLE:CLAIM` or `ROLE:CLAIM=VALUE`: a claim that gives a role. The claim is a name, or a JSON Pointer to what is in
/// an object.
package struct RoleRule: Sendable {
    let role: Role
    private let claim: String
    /// `nil`: any.
    private let value: String?

    /// `nil` if it is no rule.
    package init?(_ text: String) {
        let parts = text.split(separator: ":", maxSplits: 1).map(String.init)
        guard parts.count == 2, let role = Role(rawValue: parts[0]) else { return nil }
        let sides = parts[1].split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false).map(String.init)
        guard let claim = sides.first, !claim.isEmpty, sides.last != "" else { return nil }
        guard !claim.hasPrefix("/") || JSONPointer(claim) != nil else { return nil }
        (self.role, self.claim, value) = (role, claim, sides.dropFirst().first)
    }

    func matches(_ claims: JSONText) -> Bool {
        let found = claim.hasPrefix("/") ? JSONPointer(claim).flatMap { claims[$0] } : claims[claim]
        guard let found else { return false }
        guard let value else { return true }
        if found.stringValue == value { return true }
        // `scope` is a list of words (RFC 8693, 4.2).
        if claim == "scope", let words = found.stringValue?.split(separator: " "), words.contains(value[...]) {
            return true
        }
        return found.elements()?.contains { $0.stringValue == value } ?? false
    }
}
#endif
