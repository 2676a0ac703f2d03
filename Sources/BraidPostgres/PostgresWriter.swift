#if PostgreSQL
import BraidRuntime
import BraidStore

/// The thread that performs all writes of the PostgreSQL store, in groups of requests (`WriteQueue`). Each group is one
/// transaction, so two round trips and one disk flush serve all of its requests.
///
/// While the thread writes one group, it collects the requests of the next group.
///
/// COMMIT is sent after the results of the group's statements have arrived. If the connection is lost before, nothing
/// is stored. If it is lost during COMMIT, the writer finds out on its next connection whether the group is stored
/// (`CommitMark`), and gives the requests their results or errors only then.
final class PostgresWriter: @unchecked Sendable {
    /// One caller's request for a write. The writer runs the request's statements in one of its next transactions.
    struct Request: Sendable {
        /// The SQL statements of the request. Whatever the database contains, these statements together write
        /// everything or nothing. Their result rows say whether they have written.
        let statements: [PostgresStatement]
        /// Whether the request only tests if the database accepts writes. The statistics of commits do not count such a
        /// request.
        let isTest: Bool
        /// The notice about this write that the writer sends to other servers after the commit. `nil` if the write
        /// needs no notice, or if its statements send the notice themselves.
        let notice: String?
        /// The writer calls this closure after the commit, with the result rows of each statement.
        let succeed: @Sendable ([Rows]) -> Void
        let fail: @Sendable (StoreError) -> Void
    }

    /// A group whose COMMIT was sent, but not confirmed.
    private struct UnconfirmedGroup {
        let group: [Request]
        /// The results of the requests, if the group is stored.
        let rows: [[Rows]]
        let mark: CommitMark
        let start: ContinuousClock.Instant
        /// How the connection was lost.
        let detail: String
    }

    /// A lock that guards the properties `waiting` and `isStopping`. Only the writer's thread uses the other variables.
    private let condition = Condition()
    private var waiting = WriteQueue<Request>()
    private var isStopping = false

    private let dialer: Dialer
    /// This server's random name, with which each of its notifications begins.
    private let sender: String
    private var connection: PostgresConnection?
    private var unconfirmed: [UnconfirmedGroup] = []
    let counters = StoreCounters()
    /// Reports to the store's owner (`PostgresStoreOptions.onChange`) when a reachable database accepts no writes, and
    /// when it accepts writes again.
    private let trouble: StoreTrouble
    private let end = Latch()
    /// The time after the start of a write after which the writer no longer tries to find out whether it is stored.
    private let patience: Duration
    /// The pause between two such attempts.
    private static let pause = Duration.milliseconds(50)

    /// Starts the writer's thread. `connection` is the writer's first connection. If it is `nil`, the writer connects
    /// when it first writes.
    init(
        dialer: Dialer, connection: sending PostgresConnection?, sender: String, patience: Duration,
        onChange: @escaping @Sendable (StoreChange) -> Void
    ) throws {
        self.dialer = dialer
        self.patience = patience
        trouble = StoreTrouble(onChange)
        self.sender = sender
        self.connection = connection
        let failure = startThread(named: "store-writer") { [self] in run() }
        guard failure == 0 else { throw StoreError.noThread(failure) }
    }

    /// Queues statements, which the writer runs with its next group of requests. Returns after the commit, even if the
    /// calling task is cancelled before the commit.
    ///
    /// - Parameters:
    ///   - cost: the estimated cost of the request, in rows.
    ///   - value: converts the statements' result rows into the method's result. It throws a `StoreError` if the
    ///     statements have refused the write and so wrote nothing.
    /// - Throws: a `StoreError`, such as `tooLarge` for a statement that is too large to be sent.
    func write<Value: Sendable>(
        _ statements: [PostgresStatement], isTest: Bool = false, cost: Int = 1, notice: String? = nil,
        value: @escaping @Sendable ([Rows]) throws -> Value
    ) async throws -> Value {
        // A statement that is too large would end the connection, and fail the other requests of its group.
        guard !statements.contains(where: { $0.isTooLarge }) else { throw StoreError.tooLarge }
        return try await withCheckedThrowingContinuation { continuation in
            let request = Request(
                statements: statements, isTest: isTest, notice: notice,
                succeed: { rows in continuation.resume(with: Result { try value(rows) }) },
                fail: { continuation.resume(throwing: $0) })
            if !enqueue(request, cost: cost) { request.fail(.closed) }
        }
    }

    private func enqueue(_ request: Request, cost: Int) -> Bool {
        condition.withLock {
            if isStopping { return false }
            waiting.append(request, cost: cost)
            if waiting.count == 1 { condition.signal() }
            return true
        }
    }

    /// The number of write requests that wait for the writer.
    var queued: Int { condition.withLock { waiting.count } }

    /// Tells the writer's thread to finish the waiting requests and to end. Returns at once.
    func stop() {
        condition.withLock {
            isStopping = true
            condition.signal()
        }
    }

    /// Stops the writer's thread, and returns after the thread has closed its connection.
    func stopped() async {
        stop()
        await end.opened()
    }
}

// The methods that run on the writer's thread.
extension PostgresWriter {
    private func run() {
        while let group = next() {
            settle()
            if !group.isEmpty { write(group) }
        }
        settle(isLast: true)
        connection = nil
        end.open()
    }

    /// Waits for write requests, and returns the next group. The group is empty if it is time to settle the unconfirmed
    /// groups. Returns `nil` if the writer's thread has to end.
    private func next() -> [Request]? {
        condition.withLock {
            while waiting.isEmpty && !isStopping {
                guard unconfirmed.isEmpty else {
                    condition.wait(for: Self.pause)
                    return waiting.takeGroup()
                }
                condition.wait()
            }
            return waiting.isEmpty ? nil : waiting.takeGroup()
        }
    }

    /// Writes a group of requests in one transaction. The caller of every request receives a result or an error, now or
    /// when the unconfirmed group is settled.
    private func write(_ group: [Request], attempt: Int = 1) {
        let start = ContinuousClock.now
        do {
            guard let rows = try commit(group, since: start) else { return }
            succeed(group, rows, since: start)
        } catch let error as ServerError where error.isOfOneRequest && group.count > 1 {
            // One request of the group caused the error, but the database rolls back the whole group. The writer
            // therefore repeats each request in a separate transaction.
            for request in group { write([request]) }
        } catch let error as ServerError where error.isOfTheMoment && attempt < 5 {
            write(group, attempt: attempt + 1)
        } catch let cause {
            let error = StoreError(cause, of: dialer.name)
            switch error {
            // The writer reports only the failures of a database that can be reached. The dialer reports that the
            // database cannot be reached.
            case .full, .readOnly, .corrupt, .io:
                if (cause as? ServerError)?.isOfOneRequest != true { trouble.failed(error) }
            default: break
            }
            fail(group, error)
        }
    }

    private func succeed(_ group: [Request], _ rows: [[Rows]], since start: ContinuousClock.Instant) {
        counters.count(writes: group.count { !$0.isTest }, duration: ContinuousClock.now - start)
        trouble.succeeded()
        for (request, rows) in zip(group, rows) { request.succeed(rows) }
    }

    private func fail(_ group: [Request], _ error: StoreError) {
        counters.count(failures: group.count { !$0.isTest })
        for request in group { request.fail(error) }
    }

    /// Runs the statements of a group of requests and commits them. Returns the result rows of each request, or `nil`
    /// if the connection was lost during COMMIT and the group is now one of `unconfirmed`. If this method throws,
    /// nothing was written.
    private func commit(_ group: [Request], since start: ContinuousClock.Instant) throws -> [[Rows]]? {
        let connection = try connected()
        let begun: [Rows], mark: CommitMark?
        do {
            let isWriting: PostgresStatement = "SELECT txid_current_if_assigned() IS NOT NULL"
            begun = try connection.all(["BEGIN"] + group.flatMap(\.statements) + [isWriting])
            mark = begun.last?.first?.bool(0) == true ? try connection.nextMark() : nil
        } catch {
            rollBack(after: error)
            throw error
        }
        var rest = begun.dropFirst()
        let rows = group.map { request in
            defer { rest = rest.dropFirst(request.statements.count) }
            return Array(rest.prefix(request.statements.count))
        }
        guard let mark else {
            // The transaction has written nothing, so its results hold even if its end fails.
            if (try? connection.all(["COMMIT"])) == nil { self.connection = nil }
            return rows
        }
        // The notices are sent after COMMIT. If the transaction itself sent them, its end would have to wait for other
        // servers' transactions that also send notices. Their outcomes are ignored: a server that misses a notice
        // itself looks for changes every few seconds.
        let answers = connection.run([mark.statement, "COMMIT"] + notices(of: group))
        if answers.lost != nil { self.connection = nil }
        if answers.outcomes.count > 1, case .success(let end) = answers.outcomes[1] {
            guard end.command == "COMMIT" else { throw StoreError.io("\(dialer.name) rolled the change back") }
            return rows
        }
        if let lost = answers.lost {
            unconfirmed.append(
                UnconfirmedGroup(group: group, rows: rows, mark: mark, start: start, detail: lost.detail))
            return nil
        }
        for case .failure(let error) in answers.outcomes {
            rollBack(after: error)
            throw error
        }
        throw StoreError.io("\(dialer.name) did not commit the change")
    }

    /// Ends the transaction in which a statement has failed, or drops the connection if it is lost.
    private func rollBack(after error: any Error) {
        if let error = error as? ServerError, !error.isFatal, (try? connection?.endTransaction()) != nil { return }
        connection = nil
    }

    /// Finds out which unconfirmed groups are stored, and gives their requests the results or errors.
    ///
    /// - Parameter isLast: whether there is no later attempt. Otherwise the attempts go on until `patience` is over.
    private func settle(isLast: Bool = false) {
        unconfirmed = unconfirmed.filter { unconfirmed in
            switch isStored(unconfirmed.mark) {
            case true?: succeed(unconfirmed.group, unconfirmed.rows, since: unconfirmed.start)
            case false?:
                fail(unconfirmed.group, .unavailable("the change was not stored: \(unconfirmed.detail)"))
            case nil:
                guard isLast || .now > unconfirmed.start + patience else { return true }
                fail(
                    unconfirmed.group,
                    .outcomeUnknown(
                        "\(dialer.name): the connection was lost before the change was confirmed: \(unconfirmed.detail)"
                    ))
            }
            return false
        }
    }

    /// Returns whether a transaction is stored, or `nil` if the database cannot say that yet.
    private func isStored(_ mark: CommitMark) -> Bool? {
        do {
            return try connected().isStored(mark)
        } catch {
            connection = nil
            return nil
        }
    }

    /// Returns the statements that notify the other servers of the writes in one transaction. Many writes need several
    /// statements, because the payload of a PostgreSQL notification must have fewer than 8,000 bytes.
    private func notices(of group: [Request]) -> [PostgresStatement] {
        let words = group.compactMap(\.notice)
        return stride(from: 0, to: words.count, by: Self.noticesOfPayload).map { start in
            let payload = ([sender] + words[start..<min(start + Self.noticesOfPayload, words.count)]).joined(
                separator: " ")
            return "SELECT pg_notify(\(raw: StoreNotice.channel), \(payload))"
        }
    }

    private static let noticesOfPayload = 150  // one notice has at most 44 bytes, and a payload at most 7,999

    private func connected() throws -> PostgresConnection {
        if let retirement = dialer.retirement { throw retirement }
        if let connection, connection.isAlive { return connection }
        connection = nil
        let made = try dialer.connect()
        connection = made
        return made
    }
}
#endif
