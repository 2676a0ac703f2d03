import BraidEngine
import BraidRuntime
import Synchronization

/// A window in the form in which a request names it. The request may leave out the section of the window's anchor.
package struct WindowQuery: Sendable {
    /// The section whose rows the window shows. `nil` for a window across all displayed sections.
    package var section: SectionID?
    package var run: Run

    package enum Run: Sendable {
        /// At most `limit` rows from the row at `offset` on. A negative offset counts from the end.
        case rows(offset: Int, limit: Int)
        /// The row with an id (the anchor), with at most `before` rows before and at most `after` rows after this row.
        /// `section` is the anchor's section, if the request names it.
        case around(RowID, section: SectionID?, before: Int, after: Int)
    }

    package init(section: SectionID?, _ run: Run) {
        self.section = section
        self.run = run
    }
}

extension WindowQuery {
    /// Cuts the window that the request names out of a table.
    ///
    /// - Throws: `Refusal` with `sectionNotFound`, `rowNotFound` or `ambiguousRow`.
    func cut(from table: SessionTable) throws(Refusal) -> WindowedSnapshot {
        if let section, table.model[section] == nil {
            throw .noSection(section, among: table.model.sections.lazy.map(\.id))
        }
        let source = table.windows
        switch run {
        case .rows(let offset, let limit): return source.cut(section: section, offset: offset, limit: limit)
        case .around(let id, let named, let before, let after):
            let place: SectionID
            if let known = named ?? section { place = known } else { place = try Self.section(of: id, in: source) }
            let anchor = TableWindow.Anchor(section: place, id: id)
            guard let window = source.cut(section: section, around: anchor, before: before, after: after) else {
                throw .noRow(id, in: anchor.section)
            }
            return window
        }
    }

    /// Returns the id of the only displayed section that contains a row with the row id `id`.
    private static func section(of id: RowID, in source: WindowSource) throws(Refusal) -> SectionID {
        let sections = source.sections(with: id)
        guard let first = sections.first else {
            throw Refusal(.rowNotFound, "No displayed section has a row with the id \"\(id)\".")
        }
        guard sections.count == 1 else {
            throw Refusal(
                .ambiguousRow,
                "Several displayed sections have a row with the id \"\(id)\": name the section in `aroundSection`.")
        }
        return first
    }

    /// The estimated cost of the window in a table, as a number of rows: those that it may show, and those that must be
    /// examined to find its anchor.
    func estimatedCost(in table: SessionTable) -> Int {
        let most =
            switch run {
            case .rows(_, let limit): limit
            case .around(_, _, let before, let after): before + 1 + after
            }
        return min(most, table.snapshot.totalRowCount) + examinedRows(in: table)
    }

    /// The number of rows that must be examined to find the window's anchor in a table.
    func examinedRows(in table: SessionTable) -> Int {
        guard case .around(let id, let named, _, _) = run else { return 0 }
        return table.windows.examinedRows(for: id, in: named ?? section)
    }
}

extension TableWindow {
    /// The largest number of rows that the window can show in a table of `rowCount` rows.
    func mostRows(in rowCount: Int) -> Int {
        switch run {
        case .rows(_, let limit): min(limit, rowCount)
        case .around(_, let before, let after): min(before + 1 + after, rowCount)
        }
    }
}

/// A change of a session's table, from which the updates of windows are computed.
final class ChangedTable: Sendable {
    let before: SessionTable
    private let after: SessionTable
    private let update: BatchUpdate
    private let prepared = Mutex<Prepared?>(nil)

    private struct Prepared {
        var before: WindowSource
        var after: WindowSource
        var follower: RowFollower
    }

    /// The approximate memory in bytes that the tables of one change need. The two tables share all their rows except
    /// the changed ones.
    static let size = 12 * 1024

    init(before: SessionTable, after: SessionTable, update: BatchUpdate) {
        self.before = before
        self.after = after
        self.update = update
    }

    /// Returns a window before and after the change. The first call prepares the tables and the update for all windows
    /// of this change.
    func windows(at place: WindowPlace) -> (before: WindowedSnapshot, after: WindowedSnapshot) {
        let tables = prepared.withLock { $0 } ?? prepare()
        let before = tables.before.cut(place)
        return (before, before.following(tables.follower, to: tables.after))
    }

    /// Prepares outside of the lock, so that nobody waits for a thread of low priority.
    private func prepare() -> Prepared {
        let new = Prepared(before: before.windows, after: after.windows, follower: RowFollower(update))
        return prepared.withLock { known in
            let kept = known ?? new
            known = kept
            return kept
        }
    }
}

extension Session {
    /// Runs the work for windows where it belongs: on the long worker pool, in the token's turn, if it costs more than
    /// `Workers.shortRows`.
    func withWindows<Value>(
        costing cost: Int, for account: Quota.Account, _ body: () async throws -> Value
    ) async throws -> Value {
        guard cost > Workers.shortRows else { return try await body() }
        return try await feed.limits.turns.withTurn(of: account.client) {
            try await withTaskExecutorPreference(Workers.shared.long) { try await body() }
        }
    }

    func encoded(_ window: WindowedSnapshot) -> [UInt8] { window.encoded(session: id, table: table, epoch: epoch) }
}
