import BraidRuntime

/// A pool of SQLite connections for reading, each with a separate thread.
///
/// A read waits for one of a bounded number of connections. While a read waits or runs, it blocks none of the threads
/// that run Swift's tasks. Reads begin in order of arrival.
///
/// `Sendable` is unchecked: `condition` guards the variables.
final class SQLiteReaderPool: @unchecked Sendable {
    private typealias Job = @Sendable (Result<SQLiteSharedConnection, any Error>) -> Void

    private let condition = Condition()
    /// The reads that wait for a thread, in order of arrival, from index `next` on.
    private var jobs: [Job?] = []
    private var next = 0
    private var threads = 0
    /// The number of pool threads that wait for a read, or were woken for a read and do not run yet.
    private var idleThreads = 0
    private var isClosed = false
    private let limit: Int
    private let connect: @Sendable () throws -> SQLiteSharedConnection

    /// - Parameters:
    ///   - count: the most connections that the pool opens, at least 1. The pool opens a connection when all others are
    ///     busy.
    ///   - connect: opens a connection. The pool closes the connection.
    init(count: Int, connect: @escaping @Sendable () throws -> SQLiteSharedConnection) {
        limit = max(1, count)
        self.connect = connect
    }

    /// Calls `body` in a read transaction, so that all it reads is the data at one moment. That moment is after the
    /// call of this method, never before.
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

    /// Runs on each thread of the pool: performs one read after the other until the pool is closed.
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

    /// Waits for the next read. Returns `nil` when the pool is closed and no read waits.
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

    /// Refuses new reads, finishes the waiting reads, and closes the pool's connections. Blocks the calling thread
    /// until the connections are closed.
    func close() {
        condition.withLock {
            isClosed = true
            condition.broadcast()
            while threads > 0 { condition.wait() }
        }
    }
}
