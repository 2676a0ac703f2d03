#if PostgreSQL
import BraidStore
internal import CPostgreSQL
import Synchronization

/// Opens connections to one database. After a failure the next attempt has to wait, for longer each time: until then
/// who asks is told of the failure at once, and a database that comes back is not met by everyone at the same moment.
final class Dialer: Sendable {
    /// The database's, for messages: without a password.
    let name: String
    let url: String
    private let options: PostgresStoreOptions

    private struct Failure {
        var error: StoreError
        var delay: Duration
        var until: ContinuousClock.Instant
    }
    private let failure = Mutex<Failure?>(nil)
    /// The suffix of epochs as the last connection found it, and who is told of another one.
    private let suffix = Mutex<String?>(nil)
    private let renewal = Mutex<(@Sendable () -> Void)?>(nil)
    private static let firstDelay = Duration.milliseconds(100), longestDelay = Duration.seconds(1)

    init(url: String, options: PostgresStoreOptions) throws {
        self.url = url
        self.options = options
        name = try Self.name(of: url)
    }

    /// `timeout`: how long the database may be silent, if that is not the option's time.
    func connect(timeout: Duration? = nil) throws(StoreError) -> PostgresConnection {
        if let failure = failure.withLock({ $0 }), failure.until > .now { throw failure.error }
        do {
            let connection = try dial(timeout: timeout)
            try checkEpochs(connection)
            failure.withLock { $0 = nil }
            return connection
        } catch {
            let error = StoreError(error, of: name)
            failure.withLock { failure in
                let delay = failure.map { min($0.delay * 2, Self.longestDelay) } ?? Self.firstDelay
                failure = Failure(error: error, delay: delay, until: .now + delay)
            }
            throw error
        }
    }

    /// A connection to a database that may have no tables yet: `checkEpochs` is to follow.
    func dial(timeout: Duration? = nil) throws -> PostgresConnection {
        try PostgresConnection(url: url, timeout: timeout ?? options.timeout, settings: settings)
    }

    /// Sees to it that new epochs begin where they are due, and that those who hear of it do so before the connection
    /// is used.
    func checkEpochs(_ connection: PostgresConnection) throws {
        let found = try connection.beginEpochs(options)
        let isRenewed = suffix.withLock { suffix in
            defer { suffix = found }
            return suffix != nil && suffix != found
        }
        if isRenewed { renewal.withLock { $0 }?() }
    }

    /// Calls `renewal` whenever a connection finds that new epochs have begun.
    func onRenewal(_ renewal: @escaping @Sendable () -> Void) { self.renewal.withLock { $0 = renewal } }

    private var settings: [(name: String, value: String)] {
        let timeout = options.timeout.milliseconds
        return [
            ("synchronous_commit", options.synchronous == .full ? "on" : "off"),
            ("statement_timeout", "\(timeout * 3 / 4)"), ("lock_timeout", "\(timeout / 4)"),
            // A server that died must not hold what others need.
            ("idle_in_transaction_session_timeout", "\(timeout)"),
            // Nor a machine that is gone: its connection ends after half a minute.
            ("tcp_keepalives_idle", "10"), ("tcp_keepalives_interval", "5"), ("tcp_keepalives_count", "4"),
            // Every statement finds its rows by a key, however the planner sees a table that was empty a moment ago: no
            // plan is made for each execution, none reads a whole table that has grown since, none is compiled.
            ("plan_cache_mode", "force_generic_plan"), ("enable_seqscan", "off"), ("jit", "off"),
        ]
    }

    /// `postgres://host:port/database`, as far as the address says so.
    private static func name(of url: String) throws -> String {
        // Why it cannot is not told: libpq would quote the address, with the password in it.
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
