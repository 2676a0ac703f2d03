import BraidEngine
import BraidHTTP
import BraidRuntime
import BraidSessions

/// The updates after a position: a list, a long poll, or an event stream.
func updateRoutes(_ sessions: SessionHost) -> [Route] {
    [
        Route(
            "GET", "/v1/sessions/{id}/updates", for: .role(.viewer),
            query: WindowQuery.parameters.union(Looker.parameters).union([
                "since", "wait", "form", "coalesce", "from", "presence", "client",
            ]), endsAtStop: true, alternative: "text/event-stream"
        ) { context in
            let isSequential = try context.isSequential()
            let since = try context.query("since").map { try Position($0) }
            let window = try WindowQuery(context), old = try WindowQuery(inParameter: "from", context)
            let oldLooker = try Looker(inFrom: context)
            if old != nil, window == nil {
                throw ProblemError(
                    .badRequest,
                    "`from` is the window that the client has: add the parameters of the window that it wants, such as `offset` and `limit`."
                )
            }
            let hasPresence = try context.flag("presence")
            if !hasPresence, context.query("client") != nil {
                throw ProblemError(.badRequest, "`client` is for `presence`: add it.")
            }
            if context.head.prefers("text/event-stream") {
                return try await sessions.eventStream(
                    context, after: since, window, from: old, oldLooker, isSequential,
                    presentAs: hasPresence ? context.presenceClient() : nil)
            }
            if hasPresence {
                throw ProblemError(.badRequest, "`presence` is for an event stream. For JSON, get …/presence.")
            }
            guard let since else {
                throw ProblemError(
                    .badRequest, "The query parameter `since`, a position, is missing: ?since=<revision>.")
            }
            let head = context.head
            var request = UpdatesRequest(since: since, account: context.account)
            request.wait = .seconds(try context.integer("wait", in: Route.waits) ?? 0)
            request.window = window
            request.old = old
            request.oldLooker = oldLooker
            request.isSequential = isSequential
            request.isCoalesced = try context.flag("coalesce")
            request.isKnown = { head.knownTag($0.entityTag) != nil }
            return try await sessions.updates(context, request)
        }
    ]
}

extension SessionHost {
    fileprivate func updates(_ context: Exchange, _ request: UpdatesRequest) async throws -> HTTPResponse {
        let lease = request.wait == .zero ? nil : try subscriberLease(context)
        defer { lease?.end() }
        return try await context.withTable(self) { table in
            return HTTPResponse(try await table.updates(request), to: context.head)
        }
    }

    fileprivate func eventStream(
        _ context: Exchange, after since: Position?, _ window: WindowQuery?, from old: WindowQuery?,
        _ oldLooker: Looker?, _ isSequential: Bool, presentAs client: Presence.Client?
    ) async throws -> HTTPResponse {
        for name in ["wait", "coalesce"] where context.query(name) != nil {
            throw ProblemError(
                .badRequest, "`\(name)` is for JSON only: an event stream waits by itself and has every revision.")
        }
        // A browser that reconnects sends it with the original URL (WHATWG HTML, 9.2.4), so it goes before `since`, and
        // the client no longer has the window `from`. If it is no position of this session, the stream begins with a
        // snapshot.
        let last = context.head.headers["last-event-id"].flatMap { id in
            id.isEmpty ? nil : (try? Position(id)) ?? Position(epoch: "", revision: 0)
        }
        let form = StreamForm(isSequential: isSequential, hasControllerEvents: context.requester.role == .controller)
        let lease = try subscriberLease(context)
        return try await context.withTable(self) { table in
            let presence = client.map {
                PresenceStream(
                    self.presence, session: table.session.number, client: $0,
                    in: table.hidingRows(from: context.requester.role), account: context.account)
            }
            let stream = try await table.eventStream(
                after: last ?? since, form, window: window, from: last == nil ? old : nil,
                last == nil ? oldLooker : nil, presence: presence, lease, context.account)
            let headers = [
                ("Content-Type", "text/event-stream"), ("Cache-Control", "no-store"),
                ("X-Accel-Buffering", "no"),  // Otherwise nginx buffers events.
            ]
            return HTTPResponse(status: 200, headers: headers, body: .stream(stream))
        }
    }

    private func subscriberLease(_ context: Exchange) throws -> Quota.Lease {
        try subscribers.required("subscribers", option: "max-subscribers", for: context.account, retryAfter: 5)
    }
}

extension HTTPResponse {
    /// 304 if the client has it already.
    init(_ answer: EncodedAnswer, to head: HTTPRequestHead) {
        let etag = answer.position.entityTag
        guard let json = answer.json else {
            self.init(status: 304, headers: [("ETag", head.knownTag(etag) ?? etag)])
            return
        }
        self = .json(json, headers: [("ETag", etag)])
        lease = answer.lease
    }
}
