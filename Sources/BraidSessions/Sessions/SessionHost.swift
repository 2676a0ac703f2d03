import BraidEngine
import BraidRuntime
import BraidStore
import Synchronization

/// The sessions of this server. The first request for a session loads the session from the store. A session that no
/// request has used for `--session-idle-time`, and that no client follows, is dropped from memory (unless this time is
/// 0).
package final class SessionHost: Sendable {
    package let store: any SessionStore
    package let clock: Clock
    let ids: IDGenerator
    package let tokens: SessionTokens
    let limits: SessionLimits
    package let streams: StreamLimits
    /// The quota of event streams and waiting long polls that may be open at once.
    package let subscribers: Quota
    private let count: SessionCount
    package let metrics = SessionMetrics()
    let keysUnderWay = KeysUnderWay()
    package let descriptions = CompiledDescriptions()
    private let live = Mutex(Live())
    /// The numbers of sessions that were used since the last `endUnused()`, and then dropped from memory.
    let unloadedUses = Mutex<Set<Int>>([])
    private let loading = Mutex<[String: Task<Session?, any Error>]>([:])

    package init(
        store: any SessionStore, clock: Clock = Clock(), ids: IDGenerator = IDGenerator(),
        limits: SessionLimits = SessionLimits(), streams: StreamLimits = StreamLimits()
    ) {
        self.store = store
        self.clock = clock
        self.ids = ids
        tokens = SessionTokens(store: store, clock: clock, ids: ids)
        self.limits = limits
        self.streams = streams
        count = SessionCount(limit: limits.sessions, store: store)
        subscribers = Quota(limits.subscribers, clientPart: 16)
    }

    /// The sessions in this server's memory, by ID and by number.
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

    /// The numbers of sessions in memory, of event streams and of long polls, for the metrics.
    package struct Statistics: Sendable {
        package var inMemory = 0
        /// The number of open event streams, of all sessions together.
        package var streams = 0
        /// The number of waiting long polls, of all sessions together.
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

    /// Returns a session by its ID if it is in memory. If servers share the store, the session in memory may be behind
    /// the store.
    package func inMemory(_ id: String) -> Session? {
        guard let session = live.withLock({ $0.byID[id] }), !session.isStale else { return nil }
        session.use()
        return session
    }

    /// Returns a session by its ID if it is in memory and no other server can have changed it. Always returns `nil` if
    /// several servers can share the store.
    package func currentInMemory(_ id: String) -> Session? { store.sharing == nil ? inMemory(id) : nil }

    /// All sessions in memory.
    var inMemory: [Session] { live.withLock { Array($0.byID.values) } }

    /// Removes a stale session object from memory.
    func drop(_ session: Session) { live.withLock { $0.remove(session) } }

    /// Returns a session at the revision that the store has at the time of the call, or at a later one. Throws
    /// `noSession` if no session has the ID.
    package func current(_ id: String) async throws -> Session { try await withCurrent(id) { $0 } }

    /// Returns a session from memory, or loads it from the store. If servers share the store, the returned session may
    /// be behind the store. Throws `noSession` if no session has the ID.
    func session(_ id: String) async throws -> Session {
        // Concurrent calls for one ID share one read of the store. If this read began before the call and found no
        // session, the session may have been opened since. So a call that shared the read and found no session reads
        // once more.
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
        let bound = try stored.boundTable(descriptions)
        var binder = bound.binder
        binder.limits.templateSteps = .max
        let (model, snapshot, unpublished) = try stored.restored(by: binder)
        if snapshot.totalRowCount > Session.largeRowCount { Memory.trimSoon() }
        return try await adopt(
            Session(
                facts: stored.facts, bound: limited(bound), model: model, snapshot: snapshot,
                unpublished: unpublished, store: store, clock: clock, descriptions: descriptions, limits: limits,
                streams: streams, metrics: metrics))
    }

    /// Adds a session that was read from the store to memory, and returns it. If memory already contains this session,
    /// or a later session with the same ID, returns the session object in memory. Returns `nil` if the session was
    /// ended after it was read.
    ///
    /// `end` deletes a session from the store first and from memory second. So this method adds the session to memory
    /// first and then checks that the store still contains the session.
    private func adopt(_ session: Session) async throws -> Session? {
        let (adopted, replaced) = live.withLock { live in
            let other = live.byID[session.id]
            if let other, !other.isStale, other.number >= session.number { return (other, Session?.none) }
            live.add(session)
            return (session, other)
        }
        // If memory contained another session object with this ID, that session has ended, or the object is stale
        // already.
        replaced?.markStale(.ended)
        let facts = try await store.sessionSummary(session.id)
        guard facts?.number == adopted.number else {
            forget(adopted.number)
            return nil
        }
        // If the session got a new epoch while it was read, read it again.
        guard facts?.epoch == adopted.epoch else {
            adopted.markStale()
            throw StaleSession()
        }
        return adopted
    }

    /// Returns what the store knows of a session, or `nil` if no session has the ID.
    package func summary(_ id: String) async throws -> SessionSummary? {
        try await store.sessionSummary(id).map(readable)
    }

    /// Returns a page of the sessions of a table, or of all sessions, as the store lists them.
    package func summaries(of table: String?, after: String?, limit: Int) async throws -> [SessionSummary] {
        try await store.sessions(of: table, after: after, limit: limit).map(readable)
    }

    /// Returns the summary at a revision that requests can read. The store has a commit shortly before the session in
    /// memory, from which requests are answered. With a shared store, they wait until the two agree (`current`).
    func readable(_ facts: SessionSummary) -> SessionSummary {
        guard store.sharing == nil, let session = inMemory(number: facts.number) else { return facts }
        let current = session.current
        guard !current.isStale, current.snapshot.revision < facts.revision else { return facts }
        var facts = facts
        facts.revision = current.snapshot.revision
        facts.updated = current.updated
        facts.totalRowCount = current.snapshot.totalRowCount
        facts.tableVersion = current.bound.stored?.version
        return facts
    }

    func inMemory(number: Int) -> Session? { live.withLock { $0.byNumber[number] } }

    /// Removes an ended session from memory. Tells the session's event streams and long polls that the session has
    /// ended.
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

    /// Removes all sessions from memory, because the content of the store is replaced. Their event streams receive the
    /// event that the session has ended. No request for a session may be under way.
    func forgetAll() {
        for session in inMemory { forget(session.number) }
        count.forget()
        tokens.forgetAll()
    }

    /// Opens a new session and stores it.
    ///
    /// - Parameters:
    ///   - text: the request's body, which the store keeps for `reset` and `replay`. For a fork, the store keeps the
    ///     copied table instead.
    ///   - keep: makes the answer that is stored with the session, for a retry with the same idempotency key.
    package func open(
        _ opening: SessionOpening, text: JSONText, keep: (@Sendable (Session) -> KeptAnswer)? = nil
    ) async throws -> Session {
        if let origin = opening.from {
            return try await fork(origin, as: opening.id, unusedLimit: opening.endIfUnused, keep: keep)
        }
        // After a large request, plan the return of freed memory to the system: the return happens one second after
        // the end of this method. By then, the store has released its copies of the body.
        defer { if text.count > Memory.largeWork { Memory.trimSoon() } }
        let bound = limited(try await boundTable(opening))
        let id = try await newID(opening.id)
        let now = clock.instant(), model = try bound.content(of: opening)
        let snapshot = try bound.binder.snapshot(of: model, revision: 0, now: Instant(millisecondsSince1970: now).text)
        let table = SessionTable(bound: bound, model: model.sharingModels(with: snapshot), snapshot: snapshot)
        return try await add(table, as: id, at: now, keep: keep) {
            $0.unusedLimit = opening.endIfUnused
            $0.opening = text
            $0.rows = table.model.storedRows
        }
    }

    /// Stores a new session at revision 0, and adds it to memory.
    ///
    /// - Parameter fill: sets the opening and the rows of the new session for the store.
    func add(
        _ table: SessionTable, as id: String, at now: Int, keep: (@Sendable (Session) -> KeptAnswer)?,
        _ fill: (inout NewSession) -> Void
    ) async throws -> Session {
        let model = table.model, binding = table.bound.stored
        var facts = SessionSummary(
            id: id, number: 0, table: binding?.table, tableVersion: binding?.version, epoch: ids.epoch(), revision: 0,
            created: now, updated: now, totalRowCount: table.snapshot.totalRowCount)
        func session() -> Session {
            Session(
                facts: facts, bound: table.bound, model: model, snapshot: table.snapshot, store: store, clock: clock,
                descriptions: descriptions, limits: limits, streams: streams, metrics: metrics)
        }
        try await count.addOne()
        do {
            var new = NewSession(
                id: id, table: binding?.table, tableVersion: binding?.version,
                description: binding?.description ?? table.bound.empty,
                epoch: facts.epoch, created: now, opening: .emptyObject, state: model.state,
                displayedSections: model.storedDisplayedSections, cells: model.storedCells, nextKey: model.nextKey,
                nextSection: model.nextSection, totalRowCount: facts.totalRowCount,
                sections: model.sections.map(\.facts), rows: [],
                // This session object has no number yet, because the store assigns the number. The answer does not
                // contain the number.
                answer: keep?(session()))
            fill(&new)
            facts.number = try await store.createSession(new)
        } catch {
            count.removeOne()
            throw error
        }
        let session = session()
        do {
            // Other requests may have ended the session at once, and opened another session under its id. The session
            // was opened nevertheless, so return it.
            if let adopted = try await adopt(session), adopted.number == session.number { return adopted }
            return session
        } catch is StaleSession {
            return session
        }
    }

    /// Returns the id of a session that is about to be opened.
    func newID(_ given: String?) async throws -> String {
        let id = if let given { given } else { try await unusedID() }
        if currentInMemory(id) != nil { throw StoreError.sessionExists }
        return id
    }

    func limited(_ table: BoundTable) -> BoundTable {
        var table = table
        table.limits = limits.table
        return table
    }

    private func unusedID() async throws -> String {
        while true {
            let id = ids.sessionID()
            if !ids.isCounting { return id }
            if try await store.sessionSummary(id) == nil { return id }
        }
    }

    /// Returns the table of a session that is about to be opened.
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

    /// Ends a session, which deletes it from the store. With a condition (`If-Match`), throws `positionMismatch` if the
    /// session's position does not meet the condition.
    package func end(_ id: String, if condition: PositionCondition? = nil) async throws {
        try await count.prepare()
        while true {
            var facts: SessionSummary?
            if let condition {
                facts = try await store.sessionSummary(id)
                guard let facts else { throw SessionError(noSession: id) }
                try condition.check(Position(epoch: facts.epoch, revision: facts.revision))
            }
            if try await delete(id, as: facts) { return }
            if facts == nil { throw SessionError(noSession: id) }
            // The session has changed or ended after the condition was checked, so check the condition again.
        }
    }

    private func delete(_ id: String, as facts: SessionSummary?) async throws -> Bool {
        guard let number = try await store.deleteSession(id, as: facts) else { return false }
        count.removeOne()
        forget(number)
        tokens.revokeAll(of: number)
        return true
    }

    /// The time between two calls of `endUnused()`. The least `endIfUnused` must be several of it: servers that share
    /// the store see from each other's renewals that a session is in use.
    package static let unusedSweep = Duration.seconds(15)

    /// Ends the sessions that were opened with `endIfUnused` and that nobody has used for this time.
    ///
    /// A use in the first quarter of the time after a renewal is not stored. So a session ends when five quarters have
    /// passed since its last renewal, and stays even after a restart for at least the whole time after its last use.
    package func endUnused() async throws {
        let now = clock.now()
        let unloaded = unloadedUses.withLock { numbers in
            defer { numbers = [] }
            return numbers
        }
        var renewed: [Int] = []
        for session in try await store.unusedSessions() {
            let number = session.facts.number, quarter = session.limit * 250
            if inMemory(number: number)?.takeUse() == true || unloaded.contains(number) {
                if now - session.used >= quarter { renewed.append(number) }
            } else if now - session.used >= 5 * quarter {
                // A session that has changed meanwhile is used again, and stays.
                try await count.prepare()
                _ = try await delete(session.facts.id, as: session.facts)
            }
        }
        if !renewed.isEmpty { try await store.renew(renewed, at: now) }
    }

    /// Passes a session to `body`, at the revision that the store has at the time of the call or at a later one.
    package func withCurrent<Value>(_ id: String, _ body: (Session) async throws -> Value) async throws -> Value {
        try await with(id) { session in
            try await session.refresh()
            return try await body(session)
        }
    }

    /// The most times that one request looks up its session. A look-up is repeated if the session object that it
    /// returned has become stale, which is rare.
    private static let mostReloads = 100

    /// Passes a session to `body`. If `body` throws `StaleSession`, looks the session up again and calls `body` again.
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
