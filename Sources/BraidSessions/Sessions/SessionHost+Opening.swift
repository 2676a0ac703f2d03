import BraidEngine
import BraidRuntime
import BraidStore

extension SessionHost {
    /// - Parameters:
    ///   - text: the request's body, which the store keeps for `reset` and `replay`. For a fork, it keeps the copied
    ///     table instead.
    ///   - keptAnswer: makes the answer that is stored with the session, for a retry with the same idempotency key.
    package func open(
        _ opening: SessionOpening, text: JSONText, keptAnswer: (@Sendable (Session) -> KeptAnswer)? = nil
    ) async throws -> Session {
        if let origin = opening.from { return try await fork(origin, opening, keptAnswer: keptAnswer) }
        // The memory is returned one second later. By then, the store has released its copies of the body.
        defer { if text.count > Memory.largeBytes { Memory.trimSoon() } }
        let bound = limited(try await boundTable(opening))
        let id = try await newID(opening.id)
        let now = clock.instant(), model = try bound.content(of: opening)
        let snapshot = try bound.binder.snapshot(of: model, revision: 0, now: Instant(millisecondsSince1970: now).text)
        let table = SessionTable(bound: bound, model: model.sharingModels(with: snapshot), snapshot: snapshot)
        return try await add(table, as: id, at: now, keptAnswer: keptAnswer) {
            $0.unusedLimit = opening.endIfUnused
            $0.opening = text
            $0.rows = table.model.storedRows
        }
    }

    private func boundTable(_ opening: SessionOpening) async throws -> BoundTable {
        switch opening.table {
        case nil: return BoundTable(showing: opening.empty)
        case .inline(let text)?:
            do {
                return BoundTable(try descriptions.compiled(text), version: nil)
            } catch let refusal as Refusal {
                throw refusal.placed(at: JSONPointer.root.appending("table"))
            }
        case .named(let name)?:
            guard let table = try await store.table(name) else {
                throw SessionError(
                    .noTable,
                    "The table description \"\(name)\" does not exist. Register it with PUT /v1/tables/\(name).")
            }
            return BoundTable(try descriptions.compiled(table.description), version: table.version)
        }
    }

    private func newID(_ given: String?) async throws -> String {
        let id = if let given { given } else { try await unusedID() }
        if currentInMemory(id) != nil { throw StoreError.sessionExists }
        return id
    }

    private func unusedID() async throws -> String {
        while true {
            let id = ids.sessionID()
            if !ids.isCounting { return id }
            if try await store.sessionSummary(id) == nil { return id }
        }
    }

    /// Stores a new session at revision 0, and adds it to memory.
    ///
    /// - Parameter fill: sets the opening and the rows of the new session for the store.
    private func add(
        _ table: SessionTable, as id: String, at now: Int, keptAnswer: (@Sendable (Session) -> KeptAnswer)?,
        _ fill: (inout NewSession) -> Void
    ) async throws -> Session {
        let model = table.model, binding = table.bound.stored
        var summary = SessionSummary(
            id: id, number: 0, table: binding?.table, tableVersion: binding?.version, epoch: ids.epoch(), revision: 0,
            created: now, updated: now, totalRowCount: table.snapshot.totalRowCount)
        try await count.addOne()
        do {
            var new = NewSession(
                summary: summary, description: binding?.text ?? table.bound.empty, opening: .emptyObject,
                state: model.state, displayedSections: model.storedDisplayedSections, cells: model.storedCells,
                nextKey: model.nextKey, nextSection: model.nextSection,
                sections: model.sections.map(\.summary), rows: [],
                // The store has not given the session a number yet. The answer does not contain it.
                answer: keptAnswer?(makeSession(summary, table)))
            fill(&new)
            summary.number = try await store.createSession(new)
        } catch {
            count.removeOne()
            throw error
        }
        let session = makeSession(summary, table)
        do {
            // Other requests may have ended the session at once, and opened another one under its ID. This one was
            // opened nevertheless, so return it.
            if let adopted = try await adopt(session), adopted.number == session.number { return adopted }
            return session
        } catch is StaleSession {
            return session
        }
    }

    /// Opens a session with the table that another session has, or had at an earlier revision. A fork of the current
    /// revision shares memory with the other session, until one of the two changes its table.
    private func fork(
        _ origin: SessionOpening.Origin, _ opening: SessionOpening, keptAnswer: (@Sendable (Session) -> KeptAnswer)?
    ) async throws -> Session {
        let id = try await newID(opening.id)
        return try await withCurrent(origin.session) { session in
            let table = try await session.table(atRevision: origin.revision)
            guard table.snapshot.totalRowCount > Workers.shortRows else {
                return try await add(table, of: origin, as: id, opening, keptAnswer: keptAnswer)
            }
            // A store on disk needs a multiple of a large table's size in memory to write it, so each session is forked
            // once at a time.
            return try await withTaskExecutorPreference(Workers.shared.long) {
                defer { Memory.trimSoon() }
                return try await session.rewinds.withLock {
                    try await add(table, of: origin, as: id, opening, keptAnswer: keptAnswer)
                }
            }
        }
    }

    private func add(
        _ table: SessionTable, of origin: SessionOpening.Origin, as id: String, _ opening: SessionOpening,
        keptAnswer: (@Sendable (Session) -> KeptAnswer)?
    ) async throws -> Session {
        var table = table
        let now = clock.instant(), revision = table.snapshot.revision
        if table.bound.binder.readsNow {
            // Templates read the time of the last revision: for a new fork, the time of its opening.
            table.bound.limits.templateSteps = .max
            table.snapshot = try table.bound.binder.snapshot(
                of: table.model, revision: 0, now: Instant(millisecondsSince1970: now).text)
        }
        table.snapshot.revision = 0
        table.bound = limited(table.bound)
        let model = table.model, bound = table.bound, rowCount = table.snapshot.totalRowCount
        let limit = limits.changeBytes
        let shared = SharedTable(
            opening: {
                // The stored opening of a fork contains the whole table, and each database stores it as one value.
                guard model.estimatedSize <= limit else { throw StoreError.tooLarge }
                return SessionOpening.stored(
                    from: origin, revision: revision, empty: bound.empty,
                    StoredSession(
                        summary: SessionSummary(
                            id: id, number: 0, table: bound.stored?.table, tableVersion: bound.version, epoch: "",
                            revision: 0, created: now, updated: now, totalRowCount: rowCount),
                        description: bound.stored?.text, state: model.state,
                        displayedSections: model.storedDisplayedSections, cells: model.storedCells,
                        nextKey: model.nextKey, nextSection: model.nextSection,
                        sections: model.sections.map { ($0.summary, Array($0.rows)) }))
            }, rows: { model.storedRows })
        return try await add(table, as: id, at: now, keptAnswer: keptAnswer) {
            $0.unusedLimit = opening.endIfUnused
            $0.shared = shared
        }
    }
}
