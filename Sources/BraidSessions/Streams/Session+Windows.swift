import BraidEngine
import BraidRuntime

/// A window at one revision, as JSON.
package struct EncodedWindow: Sendable {
    package var revision: Int
    package var bytes: [UInt8]
    /// The lease of the memory for `bytes`. `nil` if the window is small.
    package var lease: Quota.Lease?
}

extension Session {
    /// Returns the displayed table at a revision, and the changes from this revision to the newest published revision.
    /// Returns `nil` if the table or one of the changes is no longer in memory.
    func table(at revision: Int) -> (table: SessionTable, changes: ArraySlice<Change>)? {
        let current = current, recent = feed.recent.changes
        if let changes = recent.after(revision), let tables = changes.first?.tables,
            changes.allSatisfy({ $0.tables != nil })
        {
            return (tables.before, changes)
        }
        // A client can read a snapshot before the snapshot's revision is published to the session's feed.
        return current.snapshot.revision == revision && recent.last <= revision ? (current.table, []) : nil
    }

    /// Returns a window of one of the session's tables as JSON; without a table, of the current one.
    ///
    /// - Throws: `Refusal` if the window's section or anchor does not exist in that table, or if the anchor is
    ///   ambiguous. `unavailable` or `quotaExceeded` if there is no memory for a large window.
    package func encodedWindow(
        _ query: WindowQuery, of table: SessionTable? = nil, for account: Quota.Account
    ) async throws -> EncodedWindow {
        if table == nil { feed.noteWindowReader() }
        let table = table ?? current.table
        let window = try await withWindows(costing: query.examinedRows(in: table), for: account) {
            try query.cut(from: table)
        }
        return try await withWindows(costing: window.cost, for: account) {
            // A window has few rows, but each row can have megabytes.
            let lease = try feed.limits.lease(window.snapshot.encodedSize, for: account)
            return EncodedWindow(revision: window.snapshot.revision, bytes: encoded(window), lease: lease)
        }
    }

    /// Returns the list that replaces the client's copy by a window. Leases memory for a large window before it encodes
    /// the window.
    private func reset(to window: WindowedSnapshot, for account: Quota.Account) async throws -> UpdateList {
        try await withWindows(costing: window.cost, for: account) {
            // The window's JSON and its copy in the list are in memory at the same time.
            let lease = try feed.limits.lease(window.snapshot.encodedSize, copies: 2, for: account)
            return reset(encoded(window), at: position(at: window.snapshot.revision), lease)
        }
    }

    /// The window with which an event stream starts.
    struct WindowStart: Sendable {
        var place: WindowPlace
        /// The window that the client has, if the stream must first lead from it to `place` at the same revision.
        var old: WindowPlace?
        /// Whether the stream must start with a snapshot: the client has no window yet, the table at the client's
        /// revision is no longer in memory, that table does not contain the window's section or anchor, or the changes
        /// since then lead away from the row that the client wants.
        var needsSnapshot = false
    }

    /// Returns the window with which an event stream starts.
    ///
    /// - Parameters:
    ///   - old: the window that the client has at `revision`. `nil` if the client has the window `query`.
    ///   - revision: the revision that the client has, or `nil` if the client needs a snapshot.
    func windowStart(
        _ query: WindowQuery, from old: WindowQuery?, at revision: Int?, for account: Quota.Account
    ) async throws -> WindowStart {
        let now = current.table
        return try await withWindows(costing: query.examinedRows(in: now), for: account) {
            if let revision, let (table, changes) = table(at: revision), let window = try? query.cut(from: table) {
                guard let old else { return WindowStart(place: window.place) }
                if let before = try? old.cut(from: table), query.agrees(with: window.following(changes), in: now) {
                    return WindowStart(place: window.place, old: before.place)
                }
            }
            return WindowStart(place: try query.cut(from: now).place, needsSnapshot: true)
        }
    }

    /// Returns the update of a window after a position, in a list of at most one update. If the window has not changed
    /// since the position, waits for a change for at most `time`.
    ///
    /// The update leads from the window `old` at the position to the window `query` at the newest revision. If the
    /// update cannot be computed, the answer contains a snapshot of the window instead. For example, the table at the
    /// position is no longer in memory, or the position is of another epoch.
    /// - Throws: `unavailable` or `quotaExceeded` if there is no memory for a large window.
    package func windowUpdates(
        since position: Position, waiting time: Duration, unless isKnown: @Sendable (Position) -> Bool,
        _ query: WindowQuery, from old: WindowQuery?, isSequential: Bool, for account: Quota.Account
    ) async throws -> UpdateList {
        feed.noteWindowReader()
        let deadline = ContinuousClock.now + time, now = current.table
        let cost = query.estimatedCost(in: now) + (old?.estimatedCost(in: now) ?? 0)
        func reset() async throws -> UpdateList {
            let window = try await withWindows(costing: cost, for: account) { try query.cut(from: current.table) }
            let now = self.position(at: window.snapshot.revision)
            return isKnown(now) ? UpdateList(position: now) : try await self.reset(to: window, for: account)
        }
        guard let from = revision(at: position) else { return try await reset() }
        // A waiting request keeps no rows, only the place of its window: the feed keeps the tables.
        var place: WindowPlace?, revision = from
        while true {
            let step = try await withWindows(costing: cost, for: account) { () throws -> WindowStep in
                guard let (table, changes) = table(at: revision),
                    let before = place.map({ table.windows.cut($0) }) ?? (try? (old ?? query).cut(from: table))
                else { return .unknown }
                let after =
                    old == nil || place != nil
                    ? before.following(changes)
                    : try query.target(
                        from: table, changes, current.table)
                let update = try WindowUpdate(from: before, to: after, since: from)
                if update.isEmpty { return .unchanged(after.place, revision: after.snapshot.revision) }
                let now = self.position(at: after.snapshot.revision)
                if old == nil, isKnown(now) { return .list(UpdateList(position: now)) }
                // The update's JSON and its copy in the list are in memory at the same time.
                let lease = try feed.limits.lease(update.update.estimatedSize, copies: 2, for: account)
                var updates = list(
                    [isSequential ? update.sequentialJSON : update.json], from: from, to: now.revision)
                updates.lease = lease
                return .list(updates)
            }
            switch step {
            case .list(let list): return list
            case .unknown: return try await reset()
            case .unchanged(let known, let last): (place, revision) = (known, last)
            }
            let rest = deadline - .now
            guard rest > .zero, await feed.changes(after: revision, waiting: rest).last > revision else {
                if isStale { throw StaleSession() }
                let now = self.position(at: revision)
                return isKnown(now) ? UpdateList(position: now) : list([], from: from, to: revision)
            }
        }
    }

    /// What a request for a window's updates finds out before it is answered or waits.
    private enum WindowStep {
        case list(UpdateList)
        case unchanged(WindowPlace, revision: Int)
        /// The client's window, or the changes since then, cannot be computed.
        case unknown
    }
}

extension WindowedSnapshot {
    /// The cost of encoding the window, as a number of rows. A row counts as 1 KiB.
    var cost: Int {
        let rows = snapshot.sections.reduce(0) { $0 + $1.rows.count }
        return rows <= Workers.shortRows && snapshot.isLarger(than: Workers.shortRows << 10) ? .max : rows
    }

    /// Returns the window after changes that were stored with their tables.
    fileprivate func following(_ changes: ArraySlice<Change>) -> WindowedSnapshot {
        changes.reduce(self) { window, change in change.tables?.windows(at: window.place).after ?? window }
    }
}

extension WindowQuery {
    /// Returns the window that the query names in the newest table. If the table does not display the query's row any
    /// more, the row's window in an earlier table is followed through the changes since then.
    fileprivate func target(
        from table: SessionTable, _ changes: ArraySlice<Change>, _ newest: SessionTable
    ) throws(Refusal) -> WindowedSnapshot {
        do {
            return try cut(from: newest)
        } catch {
            guard let earlier = try? cut(from: table) else { throw error }
            return earlier.following(changes)
        }
    }

    /// Returns whether a window that was followed is the one that the query names in the newest table, if it names one.
    fileprivate func agrees(with followed: WindowedSnapshot, in newest: SessionTable) -> Bool {
        guard let wanted = try? cut(from: newest) else { return true }
        return wanted.window == followed.window
    }
}
