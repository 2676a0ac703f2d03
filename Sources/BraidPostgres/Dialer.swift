#if PostgreSQL
import BraidRuntime
import BraidStore
internal import CPostgreSQL
import Synchronization

/// Opens connections. After a failure, every attempt fails at once for up to a second, so that not all callers connect
/// when the database is back.
final class Dialer: Sendable {
    /// For messages, without a password.
    let name: String
    let url: String
    private let options: StoreOptions
    private let timeout: Duration
    private let trouble: StoreTrouble

    private struct Failure {
        var error: StoreError
        var delay: Duration
        var until: ContinuousClock.Instant
    }
    private let failure = Mutex<Failure?>(nil)
    /// Of the latest connection. If a new one finds another, calls `renewal`.
    private let suffix = Mutex<String?>(nil)
    private let renewal = Mutex<(@Sendable () -> Void)?>(nil)
    /// Set by a newer server's upgrade of the schema.
    var retirement: StoreError? { retired.withLock { $0 } }
    private let retired = Mutex<StoreError?>(nil)
    var schemaNotice: String? { notice.withLock { $0 } }
    private let notice = Mutex<String?>(nil)
    let answerClock = AnswerClock(from: nil)
    private let isPrepared = Atomic<Bool>(false)
    private static let firstDelay = Duration.milliseconds(100), longestDelay = Duration.seconds(1)

    init(url: String, options: StoreOptions, timeout: Duration) throws {
        self.url = url
        self.options = options
        self.timeout = timeout
        trouble = StoreTrouble(options.onChange)
        name = try Self.name(of: url)
    }

    /// The first connection checks, creates or upgrades the tables.
    func connect(timeout: Duration? = nil) throws(StoreError) -> PostgresConnection {
        if let failure = failure.withLock({ $0 }), failure.until > .now { throw failure.error }
        do {
            if let retirement { throw retirement }
            let connection = try dial(timeout: timeout)
            if isPrepared.load(ordering: .relaxed) {
                _ = try PostgresQueries(db: connection).sharedAnswerTime()
            } else {
                try prepare(connection)
            }
            try checkEpochs(connection)
            failure.withLock { $0 = nil }
            trouble.succeeded()
            return connection
        } catch {
            let error = StoreError(error, of: name)
            if case .newerVersion = error { retire(error) }
            failure.withLock { failure in
                let delay = failure.map { min($0.delay * 2, Self.longestDelay) } ?? Self.firstDelay
                failure = Failure(error: error, delay: delay, until: .now + delay)
            }
            trouble.failed(error)
            throw error
        }
    }

    /// From now on, every use of the database fails.
    func retire(_ error: StoreError) { retired.withLock { $0 = error } }

    private func prepare(_ connection: PostgresConnection) throws {
        let found = try PostgresOpening.prepare(connection, name: name, before: options.upgrading)
        if let notice = SchemaShape.notice(found: found, known: PostgresSchema.version) {
            self.notice.withLock { $0 = notice }
        }
        answerClock.begin(at: try PostgresQueries(db: connection).sharedAnswerTime())
        isPrepared.store(true, ordering: .relaxed)
    }

    private func dial(timeout: Duration? = nil) throws -> PostgresConnection {
        try PostgresConnection(url: url, timeout: timeout ?? self.timeout, settings: settings)
    }

    private func checkEpochs(_ connection: PostgresConnection) throws {
        let found = try PostgresQueries(db: connection).beginEpochs(options)
        let isRenewed = suffix.withLock { suffix in
            defer { suffix = found }
            return suffix != nil && suffix != found
        }
        if isRenewed { renewal.withLock { $0 }?() }
    }

    func onRenewal(_ renewal: @escaping @Sendable () -> Void) { self.renewal.withLock { $0 = renewal } }

    private var settings: [(name: String, value: String)] {
        let timeout = timeout.milliseconds
        return [
            ("synchronous_commit", options.synchronous == .full ? "on" : "off"),
            ("statement_timeout", "\(timeout * 3 / 4)"), ("lock_timeout", "\(timeout / 4)"),
            // A server that hangs in a transaction must not block others.
            ("idle_in_transaction_session_timeout", "\(timeout)"),
            // The database then ends the connection half a minute after this machine disappears.
            ("tcp_keepalives_idle", "10"), ("tcp_keepalives_interval", "5"), ("tcp_keepalives_count", "4"),
            // Every statement must find its rows by a key, even if the planner just saw an empty table: generic
            // plans, made once, without table scans and JIT.
            ("plan_cache_mode", "force_generic_plan"), ("enable_seqscan", "off"), ("jit", "off"),
        ]
    }

    /// `postgres://host:port/database`, with what the URL has of it.
    static func name(of url: String) throws -> String {
        // libpq's message would quote the URL with its password.
        guard let options = PQconninfoParse(url, nil) else {
            throw StoreError.unavailable(
                "its address is not of the form postgres://USER:PASSWORD@HOST:PORT/NAME?OPTION=VALUE, with %XX for what has a meaning in it"
            )
        }
        defer { PQconninfoFree(options) }
        var found: [String: String] = [:], option = options
        while let keyword = option.pointee.keyword {
            if let value = option.pointee.val { found[String(cString: keyword)] = String(cString: value) }
            option += 1
        }
        let port = found["port"].map { ":\($0)" } ?? ""
        return "postgres://\(found["host"] ?? "")\(port)/\(found["dbname"] ?? "")"
    }
}
#endif
