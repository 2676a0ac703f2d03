import BraidEngine
import BraidHTTP
import BraidRuntime
import BraidSessions

/// Returns the route of a session's updates after a position: as a list, by long polling, or as an event stream.
func updateRoutes(_ sessions: SessionHost) -> [Route] {
    [
        Route(
            "GET", "/v1/sessions/{id}/updates", for: .role(.viewer),
            query: WindowQuery.parameters.union(["since", "wait", "form", "coalesce", "from"]),
            endsAtStop: true, alternative: "text/event-stream"
        ) { context in
            let id = context.parameter("id")
            let isSequential = try context.isSequential()
            let since = try context.query("since").map { try Position($0) }
            let window = try WindowQuery(context), old = try WindowQuery(inParameter: "from", context)
            if old != nil, window == nil {
                throw ProblemError(
                    .badRequest,
                    "`from` is the window that the client has: add the parameters of the window that it wants, such as `offset` and `limit`."
                )
            }
            if context.head.prefers("text/event-stream") {
                for name in ["wait", "coalesce"] where context.query(name) != nil {
                    throw ProblemError(
                        .badRequest,
                        "`\(name)` is for JSON only: an event stream waits by itself and has every revision.")
                }
                // A browser that reconnects sends the ID of its last event in `Last-Event-ID`. This ID takes precedence
                // over the `since` of the original URL (WHATWG HTML, 9.2.4). An ID that is no position of this session
                // leads to a snapshot.
                let last = context.head.headers["last-event-id"].flatMap { id in
                    id.isEmpty ? nil : (try? Position(id)) ?? Position(epoch: "", revision: 0)
                }
                let form = StreamForm(
                    isSequential: isSequential, hasControllerEvents: context.requester.role == .controller)
                let account = context.account
                let lease = try sessions.subscribers.required(
                    "subscribers", option: "max-subscribers", for: account, retryAfter: 5)
                return try await sessions.withCurrent(id) { session in
                    try context.require(session)
                    return eventStreamResponse(
                        try await session.eventStream(
                            after: last ?? since, form, window: window, from: last == nil ? old : nil, lease, account))
                }
            }
            guard let since else {
                throw ProblemError(
                    .badRequest, "The query parameter `since`, a position, is missing: ?since=<revision>.")
            }
            let wait = try context.integer("wait", in: Route.waits) ?? 0
            let form = UpdateListForm(isSequential: isSequential, isCoalesced: try context.flag("coalesce"))
            let head = context.head
            let lease =
                wait == 0
                ? nil
                : try sessions.subscribers.required(
                    "subscribers", option: "max-subscribers", for: context.account, retryAfter: 5)
            defer { lease?.end() }
            return try await sessions.withCurrent(id) { session in
                try context.require(session)
                let isKnown: @Sendable (Position) -> Bool = { head.knownTag($0.entityTag) != nil }
                let list =
                    if let window {
                        try await session.windowUpdates(
                            since: since, waiting: .seconds(wait), unless: isKnown, window, from: old,
                            isSequential: isSequential, for: context.account)
                    } else {
                        try await session.updates(
                            since: since, waiting: .seconds(wait), unless: isKnown, form, for: context.account)
                    }
                let etag = list.position.entityTag
                if let json = list.json {
                    var response = HTTPResponse.json(json, headers: [("ETag", etag)])
                    response.lease = list.lease
                    return response
                }
                return HTTPResponse(status: 304, headers: [("ETag", head.knownTag(etag) ?? etag)])
            }
        }
    ]
}

private func eventStreamResponse(_ stream: ByteStream) -> HTTPResponse {
    let headers = [
        ("Content-Type", "text/event-stream"), ("Cache-Control", "no-store"),
        ("X-Accel-Buffering", "no"),  // Without `X-Accel-Buffering: no`, nginx buffers events.
    ]
    return HTTPResponse(status: 200, headers: headers, body: .stream(stream))
}
