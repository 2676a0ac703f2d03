import BraidEngine
import BraidHTTP
import BraidRuntime
import BraidSessions

/// Who is let in: the controller's token, tokens for single sessions, or, without the former, everyone as a controller.
struct AccessControl: Sendable {
    /// Of the controller's token; nil: none is needed.
    private let controller: SHA256Digest?
    private let tokens: SessionTokens

    init(controllerToken: String?, tokens: SessionTokens) {
        controller = controllerToken.map { PresentedToken($0).digest }
        self.tokens = tokens
    }

    /// What is known about the requester without waiting.
    enum Claim: Sendable {
        case known(Requester)
        /// The token is not in memory. The store has to be asked.
        case unknown(PresentedToken)
    }

    /// Throws `unauthorized`, or `badRequest` for what is no token at all.
    func claim(_ head: HTTPRequestHead, for admission: Admission) throws -> Claim {
        guard let controller, admission != .everyone else { return .known(.controller) }
        guard let token = try Bearer.token(in: head) else { throw Bearer.missing }
        if token.digest == controller { return .known(.controller) }
        return try tokens.known(token).map { .known(Requester($0)) } ?? .unknown(token)
    }

    /// The requester behind a claim. It asks the store if it has to. Throws `invalidToken`.
    func requester(_ claim: Claim) async throws -> Requester {
        switch claim {
        case .known(let requester): requester
        case .unknown(let token): Requester(try await tokens.find(token))
        }
    }

    /// What is wrong with the request's token, as far as that is known without waiting.
    func refusal(of head: HTTPRequestHead) -> ProblemError? {
        do {
            _ = try claim(head, for: .role(.viewer))
            return nil
        } catch {
            return ProblemError(error)
        }
    }

    /// Refuses what is not for this requester: first other sessions, of which it must learn nothing, then other roles.
    func check(_ requester: Requester, _ admission: Admission, session: String?) throws {
        if let session { try requester.require(session: session) }
        if let role = admission.leastRole { try requester.require(role) }
    }
}

extension Requester {
    init(_ token: SessionToken) { self.init(role: token.role, token: token) }
}
