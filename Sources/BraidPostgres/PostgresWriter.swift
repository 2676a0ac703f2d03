#if PostgreSQL
import BraidRuntime
import BraidStore

/// The one who writes: takes what waits (`WriteQueue`) and commits it as one transaction, in one pipeline, so that one
/// journey and one flush of the database's disk serve all; while that is under way, the next group gathers.
final class PostgresWriter: @unchecked Sendable {
    /// Something to be written in the next transaction.
    struct Request: Sendable {
        /// They write all or nothing, whatever is stored: whether they wrote is told by what they return.
        let statements: [PostgresStatement]
        /// What the other servers are told once it is committed; nil: nothing, or the statements tell it.
        let notice: String?
        /// Called after COMMIT, with what each statement returned.
        let succeed: @Sendable ([Rows]) -> Void
        let fail: @Sendable (StoreError) -> Void
    }

    /// Guards what follows down to `dialer`; everything below belongs to the thread.
    private let condition = Condition()
    private var waiting = WriteQueue<Request>()
    private var isStopping = false

    private let dialer: Dialer
    /// Goes before notices.
    private let sender: String
    private var connection: PostgresConnection?
    let counters = StoreCounters()
    private let end = Latch()

    /// `connection`: the first one.
    init(dialer: Dialer, connection: sending PostgresConnection, sender: String) {
        self.dialer = dialer
        self.sender = sender
        self.connection = connection
        startThread(named: "store-writer") { [self] in run() }
    }

    /// Writes with the next group. Returns when it is committed, whether or not the task is cancelled meanwhile.
    ///
    /// `cost`: about how many rows it writes, or as much else. `value`: what the statements' rows say; throws the
    /// refusal, where they have written nothing.
    func write<Value: Sendable>(
        _ statements: [PostgresStatement], cost: Int = 1, notice: String? = nil,
        value: @escaping @Sendable ([Rows]) throws -> Value
    ) async throws -> Value {
        try await withCheckedThrowingContinuation { continuation in
            let request = Request(
                statements: statements, notice: notice,
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

    /// How many writes wait for the next group.
    var queued: Int { condition.withLock { waiting.count } }

    /// Lets the thread finish what waits, and end.
    func stop() {
        condition.withLock {
            isStopping = true
            condition.signal()
        }
    }

    /// Returns when the connection is closed.
    func stopped() async {
        stop()
        await end.opened()
    }
}

// The thread.
extension PostgresWriter {
    private func run() {
        while let group = next() { write(group) }
        connection = nil
        end.open()
    }

    /// The next group; nil when the thread is to end.
    private func next() -> [Request]? {
        condition.withLock {
            while waiting.isEmpty && !isStopping { condition.wait() }
            return waiting.isEmpty ? nil : waiting.takeGroup()
        }
    }

    /// Everyone in the group is told.
    private func write(_ group: [Request], attempt: Int = 1) {
        let start = ContinuousClock.now
        do {
            let rows = try commit(group)
            counters.count(writes: group.count, duration: ContinuousClock.now - start)
            for (request, rows) in zip(group, rows) { request.succeed(rows) }
        } catch let error as ServerError where error.isOfOneRequest && group.count > 1 {
            // One of them is at fault, and its writes cannot be taken back alone: each for itself.
            for request in group { write([request]) }
        } catch let error as ServerError where error.isOfTheMoment && attempt < 5 {
            write(group, attempt: attempt + 1)
        } catch {
            counters.count(failures: group.count)
            for request in group { request.fail(StoreError(error, of: dialer.name)) }
        }
    }

    /// Returns the rows of each request. Nothing was written when it throws, unless it says that this is not known.
    private func commit(_ group: [Request]) throws -> [[Rows]] {
        let connection = try connected()
        // Notices come behind the transaction: within it, they would let it end only after those of other servers that
        // do the same.
        let answers = connection.run(["BEGIN"] + group.flatMap(\.statements) + ["COMMIT"] + notices(of: group))
        if answers.lost != nil { self.connection = nil }
        let count = group.reduce(2) { $0 + $1.statements.count }
        var rows: [Rows] = []
        for (index, outcome) in answers.outcomes.enumerated() {
            switch outcome {
            case _ where index >= count: break  // a notice; who misses one looks for itself
            case .success(let answer): rows.append(answer)
            // A connection that ends in COMMIT may have committed.
            case .failure(let error) where error.isFatal && index == count - 1: throw unknown(error.message)
            case .failure(let error):
                if answers.lost == nil, (try? connection.endTransaction()) == nil { self.connection = nil }
                throw error
            }
        }
        if let lost = answers.lost, rows.count < count { throw unknown(lost.detail) }
        guard rows.count == count, rows.last?.command == "COMMIT" else {
            throw StoreError.io("\(dialer.name) rolled the change back")
        }
        var rest = rows.dropFirst()
        return group.map { request in
            defer { rest = rest.dropFirst(request.statements.count) }
            return Array(rest.prefix(request.statements.count))
        }
    }

    /// A few statements, for a payload has 8,000 bytes at most.
    private func notices(of group: [Request]) -> [PostgresStatement] {
        let words = group.compactMap(\.notice)
        return stride(from: 0, to: words.count, by: Self.noticesOfPayload).map { start in
            let payload = ([sender] + words[start..<min(start + Self.noticesOfPayload, words.count)]).joined(
                separator: " ")
            return "SELECT pg_notify(\(raw: StoreNotice.channel), \(payload))"
        }
    }

    private static let noticesOfPayload = 150  // of 44 bytes at most

    private func unknown(_ detail: String) -> StoreError {
        .io(
            "\(dialer.name): the connection was lost before the change was confirmed, and whether it is stored is not known: \(detail)"
        )
    }

    private func connected() throws -> PostgresConnection {
        if let connection, connection.isAlive { return connection }
        connection = nil
        let made = try dialer.connect()
        connection = made
        return made
    }
}
#endif
