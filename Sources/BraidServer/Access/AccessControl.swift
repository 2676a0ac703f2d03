import BraidEngine
import BraidHTTP
import BraidRuntime
import BraidSessions

/// Who may use a route. A test compares docs/http-api with the routes.
enum Admission: Sendable, Equatable {
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

    /// What is known about a requester without waiting for the store.
    enum Claim: Sendable {
        case known(Requester)
        /// The token is not cached, or the cache may be outdated because servers can share the store.
        case unknown(PresentedToken)
    }

    /// Throws `unauthorized` without a token, `badRequest` if `Authorization` is malformed, and `invalidToken` if the
    /// token is malformed, or cached and expired or with a wrong secret.
    func claim(_ head: HTTPRequestHead, for admission: Admission) throws -> Claim {
        guard !controllers.isEmpty, admission != .everyone else { return .known(.controller) }
        guard let token = try Bearer.token(in: head) else { throw Bearer.missing }
        if controllers.contains(token.digest) {
            return .known(Requester(role: .controller, controllerToken: token.digest))
        }
        return try tokens.known(token).map { .known(Requester($0)) } ?? .unknown(token)
    }

    /// Reads a token that is not cached from the store. Throws `invalidToken` if it is unknown, expired or revoked.
    func requester(_ claim: Claim) async throws -> Requester {
        switch claim {
        case .known(let requester): requester
        case .unknown(let token): Requester(try await tokens.find(token))
        }
    }

    /// `nil` if the token is valid or not needed, or if only the store can tell.
    func refusal(of head: HTTPRequestHead) -> ProblemError? {
        do {
            _ = try claim(head, for: .role(.viewer))
            return nil
        } catch {
            return ProblemError(error)
        }
    }

    /// Checks the session before the role: a requester with a token for another session does not learn whether it
    /// exists.
    func check(_ requester: Requester, _ admission: Admission, session: String?) throws {
        if let session { try requester.require(session: session) }
        if let role = admission.leastRole { try requester.require(role) }
    }
}

extension Requester {
    init(_ token: SessionToken) { self.init(role: token.role, token: token) }
}
