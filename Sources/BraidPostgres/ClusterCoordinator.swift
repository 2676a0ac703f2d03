#if PostgreSQL
import BraidRuntime
import BraidStore
import Synchronization

/// Coordinates this server with the other servers on the same PostgreSQL database. The coordinator receives the other
/// servers' notifications and holds the session locks that this server has taken. It also ends the database connections
/// of servers that hang.
///
/// The coordinator uses one connection for notifications and locks. If this connection is lost, the database releases
/// the locks.
final class ClusterCoordinator: Sendable {
    private struct Job: Sendable {
        let statement: PostgresStatement
        let done: @Sendable (Result<Bool, any Error>) -> Void
    }

    private struct State {
        var hear: (@Sendable (StoreNotice) -> Void)?
        var jobs: [Job] = []
        var turns: Set<Int> = []
        var isRunning = false
        var isStopping = false
    }

    /// A random name of this server. Each notification begins with its sender's name, so that a server ignores its own
    /// notifications.
    let sender = String(UInt64.random(in: .min ... .max), radix: 36)
    private let dialer: Dialer
    private let wait: Duration
    private let answerClock: AnswerClock
    private let wake: WakeUp
    private let state = Mutex(State())
    private let end = Latch()
    /// The interval at which the coordinator tests its connection and ends the connections of hung servers. At the same
    /// interval, the coordinator sends this server the notice `look`, so that the server looks for changes in the
    /// database.
    private static let interval = Duration.seconds(2)
    /// If the database sends nothing on the coordinator's connection for this time, this server closes the connection.
    private static let silence = Duration.seconds(6)
    /// The longest time for which the database may wait for a server that holds locks. After this time, the other
    /// servers end that server's connection. The time must be longer than `interval`.
    private static let lease = Duration.seconds(4)

    /// Creates this server's coordinator for a database. `wait` is the longest time for which `takeTurn` waits for a
    /// session's lock.
    init(dialer: Dialer, wait: Duration, answerClock: AnswerClock) throws {
        self.dialer = dialer
        self.wait = wait
        self.answerClock = answerClock
        wake = try WakeUp()
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
            // Between two attempts to lock the session, wait for a random time, so that no waiting server always loses.
            // The random time grows with the time spent waiting, because servers may wait for many sessions.
            try? await Task.sleep(for: .microseconds(Int.random(in: pause...4 * pause)))
            pause = min(2 * pause, 8_000)
        }
        state.withLock { _ = $0.turns.insert(session) }
    }

    func endTurn(of session: Int) async {
        guard state.withLock({ $0.turns.remove(session) }) != nil else { return }
        // Ignore an error of the unlocking: if the database cannot be reached, the connection is lost, and the database
        // releases the session's lock.
        _ = try? await run("SELECT pg_advisory_unlock(\(Self.turn(of: session)))")
    }

    func hasTurn(of session: Int) -> Bool { state.withLock { $0.turns.contains(session) } }

    /// Returns the SQL text of the two keys of a session's advisory lock. Sessions whose numbers have the same last 32
    /// bits share a lock.
    static func turn(of session: Int) -> PostgresStatement {
        "'braid_server'::regclass::oid::int4, \(Int(Int32(truncatingIfNeeded: session)))::int4"
    }

    // MARK: Servers that hang

    /// The SQL statement that ends the connections of servers that hang. A server hangs if the database waits longer
    /// than `lease` for the server to send or to receive. The statement only concerns a connection that holds a
    /// session's lock, or that writes or locks sessions, answers or table descriptions in an open transaction.
    ///
    /// After a hung server's connection has ended, the database rolls its transaction back and releases its locks. If
    /// the hung server continues later, its connection is lost, so it cannot commit what it had begun. PostgreSQL's own
    /// timeouts are not enough. `idle_in_transaction_session_timeout` does not count while the database waits for the
    /// rest of a pipeline. `idle_session_timeout` does not end a connection to which the database cannot send a
    /// notification.
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

    /// Starts the coordinator's thread, unless it runs already or the coordinator stops. Throws if the system starts no
    /// thread. The next call then tries to start the thread again.
    private func start() throws {
        let failure: Int32 = state.withLock { state in
            if state.isRunning || state.isStopping { return 0 }
            let failure = startThread(named: "store-peers") { [self] in work() }
            state.isRunning = failure == 0
            return failure
        }
        guard failure == 0 else { throw StoreError.noThread(failure) }
    }

    /// Runs a statement on the coordinator's connection, and returns the first column of the first row as a Boolean.
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

    /// Stops the coordinator's thread, and returns after its connection is closed.
    func stopped() async {
        stop()
        await end.opened()
    }

    private func work() {
        while !state.withLock({ $0.isStopping }) {
            do {
                try attend(dialer.connect(timeout: Self.silence))
            } catch {
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

    /// Runs statements and receives notifications on the coordinator's connection until the connection is lost or the
    /// coordinator stops.
    private func attend(_ connection: PostgresConnection) throws {
        try connection.listen()
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

    /// Runs the statements that wait for the coordinator, in one round trip to the database. The caller of every
    /// statement receives a result or an error, even if the connection is lost.
    private func settle(_ jobs: [Job], over connection: PostgresConnection) throws {
        guard !jobs.isEmpty else { return }
        let result = Result { try connection.all(jobs.map(\.statement)) }
        for (index, job) in jobs.enumerated() {
            job.done(result.map { $0[index].first?.bool(0) ?? false }.mapError { StoreError($0, of: dialer.name) })
        }
        _ = try result.get()
    }

    /// Moves this server's clock for the age of stored answers forward to the clock in the database, if that clock is
    /// later. Moves the clock in the database forward only if it is more than half a minute late, so that most calls
    /// write nothing.
    private func share(_ connection: PostgresConnection) throws {
        do {
            let time = try connection.sharedAnswerTime(), now = answerClock.now()
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
        let words = payload.split(separator: " ")
        guard let first = words.first, first != sender else { return }
        for notice in words.dropFirst().compactMap({ StoreNotice($0) }) { tell(notice) }
    }
}

// The notices, for example of a commit, that servers send each other as PostgreSQL notifications. The payload of a
// notification is the sender's name, followed by one word for each notice.
extension StoreNotice {
    /// The SQL expression for the name of the PostgreSQL channel on which servers notify each other. The name contains
    /// the OID of the table `braid_server`, because servers that use another schema of the same database need another
    /// channel.
    static let channel = "'braid_' || 'braid_server'::regclass::oid"

    static func committed(_ session: Int, _ revision: Int) -> String { "c\(session).\(revision)" }
    static let endedLetter = "e", revokedLetter = "t"

    init?(_ word: Substring) {
        let rest = word.dropFirst()
        switch word.first {
        case "c":
            let numbers = rest.split(separator: ".").compactMap { Int($0) }
            guard numbers.count == 2 else { return nil }
            self = .committed(session: numbers[0], revision: numbers[1])
        case "e":
            guard let number = Int(rest) else { return nil }
            self = .ended(session: number)
        case "t": self = .revoked(token: String(rest))
        default: return nil
        }
    }
}
#endif
