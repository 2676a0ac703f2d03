import BraidEngine
import BraidRuntime
import BraidStore
import Synchronization

/// A session in memory: the committed state, which every thread may read, and the queue of commands that change it.
///
/// Commands run one at a time, in order of arrival. An actor is not enough: it lets other work in at every `await`, but
/// a command must see what the previous one has changed.
package final class Session: Sendable {
    package let id: String
    /// In the store; never used again.
    package let number: Int
    package let table: String?
    /// A new one begins when the store may have lost revisions, for example.
    package let epoch: String
    /// Milliseconds since 1970.
    package let created: Int
    let ids: CommandIDs
    let limits: SessionLimits
    let store: any SessionStore
    let clock: Clock
    let descriptions: CompiledDescriptions
    /// Held from a command's start until its commit is queued in the store.
    let commands = FIFOLock(rank: .commands)
    let underWay = CommitsUnderWay()
    /// One request at a time reads updates from the journal, or replaces them by a large snapshot: that takes a
    /// multiple of the answer's size in memory.
    let largeReads = FIFOLock(rank: .largeReads)
    /// One request at a time restores an earlier table or forks a large session.
    let rewinds = FIFOLock(rank: .rewinds)
    /// Since when other servers' commits are locked out (this server's turn). Only for the holder of `commands`.
    let sharedTurn = Mutex<ContinuousClock.Instant?>(nil)
    private let state: Mutex<State>
    let metrics: SessionMetrics
    let feed: ChangeFeed
    let viewers = ViewerTables()
    private let unusedSweeps = Atomic(0)
    private let wasUsed = Atomic(true)
    /// Processor time of each kind's last command, in nanoseconds, refused ones and dry runs included.
    let engineTimes = Mutex<[String: Int]>([:])

    private struct State {
        var committed: Committed
        var encoded: SharedBytes?
        /// Ended, dropped from memory, or perhaps unlike the stored one: look the session up again.
        var isStale = false
    }

    /// The session at one revision. A commit replaces it as a whole, after the store has it. A class: a command hands it
    /// on a dozen times, and a copy would count the references of all its parts.
    final class Committed: Sendable {
        let model: TableModel
        /// Of `model`, unless changes are unpublished.
        let snapshot: Snapshot
        let unpublished: Unpublished?
        let bound: BoundTable
        let updated: Int
        /// No later revision has `changedPlaces`. At least the one at which this copy of the session was loaded.
        let placesSince: Int
        private let link = Mutex<Link?>(nil)
        /// What follows, perhaps not stored yet, or never. Kept only if people have tables of their own.
        var next: Link? { link.withLock { $0 } }

        init(
            model: TableModel, snapshot: Snapshot, unpublished: Unpublished?, bound: BoundTable, updated: Int,
            placesSince: Int
        ) {
            self.model = model
            self.snapshot = snapshot
            self.unpublished = unpublished
            self.bound = bound
            self.updated = updated
            self.placesSince = placesSince
        }

        func lead(to after: Committed, by execution: Execution) {
            guard bound.readsViewer else { return }
            link.withLock {
                $0 = Link(
                    after: after, step: execution.outcome.step, rebinds: execution.outcome.rebinding != nil,
                    author: execution.outcome.update.by, controllerEvents: execution.controllerEvents)
            }
        }

        deinit {
            // Not by recursion: the stack would not do for a long chain.
            var after = link.withLock { $0.take() }?.after
            while isKnownUniquelyReferenced(&after) { after = after?.link.withLock { $0.take() }?.after }
        }

        var stored: StoredRevision { StoredRevision(number: snapshot.revision, time: updated) }

        var table: SessionTable {
            SessionTable(bound: bound, model: unpublished?.published ?? model, snapshot: snapshot)
        }
    }

    init(
        _ summary: SessionSummary, bound: BoundTable, model: TableModel, snapshot: Snapshot,
        unpublished: Unpublished? = nil,
        store: any SessionStore, clock: Clock, descriptions: CompiledDescriptions, limits: SessionLimits,
        streams: StreamLimits, metrics: SessionMetrics
    ) {
        id = summary.id
        number = summary.number
        table = summary.table
        epoch = summary.epoch
        created = summary.created
        ids = CommandIDs(
            session: summary.id, epoch: summary.epoch, created: Instant(millisecondsSince1970: summary.created).text)
        self.limits = limits
        self.store = store
        self.clock = clock
        self.descriptions = descriptions
        self.metrics = metrics
        state = Mutex(
            State(
                committed: Committed(
                    model: model, snapshot: snapshot, unpublished: unpublished, bound: bound, updated: summary.updated,
                    placesSince: snapshot.revision)))
        feed = ChangeFeed(revision: snapshot.revision, limits: streams, behind: metrics.streamsBehind)
        if store.sharing != nil { feed.onMissing { [weak self] in self?.refreshSoon() } }
    }

    var current: Committed { state.withLock { $0.committed } }
    var isStale: Bool { state.withLock { $0.isStale } }
    var revision: Int { current.snapshot.revision }
    package var position: Position { position(at: revision) }

    package func position(at revision: Int) -> Position { Position(epoch: epoch, revision: revision) }

    package var binding: SessionDescription? { current.bound.stored }

    var cachedSnapshot: (revision: Int, bytes: SharedBytes)? {
        state.withLock { state in state.encoded.map { (state.committed.snapshot.revision, $0) } }
    }

    func cache(_ encoded: SharedBytes, of revision: Int) {
        state.withLock { if $0.committed.snapshot.revision == revision { $0.encoded = encoded } }
    }

    /// Returns what it replaces.
    func replaceCommitted(by after: Committed) -> Committed {
        state.withLock { state in
            defer {
                state.committed = after
                state.encoded = nil
            }
            return state.committed
        }
    }

    /// Also ends streams and long polls.
    func markStale(_ end: ChangeFeed.End = .dropped) {
        state.withLock { $0.isStale = true }
        feed.close(end)
        viewers.close(end)
    }

    /// Of all tables.
    var followers: (subscribers: Int, polls: Int) {
        let own = viewers.followers, others = feed.followers
        return (own.subscribers + others.subscribers, own.polls + others.polls)
    }

    var isFollowed: Bool { feed.isFollowed || viewers.isFollowed }

    // MARK: Use

    func use() {
        unusedSweeps.store(0, ordering: .relaxed)
        wasUsed.store(true, ordering: .relaxed)
    }

    /// Whether a request or a follower has used the session since the last call.
    func takeUse() -> Bool {
        let followers = followers
        // `exchange` must run even if there are followers.
        return wasUsed.exchange(false, ordering: .relaxed) || followers.subscribers + followers.polls > 0
    }

    /// Counts a sweep. Returns whether there were `sweeps` since the last use.
    func isUnused(for sweeps: Int) -> Bool { unusedSweeps.wrappingAdd(1, ordering: .relaxed).newValue >= sweeps }

    /// Marks the session stale unless it is followed or busy. Returns whether it did.
    func unload() -> Bool {
        // A waiting command will find it stale and look it up again.
        commands.withLockIfFree {
            guard underWay.isEmpty, !viewers.isFollowed, feed.closeIfUnfollowed() else { return false }
            markStale()
            return true
        } ?? false
    }
}

/// The order of locks, outer first; a debug build checks the `FIFOLock`s.
///
/// ```
/// largeReads → rewinds → commands → those of the store
/// commands → sharedTurn | underWay → state | the feed's state
/// ```
///
/// All others, such as `Turns`, are leaves: nothing is acquired under them.
extension FIFOLock.Rank {
    static let largeReads = Self(1)
    static let rewinds = Self(2)
    static let commands = Self(3)
}

/// Look the session up again.
struct StaleSession: Error {}
