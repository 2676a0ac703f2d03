import BraidEngine
import BraidRuntime
import BraidStore

/// A client's request to change a session: the command, and the options of the HTTP request.
package struct CommandRequest: Sendable {
    /// The change that a request asks for: a command, a reset of the session, or another version of its description.
    package enum Content: Sendable {
        /// A command, and the text with which the session's journal records it.
        case command(Command, text: JSONText)
        /// The reset of the session to the content with which it was opened. The session keeps its version of the table
        /// description.
        case reset
        /// The change to another version of the session's table description.
        case rebinding(RebindingRequest)
    }

    /// The options that a request can set for its command.
    package struct Options: Sendable {
        /// Whether the session only computes and answers the command, and stores nothing.
        package var dryRun = false
        /// The condition (`If-Match`) that the session's position must meet. The session checks the condition while the
        /// command holds the session's lock.
        package var condition: PositionCondition?
        /// The position whose index paths and ids the command uses. The session rebases the command from this position
        /// to the current one. If `nil`, the command refers to the current table.
        package var base: Position?
        /// Whether to refuse a data source call that the session would otherwise ignore.
        package var strict = false
        /// The requester's role, on which the limits of the command depend.
        package var role = Role.controller

        package init() {}
    }

    /// Functions that encode the answer to a request for the store. The store keeps the encoded answer for retries with
    /// the same idempotency key.
    package struct AnswerEncoding: Sendable {
        let answer: @Sendable (Session, Session.Answer) -> JSONText
        let refusal: @Sendable (any Error) -> JSONText?

        /// - Parameters:
        ///   - answer: encodes the answer to an executed command.
        ///   - refusal: encodes the answer to an error that the client caused. The closure returns `nil` if the store
        ///     should keep no answer.
        package init(
            answer: @escaping @Sendable (Session, Session.Answer) -> JSONText,
            refusal: @escaping @Sendable (any Error) -> JSONText?
        ) {
            self.answer = answer
            self.refusal = refusal
        }
    }

    /// The id of the session.
    let session: String
    /// The number of the only session to which the request may apply, or `nil` for any session with the ID. The ID
    /// alone is not enough because another session may have been opened with the same ID.
    let sessionNumber: Int?
    let content: Content
    let options: Options

    package init(
        session: String, number sessionNumber: Int? = nil, _ content: Content, _ options: Options = Options()
    ) {
        self.session = session
        self.sessionNumber = sessionNumber
        self.content = content
        self.options = options
    }

    /// Throws `noSession` if the request may not apply to `session`.
    func check(_ session: Session) throws {
        if let sessionNumber, sessionNumber != session.number { throw SessionError(noSession: session.id) }
    }
}

extension SessionHost {
    /// Executes the command of a request.
    ///
    /// - Throws: ``SessionError`` or a `Refusal` of the engine: the command has changed nothing. After a `StoreError`,
    ///   the store may contain the command's changes. Throws `CancellationError` if the task is cancelled while the
    ///   command waits for the session's lock.
    package func perform(_ request: CommandRequest) async throws -> (session: Session, answer: Session.Answer) {
        try await perform(request, keep: nil)
    }

    /// Executes the command of a request and stores its answer under the request's idempotency key. If the store
    /// already contains an answer under this key, executes nothing and returns that answer.
    package func perform(
        _ request: CommandRequest, once key: IdempotencyKey, _ encoding: CommandRequest.AnswerEncoding
    ) async throws -> Once<(session: Session, answer: Session.Answer)> {
        let session = try await current(request.session)
        try request.check(session)
        return try await once(key, session: session.number, refusal: encoding.refusal) { keep in
            try await perform(request) { keep(encoding.answer($0, $1)) }
        }
    }

    private func perform(
        _ request: CommandRequest, keep: (@Sendable (Session, Session.Answer) -> KeptAnswer)?
    ) async throws -> (session: Session, answer: Session.Answer) {
        try await with(request.session) { session in
            let work = try await work(of: request, for: session)
            do {
                if case .command(let command, _) = work { try limits.check(command, of: request.options.role) }
                // The worker pool can be chosen before the wait for the session's lock, because this wait blocks no
                // thread of the pool.
                let answer = try await withTaskExecutorPreference(session.pool(for: work)) {
                    try await session.perform(work, request.options, keep: keep)
                }
                metrics.commands.count(work.kind, request.options.dryRun ? .dryRun : answer.outcome)
                return (session, answer)
            } catch {
                metrics.commands.count(work.kind, thrown: error)
                throw error
            }
        }
    }

    private func work(of request: CommandRequest, for session: Session) async throws -> Session.Work {
        do {
            try request.check(session)
            switch request.content {
            case .command(let command, let text): return .command(command, text: text)
            case .reset: return .reset(try await session.opening())
            case .rebinding(let request): return try await work(of: request, for: session)
            }
        } catch {
            // The error may come from an outdated copy of the session. If another server has ended the session,
            // `refresh` throws `StaleSession` instead of this error.
            try await session.refresh()
            throw error
        }
    }
}
