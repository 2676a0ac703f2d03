import BraidEngine
import BraidHTTP
import BraidRuntime
import BraidSessions
import BraidStore

/// Who may use a route.
package enum Admission: Sendable, Equatable {
    /// Even without a token.
    case everyone
    case role(Role)
    /// The highest role that a command of the transaction needs.
    case commands

    /// Needed to use the route at all.
    var leastRole: Role? {
        switch self {
        case .everyone: nil
        case .role(let role): role
        // A viewer may send no command, so is refused before the body is read.
        case .commands: .participant
        }
    }
}

/// Admits requests by the server's token, one of the store, a signed one or a ticket. Where neither the server's nor
/// signed ones are accepted, everyone is a controller.
struct AccessControl: Sendable {
    let controllers: ControllerTokens
    let tokens: AccessTokens

    /// On the event loop, so without the store and without checking signatures: a token that is not cached, or any if
    /// servers share the store, is only `claimed`, and so is each ticket.
    func verdict(
        on head: HTTPRequestHead, for admission: Admission, takesTicket: Bool = false
    ) -> Exchange.Verdict {
        let isOpen = controllers.isEmpty && !tokens.acceptsSigned
        guard !isOpen, admission != .everyone else { return .admitted(.controller) }
        do {
            guard let token = try Bearer.token(in: head) else {
                guard takesTicket, let ticket = head.query.first(where: { $0.name == Route.ticket }) else {
                    throw Bearer.missing
                }
                return .claimed(PresentedToken(ticket.value, isTicket: true))
            }
            if controllers.contains(token.digest) {
                return .admitted(Requester(role: .controller, controllerToken: token.digest))
            }
            return try tokens.known(token).map { .admitted(Requester($0)) } ?? .claimed(token)
        } catch {
            return .refused(error)
        }
    }

    func requester(_ token: PresentedToken) async throws -> Requester {
        guard token.isTicket else { return Requester(try await tokens.find(token)) }
        return Requester(try await tokens.ticket(token, signers: controllers.signers))
    }

    /// For a session that the requester may read.
    func makeTicket(
        for session: SessionSummary, by requester: Requester
    ) async throws -> (text: String, expires: Int) {
        try await tokens.makeTicket(
            for: session.number, id: session.id, with: requester.token,
            signer: requester.controllerToken ?? controllers.signers.first ?? nil)
    }

    /// For a token that is missing, malformed or known to be wrong.
    func refusal(of head: HTTPRequestHead) -> ProblemError? {
        guard case .refused(let error, _) = verdict(on: head, for: .role(.viewer)) else { return nil }
        return ProblemError(error)
    }

    /// The session first, then the role: a token for another session must not tell whether the session exists.
    func check(_ requester: Requester, _ route: Route, _ path: [String]) throws {
        if route.isOfSession { try requester.require(session: route.parameter("id", of: path) ?? "") }
        if let table = route.parameter("table", of: path) { try requester.require(table: table) }
        if let role = route.admission.leastRole { try requester.require(role) }
        if !route.servesLimitedTokens { try requester.requireWholeScope() }
        if route.changesTables { try requester.requireTables() }
    }
}
