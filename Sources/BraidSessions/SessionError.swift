import BraidEngine
import BraidRuntime
import BraidStore

/// A command that fails with it has changed nothing. The engine throws `Refusal` instead, the stores `StoreError`.
package struct SessionError: Error, Sendable, Equatable {
    package enum Code: Sendable, CaseIterable {
        case badRequest
        /// A command cannot be rebased from its `base`: beyond the journal, of another epoch, or a data source call
        /// meets unpublished changes.
        case baseTooOld
        case changeTooLarge
        case idempotencyKeyInUse
        case idempotencyKeyReused
        case internalError
        case invalidToken
        /// Also for a session that the requester may not use.
        case noSession
        /// No such description or version, or the session to bind has none.
        case noTable
        case positionMismatch
        /// Beyond the journal, or of another epoch.
        case revisionNotAvailable
        /// The session's or token's own share is used.
        case quotaExceeded
        case tooManySessions
        case transactionTooLong
        /// Not at the moment: a quota is used up, for example.
        case unavailable
    }

    package var code: Code
    package var message: String
    /// Seconds.
    package var retryAfter: Int?
    /// With `positionMismatch`.
    package var position: Position?
    /// The option of the reached limit, such as `max-requests`.
    package var limit: String?

    package init(_ code: Code, _ message: String, retryAfter: Int? = nil) {
        self.code = code
        self.message = message
        self.retryAfter = retryAfter
    }

    /// `isCovered`: whether the requester's token may be for the session.
    package init(noSession id: String, isCovered: Bool = true) {
        let reasons = isCovered ? "or it was ended" : "it was ended, or this token is for another session"
        self.init(.noSession, "The session \"\(id)\" does not exist. It was never opened, \(reasons).")
    }

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

    init(noRoomForView refusal: Quota.Exceeded) {
        switch refusal {
        case .quota:
            self.init(
                .unavailable,
                "The server's memory for tables that only some people see is in use. Try again after the time in `Retry-After`.",
                retryAfter: 5)
        case .share:
            self.init(
                .quotaExceeded,
                "This session or this token already uses its share of the server's memory for tables that only some people see. Close streams of other views.",
                retryAfter: 5)
        }
        limit = "max-view-bytes"
    }

    package static var invalidToken: SessionError {
        SessionError(.invalidToken, "The token is unknown, expired or revoked. Get a new one.")
    }
}

// MARK: - Whether an error is the client's, and whether a retry can succeed

extension SessionError {
    /// `false`: the server, its disk or its load is at fault, or the client is gone.
    package static func isRefusal(_ error: any Error) -> Bool {
        switch error {
        // The server may have been busy.
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

    /// Whether a retry with the same idempotency key can succeed, so that the refusal is not stored.
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
    /// Throws `unavailable`, or `quotaExceeded` for the account's share: `required("subscribers", option:
    /// "max-subscribers", for: account)`.
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
