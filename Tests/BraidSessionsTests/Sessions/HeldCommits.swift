import BraidEngine
import BraidStore
import TestSupport

@testable import BraidSessions

/// A store in memory that keeps each commit until a test says what becomes of it.
final class HeldCommits: SessionStore {
    enum Outcome: CaseIterable {
        case stored
        /// Not stored, and the session goes on.
        case full
        /// Not stored. The session is read again.
        case busy
        /// All that the store has are stored, but the server is not told. The session is read again.
        case lost
    }

    private struct Held: Sendable {
        let commit: SessionCommit
        let done: @Sendable (Result<Void, any Error>) -> Void
    }
    private struct State: Sendable {
        var held: [Held] = []
        var isOpen = false
        var isOver = false
        var stored: [Int: Int] = [:]
    }

    private let base: SQLiteStore
    private let state = Watched(State())

    init() throws { base = try SQLiteStore(path: ":memory:", options: StoreOptions(journalLimit: 10_000)) }

    func commit(_ commit: SessionCommit, then done: @escaping @Sendable (Result<Void, any Error>) -> Void) {
        if state.withLock({ $0.isOpen }) { return store(Held(commit: commit, done: done)) }
        state.withLock { $0.held.append(Held(commit: commit, done: done)) }
    }

    /// The last stored revision.
    func stored(of session: Session) -> Int { state.value.stored[session.number] ?? 0 }

    var held: Int { state.value.held.count }

    /// Waits for a commit. Returns `false` if there are no more (`end`).
    func settle(_ outcome: Outcome) async -> Bool {
        guard await state.wait(until: { !$0.held.isEmpty || $0.isOver }), let next = takeHeld() else { return false }
        switch outcome {
        case .stored: next.done(await stores(next))
        case .full: next.done(.failure(StoreError.full))
        case .busy: next.done(.failure(StoreError.busy(path: "")))
        case .lost:
            var told: [() -> Void] = []
            var held: Held? = next
            while let commit = held {
                let isStored = (try? await stores(commit).get()) != nil
                told.append {
                    commit.done(.failure(isStored ? StoreError.outcomeUnknown("") : .revisionConflict))
                }
                held = takeHeld()
            }
            for tell in told { tell() }
        }
        return true
    }

    /// At once, without an `await`.
    func fail(_ error: StoreError) { takeHeld()?.done(.failure(error)) }

    /// Stores all from now on.
    func open() {
        let held = state.withLock { state in
            state.isOpen = true
            defer { state.held = [] }
            return state.held
        }
        for held in held { store(held) }
    }

    func end() { state.withLock { $0.isOver = true } }

    private func takeHeld() -> Held? { state.withLock { $0.held.isEmpty ? nil : $0.held.removeFirst() } }

    private func store(_ held: Held) { store(held, then: held.done) }

    private func store(_ held: Held, then told: @escaping @Sendable (Result<Void, any Error>) -> Void) {
        base.commit(held.commit) { [state] result in
            if case .success = result {
                state.withLock { $0.stored[held.commit.session] = held.commit.record.revision }
            }
            told(result)
        }
    }

    private func stores(_ held: Held) async -> Result<Void, any Error> {
        await withCheckedContinuation { continuation in store(held) { continuation.resume(returning: $0) } }
    }

    // MARK: The rest

    func putTable(_ name: String, description: JSONText, after latest: Int?, at: Int) async throws -> Int {
        try await base.putTable(name, description: description, after: latest, at: at)
    }
    func table(_ name: String, version: Int?) async throws -> StoredTable? {
        try await base.table(name, version: version)
    }
    func versions(ofTable name: String) async throws -> [TableSummary] { try await base.versions(ofTable: name) }
    func tables() async throws -> [TableSummary] { try await base.tables() }
    func deleteTable(_ name: String) async throws -> TableDeletion { try await base.deleteTable(name) }
    func createSession(_ session: NewSession) async throws -> Int { try await base.createSession(session) }
    func session(_ id: String) async throws -> StoredSession? { try await base.session(id) }
    func session(_ id: String, at revision: Int) async throws -> StoredSession? {
        try await base.session(id, at: revision)
    }
    func opening(_ id: String) async throws -> StoredOpening? { try await base.opening(id) }
    func sessionSummary(_ id: String) async throws -> SessionSummary? { try await base.sessionSummary(id) }
    func sessions(of table: String?, after: String?, limit: Int) async throws -> [SessionSummary] {
        try await base.sessions(of: table, after: after, limit: limit)
    }
    func deleteSession(_ id: String, as summary: SessionSummary?) async throws -> Int? {
        try await base.deleteSession(id, as: summary)
    }
    func unusedSessions() async throws -> [UnusedSession] { try await base.unusedSessions() }
    func renew(_ sessions: [Int], at: Int) async throws { try await base.renew(sessions, at: at) }
    func journal(of number: Int, after revision: Int, limit: Int, bytes: Int) async throws -> [JournalRecord] {
        try await base.journal(of: number, after: revision, limit: limit, bytes: bytes)
    }
    func undos(of number: Int, from revision: Int, limit: Int, bytes: Int) async throws -> [JournalUndo] {
        try await base.undos(of: number, from: revision, limit: limit, bytes: bytes)
    }
    func journalStart(of id: String) async throws -> StoredSession? { try await base.journalStart(of: id) }
    var answerClock: AnswerClock { base.answerClock }
    func keep(_ answer: KeptAnswer) async throws { try await base.keep(answer) }
    func answer(to key: String, by requester: String, of session: Int, now: Int) async throws -> KeptAnswer? {
        try await base.answer(to: key, by: requester, of: session, now: now)
    }
    func createToken(_ token: NewToken, for id: String?) async throws { try await base.createToken(token, for: id) }
    func token(_ id: String) async throws -> StoredToken? { try await base.token(id) }
    func tokens(of id: String?, after: String?, limit: Int, now: Int) async throws -> [StoredToken]? {
        try await base.tokens(of: id, after: after, limit: limit, now: now)
    }
    func deleteToken(_ id: String, of session: String?) async throws -> Bool {
        try await base.deleteToken(id, of: session)
    }
    var statistics: StoreStatistics { base.statistics }
    func size() async throws -> StoreSize { try await base.size() }
    func check() async throws -> StoreCondition { try await base.check() }
    func close() async { await base.close() }
}
