import BraidEngine
import BraidRuntime
import BraidStore
import Synchronization

/// A session in this server's memory: the committed state, which every thread can read, and the queue of the commands
/// that change it.
///
/// Commands run one at a time, in order of arrival. A plain actor is not enough: it interleaves other work at every
/// `await`, but the next command must see what the previous one committed.
package final class Session: Sendable {
    package let id: String
    /// The session's number in the store. No later session gets it.
    package let number: Int
    package let table: String?
    /// The store assigns a new epoch when, for example, it may have lost revisions.
    package let epoch: String
    /// Milliseconds since 1970.
    package let created: Int
    let ids: CommandIDs
    let limits: SessionLimits
    let store: any SessionStore
    let clock: Clock
    let descriptions: CompiledDescriptions
    /// Held by a command from the start of its execution to the end of its commit.
    let commands = FIFOLock(rank: .commands)
    /// Held while updates are read from the journal or replaced by a large snapshot: that needs a multiple of the
    /// answer's size in memory, so one request at a time does it.
    let largeReads = FIFOLock(rank: .largeReads)
    /// Held while a request restores an earlier table, or forks a large session.
    let rewinds = FIFOLock(rank: .rewinds)
    /// The time since which this server has locked the session against commits of other servers (its turn). Only the
    /// holder of `commands` may use it.
    let sharedTurn = Mutex<ContinuousClock.Instant?>(nil)
    let committed: Mutex<Committed>
    let metrics: SessionMetrics
    let feed: ChangeFeed
    private let unusedSweeps = Atomic(0)
    private let wasUsed = Atomic(true)
    /// The engine's time for the last command of each kind, by the kind's name, in nanoseconds. Refused commands and
    /// dry runs count as well.
    let engineTimes = Mutex<[String: Int]>([:])

    /// The session's state at one revision. A commit replaces the whole state, after the store has it.
    struct Committed: Sendable {
        var model: TableModel
        /// What clients see: the snapshot of `model`, unless some changes are unpublished.
        var snapshot: Snapshot
        var unpublished: Unpublished?
        var bound: BoundTable
        var updated: Int
        var encoded: SharedBytes?
        /// Whether the session was ended or dropped from memory, or may differ from the stored one, so that its users
        /// must look it up again.
        var isStale = false

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
        committed = Mutex(
            Committed(
                model: model, snapshot: snapshot, unpublished: unpublished, bound: bound, updated: summary.updated))
        feed = ChangeFeed(revision: snapshot.revision, limits: streams, behind: metrics.streamsBehind)
        if store.sharing != nil { feed.onMissing { [weak self] in self?.refreshSoon() } }
    }

    var current: Committed { committed.withLock { $0 } }
    var isStale: Bool { committed.withLock { $0.isStale } }
    var revision: Int { committed.withLock { $0.snapshot.revision } }
    package var position: Position { position(at: revision) }

    package func position(at revision: Int) -> Position { Position(epoch: epoch, revision: revision) }

    package var binding: SessionDescription? { current.bound.stored }

    var cachedSnapshot: (revision: Int, bytes: SharedBytes)? {
        committed.withLock { state in state.encoded.map { (state.snapshot.revision, $0) } }
    }

    /// Caches a snapshot as JSON until the next commit, if `revision` is still the current one.
    func cache(_ encoded: SharedBytes, of revision: Int) {
        committed.withLock { if $0.snapshot.revision == revision { $0.encoded = encoded } }
    }

    /// Makes users of this object look the session up again, and ends its event streams and long polls.
    func markStale(_ end: ChangeFeed.End = .dropped) {
        committed.withLock { $0.isStale = true }
        feed.close(end)
    }

    // MARK: Use

    /// Keeps the session in memory for another while.
    func use() {
        unusedSweeps.store(0, ordering: .relaxed)
        wasUsed.store(true, ordering: .relaxed)
    }

    /// Returns whether a request has used the session since the last call, or a client follows it.
    func takeUse() -> Bool {
        let followers = feed.followers
        return wasUsed.exchange(false, ordering: .relaxed) || followers.subscribers + followers.polls > 0
    }

    /// Counts a sweep for idle sessions. Returns whether no request has used this session for at least `sweeps` sweeps.
    func isUnused(for sweeps: Int) -> Bool { unusedSweeps.wrappingAdd(1, ordering: .relaxed).newValue >= sweeps }

    /// Marks the session stale if nobody follows it and no command is running. Returns whether it has.
    func unload() -> Bool {
        // A command that waits for the lock finds the session stale and looks it up again.
        commands.withLockIfFree {
            guard feed.closeIfUnfollowed() else { return false }
            committed.withLock { $0.isStale = true }
            return true
        } ?? false
    }
}

/// The order of locks, outer first. A task that holds one may acquire only those behind it; a debug build checks the
/// `FIFOLock`s.
///
///     largeReads → rewinds → commands → those of the store
///     commands → sharedTurn | committed | the feed's state
///
/// All others, such as `Turns`, are leaves: nothing is acquired under them.
extension FIFOLock.Rank {
    static let largeReads = Self(1)
    static let rewinds = Self(2)
    static let commands = Self(3)
}

/// The session object has become stale since it was looked up: look it up again.
struct StaleSession: Error {}
