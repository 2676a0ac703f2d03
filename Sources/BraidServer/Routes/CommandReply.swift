import BraidEngine
import BraidHTTP
import BraidSessions

extension SessionHost {
    /// The query parameters that every request with a single command accepts.
    static let commandQuery: Set<String> = ["dryRun", "form"]

    /// Executes the command of a request that changes a session, and returns the answer. The possible options of such a
    /// request are `dryRun`, `form`, `base`, `strict`, `Prefer`, `If-Match` and `Idempotency-Key`.
    ///
    /// - Parameter notifies: whether an answer with an update also contains the member `notification`, as the answers
    ///   of the data source do.
    func respond(
        to context: Exchange, _ content: CommandRequest.Content, notifies: Bool = false
    ) async throws -> HTTPResponse {
        let form = try CommandForm(context)
        var options = CommandRequest.Options()
        options.dryRun = form.dryRun
        options.condition = context.head.positionCondition
        options.base = try context.query("base").map { try Position($0) }
        options.role = context.requester.role
        options.strict = try context.flag("strict")
        let request = CommandRequest(
            session: context.parameter("id"), number: context.requester.token?.session, content, options)
        // A dry run changes nothing, so its answer is not stored for retries with the same `Idempotency-Key`.
        guard let key = try IdempotencyKey(context), !form.dryRun else {
            let (session, answer) = try await perform(request)
            if !form.dryRun { context.logAct(content, answer, of: session) }
            return form.response(answer, of: session, notifies: notifies)
        }
        let encoding = CommandRequest.AnswerEncoding(
            answer: { session, answer in
                form.asksForSnapshot
                    ? form.snapshotHead(answer, of: session).kept(snapshotOf: session)
                    : form.response(answer, of: session, notifies: notifies).kept(snapshotOf: nil)
            }, refusal: context.keptRefusal)
        switch try await perform(request, once: key, encoding) {
        case .done(let (session, answer)):
            context.logAct(content, answer, of: session)
            return form.response(answer, of: session, notifies: notifies)
        case .replayed(let kept): return try await response(kept: kept)
        }
    }
}

extension Exchange {
    /// Logs an applied command if it is an administrative act: a reset, or the change to another version of the table
    /// description.
    fileprivate func logAct(_ content: CommandRequest.Content, _ answer: Session.Answer, of session: Session) {
        guard case .applied = answer.kind else { return }
        let facts = [(name: "session", value: session.id), ("revision", "\(answer.revision)")]
        switch content {
        case .command: return
        case .reset: logAct("session reset", facts: facts)
        case .rebinding: logAct("session rebound", facts: facts + session.boundTableFacts)
        }
    }
}
