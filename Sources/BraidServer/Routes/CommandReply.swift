import BraidEngine
import BraidSessions

extension Sessions {
    /// Query parameters of every request that changes a session.
    static let commandQuery: Set<String> = ["dryRun", "form"]

    /// The reply to a request that changes a session, with all that such a request can ask for beside its command:
    /// `dryRun`, `form`, `base`, `Prefer`, `If-Match`, `Idempotency-Key`.
    ///
    /// `command` gives the command and its form in the journal. `notifies`: the answer says what the data source's
    /// delegate is told.
    func reply(
        to context: RequestContext, notifies: Bool = false,
        _ command: @escaping @Sendable (Session) async throws -> (command: Command, text: JSONText)
    ) throws -> RouteReply {
        let form = try CommandForm(context)
        let id = context.parameter("id")
        var options = Session.CommandOptions()
        options.dryRun = form.dryRun
        options.condition = context.head.positionCondition
        options.base = try context.query("base").map { try Position($0) }
        options.role = context.requester.role
        let command = { @Sendable (session: Session) in
            try context.require(session)
            return try await command(session)
        }
        let key = try IdempotencyKey(context)
        // Nothing is done by a dry run, and nothing can be done twice.
        guard !form.dryRun, let key else {
            return .later { [self, options] in
                let (session, answer) = try await perform(command, on: id, options)
                return form.response(answer, of: session, notifies: notifies)
            }
        }
        return .later { [self, options] in
            let session = try await current(id)
            try context.require(session)
            return try await once(key, session: session.number, context: context) { keep in
                let (session, answer) = try await perform(command, on: id, options) {
                    form.asksForSnapshot
                        ? keep(form.snapshotHead, $0) : keep(form.response($1, of: $0, notifies: notifies), nil)
                }
                return form.response(answer, of: session, notifies: notifies)
            }
        }
    }
}
