import Synchronization

/// Lets each client (a token) have one piece of work under way, so that its many requests do not keep those of others
/// waiting.
public final class Turns: Sendable {
    private let locks = Mutex<[String: (lock: FIFOLock, users: Int)]>([:])

    public init() {}

    /// Runs `body` in the client's turn; without a client, at once. Throws `CancellationError` if the task is cancelled
    /// while it waits.
    public func withTurn<Value>(of client: String?, _ body: () async throws -> Value) async throws -> Value {
        guard let client else { return try await body() }
        let lock = locks.withLock { locks in
            let (lock, users) = locks[client] ?? (FIFOLock(), 0)
            locks[client] = (lock, users + 1)
            return lock
        }
        defer {
            locks.withLock { locks in
                guard let (lock, users) = locks[client] else { return }
                locks[client] = users > 1 ? (lock, users - 1) : nil
            }
        }
        return try await lock.withLock(body)
    }

    /// The number of clients that have or await a turn.
    var clientCount: Int { locks.withLock { $0.count } }

    /// Whether work of the client waits for its turn.
    public func isAwaited(by client: String) -> Bool { locks.withLock { $0[client]?.lock.isAwaited } ?? false }
}
