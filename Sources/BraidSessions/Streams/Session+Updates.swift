import BraidEngine
import BraidRuntime
import BraidStore

/// The form of a list of updates that a client has asked for.
package struct UpdateListForm: Sendable {
    var isSequential: Bool
    /// Whether one update combines the updates of all revisions in the list.
    var isCoalesced: Bool

    package init(isSequential: Bool, isCoalesced: Bool) {
        self.isSequential = isSequential
        self.isCoalesced = isCoalesced
    }
}

/// The answer to a request for a session's updates: the changes since a position, and the position to which they lead.
package struct UpdateList: Sendable {
    package var position: Position
    /// The updates, or a snapshot, as JSON. `nil` if the client already has this answer, according to its
    /// `If-None-Match`.
    package var json: [UInt8]?
    /// The lease of memory that was taken for `json` before `json` was made. `nil` if no lease was taken.
    package var lease: Quota.Lease?
}

extension Session {
    /// Returns the revision of a position of this session. Returns `nil` if the position has another epoch or a
    /// revision that does not exist yet.
    func revision(at position: Position) -> Int? {
        guard position.epoch == nil || position.epoch == epoch else { return nil }
        return position.revision <= revision ? position.revision : nil
    }

    /// Returns an event stream of the session's changes after a position.
    ///
    /// The stream starts with a snapshot if `position` is `nil`, of another epoch or ahead of the session, or if the
    /// journal does not reach back to `position`. The stream of a window also starts with a snapshot if the table at
    /// `position` is no longer in memory or lacks the window's section or anchor.
    /// - Parameters:
    ///   - window: the window that the stream follows. `nil` for the whole table.
    ///   - old: the window that the client has at `position`, if it is another window than `window`.
    /// - Throws: `StaleSession` if the session was ended or dropped from memory. `Refusal` if the window's section or
    ///   anchor does not exist, or if the anchor is ambiguous.
    package func eventStream(
        after position: Position?, _ form: StreamForm, window: WindowQuery? = nil, from old: WindowQuery? = nil,
        _ lease: Quota.Lease, _ account: Quota.Account
    ) async throws -> ByteStream {
        var revision = position.flatMap { self.revision(at: $0) }, start: WindowStart?
        if let window {
            feed.noteWindowReader()
            start = try await windowStart(window, from: old, at: revision, for: account)
        }
        if let start, start.needsSnapshot { revision = nil }
        let subscriber = Subscriber(
            self, after: revision, form: form, window: start, lease: lease, account: account)
        guard subscriber.start() else { throw StaleSession() }
        return subscriber.stream
    }

    /// Returns the session's updates after a position: one update for each revision, or one update for all revisions.
    /// If there are no updates, waits for the next update for at most `time`.
    ///
    /// If the journal does not reach back to the position, or if the position is of another epoch or ahead of the
    /// session, the list contains a snapshot instead.
    /// - Parameter isKnown: returns whether the client already has the answer that leads to the given position. If the
    ///   client has the answer, the method makes no JSON.
    /// - Throws: `unavailable` or `quotaExceeded` if there is no memory for a large snapshot or a long history.
    package func updates(
        since position: Position, waiting time: Duration, unless isKnown: @Sendable (Position) -> Bool,
        _ form: UpdateListForm, for account: Quota.Account
    ) async throws -> UpdateList {
        guard let from = revision(at: position) else {
            let now = self.position
            if isKnown(now) { return UpdateList(position: now) }
            guard isTooLargeToCache else { return try reset(for: account) }
            return try await withTaskExecutorPreference(Workers.shared.long) {
                try await largeReads.withLock { try reset(for: account) }
            }
        }
        var recent = feed.recent.changes
        if recent.last <= from, time > .zero { recent = await feed.changes(after: from, waiting: time) }
        let kept = recent.after(from)
        if kept?.isEmpty == true, isStale { throw StaleSession() }
        // A client can read a snapshot before the snapshot's revision is published to the feed, so the client's
        // revision may be ahead of the feed.
        let last = self.position(at: max(from, recent.last))
        if isKnown(last) { return UpdateList(position: last) }
        if let changes = kept {
            if form.isCoalesced { return try coalesced(changes.map(\.update), from: from, form) }
            return list(
                changes.map { $0.updateText(sequential: form.isSequential) }, from: from, to: from + changes.count)
        }
        return try await withTaskExecutorPreference(Workers.shared.long) {
            try await largeReads.withLock {
                let known = try await withHistory(after: from, count: recent.last - from, for: account) {
                    records -> UpdateList? in
                    guard records.first?.revision == from + 1, records.count == recent.last - from else { return nil }
                    if form.isCoalesced {
                        return try coalesced(records.map { try BatchUpdate(json: $0.update) }, from: from, form)
                    }
                    return list(
                        try records.map { try $0.updateText(sequential: form.isSequential) }, from: from,
                        to: from + records.count)
                }
                // The lease of memory for the journal records has ended. So the account's share of memory may have room
                // for the snapshot.
                return try known ?? reset(for: account)
            }
        }
    }

    /// Returns a list with one update that combines the given updates, or an empty list if there are none. The updates
    /// follow each other without a gap, and the first one leads away from the revision `from`.
    private func coalesced(_ updates: [BatchUpdate], from: Int, _ form: UpdateListForm) throws -> UpdateList {
        if updates.isEmpty { return list([], from: from, to: from) }
        let update = try BatchUpdate.composing(updates)
        return list([form.isSequential ? update.sequentialJSON : update.json], from: from, to: update.to)
    }

    func list(_ updates: [JSONText], from: Int, to: Int) -> UpdateList {
        UpdateList(position: position(at: to)) {
            $0.member("from", from)
            $0.member("to", to)
            $0.member("updates", updates)
        }
    }

    /// Returns the list that replaces the client's copy by the session's current snapshot. Leases memory for a large
    /// snapshot before it encodes the snapshot.
    private func reset(for account: Quota.Account) throws -> UpdateList {
        let snapshot = current.snapshot
        // The snapshot's JSON and its copy in the list are in memory at the same time.
        guard cachedSnapshot == nil,
            let lease = try feed.limits.lease(snapshot.encodedSize, copies: 2, for: account)
        else {
            let (revision, bytes) = encodedSnapshot()
            return reset(bytes.plain, at: position(at: revision))
        }
        return reset(encoded(snapshot), at: position(at: snapshot.revision), lease)
    }

    /// Returns the list that replaces the client's copy by a snapshot.
    ///
    /// - Parameter lease: the lease of the memory for the list. `nil` if the snapshot is small.
    func reset(_ snapshot: [UInt8], at position: Position, _ lease: Quota.Lease? = nil) -> UpdateList {
        UpdateList(position: position, lease, capacity: snapshot.count + 64) {
            $0.member("reset", true)
            $0.name("snapshot")
            $0.raw(snapshot)
        }
    }
}

extension UpdateList {
    fileprivate init(
        position: Position, _ lease: Quota.Lease? = nil, capacity: Int = 0, _ members: (inout JSONWriter) -> Void
    ) {
        self.init(position: position, json: JSONText.object(capacity: capacity, members).bytes, lease: lease)
    }
}
