import BraidEngine
import BraidRuntime
import BraidStore
import Logging
import Synchronization

/// The sessions of this server: those in memory, and the way to those that are not.
package final class Sessions: Sendable {
    package let store: any SessionStore
    let clock: Clock
    private let ids: IDGenerator
    package let tokens: SessionTokens
    let limits: SessionLimits
    package let streams: StreamLimits
    /// Of streams and long polls.
    package let subscribers: Budget
    private let count: SessionCount
    package let metrics = SessionMetrics()
    private let logger: Logger
    let keysUnderWay = KeysUnderWay()
    private let descriptions = CompiledDescriptions()
    private let live = Mutex(Live())
    private let loading = Mutex<[String: Task<Session?, any Error>]>([:])

    package init(
        store: any SessionStore, clock: Clock = Clock(), ids: IDGenerator = IDGenerator(),
        limits: SessionLimits = SessionLimits(), streams: StreamLimits = StreamLimits(), logger: Logger
    ) {
        self.store = store
        self.clock = clock
        self.ids = ids
        tokens = SessionTokens(store: store, clock: clock, ids: ids)
        self.limits = limits
        self.streams = streams
        count = SessionCount(limit: limits.sessions, store: store)
        subscribers = Budget(limits.subscribers, clientPart: 16)
        self.logger = logger
    }

    /// The sessions in memory.
    private struct Live {
        private(set) var byID: [String: Session] = [:]
        private(set) var byNumber: [Int: Session] = [:]

        mutating func add(_ session: Session) {
            if let other = byID[session.id] { remove(other) }
            byID[session.id] = session
            byNumber[session.number] = session
        }

        mutating func remove(_ session: Session) {
            if byID[session.id] === session { byID[session.id] = nil }
            if byNumber[session.number] === session { byNumber[session.number] = nil }
        }
    }

    package struct Statistics: Sendable {
        package var inMemory = 0
        /// Those who follow: by event streams, and by long polls.
        package var streams = 0
        package var polls = 0
    }

    package var statistics: Statistics {
        let sessions = inMemory
        return sessions.reduce(into: Statistics(inMemory: sessions.count)) { statistics, session in
            let followers = session.feed.followers
            statistics.streams += followers.subscribers
            statistics.polls += followers.polls
        }
    }

    /// The session, if it is in memory; where servers share the store, it may be behind.
    package func inMemory(_ id: String) -> Session? {
        guard let session = live.withLock({ $0.byID[id] }), !session.isStale else { return nil }
        session.use()
        return session
    }

    /// The session, if it is in memory, and as it is stored.
    package func currentInMemory(_ id: String) -> Session? { store.sharing == nil ? inMemory(id) : nil }

    /// Those in memory.
    var inMemory: [Session] { live.withLock { Array($0.byID.values) } }

    /// Takes a session out of memory that is stale.
    func drop(_ session: Session) { live.withLock { $0.remove(session) } }

    /// The session as it was stored when this was called, or later. Throws `noSession`.
    package func current(_ id: String) async throws -> Session { try await withCurrent(id) { $0 } }

    /// The session, read from the store if it is not in memory; where servers share the store, it may be behind. Throws
    /// `noSession`.
    func session(_ id: String) async throws -> Session {
        // Many may ask at once; one of them reads. What that one did not find, another server may have opened since it
        // looked, but before this one was asked: then the next reading has it.
        for _ in 0..<2 {
            if let session = inMemory(id) { return session }
            let (task, isOwn) = loading.withLock { loading in
                if let task = loading[id] { return (task, false) }
                let task = Task { [self] in
                    defer { forgetLoading(id) }
                    return try await load(id)
                }
                loading[id] = task
                return (task, true)
            }
            if let session = try await task.value { return session }
            if isOwn { break }
        }
        throw SessionError(noSession: id)
    }

    private func forgetLoading(_ id: String) { loading.withLock { $0[id] = nil } }

    private func load(_ id: String) async throws -> Session? {
        if let session = inMemory(id) { return session }
        guard let stored = try await store.session(id) else { return nil }
        var binder = try stored.binder(descriptions)
        binder.limits.templateSteps = .max
        let (model, snapshot, unpublished) = try stored.restored(by: binder)
        if snapshot.totalRowCount > Session.largeRowCount { Memory.trimSoon() }
        return try await adopt(
            Session(
                facts: stored.facts, binder: limited(binder), model: model, snapshot: snapshot,
                unpublished: unpublished, store: store, clock: clock, descriptions: descriptions, limits: limits,
                streams: streams, metrics: metrics))
    }

    /// Puts a session into memory, or gives the one that is there already. Nil when it was ended meanwhile: `end` takes
    /// out of memory what is there when the store has let go of it, so that whoever comes later must look again.
    private func adopt(_ session: Session) async throws -> Session? {
        let (adopted, replaced) = live.withLock { live in
            let other = live.byID[session.id]
            if let other, !other.isStale, other.number >= session.number { return (other, Session?.none) }
            live.add(session)
            return (session, other)
        }
        // Another server has ended it, or it is stale already.
        replaced?.markStale(.ended)
        let facts = try await store.sessionSummary(session.id)
        guard facts?.number == adopted.number else {
            forget(adopted.number)
            return nil
        }
        // New epochs have begun while it was read.
        guard facts?.epoch == adopted.epoch else {
            adopted.markStale()
            throw StaleSession()
        }
        return adopted
    }

    func inMemory(number: Int) -> Session? { live.withLock { $0.byNumber[number] } }

    /// It was ended.
    func forget(_ number: Int) {
        let session = live.withLock { live in
            let session = live.byNumber[number]
            if let session { live.remove(session) }
            return session
        }
        guard let session else { return }
        session.markStale(.ended)
        if session.current.snapshot.totalRowCount > Session.largeRowCount { Memory.trimSoon() }
    }

    /// Opens a session. `text` is the request's body, kept for `reset` and `replay`.
    package func open(
        _ opening: SessionOpening, text: JSONText, keep: (@Sendable (Session) -> KeptAnswer)? = nil
    ) async throws -> Session {
        // What the store was given is let go of by then, however long it took.
        defer { if text.count > Memory.largeWork { Memory.trimSoon() } }
        let (table, unlimited) = try await boundTable(opening)
        let binder = limited(unlimited)
        let id = if let id = opening.id { id } else { try await unusedID() }
        if currentInMemory(id) != nil { throw StoreError.sessionExists }
        let now = clock.instant()
        var model =
            try table?.description.openingTable(models: opening.models, state: opening.state)
            ?? binder.openingTable(opening.sections, cells: opening.cells)
        let snapshot = try binder.snapshot(of: model, revision: 0, now: Instant(millisecondsSince1970: now).text)
        let epoch = ids.epoch()
        var facts = SessionSummary(
            id: id, number: 0, table: table?.description.name, epoch: epoch, revision: 0, created: now, updated: now,
            totalRowCount: snapshot.totalRowCount)
        model = model.sharingModels(with: snapshot)
        func session() -> Session {
            Session(
                facts: facts, binder: binder, model: model, snapshot: snapshot, store: store, clock: clock,
                descriptions: descriptions, limits: limits, streams: streams, metrics: metrics)
        }
        try await count.addOne()
        do {
            facts.number = try await store.createSession(
                NewSession(
                    id: id, table: table?.description.name, tableVersion: table?.version,
                    description: table?.description.text ?? opening.empty,
                    epoch: epoch, created: now, opening: text, state: model.state,
                    displayedSections: nil, cells: model.cells.isEmpty ? nil : model.cells.json, nextKey: model.nextKey,
                    nextSection: model.nextSection, totalRowCount: snapshot.totalRowCount,
                    sections: model.sections.map(\.facts),
                    rows: model.sections.flatMap { section in section.rows.map { (section.facts.number, $0) } },
                    // The number is the store's to give; the answer does not have it.
                    answer: keep?(session())))
        } catch {
            count.removeOne()
            throw error
        }
        let session = session()
        logger.debug("session \(id) opened")
        do {
            // One that is ended at once was there all the same.
            return try await adopt(session) ?? session
        } catch is StaleSession {
            return session
        }
    }

    private func limited(_ binder: Binder) -> Binder {
        var binder = binder
        binder.limits = limits.table
        return binder
    }

    private func unusedID() async throws -> String {
        while true {
            let id = ids.sessionID()
            if !ids.isCounting { return id }
            if try await store.sessionSummary(id) == nil { return id }
        }
    }

    /// The description that a session is opened with, and what binds it.
    private func boundTable(_ opening: SessionOpening) async throws -> (
        table: (description: TableDescription, version: Int?)?, binder: Binder
    ) {
        switch opening.table {
        case nil: return (nil, Binder.dataSource.showing(empty: opening.empty))
        case .inline(let text)?:
            do {
                let description = try descriptions.compiled(text)
                return ((description, nil), description.binder)
            } catch let refusal as Refusal {
                throw refusal.placed(at: JSONPointer.root.appending("table"))
            }
        case .named(let name)?:
            guard let table = try await store.table(name) else {
                throw SessionError(
                    .noTable,
                    "The table description \"\(name)\" does not exist. Register it with PUT /v1/tables/\(name).")
            }
            let description = try descriptions.compiled(table.description)
            return ((description, table.version), description.binder)
        }
    }

    /// Ends a session; with a condition, only while that is met.
    package func end(_ id: String, if condition: PositionCondition? = nil) async throws {
        try await count.prepare()
        while true {
            var facts: SessionSummary?
            if let condition {
                facts = try await store.sessionSummary(id)
                guard let facts else { throw SessionError(noSession: id) }
                try condition.check(Position(epoch: facts.epoch, revision: facts.revision))
            }
            if let number = try await store.deleteSession(id, as: facts) {
                count.removeOne()
                forget(number)
                return tokens.revokeAll(of: number)
            }
            if facts == nil { throw SessionError(noSession: id) }
            // It has changed since: whether it still matches is to be looked at again.
        }
    }

    /// Does something with a session as it was stored when this was called, or later.
    package func withCurrent<Value>(_ id: String, _ body: (Session) async throws -> Value) async throws -> Value {
        try await with(id) { session in
            try await session.refresh()
            return try await body(session)
        }
    }

    /// How often a request looks a session up again: more often than sessions leave memory between look-up and lock.
    private static let mostReloads = 100

    /// Does something with a session, looked up again if it was dropped from memory meanwhile (`StaleSession`).
    func with<Value>(_ id: String, _ body: (Session) async throws -> Value) async throws -> Value {
        for _ in 0..<Self.mostReloads {
            do {
                return try await body(try await session(id))
            } catch is StaleSession {
                continue
            }
        }
        throw SessionError(unavailable: "The session is being reloaded; try again.")
    }
}
