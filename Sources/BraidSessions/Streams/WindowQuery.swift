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

/// A window at one revision, as JSON.
package struct EncodedWindow: Sendable {
    package var revision: Int
    package var bytes: [UInt8]
    /// The lease of the memory for `bytes`. `nil` if the window is small.
    package var lease: Quota.Lease?
}

extension WindowQuery {
    /// Cuts the window that the request names out of a table.
    ///
    /// - Parameter model: the session's stored table, which finds rows by their ids. The revision of `model` may
    ///   differ from the revision of `source`.
    /// - Throws: `Refusal` with `sectionNotFound`, `rowNotFound` or `ambiguousRow`.
    func cut(from source: WindowSource, _ model: TableModel) throws(Refusal) -> WindowedSnapshot {
        if let section, model[section] == nil { throw .noSection(section, among: model.sections.lazy.map(\.id)) }
        switch run {
        case .rows(let offset, let limit): return source.cut(section: section, offset: offset, limit: limit)
        case .around(let id, let named, let before, let after):
            let place: SectionID
            if let known = named ?? section { place = known } else { place = try Self.section(of: id, in: source) }
            let anchor = TableWindow.Anchor(section: place, id: id)
            guard
                let window = source.cut(
                    section: section, around: anchor, before: before, after: after,
                    index: { model[$0.section]?.index(of: $0.id) })
            else { throw .noRow(id, in: anchor.section) }
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
}

/// The displayed tables before and after one change of a session, from which the updates of windows are computed.
final class ChangedTable: Sendable {
    let before: Snapshot
    private let after: Snapshot
    private let update: BatchUpdate
    private let prepared = Mutex<(source: WindowSource, follower: RowFollower)?>(nil)

    /// The approximate memory in bytes that the tables of one change need. The two tables share all their rows except
    /// the changed ones.
    static let size = 6 * 1024

    init(before: Snapshot, after: Snapshot, update: BatchUpdate) {
        self.before = before
        self.after = after
        self.update = update
    }

    /// Returns a window after the change. The first call prepares the table and the update for all windows of this
    /// change.
    func following(_ window: WindowedSnapshot) -> WindowedSnapshot {
        let (source, follower) = prepared.withLock { prepared in
            let known = prepared ?? (WindowSource(after), RowFollower(update))
            prepared = known
            return known
        }
        return window.following(follower, to: source)
    }
}

extension Session {
    /// Returns the displayed table at a revision, and the changes from this revision to the newest published revision.
    /// Returns `nil` if the table or one of the changes is no longer in memory.
    private func table(at revision: Int) -> (source: WindowSource, changes: [Change])? {
        let snapshot = current.snapshot, recent = feed.recent.changes
        if let changes = recent.after(revision), let tables = changes.first?.tables,
            changes.allSatisfy({ $0.tables != nil })
        {
            return (WindowSource(tables.before), Array(changes))
        }
        // A client can read a snapshot before the snapshot's revision is published to the session's feed.
        return snapshot.revision == revision && recent.last <= revision ? (WindowSource(snapshot), []) : nil
    }

    /// Returns a window of the session's current table as JSON.
    ///
    /// - Throws: `Refusal` if the window's section or anchor does not exist, or if the anchor is ambiguous.
    ///   `unavailable` or `quotaExceeded` if there is no memory for a large window.
    package func encodedWindow(_ query: WindowQuery, for account: Quota.Account) throws -> EncodedWindow {
        feed.noteWindowReader()
        return try encoded(currentWindow(query), for: account)
    }

    /// Returns a window of one of the session's earlier tables as JSON.
    ///
    /// - Throws: `Refusal` if the window's section or anchor does not exist in that table, or if the anchor is
    ///   ambiguous. `unavailable` or `quotaExceeded` if there is no memory for a large window.
    package func encodedWindow(
        _ query: WindowQuery, of table: SessionTable, for account: Quota.Account
    ) throws -> EncodedWindow {
        try encoded(query.cut(from: WindowSource(table.snapshot), table.model), for: account)
    }

    /// Returns a window as JSON. Leases memory for a large window before it encodes the window: a window has few rows,
    /// but each row can have megabytes.
    private func encoded(_ window: WindowedSnapshot, for account: Quota.Account) throws -> EncodedWindow {
        let lease = try feed.limits.lease(window.snapshot.encodedSize, for: account)
        return EncodedWindow(revision: window.snapshot.revision, bytes: encoded(window), lease: lease)
    }

    /// Returns the list that replaces the client's copy by a window. Leases memory for a large window before it encodes
    /// the window.
    private func reset(to window: WindowedSnapshot, for account: Quota.Account) throws -> UpdateList {
        // The window's JSON and its copy in the list are in memory at the same time.
        let lease = try feed.limits.lease(window.snapshot.encodedSize, copies: 2, for: account)
        return reset(encoded(window), at: position(at: window.snapshot.revision), lease)
    }

    func encoded(_ window: WindowedSnapshot) -> [UInt8] { window.encoded(session: id, table: table, epoch: epoch) }

    private func currentWindow(_ query: WindowQuery) throws(Refusal) -> WindowedSnapshot {
        let current = current
        return try query.cut(from: WindowSource(current.snapshot), current.model)
    }

    /// The window with which an event stream starts, and the update for the stream's first event.
    struct WindowStart: Sendable {
        var window: WindowedSnapshot
        /// The update that leads from the client's window to `window` at the same revision. `nil` if the stream must
        /// start with a snapshot: the client has no window yet, the table at the client's revision is no longer in
        /// memory, or that table does not contain the window's section or anchor.
        var update: WindowUpdate?
    }

    /// Returns the window with which an event stream starts.
    ///
    /// - Parameters:
    ///   - old: the window that the client has at `revision`. `nil` if the client has the window `query`.
    ///   - revision: the revision that the client has, or `nil` if the client needs a snapshot.
    func windowStart(_ query: WindowQuery, from old: WindowQuery?, at revision: Int?) throws -> WindowStart {
        if let revision, let (source, _) = table(at: revision),
            let window = try? query.cut(from: source, current.model),
            let before = old == nil ? window : try? old?.cut(from: source, current.model)
        {
            return WindowStart(window: window, update: try WindowUpdate(from: before, to: window))
        }
        return WindowStart(window: try currentWindow(query))
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
        guard let from = revision(at: position), let (source, changes) = table(at: from),
            let before = try? (old ?? query).cut(from: source, current.model)
        else {
            let window = try currentWindow(query), now = self.position(at: window.snapshot.revision)
            return isKnown(now) ? UpdateList(position: now) : try reset(to: window, for: account)
        }
        // The anchor of `query` can be a row that was inserted after `from`, so the cut can fail. Then `window` is
        // `nil`.
        var window = old == nil ? before : try? query.cut(from: source, current.model)
        var revision = from, pending = changes[...]
        let deadline = ContinuousClock.now + time
        while true {
            for change in pending {
                window = window.flatMap { change.tables?.following($0) }
                revision = change.revision
            }
            let new = try window ?? currentWindow(query)
            let update = try WindowUpdate(from: before, to: new)
            revision = new.snapshot.revision
            if !update.isEmpty {
                let now = self.position(at: revision)
                if old == nil, isKnown(now) { return UpdateList(position: now) }
                // An update between two windows can contain all rows of the new window.
                let lease =
                    old == nil
                    ? nil : try feed.limits.lease(new.snapshot.encodedSize, copies: 2, for: account)
                var updates = list([isSequential ? update.sequentialJSON : update.json], from: from, to: revision)
                updates.lease = lease
                return updates
            }
            let rest = deadline - .now
            let recent = rest > .zero ? await feed.changes(after: revision, waiting: rest) : feed.recent.changes
            guard let more = recent.after(revision), !more.isEmpty else {
                if isStale { throw StaleSession() }
                let now = self.position(at: revision)
                return isKnown(now) ? UpdateList(position: now) : list([], from: from, to: revision)
            }
            guard more.allSatisfy({ $0.tables != nil }) else {
                return try reset(to: currentWindow(query), for: account)
            }
            window = new
            pending = more
        }
    }
}
