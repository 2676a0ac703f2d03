#if PostgreSQL
import BraidRuntime
import BraidStore
import Glibc
import Synchronization

/// Hears the other servers on the database, holds session locks, and ends the connections of servers that hang. One
/// thread, one connection; if that is lost, the database releases the locks.
final class ClusterCoordinator: Sendable {
    private struct Job: Sendable {
        let statement: PostgresStatement
        let done: @Sendable (Result<Bool, any Error>) -> Void
    }

    private struct State {
        var hear: (@Sendable (StoreNotice) -> Void)?
        var jobs: [Job] = []
        /// Sessions whose locks the connection holds.
        var turns: Set<Int> = []
        var isRunning = false
        var isStopping = false
    }

    /// Begins this server's notifications, so that it can ignore them.
    let sender = String(UInt64.random(in: .min ... .max), radix: 36)
    private let dialer: Dialer
    private let wait: Duration
    private let answerClock: AnswerClock
    private let wake: WakeUp
    private let state = Mutex(State())
    private let end = Latch()
    /// Between tests of the connection, with the end of hung connections and the notice `look`.
    private static let interval = Duration.seconds(2)
    /// Without data for this long, the connection is closed.
    private static let silence = Duration.seconds(6)
    /// How long the database waits for a server that holds locks before the others end its connection. Must exceed
    /// `interval`.
    private static let lease = Duration.seconds(4)

    init(dialer: Dialer, wait: Duration, answerClock: AnswerClock) throws {
        self.dialer = dialer
        self.wait = wait
        self.answerClock = answerClock
        guard let wake = WakeUp() else { throw StoreError.io("no pipe: \(String(cString: strerror(errno)))") }
        self.wake = wake
    }

    func listen(_ hear: @escaping @Sendable (StoreNotice) -> Void) throws {
        state.withLock { $0.hear = hear }
        try start()
    }

    // MARK: Session locks

    func takeTurn(of session: Int) async throws {
        let deadline = ContinuousClock.now + wait
        var pause = 1_000
        while try await run("SELECT pg_try_advisory_lock(\(Self.turn(of: session)))") == false {
            guard .now < deadline else { throw StoreError.busy(path: dialer.name) }
            // Random, so that no waiting server always loses; growing, because servers may wait for many sessions.
            try? await Task.sleep(for: .microseconds(Int.random(in: pause...4 * pause)))
            pause = min(2 * pause, 8_000)
        }
        // If the connection was lost meanwhile, so is the lock. That is harmless: a commit still compares revisions.
        state.withLock { _ = $0.turns.insert(session) }
    }

    func endTurn(of session: Int) async {
        guard state.withLock({ $0.turns.remove(session) }) != nil else { return }
        // A lost connection has lost the lock, too.
        _ = try? await run("SELECT pg_advisory_unlock(\(Self.turn(of: session)))")
    }

    func hasTurn(of session: Int) -> Bool { state.withLock { $0.turns.contains(session) } }

    /// Sessions whose numbers have the same last 32 bits share the advisory lock.
    static func turn(of session: Int) -> PostgresStatement {
        "'braid_server'::regclass::oid::int4, \(Int(Int32(truncatingIfNeeded: session)))::int4"
    }

    // MARK: Texts for the other servers

    func tell(_ texts: [String]) async throws {
        for text in texts {
            _ = try await run(
                "SELECT true, pg_notify(\(raw: StoreNotice.channel), \(sender + " " + StoreNotice.textLetter + text))")
        }
    }

    // MARK: Servers that hang

    /// Ends a server's connection if the database has waited longer than `lease` for it to send or receive, and it
    /// holds a session's lock, or writes or locks sessions, answers or table descriptions. That rolls back, so a
    /// server that wakes up cannot commit.
    ///
    /// PostgreSQL's own timeouts are not enough: `idle_in_transaction_session_timeout` does not count while the
    /// database waits for the rest of a pipeline, and `idle_session_timeout` ends no connection to which a
    /// notification cannot be sent.
    private static let endingHungConnections: PostgresStatement = """
        SELECT pg_terminate_backend(a.pid) FROM pg_stat_activity a
        WHERE a.datname = current_database() AND a.usename = current_user AND a.pid <> pg_backend_pid()
        AND a.application_name = current_setting('application_name') AND a.wait_event_type = 'Client'
        AND a.query_start < clock_timestamp() - interval '\(raw: "\(lease.milliseconds)") milliseconds'
        AND EXISTS (
            SELECT FROM pg_locks l WHERE l.pid = a.pid AND l.granted AND (
                l.locktype = 'advisory' AND l.classid = 'braid_server'::regclass
                OR l.locktype = 'relation' AND l.relation IN ('session'::regclass, 'answer'::regclass, 'table_description'::regclass)
                    AND l.mode IN ('RowShareLock', 'RowExclusiveLock', 'ShareRowExclusiveLock', 'ExclusiveLock')))
        """

    // MARK: The thread

    /// Starts the thread if it does not run. After a failure, the next call tries again.
    private func start() throws {
        let failure: Int32 = state.withLock { state in
            if state.isRunning || state.isStopping { return 0 }
            let failure = startThread(named: "store-peers") { [self] in work() }
            state.isRunning = failure == 0
            return failure
        }
        guard failure == 0 else { throw StoreError.noThread(failure) }
    }

    private func run(_ statement: PostgresStatement) async throws -> Bool {
        try start()
        return try await withCheckedThrowingContinuation { continuation in
            let isOpen = state.withLock { state in
                if !state.isStopping { state.jobs.append(Job(statement: statement) { continuation.resume(with: $0) }) }
                return !state.isStopping
            }
            if isOpen { wake.signal() } else { continuation.resume(throwing: StoreError.closed) }
        }
    }

    func stop() {
        let isRunning = state.withLock { state in
            state.isStopping = true
            return state.isRunning
        }
        if isRunning { wake.signal() } else { end.open() }
    }

    func stopped() async {
        stop()
        await end.opened()
    }

    private func work() {
        while !state.withLock({ $0.isStopping }) {
            do {
                try attend(dialer.connect(timeout: Self.silence))
            } catch {
                // The locks are lost with the connection, and so are the turns.
                let jobs = state.withLock { state in
                    defer { (state.jobs, state.turns) = ([], []) }
                    return state.jobs
                }
                for job in jobs { job.done(.failure(StoreError(error, of: dialer.name))) }
                wake.wait(for: .milliseconds(200))
            }
        }
        let jobs = state.withLock { state in
            defer { (state.isRunning, state.jobs) = (false, []) }
            return state.jobs
        }
        for job in jobs { job.done(.failure(StoreError.closed)) }
        end.open()
    }

    /// Serves jobs and notifications until the connection is lost or the coordinator stops.
    private func attend(_ connection: PostgresConnection) throws {
        let channel = try connection.query("SELECT (\(raw: StoreNotice.channel))::text").first?.text(0) ?? ""
        _ = try connection.query("LISTEN \(raw: channel)")
        tell(.hearing)
        var next = ContinuousClock.now + Self.interval
        while !state.withLock({ $0.isStopping }) {
            for payload in try connection.notifications(until: next, or: wake) { hear(payload) }
            try settle(
                state.withLock { state in
                    defer { state.jobs = [] }
                    return state.jobs
                }, over: connection)
            guard .now >= next else { continue }
            _ = try connection.query(Self.endingHungConnections)
            try share(connection)
            tell(.look)
            next = .now + Self.interval
        }
    }

    /// One round trip; every job gets a result or an error.
    private func settle(_ jobs: [Job], over connection: PostgresConnection) throws {
        guard !jobs.isEmpty else { return }
        let result = Result { try connection.all(jobs.map(\.statement)) }
        for (index, job) in jobs.enumerated() {
            job.done(result.map { $0[index].first?.bool(0) ?? false }.mapError { StoreError($0, of: dialer.name) })
        }
        _ = try result.get()
    }

    /// Moves the earlier `AnswerClock`, this one or the database's, forward; the database's only when half a minute
    /// late, so that most calls write nothing.
    private func share(_ connection: PostgresConnection) throws {
        do {
            let time = try PostgresQueries(db: connection).sharedAnswerTime(), now = answerClock.now()
            answerClock.advance(to: time)
            if now - time > 30_000 {
                _ = try connection.query("UPDATE braid_server SET answer_time = \(now) WHERE answer_time < \(now)")
            }
        } catch let error as StoreError {
            if case .newerVersion = error { dialer.retire(error) }
            throw error
        }
    }

    private func tell(_ notice: StoreNotice) { state.withLock { $0.hear }?(notice) }

    private func hear(_ payload: String) {
        guard let end = payload.firstIndex(of: " "), payload[..<end] != sender else { return }
        let rest = payload[end...].dropFirst()
        if rest.hasPrefix(StoreNotice.textLetter) { return tell(.told(String(rest.dropFirst()))) }
        for notice in rest.split(separator: " ").compactMap({ StoreNotice($0) }) { tell(notice) }
    }
}

// A payload is the sender's name and a word for each notice, or one text.
extension StoreNotice {
    /// With the table's OID, because servers on another schema need another channel.
    static let channel = "'braid_' || 'braid_server'::regclass::oid"

    static func committed(_ session: Int, _ revision: Int) -> String { "c\(session).\(revision)" }
    static let endedLetter = "e", revokedLetter = "t", textLetter = "m"

    init?(_ word: Substring) {
        let rest = word.dropFirst()
        switch word.first {
        case "c":
            let numbers = rest.split(separator: ".").compactMap { Int(digits: $0) }
            guard numbers.count == 2 else { return nil }
            self = .committed(session: numbers[0], revision: numbers[1])
        case "e":
            guard let number = Int(digits: rest) else { return nil }
            self = .ended(session: number)
        case "t": self = .revoked(token: String(rest))
        default: return nil
        }
    }
}
#endif
