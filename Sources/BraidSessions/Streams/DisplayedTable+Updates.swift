import BraidEngine
import BraidRuntime
import BraidStore

/// `GET …/updates` for JSON. Waits if there are no updates yet.
package struct UpdatesRequest: Sendable {
    let since: Position
    let account: Quota.Account
    package var wait = Duration.zero
    /// `nil`: the whole table.
    package var window: WindowQuery?
    /// The client's window at `since`, if it is not `window`.
    package var old: WindowQuery?
    /// With the client's view at `since`, if it is not the present one.
    package var oldLooker: Looker?
    package var isSequential = false
    /// One update for all revisions, as windows always get.
    package var isCoalesced = false
    /// Whether the client has the answer of this position: then no JSON is made.
    package var isKnown: @Sendable (Position) -> Bool = { _ in false }

    package init(since: Position, account: Quota.Account) {
        self.since = since
        self.account = account
    }

    func known(_ position: Position) -> EncodedAnswer? { isKnown(position) ? EncodedAnswer(position: position) : nil }
}

package struct EncodedAnswer: Sendable {
    package var position: Position
    /// `nil`: the client has it already.
    package var json: [UInt8]?
    /// `nil`: a small answer.
    package var lease: Quota.Lease?
}

extension EncodedAnswer {
    fileprivate init(
        position: Position, _ lease: Quota.Lease?, capacity: Int = 0, _ members: (inout JSONWriter) -> Void
    ) {
        self.init(position: position, json: JSONText.object(capacity: capacity, members).bytes, lease: lease)
    }
}

extension DisplayedTable {
    /// `nil` for a position of another epoch, or ahead.
    func revision(at position: Position) -> Int? {
        guard position.epoch == nil || position.epoch == epoch else { return nil }
        return position.revision <= revision ? position.revision : nil
    }

    /// Starts with a snapshot without a position, or if it is of another epoch, ahead, or beyond the journal (for a
    /// window, beyond memory). `old` is the client's window there, if it is not `window`.
    /// - Throws: `StaleSession`, or `Refusal` if the section or anchor does not exist or is ambiguous.
    package func eventStream(
        after position: Position?, _ form: StreamForm, window: WindowQuery? = nil, from old: WindowQuery? = nil,
        _ oldLooker: Looker? = nil, presence: PresenceStream? = nil, _ lease: Quota.Lease, _ account: Quota.Account
    ) async throws -> ByteStream {
        var opening: StreamStep?
        if let oldLooker, let position {
            var request = UpdatesRequest(since: position, account: account)
            (request.window, request.old, request.isSequential) = (window, old, form.isSequential)
            opening = try await change(from: oldLooker, request).map { change in
                let position = self.position(at: change.update.to)
                let bytes = ServerSentEvent.bytes(at: position, update: change.json, controllerEvents: [])
                return StreamStep(
                    events: EventBytes(bytes, change.lease), revision: position.revision, followed: change.followed)
            }
        }
        var start = (revision: position.flatMap { self.revision(at: $0) }, followed: Followed.table)
        if let opening {
            start = (opening.revision, opening.followed)
        } else if oldLooker != nil, window == nil {
            start.revision = nil
        } else if let window {
            feed.noteWindowReader()
            start = try await windowStart(window, from: old, at: start.revision, for: account)
        }
        let subscriber = Subscriber(
            self, after: start.revision, following: start.followed, opening: opening, form: form, presence: presence,
            lease: lease, account: account)
        guard subscriber.start() else { throw StaleSession() }
        return subscriber.stream
    }

    // MARK: Long polling

    enum UpdatesStep {
        case answer(EncodedAnswer)
        /// The window is at this place.
        case unchanged(revision: Int, WindowPlace? = nil)
        /// The client needs a snapshot.
        case lost
    }

    /// The updates, or a snapshot if they cannot be computed. Throws `StaleSession`, `unavailable` or `quotaExceeded`.
    package func updates(_ request: UpdatesRequest) async throws -> EncodedAnswer {
        if request.window != nil { feed.noteWindowReader() }
        if let old = request.oldLooker {
            guard let change = try await change(from: old, request) else { return try await reset(request) }
            return list([change.json], from: change.update.from, to: change.update.to, change.lease)
        }
        guard let from = revision(at: request.since) else { return try await reset(request) }
        let deadline = ContinuousClock.now + request.wait
        var recent = feed.recent.changes, revision = from, place: WindowPlace?
        while true {
            let step =
                if let window = request.window {
                    try await windowStep(window, request, from: from, at: revision, place)
                } else {
                    try await tableStep(request, from: from, recent)
                }
            switch step {
            case .answer(let answer): return answer
            case .lost: return try await reset(request)
            case .unchanged(let known, let window): (revision, place) = (known, window)
            }
            let rest = deadline - .now
            if rest > .zero { recent = await feed.changes(after: revision, waiting: rest) }
            guard rest > .zero, recent.last > revision else {
                if isStale { throw StaleSession() }
                return request.known(position(at: revision)) ?? list([], from: from, to: revision)
            }
        }
    }

    private func tableStep(
        _ request: UpdatesRequest, from: Int, _ recent: RecentChanges
    ) async throws -> UpdatesStep {
        // A snapshot can be ahead of the feed.
        guard recent.last > from else { return .unchanged(revision: from) }
        if let known = request.known(position(at: recent.last)) { return .answer(known) }
        if let changes = recent.after(from) {
            return .answer(
                try list(changes, from: from, to: recent.last, request, update: \.update) {
                    $0.updateText(sequential: request.isSequential)
                })
        }
        if own != nil {
            guard let update = try await update(since: from, for: request.account) else { return .lost }
            let lease = try feed.limits.lease(update.estimatedSize, copies: 2, for: request.account)
            return .answer(
                list(
                    [request.isSequential ? update.sequentialJSON : update.json], from: from, to: update.to, lease))
        }
        let count = recent.last - from
        return try await withTaskExecutorPreference(Workers.shared.long) {
            try await session.largeReads.withLock {
                try await session.withHistory(after: from, count: count, for: request.account) { records in
                    guard records.first?.revision == from + 1, records.count == count else { return .lost }
                    return .answer(
                        try list(
                            records, from: from, to: from + count, request, update: { try BatchUpdate(json: $0.update) }
                        ) {
                            try $0.updateText(sequential: request.isSequential)
                        })
                }
            }
        }
    }

    private func list<Revisions: Collection>(
        _ revisions: Revisions, from: Int, to last: Int, _ request: UpdatesRequest,
        update: (Revisions.Element) throws -> BatchUpdate, text: (Revisions.Element) throws -> JSONText
    ) throws -> EncodedAnswer {
        guard request.isCoalesced else { return list(try revisions.map(text), from: from, to: last) }
        let update = try BatchUpdate.composing(revisions.map(update))
        return list([request.isSequential ? update.sequentialJSON : update.json], from: from, to: last)
    }

    func list(_ updates: [JSONText], from: Int, to: Int, _ lease: Quota.Lease? = nil) -> EncodedAnswer {
        EncodedAnswer(position: position(at: to), lease) {
            $0.member("from", from)
            $0.member("to", to)
            $0.member("updates", updates)
        }
    }

    // MARK: Snapshots in place of updates

    private func reset(_ request: UpdatesRequest) async throws -> EncodedAnswer {
        if let query = request.window {
            let window = try await cut(query, from: current, for: request.account)
            if let known = request.known(position(at: window.snapshot.revision)) { return known }
            return try await encoding(window, copies: 2, for: request.account) { json, lease in
                reset(json, at: window.snapshot.revision, lease)
            }
        }
        if let known = request.known(position) { return known }
        guard isTooLargeToCache else { return try resetToTable(for: request.account) }
        return try await withTaskExecutorPreference(Workers.shared.long) {
            try await session.largeReads.withLock { try resetToTable(for: request.account) }
        }
    }

    private func resetToTable(for account: Quota.Account) throws -> EncodedAnswer {
        let snapshot = current.snapshot
        // The snapshot and its copy in the answer are in memory together.
        guard cachedSnapshot == nil,
            let lease = try feed.limits.lease(snapshot.encodedSize, copies: 2, for: account)
        else {
            let (revision, bytes) = encodedSnapshot()
            return reset(bytes.plain, at: revision)
        }
        return reset(encoded(snapshot), at: snapshot.revision, lease)
    }

    private func reset(_ snapshot: [UInt8], at revision: Int, _ lease: Quota.Lease? = nil) -> EncodedAnswer {
        EncodedAnswer(position: position(at: revision), lease, capacity: snapshot.count + 64) {
            $0.member("reset", true)
            $0.name("snapshot")
            $0.raw(snapshot)
        }
    }
}

extension DisplayedTable {
    /// From one view to another, perhaps of other windows.
    private typealias ViewChange = (update: BatchUpdate, json: JSONText, followed: Followed, lease: Quota.Lease?)

    /// `nil`: the client needs a snapshot. Throws for a view or window that does not exist.
    private func change(from old: Looker, _ request: UpdatesRequest) async throws -> ViewChange? {
        let before = try await session.displayed(to: old, for: request.account)
        guard let revision = before.revision(at: request.since),
            let past = try await before.table(atRevision: revision, for: request.account)
        else { return nil }
        let now = current
        // The update and its copy in the answer are in memory together.
        func lease(_ update: BatchUpdate) throws(SessionError) -> Quota.Lease? {
            try feed.limits.lease(update.estimatedSize, copies: 2, for: request.account)
        }
        guard let query = request.window else {
            let update = try now.bound.binder.ownUpdate(
                from: (past.model, past.snapshot), to: (now.model, now.snapshot))
            return (
                update, request.isSequential ? update.sequentialJSON : update.json, .table, try lease(update)
            )
        }
        feed.noteWindowReader()
        let cost = query.estimatedCost(in: now) + (request.old?.estimatedCost(in: past) ?? 0)
        return try await session.withWindows(costing: cost, for: request.account) {
            guard let window = try? (request.old ?? query).cut(from: past) else { return nil }
            let after = try query.cut(from: now)
            let update = try WindowUpdate(from: window, to: after, since: revision, in: nil)
            return (
                update.update, request.isSequential ? update.sequentialJSON : update.json, .window(after.place),
                try lease(update.update)
            )
        }
    }
}
