import BraidEngine
import BraidRuntime
import BraidStore
import Synchronization

/// A session in this server's memory: the committed state, which every thread can read, and the queue of the commands
/// that change it.
///
/// Commands run one at a time, in order of arrival. A plain actor is not enough: an actor interleaves other work at
/// every `await`. But the next command must see what the previous command committed.
package final class Session: Sendable {
    package let id: String
    /// The session's number in the store. No later session gets this number.
    package let number: Int
    /// The name of the session's table description. `nil` for a session that was opened without one.
    package let table: String?
    /// The session's epoch. The store assigns a new epoch, for example, when it may have lost revisions.
    package let epoch: String
    /// The time at which the session was opened, in milliseconds since 1970.
    package let created: Int
    let ids: CommandIDs
    private let limits: SessionLimits
    let store: any SessionStore
    private let clock: Clock
    let descriptions: CompiledDescriptions
    /// The session's lock. A command holds the lock from the start of its execution to its end, with its commit, so
    /// commands run one after the other.
    let commands = FIFOLock()
    /// Held while updates are read from the journal or replaced by a large snapshot: that needs a multiple of the
    /// answer's size in memory, so one request at a time does it.
    let largeReads = FIFOLock()
    /// The lock of requests that restore an earlier table of the session or fork a large session, so that each session
    /// does this work for one request at a time. A request that locks `rewinds` may already hold `largeReads`.
    let rewinds = FIFOLock()
    /// The time since which this server has locked the session against commits of other servers (its turn). `nil` while
    /// it has not locked the session. Only the holder of `commands` may use this property.
    let sharedTurn = Mutex<ContinuousClock.Instant?>(nil)
    private let committed: Mutex<Committed>
    let metrics: SessionMetrics
    /// The feed that delivers the session's committed changes to its event streams and long polls.
    let feed: ChangeFeed
    /// The number of sweeps for idle sessions since a request last used this session.
    private let unusedSweeps = Atomic(0)
    /// Whether a request has used this session since the last `takeUse()`.
    private let wasUsed = Atomic(true)
    /// The time that the engine needed for the last command of each kind, by the kind's name, in nanoseconds.
    private let engineTimes = Mutex<[String: Int]>([:])

    /// The session's state at one revision. Each commit replaces the whole state, but only after the store has
    /// committed the new revision.
    struct Committed: Sendable {
        var model: TableModel
        /// The snapshot that clients see. This is the snapshot of `model`, unless the session has changes that are not
        /// published.
        var snapshot: Snapshot
        var unpublished: Unpublished?
        /// The table description to which the session is bound, and the rules of its table.
        var bound: BoundTable
        /// The time at which this revision was committed, in milliseconds since 1970.
        var updated: Int
        /// The snapshot of this revision as JSON, if the session caches it.
        var encoded: SharedBytes?
        /// Whether this object is outdated: the session was ended or dropped from memory, or this state may differ from
        /// the store's. Users of a stale session must look the session up again.
        var isStale = false

        var stored: StoredRevision { StoredRevision(number: snapshot.revision, time: updated) }

        /// The table that clients see.
        var table: SessionTable {
            SessionTable(bound: bound, model: unpublished?.published ?? model, snapshot: snapshot)
        }
    }

    init(
        facts: SessionSummary, bound: BoundTable, model: TableModel, snapshot: Snapshot,
        unpublished: Unpublished? = nil,
        store: any SessionStore, clock: Clock, descriptions: CompiledDescriptions, limits: SessionLimits,
        streams: StreamLimits, metrics: SessionMetrics
    ) {
        id = facts.id
        number = facts.number
        table = facts.table
        epoch = facts.epoch
        created = facts.created
        ids = CommandIDs(
            session: facts.id, epoch: facts.epoch, created: Instant(millisecondsSince1970: facts.created).text)
        self.limits = limits
        self.store = store
        self.clock = clock
        self.descriptions = descriptions
        self.metrics = metrics
        committed = Mutex(
            Committed(
                model: model, snapshot: snapshot, unpublished: unpublished, bound: bound, updated: facts.updated))
        feed = ChangeFeed(revision: snapshot.revision, limits: streams, behind: metrics.streamsBehind)
        if store.sharing != nil { feed.onMissing { [weak self] in self?.refreshSoon() } }
    }

    var current: Committed { committed.withLock { $0 } }
    var isStale: Bool { committed.withLock { $0.isStale } }
    /// The session's current revision.
    var revision: Int { committed.withLock { $0.snapshot.revision } }
    /// The snapshot of the current revision as JSON, if the session caches it.
    var cachedSnapshot: (revision: Int, bytes: SharedBytes)? {
        committed.withLock { state in state.encoded.map { (state.snapshot.revision, $0) } }
    }

    /// Marks this session object stale, so that its users look the session up again. Also closes the session's feed
    /// with the reason `end`, which ends the event streams and the waits of long polls.
    func markStale(_ end: ChangeFeed.End = .dropped) {
        committed.withLock { $0.isStale = true }
        feed.close(end)
    }

    /// Returns the worker pool on which a command of this session should run. The choice depends on the command's
    /// estimated cost, and on the engine's time for the last command of its kind. The time of refused commands and dry
    /// runs counts as well.
    func lane(for work: Work) -> Workers.Lane {
        let time = engineTimes.withLock { $0[work.kind.name] ?? 0 }, current = current
        return time > Self.longTime || work.estimatedCost(for: current) > Self.longCost ? .long : .short
    }

    /// The engine's time, in nanoseconds, above which the next command of the same kind runs on the long worker pool.
    private static let longTime = 2_000_000
    /// The estimated cost, in rows, above which a command or a window runs on the long worker pool.
    static let longCost = 1_000

    /// Notes that a request uses the session, so that the session is not dropped from memory as idle.
    func use() {
        unusedSweeps.store(0, ordering: .relaxed)
        wasUsed.store(true, ordering: .relaxed)
    }

    /// Returns whether a request has used the session since the last call of this method, or a client follows it.
    func takeUse() -> Bool {
        let followers = feed.followers
        return wasUsed.exchange(false, ordering: .relaxed) || followers.subscribers + followers.polls > 0
    }

    /// Counts a sweep for idle sessions. Returns whether no request has used this session for at least `sweeps` sweeps.
    func isUnused(for sweeps: Int) -> Bool { unusedSweeps.wrappingAdd(1, ordering: .relaxed).newValue >= sweeps }

    /// Marks the session stale if it has no event streams or long polls and no command is running. Returns whether the
    /// caller may drop the session from memory. Nothing is lost, as the store contains the session's whole state.
    func unload() -> Bool {
        // While this method holds the session's lock, no commit is running. A command that waits for the lock finds the
        // session stale and looks it up again.
        guard commands.lockIfFree() else { return false }
        defer { commands.unlock() }
        guard feed.closeIfUnfollowed() else { return false }
        committed.withLock { $0.isStale = true }
        return true
    }

    /// Returns the position of a revision of this session: the epoch with the revision.
    package func position(at revision: Int) -> Position { Position(epoch: epoch, revision: revision) }

    /// The table description to which the session is bound. `nil` for a session without a description.
    package var binding: StoredBinding? { current.bound.stored }

    /// The session's current position.
    package var position: Position { position(at: revision) }

    /// Caches a snapshot as JSON until the next commit, if `revision` is still the session's current revision.
    func cache(_ encoded: SharedBytes, of revision: Int) {
        committed.withLock { if $0.snapshot.revision == revision { $0.encoded = encoded } }
    }

    /// The session's answer to an executed command.
    package struct Answer: Sendable {
        package var kind: Outcome.Kind
        /// The session's revision after the command. After a dry run, the revision that the command would have led to.
        package var revision: Int
        /// The session's stored revision. After a dry run, this is the revision before the command, as nothing was
        /// stored.
        package var committed: Int
        package var update: BatchUpdate
        /// The command's update as JSON, in the form of the journal.
        package var updateText: JSONText
        /// The snapshot after the command.
        package var snapshot: Snapshot
        /// The current index path of the row that the command names, if the command was rebased. `nil` without a
        /// rebase, or if the command names no single row.
        package var at: RowPath?
        /// The notification that a data source command sends to the data source's delegate, or `nil`.
        package var notification: DataSourceNotification?
        /// The row that the command inserts, if the command is a data source call that names the row by ids. Otherwise
        /// `nil`.
        package var inserted: (section: SectionID, id: RowID?)?
        /// What a data source call for many models did with them.
        package var tally: RowTally?
    }

    /// Reads records of the session's journal after a revision from the store: at most `limit` records, and about
    /// `bytes` bytes.
    func history(after revision: Int, limit: Int, bytes: Int) async throws -> [JournalRecord] {
        try await store.journal(of: number, after: revision, limit: limit, bytes: bytes)
    }

    /// Reads the journal records of the `count` revisions after `revision`, and passes them to `body`. If the journal
    /// does not contain all of these records, `body` gets fewer.
    ///
    /// The records are read a page at a time. If there is more than one page, the method leases memory from the quota
    /// for answers while `body` runs. The method never waits for memory.
    /// - Throws: `unavailable` or `quotaExceeded` if there is no memory for the history.
    func withHistory<Value>(
        after revision: Int, count: Int, for account: Quota.Account, _ body: ([JournalRecord]) throws -> Value
    ) async throws -> Value {
        let limits = feed.limits
        let lease = Quota.Lease(of: limits.buffers, to: account)
        defer { lease.end() }
        var records: [JournalRecord] = [], bytes = 0
        while records.count < count {
            let page = try await history(
                after: revision + records.count, limit: count - records.count, bytes: limits.longHistoryBytes)
            guard page.first?.revision == revision + records.count + 1 else { break }
            records += page
            guard records.count < count else { break }
            // Lease four times the size of the text, because a parsed journal record needs several times the memory of
            // its text.
            bytes += page.reduce(0) { $0 + $1.bytes }
            do {
                try lease.grow(to: 4 * bytes)
            } catch {
                throw SessionError(noRoomForAnswer: error)
            }
        }
        return try body(records)
    }

    /// Executes a command on the session. Clients see the result only after the store has committed it.
    ///
    /// - Parameter keep: makes the answer that is stored with the command, for a retry with the same idempotency key.
    /// - Throws: `CancellationError` if the task is cancelled while the command waits for the session's lock. Such a
    ///   command has changed nothing.
    func perform(
        _ work: Work, _ options: CommandRequest.Options,
        keep: (@Sendable (Session, Answer) -> KeptAnswer)?
    ) async throws -> Answer {
        try await commands.lock()
        let result: Result<Answer, any Error>
        do {
            var races = 0
            while true {
                let trial: Trial
                do {
                    trial = try await attempt(work, options)
                } catch {
                    // The command may have failed only because this server's copy of the session was behind the store.
                    // In that case, try the command again.
                    guard try await catchUp() else { throw error }
                    continue
                }
                if trial.outcome.kind == .applied, !options.dryRun {
                    if try await commit(trial, keep: keep) {
                        result = .success(trial.answer)
                        break
                    }
                    races += 1
                    try await makeWay(afterRaces: races)
                } else if try await !catchUp() {
                    if let keep { try await store.keep(keep(self, trial.answer)) }
                    result = .success(trial.answer)
                    break
                }
            }
        } catch {
            result = .failure(error)
        }
        await endTurn()
        return try result.get()
    }

    /// The computed result of a command that is not stored yet.
    private struct Trial {
        var answer: Answer
        var outcome: Outcome
        var controllerEvents: [JSONText]
        /// The session's committed state to which the command was applied.
        var before: Committed
        var text: JSONText
        var at: Int

        var undo: StoredUndo {
            StoredUndo(
                change: outcome.undo, binding: outcome.rebinding == nil ? nil : before.bound.stored,
                updated: before.updated, nextKey: before.model.nextKey, nextSection: before.model.nextSection,
                isPublished: before.unpublished == nil)
        }
    }

    private func attempt(_ work: Work, _ options: CommandRequest.Options) async throws -> Trial {
        let before = current
        if before.isStale { throw StaleSession() }
        try options.condition?.check(position(at: before.snapshot.revision))
        var binder = before.bound.binder
        binder.limits = limits.table(for: options.role)
        let (given, givenText) = try work.command(for: before.bound)
        let (command, text, place) = try await rebased(given, givenText, base: options.base, before, binder.limits)
        let at = clock.instant(), start = monotonicNanoseconds(), now = Instant(millisecondsSince1970: at).text
        let revision = before.snapshot.revision + 1
        defer { engineTimes.withLock { $0[command.kind.name] = monotonicNanoseconds() - start } }
        var outcome = try binder.applying(
            command, to: before.model, shown: before.snapshot, unpublished: before.unpublished, now: now,
            ids: ids.source(revision: revision, at: now), strict: options.strict)
        // Only controllers may see unpublished changes. So if the requester of a dry run is no controller, the command
        // is applied to the published table.
        if options.dryRun, options.role != .controller, let published = before.unpublished?.published {
            outcome = try binder.applying(
                command, to: published, shown: before.snapshot, unpublished: nil, now: now,
                ids: ids.source(revision: revision, at: now), strict: options.strict)
        }
        // Check the sizes before any of the large texts is made.
        let controllerEvents = outcome.controllerEvents.map(\.json)
        var bytes = outcome.estimatedSize(after: before.snapshot) + text.count
        for event in controllerEvents { bytes += event.count }
        if outcome.rebinding != nil { bytes += before.bound.stored?.description.count ?? 0 }
        try limits.checkChange(bytes: bytes)
        let updateText = outcome.update.json
        let answer = Answer(
            kind: outcome.kind, revision: outcome.snapshot.revision,
            committed: options.dryRun ? before.snapshot.revision : outcome.snapshot.revision, update: outcome.update,
            updateText: updateText,
            snapshot: outcome.snapshot, at: place, notification: outcome.notification, inserted: outcome.inserted,
            tally: outcome.tally)
        return Trial(
            answer: answer, outcome: outcome, controllerEvents: controllerEvents, before: before, text: text, at: at)
    }

    /// Stores the result of a command, and then publishes it to clients. Returns `false` if another server has
    /// committed this revision first.
    private func commit(_ trial: Trial, keep: (@Sendable (Session, Answer) -> KeptAnswer)?) async throws -> Bool {
        let outcome = trial.outcome, controllerEvents = trial.controllerEvents, kept = keep?(self, trial.answer)
        // If the idempotency key was looked up for an earlier session with the same ID, the request must be repeated
        // for this session.
        if let kept, kept.session != number { throw StaleSession() }
        do {
            try await store.commit(
                SessionCommit(
                    session: number, from: trial.before.snapshot.revision, fromTime: trial.before.updated,
                    to: outcome.snapshot.revision, at: trial.at,
                    change: outcome.change,
                    binding: outcome.rebinding.flatMap { trial.before.bound.rebound(by: $0).stored },
                    publishes: outcome.unpublished == nil, nextKey: outcome.table.nextKey,
                    nextSection: outcome.table.nextSection, totalRowCount: outcome.snapshot.totalRowCount,
                    command: trial.text, update: trial.answer.updateText,
                    controllerEvents: controllerEvents.isEmpty ? nil : JSONText(parts: controllerEvents),
                    hidden: outcome.update.hidden(in: trial.before.snapshot), undo: trial.undo.json, answer: kept))
        } catch StoreError.revisionConflict where store.sharing != nil {
            return false
        } catch StoreError.sessionMissing where store.sharing != nil {
            // The store does not contain the session: another server has ended it, and may have opened another session
            // with the same ID.
            markStale(.ended)
            throw StaleSession()
        } catch {
            // After most errors, the store may or may not contain the commit. So mark this copy stale: the next request
            // reads the stored state.
            switch error {
            // With these three errors, the store has written nothing, so this copy need not be marked stale.
            case StoreError.full, StoreError.answered, StoreError.tooLarge: break
            default: markStale()
            }
            throw error
        }
        if trial.text.count > Memory.largeWork { Memory.trimSoon() }
        publish(outcome, updateText: trial.answer.updateText, controllerEvents: controllerEvents, at: trial.at)
        return true
    }

    /// Makes a stored revision of the session visible to clients. The caller holds the lock `commands`, so that
    /// revisions are published in order.
    func publish(_ outcome: Outcome, updateText: JSONText, controllerEvents: [JSONText], at: Int) {
        let model =
            outcome.unpublished == nil && outcome.change.writtenRows.count > Self.largeRowCount
            ? outcome.table.sharingModels(with: outcome.snapshot) : outcome.table
        let (before, after) = committed.withLock {
            let before = $0
            $0.model = model
            $0.snapshot = outcome.snapshot
            $0.unpublished = outcome.unpublished
            $0.bound = $0.bound.rebound(by: outcome.rebinding)
            $0.updated = at
            $0.encoded = nil
            return (before, $0)
        }
        feed.publish(revision: outcome.snapshot.revision) { hasTables in
            Change(
                epoch: epoch, revision: outcome.snapshot.revision, update: outcome.update, updateText: updateText,
                controllerEvents: controllerEvents,
                tables: hasTables
                    ? ChangedTable(before: before.table, after: after.table, update: outcome.update) : nil)
        }
    }
}

extension Session {
    /// What a session executes for a request.
    enum Work: Sendable {
        /// A command, and the text with which the session's journal records it.
        case command(Command, text: JSONText)
        /// The reset of the session, with the request that opened it. The content depends on the version of the table
        /// description to which the session is bound when it executes the reset.
        case reset(SessionOpening)

        var kind: CommandKind {
            switch self {
            case .command(let command, _): command.kind
            case .reset: .reset
            }
        }

        fileprivate func estimatedCost(for current: Committed) -> Int {
            let rowCount = current.snapshot.totalRowCount
            switch self {
            case .command(let command, _): return current.bound.binder.estimatedCost(of: command, rowCount: rowCount)
            case .reset: return rowCount
            }
        }

        /// Returns the command for a session that is bound to `table`, and its text for the journal.
        func command(for table: BoundTable) throws -> (Command, text: JSONText) {
            switch self {
            case .command(.rebind(var rebinding), let text):
                rebinding.isCurrent =
                    table.version == rebinding.version && table.description?.text == rebinding.description.text
                return (.rebind(rebinding), text)
            case .command(let command, let text): return (command, text)
            case .reset(let opening):
                return (.reset(to: try table.resetContent(of: opening)), JSONText(object: [("reset", .emptyObject)]))
            }
        }
    }

    /// Rebases a command. Without a base, returns the command as it is. The index paths and ids of the given command
    /// refer to the position `base`. Those of the returned command refer to the current revision. Also returns the
    /// command's text for the journal and the current place of its row.
    ///
    /// - Throws: the errors of `withHistory`, and the refusals of `RowHistory.rebased`, such as `rowGone`. `badRequest`
    ///   if the base is ahead of the session. `baseTooOld` if the journal does not reach back to the base, if the base
    ///   is of another epoch, or if a data source call meets unpublished changes.
    private func rebased(
        _ command: Command, _ text: JSONText, base: Position?, _ current: Committed, _ limits: TableLimits
    ) async throws -> (command: Command, text: JSONText, at: RowPath?) {
        guard let base else { return (command, text, nil) }
        let revision = current.snapshot.revision
        guard base.epoch == nil || base.epoch == epoch else {
            throw SessionError(
                .baseTooOld,
                "The base is of the epoch \(base.epoch ?? ""), and the session's epoch is \(epoch): it was opened again, or a backup was restored. Get a snapshot."
            )
        }
        guard base.revision <= revision else {
            throw SessionError(
                .badRequest,
                "The base is revision \(base.revision), but the session is only at revision \(revision). Use the revision of the snapshot that you have."
            )
        }
        let (rebased, at) = try await withHistory(
            after: base.revision, count: revision - base.revision, for: Quota.Account(resource: id)
        ) { records in
            guard records.count == revision - base.revision else {
                throw SessionError(
                    .baseTooOld, "The journal does not reach back to revision \(base.revision). Get the snapshot.")
            }
            if case .dataSource = command, current.unpublished != nil {
                throw SessionError(
                    .baseTooOld,
                    "The session has unpublished changes. Until they are published, a call to the data source cannot have a `base`."
                )
            }
            return try RowHistory(records.map { ($0.update, $0.hidden) }, now: current.snapshot, limits: limits)
                .rebased(command)
        }
        return (rebased, rebased.rewriting(text), at)
    }
}

/// Thrown when a session object has become stale since it was looked up, for example because the session was ended. The
/// caller looks the session up again.
struct StaleSession: Error {}
