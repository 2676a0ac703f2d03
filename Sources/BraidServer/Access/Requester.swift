import BraidEngine
import BraidHTTP
import BraidRuntime
import BraidSessions

package struct Requester: Sendable {
    /// For whom it sends commands.
    package var user: User
    /// What it may use.
    package var scope = TokenScope.all
    /// `nil` for a controller with the server's token, or none.
    package var token: AccessToken?
    /// Of the server's token, if any.
    var controllerToken: SHA256Digest?
    /// Of the only session that it may use, if it is known: another may be opened with the same id.
    var sessionNumber: Int?
    /// What it was sent with, in place of a token.
    private(set) var ticket: Ticket?

    package var role: Role { user.role }

    static let controller = Requester(role: .controller)

    package init(role: Role, controllerToken: SHA256Digest? = nil) {
        user = User(role: role)
        self.controllerToken = controllerToken
    }

    init(_ token: AccessToken) {
        user = token.grant.user
        scope = token.grant.scope
        self.token = token
        if token.session != 0 { sessionNumber = token.session }
    }

    init(_ ticket: Ticket) {
        user = ticket.token?.grant.user ?? .controller
        token = ticket.token
        if token == nil { controllerToken = ticket.signer }
        // Its tables have been checked, and a session's number stays with its table.
        sessionNumber = ticket.session
        self.ticket = ticket
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
    /// the session exists. `requireTable(ofSession:in:)` checks the rest.
    func require(session id: String) throws {
        let isCovered: Bool
        if let ticket {
            isCovered = ticket.sessionID == id
        } else if let token, token.session != 0 {
            isCovered = token.sessionID == id
        } else {
            isCovered = scope.covers(session: id)
        }
        if !isCovered { throw SessionError(noSession: id, isCovered: false) }
    }

    /// Throws `noSession` if the token is for certain tables, and the session not of one of them.
    mutating func requireTable(ofSession id: String, in sessions: SessionHost) async throws {
        guard scope.tables != nil else { return }
        guard let summary = try await sessions.summary(id), scope.covers(table: summary.table) else {
            throw SessionError(noSession: id, isCovered: false)
        }
        sessionNumber = summary.number
    }

    /// Throws `tableNotFound`.
    func require(table name: String) throws {
        guard scope.covers(table: name) else { throw ProblemError(noTable: name) }
    }

    /// For what concerns the whole server.
    func requireWholeScope() throws {
        if scope.isLimited { throw Self.notCovered("This request concerns all sessions and tables.") }
    }

    /// For the tables themselves: limits of sessions alone say nothing about them.
    func requireTables() throws {
        if scope.sessions != nil, scope.tables == nil {
            throw Self.notCovered("Its `tables` must name those that it may change.")
        }
    }

    /// For a new session. A fork's origin then must keep its number.
    func require(opening: inout SessionOpening, in sessions: SessionHost) async throws {
        guard scope.isLimited else { return }
        guard opening.id.map(scope.covers(session:)) ?? (scope.sessions == nil) else {
            throw Self.notCovered("Open the session with an `id` that the token covers.")
        }
        var table: String?
        switch (opening.table, opening.from) {
        case (.named(let name)?, _):
            guard scope.covers(table: name) else { throw ProblemError(noTable: name) }
            table = name
        case (.inline(let text)?, _): table = text["table"]?.stringValue
        case (nil, let origin?):
            try require(session: origin.session)
            var other = self
            try await other.requireTable(ofSession: origin.session, in: sessions)
            opening.from?.number = other.sessionNumber
            return
        case (nil, nil): break
        }
        guard scope.covers(table: table) else {
            throw Self.notCovered("Open the session with a `table` that the token covers.")
        }
    }

    private static func notCovered(_ detail: String) -> ProblemError {
        ProblemError(
            .scope, "The token is limited to certain sessions or tables. \(detail)",
            headers: [Bearer.challenge("insufficient_scope", "The token does not cover this.")])
    }

    /// Another session may have been opened with this id while the request waited; numbers are never used again.
    func require(sessionNumber number: Int, id: String) throws {
        if let sessionNumber, sessionNumber != number { throw SessionError(noSession: id, isCovered: false) }
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
