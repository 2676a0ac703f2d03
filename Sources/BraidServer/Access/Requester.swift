import BraidEngine
import BraidHTTP
import BraidSessions

/// Who asks: which role it has, and in which session.
struct Requester: Sendable {
    var role: Role
    /// The token that it brought; nil for a controller.
    var token: SessionToken?

    static let controller = Requester(role: .controller)

    /// Refuses what another role is needed for.
    func require(_ role: Role) throws {
        guard self.role < role else { return }
        throw ProblemError(
            .role,
            "This request needs a \(role.rawValue)'s token. The token that was sent is a \(self.role.rawValue)'s.",
            headers: [
                Bearer.challenge("insufficient_scope", "A \(role.rawValue)'s token is needed.", scope: role.rawValue)
            ])
    }

    /// Refuses any session but the token's own, as one that does not exist: without having looked, so that neither the
    /// answer nor its time tells whether it does.
    func require(session id: String) throws {
        if let token, token.sessionID != id { throw SessionError(noSession: id) }
    }

    /// The same, once the session is found: another one may have been opened under the id while the request waited.
    func require(sessionNumber number: Int, id: String) throws {
        if let token, token.session != number { throw SessionError(noSession: id) }
    }
}

/// Tokens as they come with a request: `Authorization: Bearer …`. Source: RFC 6750, 2.1 and 3.
package enum Bearer {
    /// The request's token; `nil` for a request without one.
    static func token(in head: HTTPRequestHead) throws -> PresentedToken? {
        let fields = head.headers.values("authorization")
        guard fields.count <= 1 else { throw Self.malformed("There are \(fields.count) Authorization fields.") }
        guard let field = fields.first, field.prefix(6).lowercased() == "bearer",
            field.utf8.count == 6 || field.utf8.dropFirst(6).first == UInt8.space
        else { return nil }  // another scheme is none that is known here
        let text = field.dropFirst(6).drop { $0 == " " }
        guard Self.isToken(text) else {
            throw Self.malformed("A bearer token is one word of visible ASCII characters.")
        }
        return PresentedToken(String(text))
    }

    package static func isToken(_ text: some StringProtocol) -> Bool {
        !text.isEmpty && text.utf8.allSatisfy(\.isVisible)
    }

    /// RFC 6750, 3: a scheme has one parameter at least, and an error only when there was a token.
    static func challenge(_ error: String? = nil, _ description: String = "", scope: String? = nil) -> (String, String)
    {
        var value = "Bearer realm=\"braid\""
        if let error { value += ", error=\"\(error)\", error_description=\"\(description)\"" }
        if let scope { value += ", scope=\"\(scope)\"" }
        return ("WWW-Authenticate", value)
    }

    static var missing: ProblemError {
        ProblemError(
            .unauthorized, "This request needs a token. Send it as `Authorization: Bearer <token>`.",
            headers: [challenge()])
    }

    static let invalidChallenge = challenge("invalid_token", "The token is unknown, expired or revoked.")

    private static func malformed(_ detail: String) -> ProblemError {
        ProblemError(.badRequest, detail, headers: [challenge("invalid_request", detail)])
    }
}
