import BraidEngine
import BraidRuntime

extension Session {
    /// Returns a window of one of the session's tables as JSON; without a table, of the current one.
    ///
    /// - Throws: `Refusal` if the window's section or anchor does not exist or is ambiguous. `unavailable` or
    ///   `quotaExceeded` if there is no memory for a large window.
    package func encodedWindow(
        _ query: WindowQuery, of table: SessionTable? = nil, for account: Quota.Account
    ) async throws -> EncodedAnswer {
        if table == nil { feed.noteWindowReader() }
        let window = try await cut(query, from: table ?? current.table, for: account)
        return try await encoding(window, for: account) { json, lease in
            EncodedAnswer(position: position(at: window.snapshot.revision), json: json, lease: lease)
        }
    }

    func cut(
        _ query: WindowQuery, from table: SessionTable, for account: Quota.Account
    ) async throws -> WindowedSnapshot {
        try await withWindows(costing: query.examinedRows(in: table), for: account) { try query.cut(from: table) }
    }

    /// Leases memory for a window's JSON, of which `copies` are in memory at the same time, and then encodes it. A
    /// window has few rows, but each can have megabytes.
    func encoding<Value>(
        _ window: WindowedSnapshot, copies: Int = 1, for account: Quota.Account,
        _ body: ([UInt8], Quota.Lease?) throws -> Value
    ) async throws -> Value {
        try await withWindows(costing: window.cost, for: account) {
            let lease = try feed.limits.lease(window.snapshot.encodedSize, copies: copies, for: account)
            return try body(window.encoded(session: id, table: table, epoch: epoch), lease)
        }
    }

    /// Runs work that costs more than `Workers.shortRows` rows on the long worker pool, in the token's turn.
    func withWindows<Value>(
        costing cost: Int, for account: Quota.Account, _ body: () async throws -> Value
    ) async throws -> Value {
        guard cost > Workers.shortRows else { return try await body() }
        return try await feed.limits.turns.withTurn(of: account.client) {
            try await withTaskExecutorPreference(Workers.shared.long) { try await body() }
        }
    }

    // MARK: Following

    /// Returns the displayed table at a revision, and the changes from there to the newest published revision. `nil` if
    /// one of them is no longer in memory.
    func table(at revision: Int) -> (table: SessionTable, changes: ArraySlice<Change>)? {
        // In this order: a revision that is published in between is then among the changes.
        let current = current, recent = feed.recent.changes
        if let changes = recent.after(revision), let tables = changes.first?.tables,
            changes.allSatisfy({ $0.tables != nil })
        {
            return (tables.before, changes)
        }
        // A client can read a snapshot before its revision is published to the feed.
        return current.snapshot.revision == revision && recent.last <= revision ? (current.table, []) : nil
    }

    /// Returns the window with which an event stream starts, and the client's revision: `nil` if the stream must start
    /// with a snapshot.
    ///
    /// - Parameter old: the window that the client has at `revision`, if it is another than `query`.
    func windowStart(
        _ query: WindowQuery, from old: WindowQuery?, at revision: Int?, for account: Quota.Account
    ) async throws -> (revision: Int?, followed: Followed) {
        let now = current.table
        return try await withWindows(costing: query.examinedRows(in: now), for: account) {
            if let revision, let (table, changes) = table(at: revision), let window = try? query.cut(from: table) {
                guard let old else { return (revision, .window(window.place)) }
                if let before = try? old.cut(from: table), query.agrees(with: window.following(changes), in: now) {
                    return (revision, .window(window.place, from: before.place))
                }
            }
            return (nil, .window(try query.cut(from: now).place))
        }
    }

    /// Finds the update of a window that leads from the revision `from` to the newest one.
    ///
    /// - Parameter place: where the window is at `revision`. A request that waits keeps no rows: the feed keeps the
    ///   tables. `nil` until it waits: then the window is that of the request.
    func windowStep(
        _ query: WindowQuery, _ request: UpdatesRequest, from: Int, at revision: Int, _ place: WindowPlace?
    ) async throws -> UpdatesStep {
        let now = current.table, old = request.old
        let cost = query.estimatedCost(in: now) + (old?.estimatedCost(in: now) ?? 0)
        return try await withWindows(costing: cost, for: request.account) { () throws -> UpdatesStep in
            guard let (table, changes) = table(at: revision),
                let before = place.map({ table.windows.cut($0) }) ?? (try? (old ?? query).cut(from: table))
            else { return .lost }
            let after =
                old == nil || place != nil
                ? before.following(changes) : try query.target(from: table, changes, current.table)
            let update = try WindowUpdate(from: before, to: after, since: from), to = after.snapshot.revision
            if update.isEmpty { return .unchanged(revision: to, after.place) }
            if old == nil, let known = request.known(position(at: to)) { return .answer(known) }
            // The update's JSON and its copy in the list are in memory at the same time.
            let lease = try feed.limits.lease(update.update.estimatedSize, copies: 2, for: request.account)
            return .answer(
                list([request.isSequential ? update.sequentialJSON : update.json], from: from, to: to, lease))
        }
    }
}

extension WindowedSnapshot {
    /// The cost of encoding the window, as a number of rows of 1 KiB.
    fileprivate var cost: Int {
        let rows = snapshot.sections.reduce(0) { $0 + $1.rows.count }
        return rows <= Workers.shortRows && snapshot.isLarger(than: Workers.shortRows << 10) ? .max : rows
    }

    /// Returns the window after changes, all of which must have their tables.
    fileprivate func following(_ changes: ArraySlice<Change>) -> WindowedSnapshot {
        changes.reduce(self) { window, change in change.tables?.windows(at: window.place).after ?? window }
    }
}

extension TableWindow {
    /// The most rows that the window can show in a table of `rowCount` rows.
    func mostRows(in rowCount: Int) -> Int {
        switch run {
        case .rows(_, let limit): min(limit, rowCount)
        case .around(_, let before, let after): min(before + 1 + after, rowCount)
        }
    }
}

extension WindowQuery {
    /// Returns the query's window in the newest table. If its row is no longer displayed there, follows its window in
    /// an earlier table through the changes since then.
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

    /// Returns whether a window that was followed is the query's window in the newest table, if it has one there.
    fileprivate func agrees(with followed: WindowedSnapshot, in newest: SessionTable) -> Bool {
        guard let wanted = try? cut(from: newest) else { return true }
        return wanted.window == followed.window
    }
}
