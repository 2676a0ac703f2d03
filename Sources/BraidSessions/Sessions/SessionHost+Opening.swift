import BraidEngine
import BraidRuntime
import BraidStore

extension SessionHost {
    /// `text`, the body, is kept for `reset` and `replay`; for a fork, the copied table. `keptAnswer` is for a retry
    /// with the same idempotency key. The snapshot has its rows' JSON, which the session may have to render again.
    package func open(
        _ opening: SessionOpening, text: JSONText, keptAnswer: (@Sendable (Session) -> KeptAnswer)? = nil
    ) async throws -> (session: Session, snapshot: Snapshot) {
        if let origin = opening.from { return try await fork(origin, opening, keptAnswer: keptAnswer) }
        // The trim comes in a second, when the store has released its copies.
        defer { if text.count > Memory.largeBytes { Memory.trimSoon() } }
        let bound = limited(try await boundTable(opening))
        let id = try await newID(opening.id)
        let now = clock.instant(), model = try bound.content(of: opening)
        let opened = try bound.binder.snapshot(of: model, revision: 0, now: Instant(millisecondsSince1970: now).text)
        var snapshot = opened
        let shared = model.sharingModels(with: &snapshot, by: bound.binder)
        let table = SessionTable(bound: bound, model: shared, snapshot: snapshot)
        let session = try await add(table, as: id, at: now, keptAnswer: keptAnswer) {
            $0.unusedLimit = opening.endIfUnused
            $0.opening = text
            $0.rows = table.model.storedRows
        }
        return (session, opened)
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

    /// At revision 0, in the store and in memory. `fill` sets the stored opening and rows.
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
                // There is no number yet; the answer does not contain it.
                answer: keptAnswer?(makeSession(summary, table)))
            fill(&new)
            summary.number = try await store.createSession(new)
        } catch {
            count.removeOne()
            throw error
        }
        let session = makeSession(summary, table)
        do {
            // Others may have ended it at once and used its ID again. It was opened: return it.
            if let adopted = try await adopt(session), adopted.number == session.number { return adopted }
            return session
        } catch is StaleSession {
            return session
        }
    }

    /// A fork of the current revision shares memory until either changes.
    private func fork(
        _ origin: SessionOpening.Origin, _ opening: SessionOpening, keptAnswer: (@Sendable (Session) -> KeptAnswer)?
    ) async throws -> (session: Session, snapshot: Snapshot) {
        let id = try await newID(opening.id)
        return try await withCurrent(origin.session) { session in
            if let number = origin.number, number != session.number { throw SessionError(noSession: origin.session) }
            let table = try await session.table(atRevision: origin.revision)
            guard table.snapshot.totalRowCount > Workers.shortRows else {
                return try await add(table, of: origin, as: id, opening, keptAnswer: keptAnswer)
            }
            // Writing a large table to disk needs a multiple of its size in memory: one fork of a session at a time.
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
    ) async throws -> (session: Session, snapshot: Snapshot) {
        var table = table
        let now = clock.instant(), revision = table.snapshot.revision
        if table.bound.binder.readsNow {
            // Templates read the time of the last revision: in a new fork, that of its opening.
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
                // It contains the whole table, and databases store it as one value.
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
        let session = try await add(table, as: id, at: now, keptAnswer: keptAnswer) {
            $0.unusedLimit = opening.endIfUnused
            $0.shared = shared
        }
        return (session, table.snapshot)
    }
}
