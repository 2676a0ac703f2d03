import BraidRuntime

/// Threads for reads, each with its own connection, so that no read blocks Swift's tasks. Reads begin in order of
/// arrival. While all threads are busy, another starts, up to `limit`.
package final class ReaderPool<Connection>: @unchecked Sendable {
    package struct Read: Sendable {
        /// Returns what hands over the result. May run again with another connection.
        package let perform: @Sendable (Connection) throws -> @Sendable () -> Void
        package let fail: @Sendable (any Error) -> Void
    }

    private let condition = Condition()
    /// Reads from `next` on still wait.
    private var reads: [Read?] = []
    private var next = 0
    private var threads = 0
    /// A thread that is woken for a read counts until it runs.
    private var idleThreads = 0
    private var isClosed = false
    private let limit: Int
    private let serve: @Sendable (Read, Connection?) -> Connection?

    /// - Parameter serve: reads on the given connection, or on a new one if it is missing or broken. Returns the one
    ///   to keep.
    package init(limit: Int = 4, serve: @escaping @Sendable (Read, Connection?) -> Connection?) {
        self.limit = max(1, limit)
        self.serve = serve
    }

    package func read<Value: Sendable>(_ body: @escaping @Sendable (Connection) throws -> Value) async throws -> Value {
        try await withCheckedThrowingContinuation { continuation in
            run(
                perform: { connection in
                    let value = try body(connection)
                    return { continuation.resume(returning: value) }
                },
                fail: { continuation.resume(throwing: $0) })
        }
    }

    /// Like `read`, for a caller outside a task.
    package func run(
        perform: @escaping @Sendable (Connection) throws -> @Sendable () -> Void,
        fail: @escaping @Sendable (any Error) -> Void
    ) {
        let read = Read(perform: perform, fail: fail)
        let refusal: StoreError? = condition.withLock {
            if isClosed { return .closed }
            reads.append(read)
            if reads.count - next <= idleThreads {
                condition.signal()
                return nil
            }
            guard threads < limit else { return nil }
            let failure = startThread(named: "store-reader") { [self] in work() }
            if failure == 0 { threads += 1 }
            if threads > 0 { return nil }
            reads.removeLast()
            return .noThread(failure)
        }
        if let refusal { read.fail(refusal) }
    }

    private func work() {
        var connection: Connection?
        while let read = nextRead() { connection = serve(read, connection) }
        connection = nil  // `close` returns when all connections are closed.
        condition.withLock {
            threads -= 1
            condition.broadcast()
        }
    }

    private func nextRead() -> Read? {
        condition.withLock {
            while next == reads.count {
                if isClosed { return nil }
                idleThreads += 1
                condition.wait()
                idleThreads -= 1
            }
            let read = reads[next]
            reads[next] = nil
            next += 1
            if next == reads.count {
                reads.removeAll(keepingCapacity: reads.capacity <= 64)
                next = 0
            } else if next > 64, next * 2 > reads.count {
                reads.removeFirst(next)
                next = 0
            }
            return read
        }
    }

    package var queued: Int { condition.withLock { reads.count - next } }

    /// Blocks until the waiting reads are done and all connections closed.
    package func close() {
        condition.withLock {
            isClosed = true
            condition.broadcast()
            while threads > 0 { condition.wait() }
        }
    }
}
