import BraidEngine
import BraidRuntime
import BraidStore
import Synchronization

/// This server's sessions: loaded by their first request, dropped after `--session-idle-time` without requests or
/// followers.
package final class SessionHost: Sendable {
    package let store: any SessionStore
    package let clock: Clock
    let ids: IDGenerator
    package let tokens: AccessTokens
    let limits: SessionLimits
    package let streams: StreamLimits
    /// Event streams and waiting long polls.
    package let subscribers: Quota
    package let presence: Presence
    let count: SessionCount
    package let metrics = SessionMetrics()
    let keysUnderWay = KeysUnderWay()
    package let descriptions = CompiledDescriptions()
    private let live = Mutex(Live())
    /// Used since the last `endUnused()`, then dropped from memory.
    let unloadedUses = Mutex<Set<Int>>([])
    private let loading = Mutex<[String: Task<Session?, any Error>]>([:])

    package init(
        store: any SessionStore, clock: Clock = Clock(), ids: IDGenerator = IDGenerator(),
        limits: SessionLimits = SessionLimits(), streams: StreamLimits = StreamLimits(),
        signed: (any SignedTokens)? = nil
    ) {
        self.store = store
        self.clock = clock
        self.ids = ids
        tokens = AccessTokens(store: store, clock: clock, ids: ids, signed: signed)
        self.limits = limits
        self.streams = streams
        count = SessionCount(limit: limits.sessions, store: store)
        subscribers = Quota(limits.subscribers, clientPart: 16)
        presence = Presence(clock: clock, sharing: store.sharing, limits: streams, most: limits.subscribers)
    }

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
        package var streams = 0
        package var polls = 0
    }

    package var statistics: Statistics {
        let sessions = inMemory
        return sessions.reduce(into: Statistics(inMemory: sessions.count)) { statistics, session in
            let followers = session.followers
            statistics.streams += followers.subscribers
            statistics.polls += followers.polls
        }
    }

    /// May be behind a shared store.
    package func inMemory(_ id: String) -> Session? {
        guard let session = live.withLock({ $0.byID[id] }), !session.isStale else { return nil }
        session.use()
        return session
    }

    /// Only if no other server can have changed it.
    package func currentInMemory(_ id: String) -> Session? { store.sharing == nil ? inMemory(id) : nil }

    func inMemory(number: Int) -> Session? { live.withLock { $0.byNumber[number] } }

    var inMemory: [Session] { live.withLock { Array($0.byID.values) } }

    func drop(_ session: Session) { live.withLock { $0.remove(session) } }

    /// At least at the revision stored now. Throws `noSession`.
    package func current(_ id: String) async throws -> Session { try await withCurrent(id) { $0 } }

    package func withCurrent<Value>(_ id: String, _ body: (Session) async throws -> Value) async throws -> Value {
        try await with(id) { session in
            try await session.refresh()
            return try await body(session)
        }
    }

    /// On `StaleSession`, looks the session up again and repeats `body`. Inlined: a frame less in every request.
    @inline(__always)
    func with<Value>(_ id: String, _ body: (Session) async throws -> Value) async throws -> Value {
        for _ in 0..<Self.mostReloads {
            do {
                guard let session = inMemory(id) else { return try await body(try await session(id)) }
                return try await body(session)
            } catch is StaleSession {
                continue
            }
        }
        throw SessionError(unavailable: "The session is being reloaded; try again.")
    }

    private static let mostReloads = 100

    /// May be behind a shared store. Throws `noSession`.
    func session(_ id: String) async throws -> Session {
        // Calls for one ID share one read. If a shared one found nothing, it may have begun before the session was
        // opened: read once more.
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
        if snapshot.totalRowCount > Workers.shortRows { Memory.trimSoon() }
        let table = SessionTable(bound: limited(bound), model: model, snapshot: snapshot)
        return try await adopt(makeSession(stored.summary, table, unpublished))
    }

    /// Not in memory until adopted.
    func makeSession(_ summary: SessionSummary, _ table: SessionTable, _ unpublished: Unpublished? = nil) -> Session {
        Session(
            summary, bound: table.bound, model: table.model, snapshot: table.snapshot, unpublished: unpublished,
            store: store, clock: clock, descriptions: descriptions, limits: limits, streams: streams, metrics: metrics)
    }

    func limited(_ table: BoundTable) -> BoundTable {
        var table = table
        table.limits = limits.table
        return table
    }

    /// Adds a session, unless it or a later one with its ID is in memory. Returns what is; `nil` if it was ended
    /// meanwhile.
    ///
    /// `end` deletes from the store first, from memory second. So add first, then check that the store still has it.
    func adopt(_ session: Session) async throws -> Session? {
        let (adopted, replaced) = live.withLock { live in
            let other = live.byID[session.id]
            if let other, !other.isStale, other.number >= session.number { return (other, Session?.none) }
            live.add(session)
            return (session, other)
        }
        // That session has ended, or its object is stale.
        replaced?.markStale(.ended)
        let summary = try await store.sessionSummary(session.id)
        guard summary?.number == adopted.number else {
            forget(adopted.number)
            return nil
        }
        // A new epoch began meanwhile.
        guard summary?.epoch == adopted.epoch else {
            adopted.markStale()
            throw StaleSession()
        }
        return adopted
    }

    /// As requests can see it: the store has a commit shortly before the session in memory. With a shared store, they
    /// wait for the two to agree (`current`).
    func readable(_ summary: SessionSummary) -> SessionSummary {
        guard store.sharing == nil, let session = inMemory(number: summary.number) else { return summary }
        let current = session.current
        guard !session.isStale, current.snapshot.revision < summary.revision else { return summary }
        var summary = summary
        summary.revision = current.snapshot.revision
        summary.updated = current.updated
        summary.totalRowCount = current.snapshot.totalRowCount
        summary.tableVersion = current.bound.stored?.version
        return summary
    }

    /// Also ends its streams and long polls.
    func forget(_ number: Int) {
        presence.end(number)
        let session = live.withLock { live in
            let session = live.byNumber[number]
            if let session { live.remove(session) }
            return session
        }
        guard let session else { return }
        session.markStale(.ended)
        if session.current.snapshot.totalRowCount > Workers.shortRows { Memory.trimSoon() }
    }

    /// Before the store's content is replaced. No request for a session may be under way.
    func forgetAll() {
        for session in inMemory { forget(session.number) }
        presence.endAll()
        count.forget()
        tokens.forgetAll()
    }

    // MARK: Ending

    /// `number`: the only one that the session may have. Throws `positionMismatch`.
    package func end(_ id: String, number: Int? = nil, if condition: PositionCondition? = nil) async throws {
        try await count.prepare()
        while true {
            var summary: SessionSummary?
            if condition != nil || number != nil {
                summary = try await store.sessionSummary(id)
                guard let summary, number == nil || summary.number == number else { throw SessionError(noSession: id) }
                try condition?.check(Position(epoch: summary.epoch, revision: summary.revision))
            }
            if try await delete(id, as: summary) { return }
            if summary == nil { throw SessionError(noSession: id) }
            // Changed or ended since: check the condition again.
        }
    }

    private func delete(_ id: String, as summary: SessionSummary?) async throws -> Bool {
        guard let number = try await store.deleteSession(id, as: summary) else { return false }
        count.removeOne()
        forget(number)
        tokens.revokeAll(of: number)
        return true
    }

    /// Between calls of `endUnused()`. The least `endIfUnused` is several times that, so that servers see each other's
    /// renewals.
    package static let unusedSweep = Duration.seconds(15)

    /// Ends what nobody has used for its `endIfUnused`. A use in the first quarter after a renewal is not stored, so a
    /// session ends five quarters after its last renewal, and stays, even after a restart, for at least the whole time
    /// after its last use.
    package func endUnused() async throws {
        let now = clock.now()
        let unloaded = unloadedUses.withLock { numbers in
            defer { numbers = [] }
            return numbers
        }
        var renewed: [Int] = []
        for session in try await store.unusedSessions() {
            // `limit` is in seconds, the rest in milliseconds.
            let number = session.summary.number, quarter = session.limit * 250
            if inMemory(number: number)?.takeUse() == true || unloaded.contains(number) {
                if now - session.used >= quarter { renewed.append(number) }
            } else if now - session.used >= 5 * quarter {
                // If it has changed meanwhile, it is in use and stays.
                try await count.prepare()
                _ = try await delete(session.summary.id, as: session.summary)
            }
        }
        if !renewed.isEmpty { try await store.renew(renewed, at: now) }
    }

    // MARK: Servers that share the store

    package func listen() throws {
        try store.sharing?.listen { [weak self] notice in self?.hear(notice) }
    }

    private func hear(_ notice: StoreNotice) {
        switch notice {
        case .committed(let number, let revision): inMemory(number: number)?.hear(revision: revision)
        case .ended(let number):
            forget(number)
            tokens.revokeAll(of: number)
        case .revoked(let token): tokens.end(token)
        case .renewed:
            for session in inMemory { session.markStale() }
            tokens.forgetTicketSecret()
        case .hearing:
            lookForNews()
            Task {
                try? await tokens.endRevoked()
                await presence.ask()
            }
        case .look: lookForNews()
        case .told(let text): presence.hear(text)
        }
    }

    private func lookForNews() {
        for session in inMemory where session.isFollowed { session.refreshSoon() }
    }
}

// MARK: - Test mode

package struct StartingPoint: Sendable {
    fileprivate let clock: Int
    fileprivate let answerClock: Int
    fileprivate let ids: IDGenerator.Counts
}

extension SessionHost {
    package func startingPoint(in store: any TestableStore) throws -> StartingPoint {
        try store.keepContent()
        return StartingPoint(clock: clock.setting, answerClock: store.answerClock.setting, ids: ids.counts)
    }

    /// No request may be under way. Sessions get new epochs, unless IDs are counted (`--deterministic`): then the same
    /// requests get the same answers again.
    package func restore(_ start: StartingPoint, in store: any TestableStore) async throws {
        forgetAll()
        try await store.restoreContent(beginsEpochs: !ids.isCounting)
        // A task of no request, such as a token's check, may have read the store.
        forgetAll()
        clock.setting = start.clock
        store.answerClock.setting = start.answerClock
        ids.counts = start.ids
    }

    /// As the restore of a backup does to all sessions.
    package func renewEpoch(of id: String, in store: any TestableStore) async throws {
        try await with(id) { session in
            try await session.commands.withLock {
                await session.underWay.settled()
                if session.isStale { throw StaleSession() }
                try await store.setEpoch(ids.epoch(), of: session.number)
                session.markStale()
            }
        }
    }
}
