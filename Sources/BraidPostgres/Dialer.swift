#if PostgreSQL
import BraidStore
internal import CPostgreSQL
import Synchronization

/// Opens connections to one PostgreSQL database. After a failed attempt, the dialer waits for a delay, which grows with
/// each further failure, up to a second.
///
/// During the delay, every attempt to connect fails at once with the last error. So not all callers connect at the same
/// moment when the database is available again.
final class Dialer: Sendable {
    /// The database's address for messages, which contains no password.
    let name: String
    let url: String
    private let options: PostgresStoreOptions
    /// Reports to the store's owner (`PostgresStoreOptions.onChange`) when the database cannot be reached, and when it
    /// can be reached again.
    private let trouble: StoreTrouble

    private struct Failure {
        var error: StoreError
        var delay: Duration
        var until: ContinuousClock.Instant
    }
    private let failure = Mutex<Failure?>(nil)
    /// The epoch suffix (the text that the database appends to its sessions' epochs) that the latest new connection has
    /// found. If a new connection finds another suffix, the dialer calls `renewal`.
    private let suffix = Mutex<String?>(nil)
    private let renewal = Mutex<(@Sendable () -> Void)?>(nil)
    /// The reason why this server must not use the database any more: a newer server has upgraded the schema to a
    /// version that this server cannot use. `nil` if this server may use the database.
    var retirement: StoreError? { retired.withLock { $0 } }
    private let retired = Mutex<StoreError?>(nil)
    /// A text for the log about the schema of the opened database, such as an upgrade. `nil` if the database was new or
    /// had this server's schema version, or if no connection has been opened yet.
    var schemaNotice: String? { notice.withLock { $0 } }
    private let notice = Mutex<String?>(nil)
    /// The clock that measures the age of stored answers. After the first connection, this clock shows the time that
    /// the servers of the database share.
    let answerClock = AnswerClock(from: nil)
    /// Whether this server has checked or created the tables of the database since its start.
    private let isPrepared = Atomic<Bool>(false)
    private static let firstDelay = Duration.milliseconds(100), longestDelay = Duration.seconds(1)

    init(url: String, options: PostgresStoreOptions) throws {
        self.url = url
        self.options = options
        trouble = StoreTrouble(options.onChange)
        name = try Self.name(of: url)
    }

    /// Opens a connection to the database. The first connection checks, creates or upgrades the database's tables.
    ///
    /// - Parameter timeout: the longest time for which the connection waits for data from the database. The default is
    ///   `options.timeout`.
    func connect(timeout: Duration? = nil) throws(StoreError) -> PostgresConnection {
        if let failure = failure.withLock({ $0 }), failure.until > .now { throw failure.error }
        do {
            if let retirement { throw retirement }
            let connection = try dial(timeout: timeout)
            if isPrepared.load(ordering: .relaxed) {
                _ = try connection.sharedAnswerTime()
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

    /// Makes every later use of the database by this server's store fail with an error.
    func retire(_ error: StoreError) { retired.withLock { $0 = error } }

    /// Checks, creates or upgrades the database's tables. Called for the first connection.
    private func prepare(_ connection: PostgresConnection) throws {
        let found = try Opening.prepare(connection, name: name, before: options.upgrading)
        if let notice = SchemaShape.notice(found: found, known: PostgresSchema.version) {
            self.notice.withLock { $0 = notice }
        }
        answerClock.begin(at: try connection.sharedAnswerTime())
        isPrepared.store(true, ordering: .relaxed)
    }

    private func dial(timeout: Duration? = nil) throws -> PostgresConnection {
        try PostgresConnection(url: url, timeout: timeout ?? options.timeout, settings: settings)
    }

    /// Begins new epochs for all sessions if new epochs are due, before anyone uses a new connection. Calls `renewal`
    /// if the epochs differ from those that the previous connection found.
    private func checkEpochs(_ connection: PostgresConnection) throws {
        let found = try connection.beginEpochs(options)
        let isRenewed = suffix.withLock { suffix in
            defer { suffix = found }
            return suffix != nil && suffix != found
        }
        if isRenewed { renewal.withLock { $0 }?() }
    }

    /// Sets the function `renewal`, which is called whenever a new connection finds that new epochs have begun.
    func onRenewal(_ renewal: @escaping @Sendable () -> Void) { self.renewal.withLock { $0 = renewal } }

    private var settings: [(name: String, value: String)] {
        let timeout = options.timeout.milliseconds
        return [
            ("synchronous_commit", options.synchronous == .full ? "on" : "off"),
            ("statement_timeout", "\(timeout * 3 / 4)"), ("lock_timeout", "\(timeout / 4)"),
            // If a server hangs inside a transaction, the database ends the transaction, so that the transaction's
            // locks do not block other servers.
            ("idle_in_transaction_session_timeout", "\(timeout)"),
            // If this server's machine disappears from the network, the database ends the connection after half a
            // minute.
            ("tcp_keepalives_idle", "10"), ("tcp_keepalives_interval", "5"), ("tcp_keepalives_count", "4"),
            // Every statement must find its rows by a key, even if PostgreSQL's planner saw an empty table a moment
            // ago. These settings therefore choose generic plans, which are made once, without table scans and without
            // compilation (JIT).
            ("plan_cache_mode", "force_generic_plan"), ("enable_seqscan", "off"), ("jit", "off"),
        ]
    }

    /// Returns the database's address for messages, `postgres://host:port/database`. The address has only the parts
    /// that the URL contains, and never a password.
    static func name(of url: String) throws -> String {
        // The error does not say why the URL is wrong, because libpq's message would quote the URL with its password.
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
