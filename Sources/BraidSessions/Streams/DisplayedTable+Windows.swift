import BraidEngine
import BraidRuntime

extension DisplayedTable {
    /// A window, by default of the current table. Throws `Refusal`, `unavailable` or `quotaExceeded`.
    package func encodedWindow(
        _ query: WindowQuery, of table: SessionTable? = nil, for account: Quota.Account
    ) async throws -> EncodedAnswer {
        if table == nil { feed.noteWindowReader() }
        let window = try await cut(query, from: table ?? current, for: account)
        return try await encoding(window, for: account) { json, lease in
            EncodedAnswer(position: position(at: window.snapshot.revision), json: json, lease: lease)
        }
    }

    /// The current table's window, on the calling thread. `nil`: too much for an event loop. Throws as `encodedWindow`.
    package func encodedSmallWindow(_ query: WindowQuery, for account: Quota.Account) throws -> EncodedAnswer? {
        let table = current
        guard table.snapshot.sections.count + query.estimatedCost(in: table) <= Workers.shortRows else { return nil }
        feed.noteWindowReader()
        let window = try query.cut(from: table)
        guard window.cost <= Workers.shortRows else { return nil }
        let lease = try feed.limits.lease(window.snapshot.encodedSize, for: account)
        return EncodedAnswer(
            position: position(at: window.snapshot.revision),
            json: window.encoded(session: id, table: session.table, epoch: epoch), lease: lease)
    }

    func cut(
        _ query: WindowQuery, from table: SessionTable, for account: Quota.Account
    ) async throws -> WindowedSnapshot {
        try await session.withWindows(costing: query.examinedRows(in: table), for: account) {
            try query.cut(from: table)
        }
    }

    /// `copies` are in memory at once: each of the few rows can have megabytes.
    func encoding<Value>(
        _ window: WindowedSnapshot, copies: Int = 1, for account: Quota.Account,
        _ body: ([UInt8], Quota.Lease?) throws -> Value
    ) async throws -> Value {
        let window = window.rendered()
        return try await session.withWindows(costing: window.cost, for: account) {
            let lease = try feed.limits.lease(window.snapshot.encodedSize, copies: copies, for: account)
            return try body(window.encoded(session: id, table: session.table, epoch: epoch), lease)
        }
    }

    // MARK: Following

    /// The table at an earlier revision, and the changes since. `nil` if one is no longer in memory.
    func recent(at revision: Int) -> (table: SessionTable, changes: ArraySlice<Change>)? {
        // In this order: a revision published in between is then among the changes.
        let current = current, recent = feed.recent.changes
        if let changes = recent.after(revision), let tables = changes.first?.tables,
            changes.allSatisfy({ $0.tables != nil })
        {
            return (tables.before, changes)
        }
        // A snapshot can be ahead of the feed.
        return current.snapshot.revision == revision && recent.last <= revision ? (current, []) : nil
    }

    /// `revision` is `nil` if the stream must start with a snapshot. `old` is the client's window, if it is not
    /// `query`.
    func windowStart(
        _ query: WindowQuery, from old: WindowQuery?, at revision: Int?, for account: Quota.Account
    ) async throws -> (revision: Int?, followed: Followed) {
        let now = current
        return try await session.withWindows(costing: query.examinedRows(in: now), for: account) {
            if let revision, let (table, changes) = recent(at: revision), let window = try? query.cut(from: table) {
                guard let old else { return (revision, .window(window.place)) }
                if let before = try? old.cut(from: table), query.agrees(with: window.following(changes), in: now) {
                    return (revision, .window(window.place, from: before.place))
                }
            }
            return (nil, .window(try query.cut(from: now).place))
        }
    }

    /// A window's update from `from` to the newest revision. `place` is the window's at `revision`; `nil` until the
    /// request has waited: the client then has `old`, or else `query`'s. A waiting request keeps no rows: the feed
    /// keeps the tables.
    func windowStep(
        _ query: WindowQuery, _ request: UpdatesRequest, from: Int, at revision: Int, _ place: WindowPlace?
    ) async throws -> UpdatesStep {
        let now = current, old = request.old
        let cost = query.estimatedCost(in: now) + (old?.estimatedCost(in: now) ?? 0)
        return try await session.withWindows(costing: cost, for: request.account) { () throws -> UpdatesStep in
            guard let (table, changes) = recent(at: revision),
                let before = place.map({ table.windows.cut($0) }) ?? (try? (old ?? query).cut(from: table))
            else { return .lost }
            let after =
                old == nil || place != nil
                ? before.following(changes) : try query.target(from: table, changes, current)
            let update = try WindowUpdate(from: before, to: after, since: from, in: changes.last?.update)
            let to = after.snapshot.revision
            if update.isEmpty { return .unchanged(revision: to, after.place) }
            if old == nil, let known = request.known(position(at: to)) { return .answer(known) }
            // The update and its copy in the list are in memory together.
            let lease = try feed.limits.lease(update.update.estimatedSize, copies: 2, for: request.account)
            return .answer(
                list([request.isSequential ? update.sequentialJSON : update.json], from: from, to: to, lease))
        }
    }
}

extension Session {
    /// Runs `body`. If it costs more than `Workers.shortRows` rows, on the long pool, in the token's turn.
    func withWindows<Value>(
        costing cost: Int, for account: Quota.Account, _ body: () async throws -> Value
    ) async throws -> Value {
        guard cost > Workers.shortRows else { return try await body() }
        return try await feed.limits.turns.withTurn(of: account.client) {
            try await withTaskExecutorPreference(Workers.shared.long) { try await body() }
        }
    }
}

extension WindowedSnapshot {
    private var rowCount: Int { snapshot.sections.reduce(0) { $0 + $1.rows.count } }

    /// The cost of encoding, in rows of 1 KiB. If rows must be rendered, too much for an event loop.
    fileprivate var cost: Int {
        let rows = rowCount
        return rows <= Workers.shortRows && snapshot.isLarger(than: Workers.shortRows << 10) ? .max : rows
    }

    /// Renders a few rows, on the calling thread, so that encoding need not. If they turn out to be too much, the cost
    /// says so, and the long pool renders the rest.
    fileprivate func rendered() -> WindowedSnapshot {
        guard rowCount <= Workers.shortRows else { return self }
        return rendered(bytes: Workers.shortRows << 10, time: .nanoseconds(Workers.shortTime))
    }

    /// All changes must have their tables.
    fileprivate func following(_ changes: ArraySlice<Change>) -> WindowedSnapshot {
        changes.reduce(self) { window, change in change.tables?.windows(at: window.place).after ?? window }
    }
}

extension TableWindow {
    func mostRows(in rowCount: Int) -> Int {
        switch run {
        case .rows(_, let limit): min(limit, rowCount)
        case .around(_, let before, let after): min(before + 1 + after, rowCount)
        }
    }
}

extension WindowQuery {
    /// The window in the newest table. If its row is no longer displayed there, the earlier one, followed through the
    /// changes.
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

    /// Whether following led to the query's window in the newest table, if it has one there.
    fileprivate func agrees(with followed: WindowedSnapshot, in newest: SessionTable) -> Bool {
        guard let wanted = try? cut(from: newest) else { return true }
        return wanted.window == followed.window
    }
}
