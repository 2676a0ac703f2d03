import BraidEngine
import BraidStore
import Synchronization

/// One live binder session: what of it has been committed, for everyone to read at once, and the way to change it.
///
/// Commands run one at a time in order of arrival. An actor alone would not do: it takes up other work at every
/// `await`, and the next command must see what this one committed.
final class Session: Sendable {
    let id: String
    let number: Int
    /// The table's name; nil for a session opened without one.
    let table: String?
    let epoch: String
    let created: Int
    let binder: Binder
    let store: any SessionStore
    private let source: Source
    let descriptions: CompiledDescriptions
    let turn = Turn()
    private let longReads: Turn
    /// Since when no other server may commit to the session; belongs to who has `turn`.
    let sharedTurn = Mutex<ContinuousClock.Instant?>(nil)
    private let committed: Mutex<Committed>
    let metrics: Metrics
    /// Those who follow the session.
    let feed: ChangeFeed
    /// How many sweeps have come since somebody asked for the session.
    private let unusedSweeps = Atomic(0)
    /// What the last command took of the engine. At first nobody knows: neither little nor much.
    private let engineNanoseconds = Atomic(1_000_000)

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
        facts: SessionFacts, binder: Binder, model: TableModel, snapshot: Snapshot, unpublished: Unpublished? = nil,
        store: any SessionStore, source: Source, descriptions: CompiledDescriptions, longReads: Turn, streams: StreamLimits, metrics: Metrics
    ) {
        id = facts.id
        number = facts.number
        table = facts.table
        epoch = facts.epoch
        created = facts.created
        self.binder = binder
        self.store = store
        self.source = source
        self.descriptions = descriptions
        self.longReads = longReads
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

    /// The last command took the engine so little time that the next may run on an event loop's thread.
    var isQuick: Bool { engineNanoseconds.load(ordering: .relaxed) < 500_000 }
    /// … so much that others' requests should not wait behind the next.
    var isSlow: Bool { engineNanoseconds.load(ordering: .relaxed) > 10_000_000 }

    /// Somebody asks for the session.
    func use() { unusedSweeps.store(0, ordering: .relaxed) }

    /// Called once by each sweep: whether nobody has asked for the session between that many.
    func isUnused(for sweeps: Int) -> Bool { unusedSweeps.wrappingAdd(1, ordering: .relaxed).newValue >= sweeps }

    /// Leaves memory, if nobody follows the session and no command is under way: what is on disk is all there is then.
    func unload() -> Bool {
        // With the turn taken, no commit is; whoever waits for it finds the session stale, and looks it up again.
        guard turn.takeIfFree() else { return false }
        defer { turn.end() }
        guard feed.closeIfUnfollowed() else { return false }
        committed.withLock { $0.isStale = true }
        return true
    }

    func etag(_ revision: Int) -> String { entityTag(epoch: epoch, revision: revision) }

    /// The snapshot as it is sent. Encoded once for each revision that someone asks for; large ones are not kept.
    func encodedSnapshot() -> (revision: Int, bytes: [UInt8]) {
        let state = current
        if let encoded = state.encoded { return (state.snapshot.revision, encoded) }
        let bytes = state.snapshot.encoded(session: id, table: table, epoch: epoch)
        if bytes.count <= Self.cachedBytes {
            committed.withLock { if $0.snapshot.revision == state.snapshot.revision { $0.encoded = bytes } }
        }
        return (state.snapshot.revision, bytes)
    }

    private static let cachedBytes = 1 << 20

    /// Whether encoding the snapshot is too much work for an event loop's thread.
    var isLarge: Bool {
        let state = current
        return state.encoded == nil && (state.snapshot.totalRowCount > Self.largeRowCount || state.snapshot.isLarger(than: Self.cachedBytes))
    }
    static let largeRowCount = 2_000

    struct Answer: Sendable {
        var kind: Outcome.Kind
        var revision: Int
        /// The revision that the session is at: after a dry run the one before it.
        var committed: Int
        var update: BatchUpdate
        /// The update as JSON, as the journal has it.
        var updateText: JSONText
        var snapshot: Snapshot
        /// Where the row stands that the command is about, if it was meant as of an earlier revision.
        var at: IndexPath?
        /// What the data source's delegate is told.
        var notification: DataSourceNotification?
    }

    /// The journal's records after a revision.
    func history(after revision: Int, limit: Int, bytes: Int) async throws -> [JournalRecord] {
        try await store.journal(of: number, after: revision, limit: limit, bytes: bytes)
    }

    /// What is made of the records of so many revisions; of fewer where the journal does not have them all. Of all sessions' long ones
    /// one is read at a time: it takes several times the memory of what is told of it.
    func withHistory<Value>(after revision: Int, count: Int, _ body: ([JournalRecord]) throws -> Value) async throws -> Value {
        if count == 0 { return try body([]) }
        do {
            let records = try await history(after: revision, limit: count, bytes: feed.limits.longHistoryBytes)
            if records.count == count || records.first?.revision != revision + 1 { return try body(records) }
        }
        await longReads.wait()
        defer { longReads.end() }
        return try body(try await history(after: revision, limit: count, bytes: .max))
    }

    /// Carries a command out: on disk before anyone sees it. `ifMatch` is checked when the command's turn has come.
    ///
    /// `base`: the revision that the command's references are meant as of. `keep` makes what is stored with the command, to be answered when the client asks again.
    func perform(
        _ command: Command, text: JSONText, dryRun: Bool, ifMatch: String?, base: Position?, keep: (@Sendable (Session, Answer) -> KeptAnswer)?
    ) async throws -> Answer {
        await turn.wait()
        let result: Result<Answer, any Error>
        do {
            var races = 0
            while true {
                let trial: Trial
                do {
                    trial = try await attempt(command, text, dryRun: dryRun, ifMatch: ifMatch, base: base)
                } catch {
                    // A copy that is behind may be what the command does not go with.
                    guard try await catchUp() else { throw error }
                    continue
                }
                if trial.outcome.kind == .applied, !dryRun {
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
    }

    private func attempt(
        _ command: Command, _ text: JSONText, dryRun: Bool, ifMatch: String?, base: Position?
    ) async throws -> Trial {
        let before = current
        if before.isStale { throw StaleSession() }
        try requireMatch(ifMatch, etag(before.snapshot.revision))
        let (command, text, place) = try await present(command, text, base: base, before)
        let at = source.instant(), start = Source.ticks()
        let outcome = try binder.applying(
            command, to: before.model, shown: before.snapshot, unpublished: before.unpublished, now: timestamp(at))
        let updateText = outcome.update.json
        engineNanoseconds.store(Source.ticks() - start, ordering: .relaxed)
        let answer = Answer(
            kind: outcome.kind, revision: outcome.snapshot.revision,
            committed: dryRun ? before.snapshot.revision : outcome.snapshot.revision, update: outcome.update, updateText: updateText,
            snapshot: outcome.snapshot, at: place, notification: outcome.notification)
        return Trial(answer: answer, outcome: outcome, before: before, text: text, at: at)
    }

    /// False: another server's command was first.
    private func commit(_ trial: Trial, keep: (@Sendable (Session, Answer) -> KeptAnswer)?) async throws -> Bool {
        let outcome = trial.outcome, cellEvents = outcome.cellEvents.map(\.json), kept = keep?(self, trial.answer)
        // Another session was opened under the id since the key was looked up.
        if let kept, kept.session != number { throw StaleSession() }
        do {
            try await store.commit(SessionCommit(
                session: number, from: trial.before.snapshot.revision, fromTime: trial.before.updated, to: outcome.snapshot.revision, at: trial.at,
                change: outcome.change, publishes: outcome.unpublished == nil, nextKey: outcome.table.nextKey,
                nextSection: outcome.table.nextSection, totalRowCount: outcome.snapshot.totalRowCount,
                command: trial.text, update: trial.answer.updateText, cellEvents: cellEvents.isEmpty ? nil : JSONText(parts: cellEvents),
                hidden: outcome.update.hidden(in: trial.before.snapshot), answer: kept))
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
        publish(outcome, updateText: trial.answer.updateText, cellEvents: cellEvents, at: trial.at)
        return true
    }

    /// What is stored becomes what everyone sees. With the turn: revisions are published in their order.
    func publish(_ outcome: Outcome, updateText: JSONText, cellEvents: [JSONText], at: Int) {
        let model = outcome.unpublished == nil && outcome.change.writtenRows.count > Self.largeRowCount
            ? outcome.table.sharingModels(with: outcome.snapshot) : outcome.table
        committed.withLock {
            $0.model = model
            $0.snapshot = outcome.snapshot
            $0.unpublished = outcome.unpublished
            $0.updated = at
            $0.encoded = nil
        }
        feed.publish(revision: outcome.snapshot.revision) {
            Change(epoch: epoch, revision: outcome.snapshot.revision, update: outcome.update, updateText: updateText, cellEvents: cellEvents)
        }
    }
}

extension Session {
    /// The command with references as they are now, and its form in the journal. Throws `rowGone`, and `baseTooOld`
    /// where the journal does not reach back to the base.
    private func present(
        _ command: Command, _ text: JSONText, base: Position?, _ current: Committed
    ) async throws -> (command: Command, text: JSONText, at: IndexPath?) {
        guard let base else { return (command, text, nil) }
        let revision = current.snapshot.revision
        guard base.epoch == nil || base.epoch == epoch else {
            throw ProblemError(.baseTooOld, "The session has been opened anew since then: its epoch is \(epoch), not \(base.epoch ?? "").")
        }
        guard base.revision <= revision else { throw ProblemError(.badRequest, "The session is at revision \(revision); there is no revision \(base.revision) yet.") }
        let (present, at) = try await withHistory(after: base.revision, count: revision - base.revision) { records in
            guard records.count == revision - base.revision else {
                throw ProblemError(.baseTooOld, "The journal does not reach back to revision \(base.revision).")
            }
            if case .dataSource = command, current.unpublished != nil {
                throw ProblemError(.baseTooOld, "The session has changes that are not published: until they are, calls to the data source cannot have a base.")
            }
            return try RowHistory(records.map { ($0.update, $0.hidden) }, now: current.snapshot).present(command)
        }
        return (present, present.rewriting(text), at)
    }
}

/// The session was ended, or dropped from memory, between look-up and turn.
struct StaleSession: Error {}

/// A queue at which tasks wait for their turn, first come, first served.
final class Turn: Sendable {
    private struct State {
        var isTaken = false
        var waiting: [CheckedContinuation<Void, Never>] = []
        /// `waiting` is a queue: those before this index have had their turn.
        var next = 0
    }
    private let state = Mutex(State())

    func wait() async {
        await withCheckedContinuation { continuation in
            let isMine = state.withLock { state in
                if state.isTaken {
                    state.waiting.append(continuation)
                    return false
                }
                state.isTaken = true
                return true
            }
            if isMine { continuation.resume() }
        }
    }

    /// Whether the turn is the caller's, at once.
    func takeIfFree() -> Bool {
        state.withLock { state in
            defer { state.isTaken = true }
            return !state.isTaken
        }
    }

    /// Whether somebody waits for it.
    var isAwaited: Bool { state.withLock { $0.next < $0.waiting.count } }

    func end() {
        let next: CheckedContinuation<Void, Never>? = state.withLock { state in
            guard state.next < state.waiting.count else {
                state.isTaken = false
                state.waiting.removeAll()
                state.next = 0
                return nil
            }
            defer {
                state.next += 1
                if state.next > 64, state.next * 2 > state.waiting.count {
                    state.waiting.removeFirst(state.next)
                    state.next = 0
                }
            }
            return state.waiting[state.next]
        }
        next?.resume()
    }
}
