import BraidHTTP
import BraidRuntime
import BraidSessions

// Handle: the route's handler, and the end of what its token allowed.

extension Exchange {
    /// Errors become problem documents.
    package mutating func handle() async -> HTTPResponse {
        if case .answered(let response) = verdict { return response }
        do {
            let bodyLease = try await decode()
            defer {
                body = []
                bodyLease?.end()
            }
            guard let route else { throw ProblemError(.internalError, "The request has no route.") }
            if let token = sender?.token, isLongPoll {
                return try await app.sessions.tokens.whileValid(token) { [self] in try await route.handle(self) }
            }
            let response = try await route.handle(self)
            if case .stream(let stream) = response.body, stream.isEndless { try await bind(stream) }
            return response
        } catch {
            return problemDocument(of: error)
        }
    }

    /// Ends the stream when its token is no longer accepted.
    private func bind(_ stream: ByteStream) async throws {
        do {
            if let token = requester.token { try await app.sessions.tokens.follow(token, stream) }
            if let digest = requester.controllerToken, !app.access.controllers.follow(digest, stream) {
                throw SessionError.invalidToken
            }
        } catch {
            stream.close()
            throw error
        }
    }

    /// Also logs a reached limit or a fault of the server.
    package func problemDocument(of error: any Error) -> HTTPResponse {
        if error is CancellationError {
            // Usually the client has disconnected and reads nothing.
            return ProblemError(
                unavailable:
                    "The client closed its side of the connection before the request was executed. Nothing was changed."
            )
            .response(path: head.plainPath, requestID: requestID)
        }
        if let problem = ProblemError(error)?.shown(to: sender) {
            if problem.problem == .outcomeUnknown { write(.warning, "outcome unknown: \(error)") }
            note(problem)
            return problem.response(path: head.plainPath, requestID: requestID)
        }
        write(.error, "internal error: \(error)")
        return ProblemError(
            .internalError, "The server failed. Its log contains the cause, under the `requestId` of this answer."
        )
        .response(path: head.plainPath, requestID: requestID)
    }
}
