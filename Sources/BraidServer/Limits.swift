import BraidEngine
import BraidRuntime

/// How much of everything there may be. What each of them is answered with: docs/http-api.md, "Limits".
package struct Limits: Sendable {
    /// Of one request's body, or of one line of a streamed one.
    package var bodyBytes = 16 << 20
    /// Of the JSON that comes in.
    package var jsonDepth = 128
    package var sessions = 100_000
    /// Streams of events and long polls that wait, of all sessions together.
    package var subscribers = 9_000
    /// Requests that are being worked on at the same time, beside the subscribers.
    package var requests = 2_048
    /// Of the commands of one transaction, carried out or dry run.
    package var transactionCommands = 100_000
    /// The same for a participant.
    package var participantTransactionCommands = 1_000
    /// How long a participant's command may take; a controller's may take `table.commandTime`.
    package var participantCommandTime = Duration.seconds(5)
    package var table: TableLimits = {
        var table = TableLimits()
        table.rows = 1_000_000
        table.sections = 10_000
        table.renderedBytes = 256 << 20
        return table
    }()

    package init() {}
}

extension Limits {
    /// The limits of a requester's commands on a table.
    func table(for role: Role) -> TableLimits {
        guard role < .controller else { return table }
        var table = table
        table.commandTime = min(participantCommandTime, table.commandTime ?? participantCommandTime)
        return table
    }

    /// Throws `transactionTooLong`.
    func check(_ command: Command, of role: Role) throws {
        guard case .transaction(let commands) = command else { return }
        let limit = role < .controller ? min(participantTransactionCommands, transactionCommands) : transactionCommands
        guard commands.count > limit else { return }
        throw ProblemError(
            .transactionTooLong,
            "The transaction has \(commands.count) commands. A \(role.rawValue)'s may have \(limit). Send it in smaller parts."
        )
    }
}

extension Budget {
    /// A lease of one. Throws `unavailable` when the budget is used up, and `quotaExceeded` when the account has its share.
    func required(_ what: String, for account: Account, retryAfter seconds: Int = 1) throws -> Lease {
        do {
            return try lease(to: account)
        } catch .budget {
            throw ProblemError(
                unavailable:
                    "The server has \(limit) \(what), as many as it accepts. Try again after the time in `Retry-After`.",
                retryAfter: seconds)
        } catch .share {
            throw ProblemError(
                .quotaExceeded,
                "This session or this token already has its share of the server's \(what): \(resourceShare) for a session, \(clientShare) for a token. Wait until some of them have ended.",
                headers: [("Retry-After", "\(seconds)")])
        }
    }
}
