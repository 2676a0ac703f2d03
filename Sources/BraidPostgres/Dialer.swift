#if PostgreSQL
import BraidStore
internal import CPostgreSQL
import Synchronization

/// Opens connections to one database, with a growing delay after failed attempts.
///
/// During the delay, every attempt to connect fails at once with the last error. The delay also prevents all callers
/// from connecting at the same moment when the database returns.
final class Dialer: Sendable {
    /// The database's address for messages, without a password.
    let name: String
    let url: String
    private let options: PostgresStoreOptions

    private struct Failure {
        var error: StoreError
        var delay: Duration
        var until: ContinuousClock.Instant
    }
    private let failure = Mutex<Failure?>(nil)
    /// The suffix of epochs that the last connection found. `renewal` is called when a connection finds another suffix.
    private let suffix = Mutex<String?>(nil)
    private let renewal = Mutex<(@Sendable () -> Void)?>(nil)
    private static let firstDelay = Duration.milliseconds(100), longestDelay = Duration.seconds(1)

    init(url: String, options: PostgresStoreOptions) throws {
        self.url = url
        self.options = options
        name = try Self.name(of: url)
    }

    /// Opens a connection. `timeout` is the longest silence of the database; the default is the option's time.
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

    /// Opens a connection to a database that may have no tables yet. Call `checkEpochs` before using the connection.
    func dial(timeout: Duration? = nil) throws -> PostgresConnection {
        try PostgresConnection(url: url, timeout: timeout ?? options.timeout, settings: settings)
    }

    /// Begins new epochs if they are due, and calls `renewal` if the epochs are new, before the connection is used.
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
            // A server that died must not keep locks that other servers need.
            ("idle_in_transaction_session_timeout", "\(timeout)"),
            // If a server's machine is gone, the database ends the server's connection after half a minute.
            ("tcp_keepalives_idle", "10"), ("tcp_keepalives_interval", "5"), ("tcp_keepalives_count", "4"),
            // Every statement must find its rows by a key, even if the planner has seen an empty table a moment ago. A
            // generic plan is not made again for each execution, never scans a table that has grown since, and is not
            // compiled.
            ("plan_cache_mode", "force_generic_plan"), ("enable_seqscan", "off"), ("jit", "off"),
        ]
    }

    /// Returns `postgres://host:port/database`, with the parts that the address contains.
    private static func name(of url: String) throws -> String {
        // The message does not say why the address is wrong, because libpq would quote the address with its password.
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
