import BraidEngine
import BraidHTTP
import BraidRuntime
import BraidStore

/// What became of a session since a position: as a list, by long polling, or as a stream of events.
func updateRoutes(_ sessions: Sessions) -> [Route] {
    [
        Route(
            "GET", "/v1/sessions/{id}/updates", query: ["since", "wait", "form", "coalesce"], endsAtStop: true,
            alternative: "text/event-stream"
        ) { context in
            let id = context.parameter("id")
            let isSequential = try CommandForm(context).isSequential
            let since = try context.query("since").map { try Position($0) }
            if context.head.prefers("text/event-stream") {
                for name in ["wait", "coalesce"] where context.query(name) != nil {
                    throw ProblemError(
                        .badRequest,
                        "`\(name)` is for JSON: a stream of events waits by itself, and tells every revision.")
                }
                // What a reader that lost its connection has last read, before what it once asked for (WHATWG HTML, 9.2.4).
                let last = try context.head.headers["last-event-id"].flatMap { try $0.isEmpty ? nil : Position($0) }
                let form = StreamForm(isSequential: isSequential, hasRowEvents: context.requester.role == .controller)
                let account = context.account
                let lease = try sessions.subscribers.required("subscribers", for: account, retryAfter: 5)
                return .later {
                    try await sessions.withCurrent(id) { session in
                        try context.require(session)
                        return try session.eventStream(after: last ?? since, form, lease, account)
                    }
                }
            }
            guard let since else {
                throw ProblemError(
                    .badRequest, "The query parameter `since`, a position, is missing: ?since=<revision>.")
            }
            let wait = try context.integer("wait", in: 0...60) ?? 0
            let form = UpdateListForm(isSequential: isSequential, isCoalesced: try context.flag("coalesce"))
            let match = context.head.headers["if-none-match"]
            let lease =
                wait == 0 ? nil : try sessions.subscribers.required("subscribers", for: context.account, retryAfter: 5)
            return .later {
                defer { lease?.end() }
                return try await sessions.withCurrent(id) { session in
                    try context.require(session)
                    return try await session.updates(
                        since: since, waiting: .seconds(wait), unless: match, form, for: context.account)
                }
            }
        }
    ]
}

/// How a list of updates is to look.
struct UpdateListForm: Sendable {
    var isSequential: Bool
    /// One update in the place of all.
    var isCoalesced: Bool
}

/// A position in a session's history: `<epoch>.<revision>`, or, short, `<revision>`.
struct Position: Sendable {
    var epoch: String?
    var revision: Int

    init(_ text: String) throws {
        let parts = text.split(separator: ".", maxSplits: 1, omittingEmptySubsequences: false)
        guard let digits = parts.last, let revision = Int(digits), digits.utf8.allSatisfy(\.isDigit),
            parts.count == 1 || !parts[0].isEmpty
        else {
            throw ProblemError(.badRequest, "A position is <revision> or <epoch>.<revision>, not \"\(text)\".")
        }
        self.revision = revision
        epoch = parts.count == 2 ? String(parts[0]) : nil
    }
}

extension Session {
    /// The revision of a position in this session's history; nil for one of another epoch, or that is still to come.
    private func revision(at position: Position) -> Int? {
        guard position.epoch == nil || position.epoch == epoch else { return nil }
        return position.revision <= current.snapshot.revision ? position.revision : nil
    }

    /// A stream of what comes after a position; nil, or one that history does not reach back to: of a snapshot and what comes
    /// after it.
    func eventStream(after position: Position?, _ form: StreamForm, _ lease: Budget.Lease, _ account: Budget.Account)
        throws -> HTTPResponse
    {
        let subscriber = Subscriber(
            self, after: position.flatMap { revision(at: $0) }, form: form, lease: lease, account: account)
        guard subscriber.start() else { throw StaleSession() }
        let headers = [
            ("Content-Type", "text/event-stream"), ("Cache-Control", "no-store"),
            ("X-Accel-Buffering", "no"),  // nginx would hold events back until its buffer is full
        ]
        return HTTPResponse(status: 200, headers: headers, body: .stream(subscriber.stream))
    }

    /// The updates after a position, one for each revision or one for all, or the snapshot where history does not reach
    /// back to it. If there are none, waits for one. The entity tag is the position that the answer leads to: if `ifNoneMatch`
    /// names it, the answer is 304.
    func updates(
        since position: Position, waiting time: Duration, unless ifNoneMatch: String?, _ form: UpdateListForm,
        for account: Budget.Account
    ) async throws -> HTTPResponse {
        guard let from = revision(at: position) else {
            return notModified(ifNoneMatch, etag(current.snapshot.revision)) ?? reset()
        }
        var recent = feed.recent.changes
        if recent.last <= from, time > .zero { recent = await feed.changes(after: from, waiting: time) }
        let kept = recent.after(from)
        if kept?.isEmpty == true, isStale { throw StaleSession() }
        // A snapshot can be read before its revision is published, so the client may be ahead.
        if let unchanged = notModified(ifNoneMatch, etag(max(from, recent.last))) { return unchanged }
        if let changes = kept {
            if form.isCoalesced { return try coalesced(changes.map(\.update), from: from, form) }
            return list(
                changes.map { $0.updateText(sequential: form.isSequential) }, from: from, to: from + changes.count)
        }
        return try await withTaskExecutorPreference(Workers.shared.long) {
            try await largeReads.withLock {
                try await withHistory(after: from, count: recent.last - from, for: account) { records in
                    guard records.first?.revision == from + 1, records.count == recent.last - from else {
                        return reset()
                    }
                    if form.isCoalesced {
                        return try coalesced(records.map { try BatchUpdate(json: $0.update) }, from: from, form)
                    }
                    return list(
                        try records.map { try $0.updateText(sequential: form.isSequential) }, from: from,
                        to: from + records.count)
                }
            }
        }
    }

    /// The updates of the revisions after `from`, without a gap, as one.
    private func coalesced(_ updates: [BatchUpdate], from: Int, _ form: UpdateListForm) throws -> HTTPResponse {
        if updates.isEmpty { return list([], from: from, to: from) }
        let update = try BatchUpdate.composing(updates)
        return list([form.isSequential ? update.sequentialJSON : update.json], from: from, to: update.to)
    }

    private func list(_ updates: [JSONText], from: Int, to: Int) -> HTTPResponse {
        .json(headers: [("ETag", etag(to))]) { writer in
            writer.beginObject()
            writer.name("from")
            writer.value(from)
            writer.name("to")
            writer.value(to)
            writer.name("updates")
            writer.beginArray()
            for update in updates { writer.value(update) }
            writer.endArray()
            writer.endObject()
        }
    }

    private func reset() -> HTTPResponse {
        let (revision, bytes) = encodedSnapshot()
        return .json(headers: [("ETag", etag(revision))]) { writer in
            writer.beginObject()
            writer.name("reset")
            writer.value(true)
            writer.name("snapshot")
            writer.raw(bytes)
            writer.endObject()
        }
    }
}
