import BraidEngine
import BraidRuntime
import BraidStore

/// Why a session or this server could not do what a request asked. A command that fails so has changed nothing. The
/// engine throws `Refusal` instead, and the store `StoreError`.
package struct SessionError: Error, Sendable, Equatable {
    package enum Code: Sendable, CaseIterable {
        /// The request is malformed, or names a position of the session that does not exist.
        case badRequest
        /// The session cannot rebase a command from its position `base`: the journal does not reach back to it, it is
        /// of another epoch, or a data source call meets unpublished changes.
        case baseTooOld
        case changeTooLarge
        case idempotencyKeyInUse
        case idempotencyKeyReused
        case internalError
        case invalidToken
        /// No session that the requester may use has the ID in the request.
        case noSession
        /// No such table description or version is registered, or the session to bind has no description.
        case noTable
        case positionMismatch
        /// The journal does not reach back to the requested revision, or the position is of another epoch.
        case revisionNotAvailable
        /// The session or the token already uses its share of a resource, such as memory.
        case quotaExceeded
        case tooManySessions
        /// More commands than a requester of this role may send at once.
        case transactionTooLong
        /// The server cannot do it at the moment, for example because a quota is used up.
        case unavailable
    }

    package var code: Code
    package var message: String
    /// Seconds.
    package var retryAfter: Int?
    /// The session's current position, for `positionMismatch`.
    package var position: Position?
    /// The option whose limit the request has reached, such as `max-requests`.
    package var limit: String?

    package init(_ code: Code, _ message: String, retryAfter: Int? = nil) {
        self.code = code
        self.message = message
        self.retryAfter = retryAfter
    }

    package init(noSession id: String) {
        self.init(.noSession, "The session \"\(id)\" does not exist. It was never opened, or it was ended.")
    }

    /// Creates the error `unavailable`, to be retried after a second.
    package init(unavailable message: String) { self.init(.unavailable, message, retryAfter: 1) }

    init(noRoomForAnswer refusal: Quota.Exceeded) {
        switch refusal {
        case .quota:
            self.init(
                .unavailable,
                "The server's memory for large answers is in use. Try again after the time in `Retry-After`.",
                retryAfter: 1)
        case .share:
            self.init(
                .quotaExceeded,
                "This session or this token already uses its share of the server's memory for large answers. Wait until its other requests are answered.",
                retryAfter: 1)
        }
        limit = "max-buffered-bytes"
    }

    package static var invalidToken: SessionError {
        SessionError(.invalidToken, "The token is unknown, expired or revoked. Get a new one.")
    }
}

// MARK: - Whether an error is the client's, and whether a retry can succeed

extension SessionError {
    /// Whether the error is the client's. Others are the fault of the server, its disk or its load, or say that the
    /// client has disconnected.
    package static func isRefusal(_ error: any Error) -> Bool {
        switch error {
        // A command that took too long may have found a busy server.
        case let refusal as Refusal: return refusal.code != .commandTimeout
        case is JSONError: return true
        case StoreError.sessionExists, StoreError.sessionMissing, StoreError.tableMissing, StoreError.tooLarge:
            return true
        case let error as SessionError:
            switch error.code {
            case .internalError, .unavailable: return false
            case .badRequest, .baseTooOld, .changeTooLarge, .idempotencyKeyInUse, .idempotencyKeyReused,
                .invalidToken, .noSession, .noTable, .positionMismatch, .quotaExceeded, .revisionNotAvailable,
                .tooManySessions, .transactionTooLong:
                return true
            }
        default: return false
        }
    }

    /// Whether the same request can succeed later under the same idempotency key, so that the refusal is not stored.
    static func mayPassLater(_ refusal: any Error) -> Bool {
        switch refusal {
        case let refusal as Refusal: refusal.code == .badRequest
        case let error as SessionError:
            [.badRequest, .positionMismatch, .tooManySessions, .quotaExceeded].contains(error.code)
        default: false
        }
    }
}

extension Quota {
    /// - Parameters:
    ///   - what: the plural name of the units, as in "subscribers".
    ///   - option: the option that sets the limit, as in `max-subscribers`.
    /// - Throws: `unavailable` if the quota is used up, and `quotaExceeded` if the account uses its share.
    package func required(
        _ what: String, option: String, for account: Account, retryAfter seconds: Int = 1
    ) throws -> Lease {
        var error: SessionError
        do {
            return try lease(to: account)
        } catch .quota {
            error = SessionError(
                .unavailable,
                "The server has \(limit) \(what), as many as it accepts. Try again after the time in `Retry-After`.",
                retryAfter: seconds)
        } catch .share {
            error = SessionError(
                .quotaExceeded,
                "This session or this token already has its share of the server's \(what): \(resourceShare) for a session, \(clientShare) for a token. Wait until some of them have ended.",
                retryAfter: seconds)
        }
        error.limit = option
        throw error
    }
}
