import BraidRuntime
import BraidStore
import Synchronization

/// The queries that `/readyz` and `/metrics` send to the store. A store that hangs delays each of these answers by at
/// most ``longestWait``.
final class StoreHealth: Sendable {
    /// The longest time for which a request waits for the store. `longestWait` is shorter than the 5 seconds after
    /// which the command `braid-server health` fails.
    static let longestWait = Duration.seconds(4)

    private let checks: SharedOperation<StoreCondition>
    private let sizes: SharedOperation<StoreSize>

    init(_ store: any SessionStore) {
        checks = SharedOperation { try await store.check() }
        sizes = SharedOperation { try await store.size() }
    }

    /// Returns whether the store accepts writes. Throws the reason if the store cannot be read, or if it cannot be
    /// written for another reason than a full disk.
    func condition() async throws -> StoreCondition { try await checks.value(within: Self.longestWait) }

    func size() async throws -> StoreSize { try await sizes.value(within: Self.longestWait) }
}

/// An operation that runs at most once at a time. Callers that arrive while the operation runs wait for its result, so
/// a store that hangs is not asked again and again.
private final class SharedOperation<Value: Sendable>: Sendable {
    private typealias Waiter = CheckedContinuation<Value, any Error>

    private struct State {
        var waiters: [Int: Waiter] = [:]
        var nextID = 0
        var isRunning = false
    }

    private let state = Mutex(State())
    private let operation: @Sendable () async throws -> Value

    init(_ operation: @escaping @Sendable () async throws -> Value) { self.operation = operation }

    /// Returns the operation's result. Throws `unavailable` if the operation takes longer than `time`. The operation
    /// then continues to run.
    func value(within time: Duration) async throws -> Value {
        try await withCheckedThrowingContinuation { waiter in
            let (id, isFirst) = state.withLock { state in
                defer {
                    state.nextID += 1
                    state.isRunning = true
                }
                state.waiters[state.nextID] = waiter
                return (state.nextID, !state.isRunning)
            }
            let executor = Workers.shared.operations
            Task(executorPreference: executor) { [self] in
                try? await Task.sleep(for: time)
                state.withLock { $0.waiters.removeValue(forKey: id) }?
                    .resume(throwing: StoreError.unavailable("the database did not answer within \(time)"))
            }
            guard isFirst else { return }
            Task(executorPreference: executor) { [self] in
                let result: Result<Value, any Error>
                do { result = .success(try await operation()) } catch { result = .failure(error) }
                let waiters = state.withLock { state in
                    defer {
                        state.waiters = [:]
                        state.isRunning = false
                    }
                    return state.waiters.values.map { $0 }
                }
                for waiter in waiters { waiter.resume(with: result) }
            }
        }
    }
}
