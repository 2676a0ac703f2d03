import BraidEngine
import BraidHTTP
import BraidRuntime
import BraidSessions

/// A test compares docs/http-api with the routes.
package enum Admission: Sendable, Equatable {
    /// Even without a token.
    case everyone
    case role(Role)
    /// Enough for every command of a transaction.
    case commands

    /// To use the route at all.
    var leastRole: Role? {
        switch self {
        case .everyone: nil
        case .role(let role): role
        // A viewer may send no command, so need not look into the transaction.
        case .commands: .participant
        }
    }
}

/// By a controller token or one for a session. Without a controller token, everyone is a controller.
struct AccessControl: Sendable {
    let controllers: ControllerTokens
    let tokens: SessionTokens

    /// The sender, as far as known without the store, which must be asked about a token that is not cached or, with
    /// several servers on the store, whose cache may be outdated.
    func verdict(on head: HTTPRequestHead, for admission: Admission) -> Exchange.Verdict {
        guard !controllers.isEmpty, admission != .everyone else { return .admitted(.controller) }
        do {
            guard let token = try Bearer.token(in: head) else { throw Bearer.missing }
            if controllers.contains(token.digest) {
                return .admitted(Requester(role: .controller, controllerToken: token.digest))
            }
            return try tokens.known(token).map { .admitted(Requester($0)) } ?? .claimed(token)
        } catch {
            return .refused(error)
        }
    }

    func requester(_ token: PresentedToken) async throws -> Requester { Requester(try await tokens.find(token)) }

    func refusal(of head: HTTPRequestHead) -> ProblemError? {
        guard case .refused(let error, _) = verdict(on: head, for: .role(.viewer)) else { return nil }
        return ProblemError(error)
    }

    /// The session first, then the role: a token for another session must not tell whether the session exists.
    func check(_ requester: Requester, _ admission: Admission, session: String?) throws {
        if let session { try requester.require(session: session) }
        if let role = admission.leastRole { try requester.require(role) }
    }
}

extension Requester {
    init(_ token: SessionToken) { self.init(role: token.role, token: token) }
}
