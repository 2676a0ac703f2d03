import BraidEngine
import BraidHTTP
import BraidRuntime
import BraidSessions

/// Authentication of requests: by a controller token, or by a token for one session. If the server has no controller
/// token, everyone is a controller.
struct AccessControl: Sendable {
    let controllers: ControllerTokens
    let tokens: SessionTokens

    /// What the server knows about the sender of a request without waiting for the store.
    enum Claim: Sendable {
        case known(Requester)
        /// The server must read the request's token from the store. The token is not cached, or the cache may be
        /// outdated because several servers can share the store.
        case unknown(PresentedToken)
    }

    /// Returns the sender of a request, if the server knows it without reading the store. A route for everyone, or a
    /// server without a controller token, treats every requester as a controller.
    ///
    /// - Throws: `unauthorized` if the request has no token, `badRequest` if the `Authorization` field is malformed,
    ///   and `invalidToken` if the token is malformed, or if it is cached and expired or has a wrong secret.
    func claim(_ head: HTTPRequestHead, for admission: Admission) throws -> Claim {
        guard !controllers.isEmpty, admission != .everyone else { return .known(.controller) }
        guard let token = try Bearer.token(in: head) else { throw Bearer.missing }
        if controllers.contains(token.digest) {
            return .known(Requester(role: .controller, controllerToken: token.digest))
        }
        return try tokens.known(token).map { .known(Requester($0)) } ?? .unknown(token)
    }

    /// Returns the sender of a token that the store must be asked about. Throws `invalidToken` if it is unknown, expired
    /// or revoked.
    func requester(_ token: PresentedToken) async throws -> Requester { Requester(try await tokens.find(token)) }

    /// Returns the error for a request whose token is missing or known to be invalid. Returns `nil` if the token is
    /// valid or not needed, or if only the store can tell.
    func refusal(of head: HTTPRequestHead) -> ProblemError? {
        do {
            _ = try claim(head, for: .role(.viewer))
            return nil
        } catch {
            return ProblemError(error)
        }
    }

    /// Throws if a requester may not use the route. The requester's session is checked before its role. A requester
    /// with a token for another session therefore gets "no such session", and does not learn whether the session
    /// exists.
    func check(_ requester: Requester, _ admission: Admission, session: String?) throws {
        if let session { try requester.require(session: session) }
        if let role = admission.leastRole { try requester.require(role) }
    }
}

extension Requester {
    init(_ token: SessionToken) { self.init(role: token.role, token: token) }
}
