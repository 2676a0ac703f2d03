import BraidEngine
import BraidHTTP
import BraidRuntime
import BraidSessions

package struct Requester: Sendable {
    /// For whom it sends commands.
    package var user: User
    /// `nil` for a controller with the server's token, or none.
    package var token: SessionToken?
    /// Of the server's token, if any.
    var controllerToken: SHA256Digest?

    package var role: Role { user.role }

    static let controller = Requester(role: .controller)

    package init(role: Role, token: SessionToken? = nil, controllerToken: SHA256Digest? = nil) {
        user = User(role: role)
        self.token = token
        self.controllerToken = controllerToken
    }

    func require(_ role: Role) throws {
        guard self.role < role else { return }
        throw ProblemError(
            .role,
            "This request needs a \(role.rawValue)'s token. The token that was sent is a \(self.role.rawValue)'s.",
            headers: [
                Bearer.challenge("insufficient_scope", "A \(role.rawValue)'s token is needed.", scope: role.rawValue)
            ])
    }

    /// Throws `noSession` for another session's token. Does not read the store: neither answer nor time tells whether
    /// the session exists.
    func require(session id: String) throws {
        if let token, token.sessionID != id { throw SessionError(noSession: id) }
    }

    /// Another session may have been opened with this id while the request waited; numbers are never used again.
    func require(sessionNumber number: Int, id: String) throws {
        if let token, token.session != number { throw SessionError(noSession: id) }
    }
}

/// RFC 6750: tokens in requests (2.1), challenges in answers (3).
package enum Bearer {
    /// Throws `badRequest` if malformed.
    static func token(in head: HTTPRequestHead) throws -> PresentedToken? {
        let fields = head.headers.values("authorization")
        guard fields.count <= 1 else { throw Self.malformed("There are \(fields.count) Authorization fields.") }
        guard let field = fields.first, field.prefix(6).lowercased() == "bearer",
            field.utf8.count == 6 || field.utf8.dropFirst(6).first == UInt8.space
        else { return nil }  // An unknown authentication scheme counts as no token.
        let text = field.dropFirst(6).drop { $0 == " " }
        guard Self.isToken(text) else {
            throw Self.malformed("A bearer token is one word of visible ASCII characters.")
        }
        return PresentedToken(String(text))
    }

    /// Visible ASCII.
    package static func isToken(_ text: some StringProtocol) -> Bool {
        !text.isEmpty && text.utf8.allSatisfy(\.isVisible)
    }

    /// RFC 6750, 3: at least one parameter, here the realm; `error` only if there was an `Authorization` field.
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

    package static let invalidChallenge = challenge("invalid_token", "The token is unknown, expired or revoked.")

    private static func malformed(_ detail: String) -> ProblemError {
        ProblemError(.badRequest, detail, headers: [challenge("invalid_request", detail)])
    }
}
