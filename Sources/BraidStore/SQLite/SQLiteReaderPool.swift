import BraidRuntime

/// A pool of SQLite connections for reading. Each connection has its own thread.
///
/// A read waits until one of a limited number of connections is free. While a read waits or runs, it blocks none of the
/// threads that run Swift's tasks. Reads begin in the order in which they arrive.
///
/// `Sendable` is unchecked: the lock `condition` guards the pool's variables.
final class SQLiteReaderPool: @unchecked Sendable {
    private typealias Job = @Sendable (Result<SQLiteSharedConnection, any Error>) -> Void

    private let condition = Condition()
    /// The reads in order of arrival. The reads from index `next` on wait for a thread.
    private var jobs: [Job?] = []
    private var next = 0
    private var threads = 0
    /// The number of the pool's threads that wait for a read. A thread that was woken for a read also counts until it
    /// runs.
    private var idleThreads = 0
    private var isClosed = false
    private let limit: Int
    private let connect: @Sendable () throws -> SQLiteSharedConnection

    /// - Parameters:
    ///   - count: the most connections that the pool opens, at least 1. The pool opens another connection when all its
    ///     connections are busy.
    ///   - connect: opens a connection. The pool closes the connection.
    init(count: Int, connect: @escaping @Sendable () throws -> SQLiteSharedConnection) {
        limit = max(1, count)
        self.connect = connect
    }

    /// Calls `body` in a read transaction, so that `body` reads the data as it is at one moment. That moment is after
    /// the call of this method, never before.
    ///
    /// Cancelling the calling task does not end the read.
    ///
    /// - Throws: what `body` throws; the reason why no connection can be opened; ``SQLiteError/closed`` after
    ///   ``close()``.
    func read<Value: Sendable>(
        _ body: @escaping @Sendable (SQLiteConnection) throws -> Value
    ) async throws -> Value {
        try await withCheckedThrowingContinuation { continuation in
            run { connection in
                continuation.resume(
                    with: Result {
                        try connection.get().withConnection { connection in
                            try connection.inTransaction(.deferred) { try body(connection) }
                        }
                    })
            }
        }
    }

    private func run(_ job: @escaping Job) {
        let refusal: SQLiteError? = condition.withLock {
            if isClosed { return .closed }
            jobs.append(job)
            if jobs.count - next <= idleThreads {
                condition.signal()
            } else if threads < limit, startThread(named: "store-reader", { [self] in work() }) == 0 {
                threads += 1
            }
            if threads > 0 { return nil }
            jobs.removeLast()
            return Self.noThread
        }
        if let refusal { job(.failure(refusal)) }
    }

    private static let noThread = SQLiteError(code: .noMemory, message: "no thread can be started")

    /// Runs on each thread of the pool. Performs one read after the other until the pool is closed and no read waits.
    private func work() {
        var connection: SQLiteSharedConnection?
        while let job = nextJob() {
            if connection == nil {
                do {
                    connection = try connect()
                } catch {
                    job(.failure(error))
                    continue
                }
            }
            if let connection { job(.success(connection)) }
        }
        connection?.close()
        condition.withLock {
            threads -= 1
            condition.broadcast()
        }
    }

    /// Waits for the next read, and returns it. Returns `nil` when the pool is closed and no read waits.
    private func nextJob() -> Job? {
        condition.withLock {
            while next == jobs.count {
                if isClosed { return nil }
                idleThreads += 1
                condition.wait()
                idleThreads -= 1
            }
            let job = jobs[next]
            jobs[next] = nil
            next += 1
            if next == jobs.count {
                jobs.removeAll(keepingCapacity: jobs.capacity <= 64)
                next = 0
            } else if next > 64, next * 2 > jobs.count {
                jobs.removeFirst(next)
                next = 0
            }
            return job
        }
    }

    /// The number of reads that wait for a thread.
    var queued: Int { condition.withLock { jobs.count - next } }

    /// Refuses new reads, finishes the waiting reads, and closes the pool's connections. The calling thread is blocked
    /// until all connections are closed.
    func close() {
        condition.withLock {
            isClosed = true
            condition.broadcast()
            while threads > 0 { condition.wait() }
        }
    }
}
