import BraidEngine
import BraidRuntime
import BraidStore

/// A decoded command with its request's options.
package struct CommandRequest: Sendable {
    let session: String
    /// The number of the token's session: by now, another session may have the ID.
    let sessionNumber: Int?
    /// Resets and rebindings are completed by the session.
    package fileprivate(set) var command: Command
    fileprivate(set) var text: JSONText
    package var isDryRun = false
    /// `If-Match`, checked under the session's lock.
    package var condition: PositionCondition?
    /// What index paths and ids refer to. `nil`: the current position.
    package var base: Position?
    /// Refuse a data source call that would otherwise be ignored.
    package var isStrict = false
    /// With the view in which the command names rows.
    package var sender = Looker(.controller)
    var user: User { sender.user }
    /// For what is looked up before the command.
    package var account = Quota.Account()
    /// Makes the answer to store for a retry with the same idempotency key.
    package var keptAnswer: (@Sendable (Execution) -> KeptAnswer)?

    /// `text` is for the journal. A rebinding makes its own.
    package init(session: String, number: Int? = nil, _ command: Command, text: JSONText) {
        self.session = session
        sessionNumber = number
        self.command = command
        self.text = text
    }

    /// Neither depends on the revision, nor is completed by the session.
    fileprivate var isComplete: Bool {
        switch command {
        case .reset, .rebind, .undo: false
        default: base == nil && condition == nil
        }
    }

    func check(_ session: Session) throws {
        if let sessionNumber, sessionNumber != session.number { throw SessionError(noSession: session.id) }
    }

    fileprivate mutating func rebind(_ rebinding: Rebinding) {
        command = .rebind(rebinding)
        text = JSONText(object: [("table", rebinding.json)])
    }
}

/// A command applied to the table in `before`. A class, as `Session.Committed`.
package final class Execution: Sendable {
    package let session: Session
    let before: Session.Committed
    /// After a rebase, refers to the current revision.
    package let command: Command
    let text: JSONText
    package let outcome: Outcome
    package let updateText: JSONText
    let controllerEvents: [JSONText]
    let sender: Looker
    /// Of a sender with a table of their own.
    let viewer: Viewer?
    /// After a rebase, the row's place, if the command names a single one.
    package let place: RowPath?
    /// Milliseconds since 1970.
    let time: Int
    package let isDryRun: Bool

    init(
        session: Session, before: Session.Committed, command: Command, text: JSONText, outcome: Outcome,
        updateText: JSONText, controllerEvents: [JSONText], sender: Looker, viewer: Viewer?, place: RowPath?,
        time: Int, isDryRun: Bool
    ) {
        self.session = session
        self.before = before
        self.command = command
        self.text = text
        self.outcome = outcome
        self.updateText = updateText
        self.controllerEvents = controllerEvents
        self.sender = sender
        self.viewer = viewer
        self.place = place
        self.time = time
        self.isDryRun = isDryRun
    }

    /// After a dry run, the one that it would have led to.
    package var revision: Int { outcome.snapshot.revision }

    /// In the sender's table, as stored, also after a dry run.
    package var position: Position {
        Position(epoch: session.epoch(for: viewer), revision: isDryRun ? before.snapshot.revision : revision)
    }

    package var displayed: DisplayedTable {
        DisplayedTable(
            session: session,
            own: viewer.map { session.viewers.table(of: $0, in: session, for: Quota.Account(resource: session.id)) })
    }

    /// What the sender sees.
    package var shown: (snapshot: Snapshot, update: BatchUpdate) {
        outcome.own ?? (outcome.snapshot, outcome.update)
    }

    package var shownUpdateText: JSONText { outcome.own?.update.json ?? updateText }

    fileprivate func sessionCommit(keeping answer: KeptAnswer?) -> SessionCommit {
        let undo = StoredUndo(
            change: outcome.undo, description: outcome.rebinding == nil ? nil : before.bound.stored,
            updated: before.updated, nextKey: before.model.nextKey, nextSection: before.model.nextSection,
            isPublished: before.unpublished == nil)
        return SessionCommit(
            session: session.number, from: before.snapshot.revision, fromTime: before.updated,
            record: JournalRecord(
                revision: revision, at: time, command: text, update: updateText,
                controllerEvents: controllerEvents.isEmpty ? nil : JSONText(controllerEvents),
                hidden: outcome.update.hidden(in: before.snapshot), by: sender.by(seeing: viewer)),
            change: outcome.change, description: outcome.rebinding.flatMap { before.bound.rebound(by: $0).stored },
            publishes: outcome.unpublished == nil, nextKey: outcome.table.nextKey,
            nextSection: outcome.table.nextSection, totalRowCount: outcome.snapshot.totalRowCount,
            undo: undo.json, answer: answer)
    }
}

extension SessionHost {
    /// - Throws: ``SessionError`` or `Refusal`: nothing has changed. `StoreError`: the store may have the change.
    ///   `CancellationError` if cancelled while waiting for the session's lock.
    package func execute(_ request: CommandRequest) async throws -> Execution {
        try await with(request.session) { session in
            var request = request
            do {
                try request.check(session)
                if case .rebind(let rebinding) = request.command {
                    try await request.rebind(compiled(rebinding, for: session))
                }
            } catch {
                // The copy may be outdated. If another server has ended the session, `refresh` throws `StaleSession`.
                try await session.refresh()
                throw error
            }
            let kind = request.command.kind
            do {
                try limits.check(request.command, of: request.user.role)
                // Waiting for the session's lock blocks no thread.
                let pool = session.pool(for: request.command), execution: Execution
                if pool.isCurrent {
                    execution = try await session.executeInOrder(request)
                } else {
                    execution = try await withTaskExecutorPreference(pool) { [request] in
                        try await session.executeInOrder(request)
                    }
                }
                metrics.commands.count(kind, execution.isDryRun ? .dryRun : .init(execution.outcome.kind))
                return execution
            } catch {
                metrics.commands.count(kind, thrown: error)
                throw error
            }
        }
    }
}

extension WorkerPool {
    /// Whether the task runs here already: to prefer it again would cost two changes of the executor.
    fileprivate var isCurrent: Bool { withUnsafeCurrentTask { $0?.unownedTaskExecutor == asUnownedTaskExecutor() } }
}

extension Session {
    /// By estimated cost, and the time of the last command of this kind.
    func pool(for command: Command) -> WorkerPool {
        let time = engineTimes.withLock { $0[command.kind.name] ?? 0 }, current = current
        let cost = current.bound.binder.estimatedCost(of: command, rowCount: current.snapshot.totalRowCount)
        return time > Workers.shortTime || cost > Workers.shortRows ? Workers.shared.long : Workers.shared.short
    }

    /// Clients see the result only after the commit.
    fileprivate func executeInOrder(_ request: CommandRequest) async throws -> Execution {
        var races = 0
        // Not under the lock: the first time, all rows are looked at. What the description does not allow is refused
        // below, in its turn.
        if current.bound.readsViewer { _ = try? await displayed(to: request.sender, for: request.account) }
        while true {
            let turn: Turn
            if let taken = takeAtOnce(request) {
                turn = taken
            } else {
                turn = try await withCommandLock { try await take(request, afterRaces: races) }
            }
            do {
                switch turn {
                case .applied(let execution, let commit):
                    try await commit.stored()
                    return execution
                case .unchanged(let result, let unconfirmed):
                    // It was judged by this commit's state, which must be stored before anybody is told.
                    if let unconfirmed, (try? await unconfirmed.stored()) == nil { continue }
                    let execution = try result.get()
                    if let keptAnswer = request.keptAnswer { try await store.keep(keptAnswer(execution)) }
                    return execution
                case .outdated: continue
                }
            } catch is Superseded {
                continue
            } catch StoreError.revisionConflict where store.sharing != nil {
                races += 1
            }
        }
    }

    private enum Turn {
        /// Its commit is queued.
        case applied(Execution, PendingCommit)
        /// It changes nothing. The commit is the last one under way before it.
        case unchanged(Result<Execution, any Error>, PendingCommit?)
        /// It was applied to what is not the last revision.
        case outdated
    }

    /// Most commands wait for nothing on their way to the store. Each suspension would allocate a frame of a kilobyte.
    /// `nil`: this one may have to wait.
    private func takeAtOnce(_ request: CommandRequest) -> Turn? {
        guard store.sharing == nil, request.isComplete else { return nil }
        return commands.withLockIfFree {
            underWay.latestAtOnce(in: self).map { take(request, (request.command, request.text, nil), on: $0) }
        } ?? nil
    }

    /// The caller holds the lock `commands`.
    private func take(_ request: CommandRequest, afterRaces races: Int) async throws -> Turn {
        if races > 0 { try await makeWay(afterRaces: races) }
        let latest = await underWay.latest(in: self), turn: Turn
        if isStale { throw StaleSession() }
        do {
            turn = take(request, try await completed(request, on: latest.state), on: latest)
        } catch {
            turn = .unchanged(.failure(error), latest.unconfirmed)
        }
        // It may have failed only because this server's copy of the session was behind the store.
        if case .unchanged = turn, store.sharing != nil, try await catchUp() { return .outdated }
        return turn
    }

    /// The caller holds the lock `commands`.
    private func take(_ request: CommandRequest, _ completed: Completed, on latest: CommitsUnderWay.Latest) -> Turn {
        do {
            if isStale { throw StaleSession() }
            let execution = try attempt(request, completed, on: latest.state)
            guard execution.outcome.kind == .applied, !request.isDryRun else {
                return .unchanged(.success(execution), latest.unconfirmed)
            }
            return .applied(execution, try commit(execution, request.keptAnswer?(execution)))
        } catch is Superseded {
            return .outdated
        } catch {
            return .unchanged(.failure(error), latest.unconfirmed)
        }
    }

    /// Then ends this server's turn, if no command waits or it has lasted `longestTurn`, so that other servers can commit.
    func withCommandLock<Value>(_ body: () async throws -> Value) async throws -> Value {
        try await commands.withLock {
            let result: Result<Value, any Error>
            do {
                result = .success(try await body())
            } catch {
                result = .failure(error)
            }
            let isDue = sharedTurn.withLock { since in
                guard let begin = since, !commands.isAwaited || .now - begin > Self.longestTurn else { return false }
                since = nil
                return true
            }
            if isDue {
                await underWay.settled()
                await store.sharing?.endTurn(of: number)
            }
            return try result.get()
        }
    }

    private static let longestTurn = Duration.milliseconds(20)

    private typealias Completed = (command: Command, text: JSONText, place: RowPath?)

    /// Also checks `If-Match`.
    private func completed(_ request: CommandRequest, on before: Committed) async throws -> Completed {
        if let condition = request.condition {
            let epoch = epoch(for: try before.bound.viewer(request.sender))
            try condition.check(Position(epoch: epoch, revision: before.snapshot.revision))
        }
        if case .undo(let undo) = request.command {
            if request.isDryRun, request.user.role != .controller, before.unpublished != nil {
                throw Refusal(
                    .undoNotAllowed,
                    "The session has changes that are not published: until they are, only a controller may try an undo."
                )
            }
            let undo = try await resolved(undo, for: request.sender, on: before)
            return (.undo(undo), JSONText(object: [("undo", undo.json)]), nil)
        }
        let command = try await completed(request.command, for: before.bound)
        guard let base = request.base else { return (command, request.text, nil) }
        if let own = try own(of: request.sender, at: before, for: request.account) {
            return try await rebased(command, request, base: base, own, before)
        }
        return try await rebased(command, request.text, base: base, before, limits.table(for: request.user.role))
    }

    private func attempt(
        _ request: CommandRequest, _ completed: Completed, on before: Committed
    ) throws -> Execution {
        let isDryRun = request.isDryRun, (command, text, place) = completed
        var binder = before.bound.binder
        binder.limits = limits.table(for: request.user.role)
        let time = clock.instant(), start = processorNanoseconds(), now = Instant(millisecondsSince1970: time).text
        defer { engineTimes.withLock { $0[command.kind.name] = processorNanoseconds() - start } }
        let ids = ids.source(revision: before.snapshot.revision + 1, at: now)
        let own = try own(of: request.sender, at: before, for: request.account)
        var outcome = try binder.applying(
            command, to: before.model, shown: before.snapshot, unpublished: before.unpublished, now: now, ids: ids,
            strict: request.isStrict, by: request.user, seeing: own)
        // Unpublished changes are for controllers only: another's dry run uses the published table.
        if isDryRun, request.user.role != .controller, let published = before.unpublished?.published {
            outcome = try binder.applying(
                command, to: published, shown: before.snapshot, unpublished: nil, now: now, ids: ids,
                strict: request.isStrict, by: request.user, seeing: own)
        }
        // The size is checked before any of the large texts is made.
        let controllerEvents = outcome.controllerEvents.map { $0.json(by: request.user) }
        var bytes = outcome.estimatedSize(after: before.snapshot) + text.count
        for event in controllerEvents { bytes += event.count }
        if outcome.rebinding != nil { bytes += before.bound.stored?.text.count ?? 0 }
        try limits.checkChange(bytes: bytes)
        return Execution(
            session: self, before: before, command: command, text: text, outcome: outcome,
            updateText: outcome.update.json, controllerEvents: controllerEvents, sender: request.sender,
            viewer: own?.viewer, place: place, time: time, isDryRun: isDryRun)
    }

    /// Adds what only the session knows: a reset's table, and whether a rebinding changes anything.
    func completed(_ command: Command, for bound: BoundTable) async throws -> Command {
        switch command {
        case .reset: return .reset(to: try bound.resetContent(of: try await opening()))
        case .rebind(var rebinding):
            rebinding.isCurrent =
                bound.version == rebinding.version && bound.description?.text == rebinding.description?.text
            return .rebind(rebinding)
        default: return command
        }
    }

    private func opening() async throws -> SessionOpening {
        guard let stored = try await store.opening(id), stored.summary.number == number else { throw StaleSession() }
        return try SessionOpening(stored: stored.body, description: stored.description)
    }

    private func check(_ base: Position, in epoch: String, at revision: Int) throws {
        guard base.epoch == nil || base.epoch == epoch else {
            throw SessionError(
                .baseTooOld,
                "The base is of the epoch \(base.epoch ?? ""), and the epoch of this table is \(epoch): the session was opened again, a backup was restored, or the base is of another view. Get a snapshot."
            )
        }
        guard base.revision <= revision else {
            throw SessionError(
                .badRequest,
                "The base is revision \(base.revision), but the session is only at revision \(revision). Use the revision of the snapshot that you have."
            )
        }
    }

    /// In the sender's own table, as the other one below.
    private func rebased(
        _ command: Command, _ request: CommandRequest, base: Position, _ own: OwnTable, _ before: Committed
    ) async throws -> Completed {
        try check(base, in: epoch(for: own.viewer), at: own.snapshot.revision)
        let table = viewers.table(of: own.viewer, in: self, for: request.account)
        if base.revision == own.snapshot.revision { return (command, request.text, nil) }
        guard let past = try await past(table, at: base.revision, for: request.account) else {
            throw SessionError(
                .baseTooOld, "The journal does not reach back to revision \(base.revision). Get the snapshot.")
        }
        let update = try before.bound.binder.seen(by: own.viewer).ownUpdate(
            from: (past.model, past.snapshot), to: (before.table.model, own.snapshot))
        let (rebased, place) = try RowHistory(
            [(update.json, update.hidden(in: past.snapshot))], now: own.snapshot,
            limits: limits.table(for: request.user.role)
        ).rebased(command)
        return (rebased, rebased.rewriting(request.text), place)
    }

    /// The command at the current revision, with its text for the journal.
    private func rebased(
        _ command: Command, _ text: JSONText, base: Position, _ current: Committed, _ limits: TableLimits
    ) async throws -> (command: Command, text: JSONText, place: RowPath?) {
        let revision = current.snapshot.revision
        try check(base, in: epoch, at: revision)
        let unconfirmed = underWay.records.filter { base.revision < $0.revision && $0.revision <= revision }
        let (rebased, place) = try await withHistory(
            after: base.revision, count: revision - base.revision - unconfirmed.count, for: Quota.Account(resource: id)
        ) { stored in
            let records = stored + unconfirmed
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
        return (rebased, rebased.rewriting(text), place)
    }

    /// Queues what a command has changed. After the store has it, `advance` shows it.
    private func commit(_ execution: Execution, _ answer: KeptAnswer?) throws -> PendingCommit {
        // The idempotency key was looked up for an earlier session with the same ID: repeat the request for this one.
        if let answer, answer.session != number { throw StaleSession() }
        let commit = PendingCommit(execution, execution.sessionCommit(keeping: answer))
        try underWay.append(commit, of: self)
        return commit
    }

    /// Handles the error of a commit, and returns the one that its command throws.
    func failed(_ error: any Error) -> any Error {
        switch error {
        // The store has written nothing.
        case StoreError.full, StoreError.answered, StoreError.tooLarge: return error
        // Another server has committed this revision first.
        case StoreError.revisionConflict where store.sharing != nil: return error
        case StoreError.sessionMissing where store.sharing != nil:
            // Another server has ended the session, and may have opened another one with the same ID.
            markStale(.ended)
            return StaleSession()
        // The store may or may not contain the commit: the next request reads the stored state.
        default:
            markStale()
            return error
        }
    }

    /// Makes a stored revision visible to clients. Called for one revision after the other.
    func advance(by execution: Execution, to after: Committed) {
        let before = replaceCommitted(by: after)
        feed.publish(revision: execution.revision) { hasTables in
            Change(
                epoch: epoch, update: execution.outcome.update, updateText: execution.updateText,
                controllerEvents: execution.controllerEvents,
                tables: hasTables
                    ? ChangedTable(before: before.table, after: after.table, update: execution.outcome.update) : nil)
        }
        viewers.wake(self)
    }
}

extension Session {
    func epoch(for viewer: Viewer?) -> String { viewer.map { ViewerTable.epoch(of: $0, in: self) } ?? epoch }
}

extension Session.Committed {
    func advanced(by execution: Execution) -> Session.Committed {
        let outcome = execution.outcome
        let isLarge = outcome.unpublished == nil && outcome.change.writtenRows.count > Workers.shortRows
        let bound = bound.rebound(by: outcome.rebinding)
        var snapshot = outcome.snapshot
        let model = isLarge ? outcome.table.sharingModels(with: &snapshot, by: bound.binder) : outcome.table
        return Session.Committed(
            model: model, snapshot: snapshot, unpublished: outcome.unpublished, bound: bound, updated: execution.time,
            placesSince: outcome.undo.changedPlaces(in: model) ? snapshot.revision : placesSince)
    }
}
