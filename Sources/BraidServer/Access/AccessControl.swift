import BraidEngine
import BraidHTTP
import BraidRuntime
import BraidSessions

/// Who may use a route. A test compares docs/http-api with the routes.
package enum Admission: Sendable, Equatable {
    /// Even without a token.
    case everyone
    case role(Role)
    /// The role must suffice for every command of a transaction.
    case commands

    /// The lowest role that may use the route at all.
    var leastRole: Role? {
        switch self {
        case .everyone: nil
        case .role(let role): role
        // A viewer may send no command, and is refused without a look into the transaction.
        case .commands: .participant
        }
    }
}

/// Authenticates requests by a controller token, or by a token for one session. Without a controller token, everyone is
/// a controller.
struct AccessControl: Sendable {
    let controllers: ControllerTokens
    let tokens: SessionTokens

    /// Identifies the sender of a request, as far as that is possible without the store. It must be asked about a token
    /// that is not cached, or whose cache may be outdated because several servers share the store.
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

    /// Throws if a requester may not use the route. The session is checked before the role, so that a token for another
    /// session does not tell whether the session exists.
    func check(_ requester: Requester, _ admission: Admission, session: String?) throws {
        if let session { try requester.require(session: session) }
        if let role = admission.leastRole { try requester.require(role) }
    }
}

extension Requester {
    init(_ token: SessionToken) { self.init(role: token.role, token: token) }
}
