#if PostgreSQL
import BraidStore
internal import CPostgreSQL
import Glibc

/// One connection to a PostgreSQL database, which only one thread at a time uses. A call fails if it receives no data
/// from the database for the time `timeout`.
///
/// libpq's blocking calls have no deadline. A client must read the results of a pipeline while it writes the pipeline,
/// otherwise client and database wait for each other. The socket is therefore non-blocking, and this class waits for
/// the socket with `poll`.
final class PostgresConnection {
    /// The results of the statements of one pipeline, in order, as far as the database has answered.
    struct Answers {
        var outcomes: [Result<Rows, ServerError>] = []
        /// The error with which the connection was lost after the last item of `outcomes`. `nil` if the connection is
        /// not lost.
        var lost: LostConnection?
    }

    private let connection: OpaquePointer
    /// The longest time that a call waits for the next bytes from the database. Each arrival of bytes starts a new
    /// wait.
    var timeout: Duration
    /// The names of the statements that are prepared on this connection. The keys are their SQL texts.
    private var prepared: [String: String] = [:]
    private var preparedCount = 0
    /// The most statements that are prepared on one connection. The server normally has fewer different statements.
    /// Statements beyond this number are sent without being prepared.
    private static let maximumPrepared = 500
    /// The mark that `nextMark` has last returned.
    var mark: CommitMark?

    /// Connects to the database. Fails if the connection is not established within `timeout`. `settings` are PostgreSQL
    /// settings for this connection, by name.
    init(url: String, timeout: Duration, settings: [(name: String, value: String)]) throws {
        self.timeout = timeout
        // In libpq's list of options, the URL is the option `dbname`. Options before the URL are defaults, which the
        // URL can change. Options after the URL override those in the URL.
        let options = [
            ("fallback_application_name", "braid-server"), ("target_session_attrs", "read-write"),
            ("tcp_user_timeout", "\(timeout.milliseconds)"), ("dbname", url), ("client_encoding", "UTF8"),
        ]
        let texts = options.map { (strdup($0.0), strdup($0.1)) }
        defer {
            for (name, value) in texts {
                free(name)
                free(value)
            }
        }
        let names = texts.map { $0.0.map { UnsafePointer($0) } } + [nil],
            values = texts.map { $0.1.map { UnsafePointer($0) } } + [nil]
        guard let connection = PQconnectStartParams(names, values, 1) else {
            throw LostConnection(detail: "out of memory")
        }
        self.connection = connection
        // Drop the notices that the database sends, because libpq would write them to stderr by default.
        PQsetNoticeProcessor(connection, { _, _ in }, nil)
        // All stored properties are set, so from here on Swift calls `deinit` even if the initializer throws.
        try connect()
        _ = try all(settings.map { "SELECT set_config(\($0.name), \($0.value), false)" })
    }

    deinit { PQfinish(connection) }

    private func connect() throws {
        let deadline = ContinuousClock.now + timeout
        var state = PGRES_POLLING_WRITING
        while state != PGRES_POLLING_OK {
            guard PQstatus(connection) != CONNECTION_BAD,
                state == PGRES_POLLING_READING || state == PGRES_POLLING_WRITING
            else { throw failure }
            try wait(for: state == PGRES_POLLING_READING ? POLLIN : POLLOUT, until: deadline)
            state = PQconnectPoll(connection)
        }
        guard PQsetnonblocking(connection, 1) == 0, PQenterPipelineMode(connection) == 1 else { throw failure }
    }

    /// The version of the PostgreSQL server as a number: 150003 means 15.3.
    var serverVersion: Int { Int(PQserverVersion(connection)) }

    /// Whether the connection is open and has no unexpected input.
    ///
    /// Unexpected input most likely means that the database has ended the connection. If the input means something
    /// else, the new connection that the caller opens costs little.
    var isAlive: Bool {
        var descriptor = pollfd(fd: PQsocket(connection), events: Int16(POLLIN), revents: 0)
        return PQstatus(connection) == CONNECTION_OK && poll(&descriptor, 1, 0) == 0
    }

    private var failure: LostConnection {
        LostConnection(detail: PQerrorMessage(connection).map { ServerError.line($0) } ?? "")
    }
}

// Statements.
extension PostgresConnection {
    /// Runs several statements in one pipeline, that is, in one round trip. If a statement fails, the database skips
    /// the later statements of the same pipeline.
    func run(_ statements: [PostgresStatement]) -> Answers {
        var answers = Answers()
        do {
            // What the results from libpq belong to, one item for each result, in order. An item is `nil` for the
            // execution of a statement, or an SQL text for the preparation of a statement.
            var expected: [String?] = []
            for statement in statements { try send(statement, &expected) }
            guard PQpipelineSync(connection) == 1 else { throw failure }
            for preparing in expected {
                let outcome = try next()
                switch (outcome, preparing) {
                case (.success, .some): break
                case (.success(let rows), nil): answers.outcomes.append(.success(rows))
                case (let outcome, let sql):
                    if let sql { prepared[sql] = nil }
                    guard case .failure(let error) = outcome else { break }
                    answers.outcomes.append(.failure(error))
                    if error.isFatal { throw LostConnection(detail: error.message, error: error) }
                }
            }
            guard let end = try result() else { throw failure }
            defer { PQclear(end) }
            guard PQresultStatus(end) == PGRES_PIPELINE_SYNC else { throw failure }
        } catch {
            answers.lost = error as? LostConnection ?? LostConnection(detail: "\(error)")
        }
        return answers
    }

    /// Runs several statements in one pipeline, and returns the result rows of each statement. Throws if a statement
    /// fails.
    func all(_ statements: [PostgresStatement]) throws -> [Rows] {
        let answers = run(statements)
        let rows = try answers.outcomes.map { try $0.get() }
        if let lost = answers.lost { throw lost }
        return rows
    }

    func query(_ statement: PostgresStatement) throws -> Rows {
        guard let rows = try all([statement]).first else { throw failure }
        return rows
    }

    /// Runs a query and calls `body` with each row as it arrives, so memory holds one row at a time. If `body` throws,
    /// the connection cannot be used any more.
    func stream(_ query: PostgresStatement, _ body: (Columns) throws -> Void) throws {
        var expected: [String?] = []
        try send(query, &expected)
        guard PQpipelineSync(connection) == 1 else { throw failure }
        if expected.count > 1, case .failure(let error) = try next() {
            prepared[query.sql] = nil
            _ = try next()  // The statement's execution was skipped, because its preparation has failed.
            while let end = try result() { PQclear(end) }
            throw error
        }
        guard PQsetSingleRowMode(connection) == 1 else { throw failure }
        var failed: ServerError?
        while let result = try result() {
            switch PQresultStatus(result) {
            case PGRES_SINGLE_TUPLE, PGRES_TUPLES_OK: try Rows(result: result).forEach(body)
            default:
                failed = ServerError(result)
                PQclear(result)
            }
        }
        guard let end = try result() else { throw failure }
        defer { PQclear(end) }
        guard PQresultStatus(end) == PGRES_PIPELINE_SYNC else { throw failure }
        if let failed { throw failed }
    }

    /// Runs an SQL text of several statements without parameters, such as the text that creates the schema.
    func script(_ sql: String) throws {
        guard PQexitPipelineMode(connection) == 1, PQsendQuery(connection, sql) == 1 else { throw failure }
        var failed: ServerError?
        while let result = try result() {
            if ![PGRES_COMMAND_OK, PGRES_TUPLES_OK].contains(PQresultStatus(result)) { failed = ServerError(result) }
            PQclear(result)
        }
        guard PQenterPipelineMode(connection) == 1 else { throw failure }
        if let failed { throw failed }
    }

    /// Subscribes this connection to the PostgreSQL notifications that Braid Servers send each other.
    func listen() throws {
        guard let channel = try query("SELECT (\(raw: StoreNotice.channel))::text").first?.text(0) else {
            throw failure
        }
        _ = try query("LISTEN \(raw: channel)")
    }

    /// Returns the payloads of the PostgreSQL notifications that have arrived. If none has arrived, waits for one until
    /// `deadline` or until another thread signals `wake`.
    func notifications(until deadline: ContinuousClock.Instant, or wake: WakeUp) throws -> [String] {
        let found = takeNotifications()
        guard found.isEmpty, wake.wait(for: PQsocket(connection), until: deadline) else { return found }
        guard PQconsumeInput(connection) == 1 else { throw failure }
        return takeNotifications()
    }

    private func takeNotifications() -> [String] {
        var found: [String] = []
        while let notification = PQnotifies(connection) {
            if let payload = notification.pointee.extra { found.append(String(cString: payload)) }
            PQfreemem(notification)
        }
        return found
    }

    /// Rolls back this connection's transaction, if a transaction is still open after a failed statement.
    func endTransaction() throws {
        if PQtransactionStatus(connection) != PQTRANS_IDLE { _ = try all(["ROLLBACK"]) }
    }
}

// The methods that send statements to the database and receive the results.
extension PostgresConnection {
    private func send(_ statement: PostgresStatement, _ expected: inout [String?]) throws {
        // Refuse a statement that is too large. The lengths of the values of any other statement fit into `CInt`.
        guard !statement.isTooLarge else { throw StoreError.tooLarge }
        let sql = statement.sql
        if prepared[sql] == nil, prepared.count < Self.maximumPrepared {
            preparedCount += 1
            let name = "s\(preparedCount)"
            guard PQsendPrepare(connection, name, sql, 0, nil) == 1 else { throw failure }
            prepared[sql] = name
            expected.append(sql)
        }
        let name = prepared[sql], ranges = statement.values.ranges, count = CInt(ranges.count)
        let isSent = statement.values.bytes.withUnsafeBytes { bytes in
            let values = ranges.map { range in
                range.flatMap { bytes.baseAddress?.advanced(by: $0.lowerBound).assumingMemoryBound(to: CChar.self) }
            }
            let lengths = ranges.map { CInt($0?.count ?? 0) }, formats = [CInt](repeating: 1, count: ranges.count)
            return name.map { PQsendQueryPrepared(connection, $0, count, values, lengths, formats, 1) }
                ?? PQsendQueryParams(connection, sql, count, nil, values, lengths, formats, 1)
        }
        guard isSent == 1 else { throw failure }
        expected.append(nil)
    }

    /// Returns the outcome of the next statement in the pipeline. Returns `nil` if the database skipped this statement,
    /// because an earlier statement failed.
    private func next() throws -> Result<Rows, ServerError>? {
        guard let first = try result() else { throw failure }
        var outcome: Result<Rows, ServerError>?
        switch PQresultStatus(first) {
        case PGRES_COMMAND_OK, PGRES_TUPLES_OK: outcome = .success(Rows(result: first))
        case PGRES_PIPELINE_ABORTED: PQclear(first)
        default:
            let error = ServerError(first)
            PQclear(first)
            // An error without a code comes from libpq, not from the database: the connection is lost.
            if error.code.isEmpty { throw LostConnection(detail: error.message) }
            if error.isFatal { return .failure(error) }
            outcome = .failure(error)
        }
        while let more = try result() { PQclear(more) }
        return outcome
    }

    /// Waits for libpq's next result of the current statement. Returns `nil` if the statement has no more results.
    private func result() throws -> OpaquePointer? {
        while true {
            let unsent = PQflush(connection)
            guard unsent >= 0 else { throw failure }
            if PQisBusy(connection) == 0 { return PQgetResult(connection) }
            try wait(for: unsent == 1 ? POLLIN | POLLOUT : POLLIN, until: .now + timeout)
            guard PQconsumeInput(connection) == 1 else { throw failure }
        }
    }

    private func wait(for events: CInt, until deadline: ContinuousClock.Instant) throws {
        while true {
            let left = deadline - .now
            var descriptor = pollfd(fd: PQsocket(connection), events: Int16(events), revents: 0)
            guard descriptor.fd >= 0 else { throw failure }
            let count = poll(&descriptor, 1, CInt(clamping: max(0, left.milliseconds)))
            if count > 0 { return }
            if count == 0 {
                throw LostConnection(detail: "the database did not answer for \(timeout.milliseconds) ms")
            }
            guard errno == EINTR else { throw LostConnection(detail: String(cString: strerror(errno))) }
        }
    }
}

extension Duration {
    var milliseconds: Int { Int(components.seconds) * 1000 + Int(components.attoseconds / 1_000_000_000_000_000) }
}
#endif
