import BraidEngine
import BraidRuntime
import BraidStore
import Synchronization

/// One live binder session: what of it has been committed, for everyone to read at once, and the way to change it.
///
/// Commands run one at a time in order of arrival. An actor alone would not do: it takes up other work at every
/// `await`, and the next command must see what this one committed.
package final class Session: Sendable {
    package let id: String
    package let number: Int
    /// The table's name; nil for a session opened without one.
    package let table: String?
    package let epoch: String
    let created: Int
    let binder: Binder
    private let limits: SessionLimits
    let store: any SessionStore
    private let clock: Clock
    let descriptions: CompiledDescriptions
    /// Held by the command that is being carried out.
    let commands = FIFOLock()
    /// Held by a request that reads much of the session: a long history, or a large table to be written indented. One
    /// at a time for each session, as each takes a multiple of what it answers in memory.
    package let largeReads = FIFOLock()
    /// Since when no other server may commit to the session; belongs to the holder of `commands`.
    let sharedTurn = Mutex<ContinuousClock.Instant?>(nil)
    private let committed: Mutex<Committed>
    let metrics: SessionMetrics
    /// Those who follow the session.
    let feed: ChangeFeed
    /// How many sweeps have come since somebody asked for the session.
    private let unusedSweeps = Atomic(0)
    /// The engine's time for the last command of each kind, in nanoseconds.
    private let engineTimes = Mutex<[String: Int]>([:])

    /// Everything of one revision. Replaced as a whole, and only after the revision is on disk.
    struct Committed: Sendable {
        var model: TableModel
        /// What clients see: the snapshot of `model`, unless something is unpublished.
        var snapshot: Snapshot
        var unpublished: Unpublished?
        /// Milliseconds since 1970.
        var updated: Int
        /// The snapshot as it is sent, once someone has asked for it.
        var encoded: [UInt8]?
        /// Set when the session was ended, or dropped from memory: whoever holds it must look it up again.
        var isStale = false

        var stored: StoredRevision { StoredRevision(number: snapshot.revision, time: updated) }
    }

    init(
        facts: SessionSummary, binder: Binder, model: TableModel, snapshot: Snapshot, unpublished: Unpublished? = nil,
        store: any SessionStore, clock: Clock, descriptions: CompiledDescriptions, limits: SessionLimits,
        streams: StreamLimits, metrics: SessionMetrics
    ) {
        id = facts.id
        number = facts.number
        table = facts.table
        epoch = facts.epoch
        created = facts.created
        self.binder = binder
        self.limits = limits
        self.store = store
        self.clock = clock
        self.descriptions = descriptions
        self.metrics = metrics
        committed = Mutex(Committed(model: model, snapshot: snapshot, unpublished: unpublished, updated: facts.updated))
        feed = ChangeFeed(revision: snapshot.revision, limits: streams, behind: metrics.streamsBehind)
        if store.sharing != nil { feed.onMissing { [weak self] in self?.refreshSoon() } }
    }

    var current: Committed { committed.withLock { $0 } }
    var isStale: Bool { committed.withLock { $0.isStale } }

    /// Whoever holds the session must look it up again; those who follow it are told why.
    func markStale(_ end: ChangeFeed.End = .dropped) {
        committed.withLock { $0.isStale = true }
        feed.close(end)
    }

    /// Where a command should run, by what it has to look at and by what the last one of its kind took, refused ones
    /// and dry runs included.
    func lane(for command: Command) -> Workers.Lane {
        let time = engineTimes.withLock { $0[command.kind.name] ?? 0 }
        return time > Self.longTime
            || binder.estimatedCost(of: command, rowCount: current.snapshot.totalRowCount) > Self.longCost
            ? .long : .short
    }

    /// Nanoseconds.
    private static let longTime = 2_000_000
    /// Rows.
    private static let longCost = 1_000

    /// Somebody asks for the session.
    func use() { unusedSweeps.store(0, ordering: .relaxed) }

    /// Called once by each sweep: whether nobody has asked for the session between that many.
    func isUnused(for sweeps: Int) -> Bool { unusedSweeps.wrappingAdd(1, ordering: .relaxed).newValue >= sweeps }

    /// Leaves memory, if nobody follows the session and no command is under way: what is on disk is all there is then.
    func unload() -> Bool {
        // With the lock held, no commit is under way; a command that waits for it finds the session stale, and looks it
        // up again.
        guard commands.lockIfFree() else { return false }
        defer { commands.unlock() }
        guard feed.closeIfUnfollowed() else { return false }
        committed.withLock { $0.isStale = true }
        return true
    }

    /// The position of one of the session's revisions.
    package func position(at revision: Int) -> Position { Position(epoch: epoch, revision: revision) }

    /// The position that the session is at.
    package var position: Position { position(at: current.snapshot.revision) }

    /// Keeps the encoded snapshot of a revision until the next one is committed.
    func cache(_ encoded: [UInt8], of revision: Int) {
        committed.withLock { if $0.snapshot.revision == revision { $0.encoded = encoded } }
    }

    package struct Answer: Sendable {
        package var kind: Outcome.Kind
        package var revision: Int
        /// The revision that the session is at: after a dry run the one before it.
        package var committed: Int
        package var update: BatchUpdate
        /// The update as JSON, as the journal has it.
        package var updateText: JSONText
        package var snapshot: Snapshot
        /// Where the row stands that the command is about, if it was meant as of an earlier revision.
        package var at: RowPath?
        /// What the data source's delegate is told.
        package var notification: DataSourceNotification?
    }

    /// The journal's records after a revision.
    func history(after revision: Int, limit: Int, bytes: Int) async throws -> [JournalRecord] {
        try await store.journal(of: number, after: revision, limit: limit, bytes: bytes)
    }

    /// Reads the records of `count` revisions after one; fewer if the journal does not have them all.
    ///
    /// Reads a page at a time. A history of more than one page takes a lease of the memory for answers while `body`
    /// runs, and throws `unavailable` or `quotaExceeded` if there is none. It waits for nothing but the store.
    func withHistory<Value>(
        after revision: Int, count: Int, for account: Budget.Account, _ body: ([JournalRecord]) throws -> Value
    ) async throws -> Value {
        let limits = feed.limits
        let lease = Budget.Lease(of: limits.buffers, to: account)
        defer { lease.end() }
        var records: [JournalRecord] = [], bytes = 0
        while records.count < count {
            let page = try await history(
                after: revision + records.count, limit: count - records.count, bytes: limits.longHistoryBytes)
            guard page.first?.revision == revision + records.count + 1 else { break }
            records += page
            guard records.count < count else { break }
            // Reading a record takes several times the memory of its text.
            bytes += page.reduce(0) { $0 + $1.bytes }
            do {
                try lease.grow(to: 4 * bytes)
            } catch {
                throw SessionError(noRoomForAnswer: error)
            }
        }
        return try body(records)
    }

    /// Carries a command out: it is on disk before anyone sees it. Throws `CancellationError`, and has changed nothing,
    /// if the task is cancelled before the command's turn.
    ///
    /// - Parameter keep: makes the answer that is stored with the command, for a retry.
    func perform(
        _ command: Command, text: JSONText, _ options: CommandRequest.Options,
        keep: (@Sendable (Session, Answer) -> KeptAnswer)?
    ) async throws -> Answer {
        try await commands.lock()
        let result: Result<Answer, any Error>
        do {
            var races = 0
            while true {
                let trial: Trial
                do {
                    trial = try await attempt(command, text, options)
                } catch {
                    // A copy that is behind may be what the command does not go with.
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

    /// What a command leads to, before it is stored.
    private struct Trial {
        var answer: Answer
        var outcome: Outcome
        /// What it starts from.
        var before: Committed
        var text: JSONText
        var at: Int

        var undo: StoredUndo {
            StoredUndo(
                change: outcome.undo, updated: before.updated, nextKey: before.model.nextKey,
                nextSection: before.model.nextSection,
                isPublished: before.unpublished == nil)
        }
    }

    private func attempt(_ command: Command, _ text: JSONText, _ options: CommandRequest.Options) async throws -> Trial
    {
        let before = current
        if before.isStale { throw StaleSession() }
        try options.condition?.check(position(at: before.snapshot.revision))
        var binder = binder
        binder.limits = limits.table(for: options.role)
        let (command, text, place) = try await rebased(command, text, base: options.base, before, binder.limits)
        let at = clock.instant(), start = monotonicNanoseconds()
        defer { engineTimes.withLock { $0[command.kind.name] = monotonicNanoseconds() - start } }
        var outcome = try binder.applying(
            command, to: before.model, shown: before.snapshot, unpublished: before.unpublished,
            now: Instant(millisecondsSince1970: at).text)
        // Only controllers see what is not published.
        if options.dryRun, options.role != .controller, let published = before.unpublished?.published {
            outcome = try binder.applying(
                command, to: published, shown: before.snapshot, unpublished: nil,
                now: Instant(millisecondsSince1970: at).text)
        }
        let updateText = outcome.update.json
        let answer = Answer(
            kind: outcome.kind, revision: outcome.snapshot.revision,
            committed: options.dryRun ? before.snapshot.revision : outcome.snapshot.revision, update: outcome.update,
            updateText: updateText,
            snapshot: outcome.snapshot, at: place, notification: outcome.notification)
        return Trial(answer: answer, outcome: outcome, before: before, text: text, at: at)
    }

    /// False: another server's command was first.
    private func commit(_ trial: Trial, keep: (@Sendable (Session, Answer) -> KeptAnswer)?) async throws -> Bool {
        let outcome = trial.outcome, rowEvents = outcome.rowEvents.map(\.json), kept = keep?(self, trial.answer)
        // Another session was opened under the id since the key was looked up.
        if let kept, kept.session != number { throw StaleSession() }
        do {
            try await store.commit(
                SessionCommit(
                    session: number, from: trial.before.snapshot.revision, fromTime: trial.before.updated,
                    to: outcome.snapshot.revision, at: trial.at,
                    change: outcome.change, publishes: outcome.unpublished == nil, nextKey: outcome.table.nextKey,
                    nextSection: outcome.table.nextSection, totalRowCount: outcome.snapshot.totalRowCount,
                    command: trial.text, update: trial.answer.updateText,
                    rowEvents: rowEvents.isEmpty ? nil : JSONText(parts: rowEvents),
                    hidden: outcome.update.hidden(in: trial.before.snapshot), undo: trial.undo.json, answer: kept))
        } catch StoreError.revisionConflict where store.sharing != nil {
            return false
        } catch StoreError.sessionMissing where store.sharing != nil {
            // Another server has ended it, and perhaps opened another one under its id.
            markStale(.ended)
            throw StaleSession()
        } catch {
            // Whatever the store now holds, it is what holds: the next request reads it from there.
            switch error {
            case StoreError.full, StoreError.answered: break
            default: markStale()
            }
            throw error
        }
        if trial.text.count > Memory.largeWork { Memory.trimSoon() }
        publish(outcome, updateText: trial.answer.updateText, rowEvents: rowEvents, at: trial.at)
        return true
    }

    /// Makes what is stored what everyone sees. The caller holds `commands`: revisions are published in their order.
    func publish(_ outcome: Outcome, updateText: JSONText, rowEvents: [JSONText], at: Int) {
        let model =
            outcome.unpublished == nil && outcome.change.writtenRows.count > Self.largeRowCount
            ? outcome.table.sharingModels(with: outcome.snapshot) : outcome.table
        committed.withLock {
            $0.model = model
            $0.snapshot = outcome.snapshot
            $0.unpublished = outcome.unpublished
            $0.updated = at
            $0.encoded = nil
        }
        feed.publish(revision: outcome.snapshot.revision) {
            Change(
                epoch: epoch, revision: outcome.snapshot.revision, update: outcome.update, updateText: updateText,
                rowEvents: rowEvents)
        }
    }
}

extension Session {
    /// The command with references as they are now, and its form in the journal. Throws `rowGone`, and `baseTooOld`
    /// where the journal does not reach back to the base.
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
            after: base.revision, count: revision - base.revision, for: Budget.Account(resource: id)
        ) { records in
            guard records.count == revision - base.revision else {
                throw SessionError(
                    .baseTooOld, "The journal does not reach back to revision \(base.revision). Get the snapshot.")
            }
            if case .dataSource = command, current.unpublished != nil {
                throw SessionError(
                    .baseTooOld,
                    "The session has changes that are not published: until they are, calls to the data source cannot have a base."
                )
            }
            return try RowHistory(records.map { ($0.update, $0.hidden) }, now: current.snapshot, limits: limits)
                .rebased(command)
        }
        return (rebased, rebased.rewriting(text), at)
    }
}

/// The session was ended, or dropped from memory, between look-up and turn.
struct StaleSession: Error {}
