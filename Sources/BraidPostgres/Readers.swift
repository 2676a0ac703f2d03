#if PostgreSQL
import BraidRuntime
import BraidStore

/// A pool of threads that perform the store's reads. Each thread has its own connection. If all threads are busy, the
/// pool starts another thread, up to its maximum.
final class Readers: @unchecked Sendable {
    private struct Job: Sendable {
        /// Performs the read on the given connection. Returns a closure that passes the result of the read to the
        /// caller.
        let perform: @Sendable (PostgresConnection) throws -> @Sendable () -> Void
        let fail: @Sendable (StoreError) -> Void
    }

    /// A lock that guards the properties `waiting`, `threads`, `idle` and `isStopping`.
    private let condition = Condition()
    private var waiting: [Job] = []
    private var threads = 0
    private var idle = 0
    private var isStopping = false

    private let dialer: Dialer
    private let maximum: Int
    private let end = Latch()

    init(dialer: Dialer, maximum: Int) {
        self.dialer = dialer
        self.maximum = max(1, maximum)
    }

    /// Performs a read on one of the pool's connections, and returns its result.
    ///
    /// - Parameter body: performs the read on a connection. If this connection turns out to be broken, the pool calls
    ///   `body` again with a new connection.
    func read<Value: Sendable>(_ body: @escaping @Sendable (PostgresConnection) throws -> Value) async throws -> Value {
        try await withCheckedThrowingContinuation { continuation in
            run(
                perform: { connection in
                    let value = try body(connection)
                    return { continuation.resume(returning: value) }
                },
                fail: { continuation.resume(throwing: $0) })
        }
    }

    /// Performs a read on one of the pool's connections. `perform` performs the read, and returns a closure that passes
    /// the result to the caller.
    func run(
        perform: @escaping @Sendable (PostgresConnection) throws -> @Sendable () -> Void,
        fail: @escaping @Sendable (StoreError) -> Void
    ) {
        if let refusal = enqueue(Job(perform: perform, fail: fail)) { fail(refusal) }
    }

    /// Adds a read to the queue. Returns the reason if the pool refuses the read, otherwise `nil`.
    private func enqueue(_ job: Job) -> StoreError? {
        condition.withLock { () -> StoreError? in
            if isStopping { return .closed }
            waiting.append(job)
            guard waiting.count > idle, threads < maximum else {
                condition.signal()
                return nil
            }
            let failure = startThread(named: "store-reader") { [self] in run() }
            if failure == 0 {
                threads += 1
            } else if threads == 0 {
                waiting.removeLast()
                return .noThread(failure)
            }
            return nil
        }
    }

    /// Tells the pool's threads to finish the waiting reads and to end. Returns at once.
    func stop() {
        let hasEnded = condition.withLock {
            isStopping = true
            condition.broadcast()
            return threads == 0
        }
        if hasEnded { end.open() }
    }

    /// Stops the pool's threads, and returns after they have closed their connections.
    func stopped() async {
        stop()
        await end.opened()
    }

    private func run() {
        var connection: PostgresConnection?
        while let job = next() { connection = perform(job, on: connection) }
        connection = nil
        let isLast = condition.withLock {
            threads -= 1
            return threads == 0
        }
        if isLast { end.open() }
    }

    private func next() -> Job? {
        condition.withLock {
            idle += 1
            defer { idle -= 1 }
            while waiting.isEmpty && !isStopping { condition.wait() }
            return waiting.isEmpty ? nil : waiting.removeFirst()
        }
    }

    /// Performs a read, on the thread's connection `kept` if this connection is still alive, otherwise on a new one.
    /// Returns the connection for the thread's next read, or `nil` if the connection is no longer usable.
    private func perform(_ job: Job, on kept: PostgresConnection?) -> PostgresConnection? {
        do {
            if let kept, kept.isAlive, dialer.retirement == nil {
                do {
                    return try perform(job, on: kept)
                } catch is LostConnection {
                    // The kept connection most likely broke while it was idle. A read changes nothing, so the read is
                    // repeated on a new connection.
                }
            }
            return try perform(job, on: dialer.connect())
        } catch {
            job.fail(StoreError(error, of: dialer.name))
            return nil
        }
    }

    private func perform(_ job: Job, on connection: PostgresConnection) throws -> PostgresConnection? {
        do {
            try job.perform(connection)()
            return connection
        } catch let lost as LostConnection {
            throw lost
        } catch {
            job.fail(StoreError(error, of: dialer.name))
            return (try? connection.endTransaction()) == nil ? nil : connection
        }
    }
}
#endif
