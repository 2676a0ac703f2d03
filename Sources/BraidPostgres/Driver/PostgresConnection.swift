#if PostgreSQL
import BraidRuntime
internal import CPostgreSQL
import Glibc

/// A connection, for one thread at a time. A call fails without data for `timeout`.
///
///     let rows = try connection.query("SELECT title FROM item WHERE key = \(key)")
///
/// The socket does not block; waits are by `poll`. libpq's blocking calls have no deadline, and a client that writes
/// a pipeline without reading results can wait for a database that waits for it.
final class PostgresConnection {
    /// What the database has answered of the pipeline.
    struct Answers {
        var outcomes: [Result<PostgresRows, PostgresError>] = []
        /// The connection was lost after the last outcome.
        var lost: LostConnection?
    }

    private let connection: OpaquePointer
    /// How long to wait for the next bytes.
    var timeout: Duration
    private var prepared: [String: String] = [:]
    private var preparedCount = 0
    /// Normally there are fewer. Further statements are sent unprepared.
    private static let maximumPrepared = 500

    init(url: String, timeout: Duration, settings: [(name: String, value: String)]) throws {
        self.timeout = timeout
        // Options before the URL (`dbname`) are defaults; those after it override it.
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
        // libpq would write the database's notices to stderr.
        PQsetNoticeProcessor(connection, { _, _ in }, nil)
        // From here on, `deinit` runs even if this throws.
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

    /// 150003 is 15.3.
    var serverVersion: Int { Int(PQserverVersion(connection)) }

    /// `false` also if there is unexpected input, most likely the connection's end. A new one costs little.
    var isAlive: Bool {
        var descriptor = pollfd(fd: PQsocket(connection), events: Int16(POLLIN), revents: 0)
        return PQstatus(connection) == CONNECTION_OK && poll(&descriptor, 1, 0) == 0
    }

    private var failure: LostConnection {
        LostConnection(detail: PQerrorMessage(connection).map { PostgresError.line($0) } ?? "")
    }
}

extension PostgresConnection {
    /// One round trip. After a failure, the database skips the rest.
    func run(_ statements: [PostgresStatement]) -> Answers {
        var answers = Answers()
        do {
            // For each result the SQL that it prepares; `nil`: an execution.
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

    /// Like `run`, but throws if a statement fails.
    func all(_ statements: [PostgresStatement]) throws -> [PostgresRows] {
        let answers = run(statements)
        let rows = try answers.outcomes.map { try $0.get() }
        if let lost = answers.lost { throw lost }
        return rows
    }

    func query(_ statement: PostgresStatement) throws -> PostgresRows {
        guard let rows = try all([statement]).first else { throw failure }
        return rows
    }

    /// One row in memory at a time. If `body` throws, the connection is unusable.
    func stream(_ query: PostgresStatement, _ body: (PostgresRow) throws -> Void) throws {
        var expected: [String?] = []
        try send(query, &expected)
        guard PQpipelineSync(connection) == 1 else { throw failure }
        if expected.count > 1, case .failure(let error) = try next() {
            prepared[query.sql] = nil
            _ = try next()  // the execution, which was skipped
            while let end = try result() { PQclear(end) }
            throw error
        }
        guard PQsetSingleRowMode(connection) == 1 else { throw failure }
        var failed: PostgresError?
        while let result = try result() {
            switch PQresultStatus(result) {
            case PGRES_SINGLE_TUPLE, PGRES_TUPLES_OK: try PostgresRows(result: result).forEach(body)
            default:
                failed = PostgresError(result)
                PQclear(result)
            }
        }
        guard let end = try result() else { throw failure }
        defer { PQclear(end) }
        guard PQresultStatus(end) == PGRES_PIPELINE_SYNC else { throw failure }
        if let failed { throw failed }
    }

    /// Runs several statements without parameters.
    func script(_ sql: String) throws {
        guard PQexitPipelineMode(connection) == 1, PQsendQuery(connection, sql) == 1 else { throw failure }
        var failed: PostgresError?
        while let result = try result() {
            if ![PGRES_COMMAND_OK, PGRES_TUPLES_OK].contains(PQresultStatus(result)) { failed = PostgresError(result) }
            PQclear(result)
        }
        guard PQenterPipelineMode(connection) == 1 else { throw failure }
        if let failed { throw failed }
    }

    /// The payloads received. Without any, waits until `deadline` or `wake`.
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

    func endTransaction() throws {
        if PQtransactionStatus(connection) != PQTRANS_IDLE { _ = try all(["ROLLBACK"]) }
    }
}

// MARK: Sending and receiving

extension PostgresConnection {
    private func send(_ statement: PostgresStatement, _ expected: inout [String?]) throws {
        // Lengths must fit into `CInt`.
        guard !statement.isTooLarge else {
            throw LostConnection(detail: "The change is larger than the database accepts at once.")
        }
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

    /// The outcome of the pipeline's next statement. `nil` if a failure skipped it.
    private func next() throws -> Result<PostgresRows, PostgresError>? {
        guard let first = try result() else { throw failure }
        var outcome: Result<PostgresRows, PostgresError>?
        switch PQresultStatus(first) {
        case PGRES_COMMAND_OK, PGRES_TUPLES_OK: outcome = .success(PostgresRows(result: first))
        case PGRES_PIPELINE_ABORTED: PQclear(first)
        default:
            let error = PostgresError(first)
            PQclear(first)
            // libpq's own error: the connection is lost.
            if error.code.isEmpty { throw LostConnection(detail: error.message) }
            if error.isFatal { return .failure(error) }  // Nothing more comes.
            outcome = .failure(error)
        }
        while let more = try result() { PQclear(more) }
        return outcome
    }

    /// The current statement's next result, `nil` after the last.
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
#endif
