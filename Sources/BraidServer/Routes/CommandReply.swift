import BraidEngine

extension Sessions {
    /// Query parameters of every request that changes a session.
    static let commandQuery: Set<String> = ["dryRun", "form"]
    /// Bytes of a body whose command may run on an event loop's thread.
    private static let shortBody = 16 * 1024

    /// The reply to a request that changes a session, with all that such a request can ask for beside its command:
    /// `dryRun`, `form`, `base`, `Prefer`, `If-Match`, `Idempotency-Key`.
    ///
    /// `command` gives the command and its form in the journal. `notifies`: the answer says what the data source's
    /// delegate is told. `isShort`: to get the command takes no time.
    func reply(
        to context: RequestContext, notifies: Bool = false, isShort: Bool = true,
        _ command: @escaping @Sendable (Session) async throws -> (command: Command, text: JSONText)
    ) throws -> RouteReply {
        let form = try CommandForm(context)
        let id = context.parameter("id"), ifMatch = context.head.headers["if-match"]
        let base = try context.query("base").map { try Position($0) }
        let command = { @Sendable (session: Session) in
            try context.require(session)
            return try await command(session)
        }
        let key = try IdempotencyKey(context)
        // Nothing is done by a dry run, and nothing can be done twice.
        guard !form.dryRun, let key else {
            let work = { @Sendable [self] in
                let (session, answer) = try await perform(command, on: id, dryRun: form.dryRun, ifMatch: ifMatch, base: base)
                return form.response(answer, of: session, notifies: notifies)
            }
            let isSoon = isShort && base == nil && form.preference != "representation" && context.request.body.count <= Self.shortBody
            return isSoon && inMemory(id)?.isQuick == true ? .soon(work) : .later(work)
        }
        return .later { [self] in
            let session = try await current(id)
            try context.require(session)
            return try await once(key, session: session.number, context: context) { keep in
                let (session, answer) = try await perform(command, on: id, ifMatch: ifMatch, base: base) {
                    keep(form.response($1, of: $0, notifies: notifies))
                }
                return form.response(answer, of: session, notifies: notifies)
            }
        }
    }
}
