import BraidEngine
import BraidRuntime
import Synchronization

/// The tables of a session's viewers whose tables differ from the session's own.
///
/// A commit only wakes the pump, which brings each of them up to the current revision and to its followers. A table that
/// nobody follows is dropped after a while.
final class ViewerTables: Sendable {
    private struct State {
        var tables: [Viewer: ViewerTable] = [:]
        var hasNews = false
        var isPumping = false
    }

    private let state = Mutex(State())

    /// Without followers. More are dropped, least recently used first.
    private static let mostUnfollowed = 16
    private static let unfollowedTime = Duration.seconds(60)
    /// Of somebody who sends commands without following, so that each need not look at all rows.
    private static let activeTime = Duration.seconds(10)
    /// Unfollowed ones that are further behind are dropped: they would keep all that was committed since.
    private static let mostBehind = 64

    private var all: [ViewerTable] { state.withLock { Array($0.tables.values) } }
    var isFollowed: Bool { all.contains { $0.feed.isFollowed } }

    var followers: (subscribers: Int, polls: Int) {
        all.reduce(into: (0, 0)) { sum, table in
            let followers = table.feed.followers
            sum.0 += followers.subscribers
            sum.1 += followers.polls
        }
    }

    /// `account` pays for a new one's memory.
    func table(of viewer: Viewer, in session: Session, for account: Quota.Account) -> ViewerTable {
        let (table, isNew) = state.withLock { state in
            if let known = state.tables[viewer], !known.isEnded { return (known, false) }
            let table = ViewerTable(viewer, in: session, for: account)
            state.tables[viewer] = table
            return (table, true)
        }
        if isNew { forgetUnused(now: session.revision) }
        return table
    }

    func remove(_ table: ViewerTable) {
        state.withLock { if $0.tables[table.viewer] === table { $0.tables[table.viewer] = nil } }
    }

    func close(_ end: ChangeFeed.End) {
        let tables = state.withLock { state in
            defer { state.tables = [:] }
            return Array(state.tables.values)
        }
        for table in tables { table.end(end) }
    }

    /// Drops those that nobody has used for a while.
    func forgetUnused(now revision: Int) {
        let unfollowed = all.filter { !$0.feed.isFollowed }.sorted { $0.used > $1.used }
        for (index, table) in unfollowed.enumerated()
        where index >= Self.mostUnfollowed || table.used + Self.unfollowedTime < .now
            || revision - table.revision > Self.mostBehind
        {
            if table.feed.closeIfUnfollowed() { remove(table) }
        }
    }

    /// After a commit.
    func wake(_ session: Session) {
        let starts = state.withLock { state in
            guard !state.tables.isEmpty else { return false }
            state.hasNews = true
            defer { state.isPumping = true }
            return !state.isPumping
        }
        guard starts else { return }
        Task(executorPreference: Workers.shared.short) {
            while let tables = self.news() {
                for table in tables where table.feed.isFollowed || table.used + Self.activeTime > .now {
                    // One that cannot be rendered has ended; its followers come back, and learn why.
                    _ = try? await table.advance(in: session)
                    await Task.yield()
                }
                self.forgetUnused(now: session.revision)
            }
        }
    }

    private func news() -> [ViewerTable]? {
        state.withLock { state in
            guard state.hasNews else {
                state.isPumping = false
                return nil
            }
            state.hasNews = false
            return Array(state.tables.values)
        }
    }
}

/// What one viewer sees of a session, and those who follow it.
final class ViewerTable: Sendable {
    let viewer: Viewer
    /// The session's, and a suffix that no other viewer's has: a position of one table means nothing in another.
    let epoch: String
    let feed: ChangeFeed
    private let state: Mutex<State>
    /// One at a time renders and publishes.
    private let advancing = FIFOLock()
    private let lease: Quota.Lease

    private struct State {
        var at: Session.Committed
        /// `nil` until it is rendered first.
        var snapshot: Snapshot?
        var encoded: SharedBytes?
        /// Earlier revisions in memory, for commands and requests that refer to them.
        var past: [SessionTable] = []
        var isEnded = false
        var used = ContinuousClock.now
    }

    /// They share nearly all their memory.
    private static let mostPast = 32

    fileprivate init(_ viewer: Viewer, in session: Session, for account: Quota.Account) {
        self.viewer = viewer
        lease = Quota.Lease(of: session.feed.limits.views, to: account)
        epoch = Self.epoch(of: viewer, in: session)
        let current = session.current
        feed = ChangeFeed(
            revision: current.snapshot.revision, limits: session.feed.limits, behind: session.feed.behind)
        state = Mutex(State(at: current))
        if session.store.sharing != nil { feed.onMissing { [weak session] in session?.refreshSoon() } }
    }

    static func epoch(of viewer: Viewer, in session: Session) -> String { "\(session.epoch)~\(viewer.tag)" }

    var isEnded: Bool { state.withLock { $0.isEnded } }
    var used: ContinuousClock.Instant { state.withLock { $0.used } }
    var revision: Int { state.withLock { $0.at.snapshot.revision } }

    func use() { state.withLock { $0.used = .now } }

    func end(_ end: ChangeFeed.End) {
        state.withLock { $0.isEnded = true }
        feed.close(end)
    }

    var isRendered: Bool { state.withLock { $0.snapshot != nil } }

    /// As last brought up to date; empty if it never was.
    var current: SessionTable {
        state.withLock { state in
            state.at.table.showing(state.snapshot ?? Snapshot(revision: state.at.snapshot.revision))
        }
    }

    /// In memory.
    func table(at revision: Int) -> SessionTable? {
        state.withLock { state in
            if let snapshot = state.snapshot, snapshot.revision == revision { return state.at.table.showing(snapshot) }
            return state.past.last { $0.snapshot.revision == revision }
        }
    }

    var cachedSnapshot: (revision: Int, bytes: SharedBytes)? {
        state.withLock { state in state.encoded.map { (state.at.snapshot.revision, $0) } }
    }

    func cache(_ encoded: SharedBytes, of revision: Int) {
        state.withLock { if $0.at.snapshot.revision == revision { $0.encoded = encoded } }
    }

    /// To the session's current revision. Throws `StaleSession` if the session is bound to another description since,
    /// or what rendering throws.
    func advance(in session: Session) async throws {
        let isCurrent = state.withLock { $0.at === session.current && $0.snapshot != nil && !$0.isEnded }
        if isCurrent { return }
        try await advancing.withLock {
            do {
                try advanceNow(in: session)
            } catch {
                end(.dropped)
                session.viewers.remove(self)
                throw error
            }
        }
    }

    /// The holder of `advancing` calls this.
    private func advanceNow(in session: Session) throws {
        let target = session.current
        let (at, old, isEnded) = state.withLock { ($0.at, $0.snapshot, $0.isEnded) }
        if isEnded { throw StaleSession() }
        guard let old else {
            let snapshot = try target.table.seen(by: viewer).snapshot
            try begin(at: target, snapshot)
            // A command may have been first, at an earlier revision.
            return try advanceNow(in: session)
        }
        if at === target { return }
        let changes = at.changes(to: target)
        if changes.rebinds { throw StaleSession() }
        var (after, update) = try target.own(viewer, after: (at.table.model, old), by: changes.step)
        // Who has changed only what this viewer does not see is not told.
        if !update.isEmpty { update.by = changes.author }
        let before = at.table.showing(old), table = target.table.showing(after)
        replace(by: target, after, keeping: before)
        // It grows by few rows at a time: one that was let in stays.
        if after.revision & 0xFF == 0 { try? lease.resize(to: cost(of: after, beside: target.snapshot)) }
        feed.publish(revision: after.revision) { hasTables in
            Change(
                epoch: epoch, update: update, updateText: update.json,
                controllerEvents: changes.controllerEvents.map(\.withoutPlace),
                tables: hasTables ? ChangedTable(before: before, after: table, update: update) : nil)
        }
    }

    /// With its first snapshot, unless it has one.
    private func begin(at committed: Session.Committed, _ snapshot: Snapshot) throws(SessionError) {
        let cost = cost(of: snapshot, beside: committed.snapshot)
        try state.withLock { state throws(SessionError) in
            guard state.snapshot == nil else { return }
            do throws(Quota.Exceeded) {
                try lease.resize(to: cost)
            } catch {
                throw SessionError(noRoomForView: error)
            }
            (state.at, state.snapshot) = (committed, snapshot)
            // Nobody follows a table that was never shown.
            feed.begin(at: snapshot.revision)
        }
    }

    /// About the memory that it does not share with the session's own table, in bytes.
    private func cost(of snapshot: Snapshot, beside other: Snapshot) -> Int {
        (1 << 16) + 48 * snapshot.unsharedRows(with: other)
    }

    private func replace(by target: Session.Committed, _ snapshot: Snapshot, keeping past: SessionTable? = nil) {
        state.withLock { state in
            state.at = target
            state.snapshot = snapshot
            state.encoded = nil
            if let past {
                state.past.append(past)
                if state.past.count > Self.mostPast { state.past.removeFirst() }
            }
        }
    }

    /// For a command on `committed`, which may not be stored yet: `nil` if that does not follow from this table's
    /// revision by known commits.
    fileprivate func own(at committed: Session.Committed, in session: Session) throws -> Snapshot? {
        let (at, old) = state.withLock { ($0.at, $0.snapshot) }
        guard let old else {
            guard committed === session.current else { return nil }
            let snapshot = try committed.table.seen(by: viewer).snapshot
            try begin(at: committed, snapshot)
            return snapshot
        }
        if at === committed { return old }
        let changes = at.changes(to: committed)
        guard changes.isComplete, !changes.rebinds else { return nil }
        return try committed.own(viewer, after: (at.table.model, old), by: changes.step).snapshot
    }
}

extension Session {
    /// What the sender of a command sees of the table to which it is applied; `nil`: the session's own.
    func own(of sender: Looker, at before: Committed, for account: Quota.Account) throws -> OwnTable? {
        guard let viewer = try before.bound.viewer(sender) else { return nil }
        let table = viewers.table(of: viewer, in: self, for: account)
        table.use()
        return OwnTable(
            viewer: viewer,
            snapshot: try table.own(at: before, in: self) ?? before.table.seen(by: viewer).snapshot)
    }
}

extension Viewer {
    /// Differs from others', as far as a hash can.
    fileprivate var tag: String {
        SHA256Digest(of: text.bytes).bytes.prefix(8).hexadecimal
    }
}

extension JSONText {
    /// An event for a controller who follows somebody's own table, in which its index path means nothing.
    fileprivate var withoutPlace: JSONText {
        JSONText(object: (members() ?? []).filter { $0.name != "at" })
    }
}

// How one committed state leads to the next.
extension Session.Committed {
    struct Link: Sendable {
        let after: Session.Committed
        let step: TableEditor.Step?
        let rebinds: Bool
        let author: JSONText?
        let controllerEvents: [JSONText]
    }

    /// All that lies between two states, as one.
    struct Changes {
        /// `nil`: perhaps anything has changed.
        var step: TableEditor.Step? = TableEditor.Step()
        var rebinds = false
        /// False if some links are unknown.
        var isComplete = true
        /// Of a single change.
        var author: JSONText?
        var controllerEvents: [JSONText] = []
    }

    func changes(to target: Session.Committed) -> Changes {
        var changes = Changes(), state = self
        while state !== target {
            guard let link = state.next else {
                changes.isComplete = false
                changes.step = nil
                changes.rebinds = changes.rebinds || bound.description !== target.bound.description
                return changes
            }
            if let step = link.step { changes.step?.append(step) } else { changes.step = nil }
            changes.rebinds = changes.rebinds || link.rebinds
            changes.author = state === self ? link.author : nil
            changes.controllerEvents += link.controllerEvents
            state = link.after
        }
        return changes
    }

    fileprivate func own(
        _ viewer: Viewer, after old: (table: TableModel, snapshot: Snapshot), by changes: TableEditor.Step?
    ) throws -> (snapshot: Snapshot, update: BatchUpdate) {
        let binder = bound.binder.seen(by: viewer), model = table.model
        let snapshot =
            if let changes {
                try binder.ownSnapshot(of: model, sharing: snapshot, after: old, changes)
            } else {
                try binder.ownSnapshot(of: model, sharing: snapshot)
            }
        return (snapshot, try binder.ownUpdate(from: old, to: (model, snapshot)))
    }
}
