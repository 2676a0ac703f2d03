import Synchronization

/// Lets each client (a token) have one piece of work under way, others in order, so that one client's many do not delay
/// those of others.
public final class Turns: Sendable {
    private let locks = Mutex<[String: (lock: FIFOLock, users: Int)]>([:])

    public init() {}

    /// Without a client, runs at once. Throws `CancellationError` if the task is cancelled while it waits.
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

    var clientCount: Int { locks.withLock { $0.count } }

    /// Whether work of the client waits.
    public func isAwaited(by client: String) -> Bool { locks.withLock { $0[client]?.lock.isAwaited } ?? false }
}
