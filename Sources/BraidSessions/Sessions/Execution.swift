import BraidEngine
import BraidRuntime
import BraidStore

/// A command that a session has executed: what it was applied to, and what came of it.
package struct Execution: Sendable {
    package let session: Session
    /// The state to which the command was applied.
    let before: Session.Committed
    /// The command with references to the current revision, if it was rebased.
    package let command: Command
    /// The command as the journal records it.
    let text: JSONText
    package let outcome: Outcome
    package let updateText: JSONText
    let controllerEvents: [JSONText]
    /// The current index path of the row that the command names. `nil` without a rebase, or if it names no single row.
    package let place: RowPath?
    /// Milliseconds since 1970.
    let time: Int
    package let isDryRun: Bool

    /// The session's revision after the command. After a dry run, the one to which the command would have led.
    package var revision: Int { outcome.snapshot.revision }

    /// The session's stored position after the command.
    package var position: Position { session.position(at: isDryRun ? before.snapshot.revision : revision) }

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
                hidden: outcome.update.hidden(in: before.snapshot)),
            change: outcome.change, description: outcome.rebinding.flatMap { before.bound.rebound(by: $0).stored },
            publishes: outcome.unpublished == nil, nextKey: outcome.table.nextKey,
            nextSection: outcome.table.nextSection, totalRowCount: outcome.snapshot.totalRowCount,
            undo: undo.json, answer: answer)
    }
}

extension Session {
    /// Returns the worker pool for a command, by its estimated cost and the engine's time for the last one of its kind.
    func pool(for command: Command) -> WorkerPool {
        let time = engineTimes.withLock { $0[command.kind.name] ?? 0 }, current = current
        let cost = current.bound.binder.estimatedCost(of: command, rowCount: current.snapshot.totalRowCount)
        return time > Workers.shortTime || cost > Workers.shortRows ? Workers.shared.long : Workers.shared.short
    }

    /// Executes a command. Clients see the result only after the store has committed it.
    ///
    /// - Throws: `CancellationError` if the task is cancelled before the command has the session's lock.
    func execute(_ request: CommandRequest) async throws -> Execution {
        try await withCommandLock {
            var races = 0
            while true {
                let execution: Execution
                do {
                    execution = try await attempt(request)
                } catch {
                    // The command may have failed only because this server's copy of the session was behind the store.
                    guard try await catchUp() else { throw error }
                    continue
                }
                if execution.outcome.kind == .applied, !request.isDryRun {
                    if try await commit(execution, keeping: request.keptAnswer?(execution)) { return execution }
                    races += 1
                    try await makeWay(afterRaces: races)
                } else if try await !catchUp() {
                    if let keptAnswer = request.keptAnswer { try await store.keep(keptAnswer(execution)) }
                    return execution
                }
            }
        }
    }

    /// Runs `body` while it holds the lock `commands`. Then ends this server's turn, if no other command waits or the
    /// turn has lasted longer than `longestTurn`, so that other servers can commit.
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
            if isDue { await store.sharing?.endTurn(of: number) }
            return try result.get()
        }
    }

    private static let longestTurn = Duration.milliseconds(20)

    private func attempt(_ request: CommandRequest) async throws -> Execution {
        let before = current, isDryRun = request.isDryRun
        if before.isStale { throw StaleSession() }
        try request.condition?.check(position(at: before.snapshot.revision))
        var binder = before.bound.binder
        binder.limits = limits.table(for: request.role)
        var command = try await completed(request.command, for: before.bound), text = request.text, place: RowPath?
        if let base = request.base {
            (command, text, place) = try await rebased(command, text, base: base, before, binder.limits)
        }
        let time = clock.instant(), start = monotonicNanoseconds(), now = Instant(millisecondsSince1970: time).text
        defer { engineTimes.withLock { $0[command.kind.name] = monotonicNanoseconds() - start } }
        let ids = ids.source(revision: before.snapshot.revision + 1, at: now)
        var outcome = try binder.applying(
            command, to: before.model, shown: before.snapshot, unpublished: before.unpublished, now: now, ids: ids,
            strict: request.isStrict)
        // Only controllers may see unpublished changes, so another requester's dry run uses the published table.
        if isDryRun, request.role != .controller, let published = before.unpublished?.published {
            outcome = try binder.applying(
                command, to: published, shown: before.snapshot, unpublished: nil, now: now, ids: ids,
                strict: request.isStrict)
        }
        // Check the sizes before any of the large texts is made.
        let controllerEvents = outcome.controllerEvents.map(\.json)
        var bytes = outcome.estimatedSize(after: before.snapshot) + text.count
        for event in controllerEvents { bytes += event.count }
        if outcome.rebinding != nil { bytes += before.bound.stored?.text.count ?? 0 }
        try limits.checkChange(bytes: bytes)
        return Execution(
            session: self, before: before, command: command, text: text, outcome: outcome,
            updateText: outcome.update.json, controllerEvents: controllerEvents, place: place, time: time,
            isDryRun: isDryRun)
    }

    /// Fills in what only the session knows: the table of a reset, and whether a rebinding changes anything.
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

    /// Rebases a command from the position `base` to the current revision. Also returns its text for the journal and the
    /// current place of its row.
    private func rebased(
        _ command: Command, _ text: JSONText, base: Position, _ current: Committed, _ limits: TableLimits
    ) async throws -> (command: Command, text: JSONText, place: RowPath?) {
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
        let (rebased, place) = try await withHistory(
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
        return (rebased, rebased.rewriting(text), place)
    }

    /// Stores what a command has changed, and then publishes it. Returns `false` if another server has committed this
    /// revision first.
    private func commit(_ execution: Execution, keeping answer: KeptAnswer?) async throws -> Bool {
        // The idempotency key was looked up for an earlier session with the same ID: repeat the request for this one.
        if let answer, answer.session != number { throw StaleSession() }
        do {
            try await store.commit(execution.sessionCommit(keeping: answer))
        } catch StoreError.revisionConflict where store.sharing != nil {
            return false
        } catch StoreError.sessionMissing where store.sharing != nil {
            // Another server has ended the session, and may have opened another one with the same ID.
            markStale(.ended)
            throw StaleSession()
        } catch {
            switch error {
            // The store has written nothing.
            case StoreError.full, StoreError.answered, StoreError.tooLarge: break
            // The store may or may not contain the commit: the next request reads the stored state.
            default: markStale()
            }
            throw error
        }
        if execution.text.count > Memory.largeBytes { Memory.trimSoon() }
        advance(by: execution)
        return true
    }

    /// Makes a stored revision visible to clients. The caller holds the lock `commands`, so that revisions follow each
    /// other in order.
    func advance(by execution: Execution) {
        let outcome = execution.outcome
        let model =
            outcome.unpublished == nil && outcome.change.writtenRows.count > Workers.shortRows
            ? outcome.table.sharingModels(with: outcome.snapshot) : outcome.table
        let (before, after) = committed.withLock {
            let before = $0
            $0.model = model
            $0.snapshot = outcome.snapshot
            $0.unpublished = outcome.unpublished
            $0.bound = $0.bound.rebound(by: outcome.rebinding)
            $0.updated = execution.time
            $0.encoded = nil
            return (before, $0)
        }
        feed.publish(revision: execution.revision) { hasTables in
            Change(
                epoch: epoch, revision: execution.revision, update: outcome.update, updateText: execution.updateText,
                controllerEvents: execution.controllerEvents,
                tables: hasTables
                    ? ChangedTable(before: before.table, after: after.table, update: outcome.update) : nil)
        }
    }
}
