import BraidEngine
import BraidRuntime
import BraidStore

/// A client's command for a session, decoded, with the options of its request.
package struct CommandRequest: Sendable {
    let session: String
    /// The number that the session must have, if the requester may use only one session: the ID may have been given to
    /// another one.
    let sessionNumber: Int?
    /// What to execute. A reset and a rebinding lack what only the session knows, until it executes them.
    package fileprivate(set) var command: Command
    fileprivate(set) var text: JSONText
    /// Whether to compute and answer the command, and to store nothing.
    package var isDryRun = false
    /// The request's `If-Match`, checked while the command holds the session's lock.
    package var condition: PositionCondition?
    /// The position to which the command's index paths and ids refer. `nil` for the current one.
    package var base: Position?
    /// Whether to refuse a data source call that would otherwise be ignored.
    package var isStrict = false
    /// The requester's role, on which the command's limits depend.
    package var role = Role.controller
    /// Makes the answer that is stored with the command, for a retry with the same idempotency key.
    package var keptAnswer: (@Sendable (Execution) -> KeptAnswer)?

    /// - Parameter text: the command as the journal records it. Not used for a rebinding, whose text contains the
    ///   description.
    package init(session: String, number: Int? = nil, _ command: Command, text: JSONText) {
        self.session = session
        sessionNumber = number
        self.command = command
        self.text = text
    }

    func check(_ session: Session) throws {
        if let sessionNumber, sessionNumber != session.number { throw SessionError(noSession: session.id) }
    }

    fileprivate mutating func rebind(_ rebinding: Rebinding) {
        command = .rebind(rebinding)
        text = JSONText(object: [("table", rebinding.json)])
    }
}

extension SessionHost {
    /// - Throws: ``SessionError`` or a `Refusal` of the engine: the command has changed nothing. After a `StoreError`,
    ///   the store may contain its changes. `CancellationError` if the task is cancelled while the command waits for
    ///   the session's lock.
    package func execute(_ request: CommandRequest) async throws -> Execution {
        try await with(request.session) { session in
            var request = request
            do {
                try request.check(session)
                if case .rebind(let rebinding) = request.command {
                    try await request.rebind(compiled(rebinding, for: session))
                }
            } catch {
                // The error may come from an outdated copy of the session. If another server has ended the session,
                // `refresh` throws `StaleSession` instead.
                try await session.refresh()
                throw error
            }
            let kind = request.command.kind
            do {
                try limits.check(request.command, of: request.role)
                // Chosen before the wait for the session's lock, which blocks no thread of the pool.
                let pool = session.pool(for: request.command)
                let execution = try await withTaskExecutorPreference(pool) { [request] in
                    try await session.execute(request)
                }
                metrics.commands.count(kind, execution.isDryRun ? .dryRun : .init(execution.outcome.kind))
                return execution
            } catch {
                metrics.commands.count(kind, thrown: error)
                throw error
            }
        }
    }
}
