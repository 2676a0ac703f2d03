import BraidRuntime
import BraidStore
import Synchronization

/// The queries of `/readyz` and `/metrics`. A store that hangs delays them by at most ``longestWait``.
final class StoreHealth: Sendable {
    /// Less than the 5 seconds of `braid-server health`.
    static let longestWait = Duration.seconds(4)

    private let checks: SharedOperation<StoreCondition>
    private let sizes: SharedOperation<StoreSize>

    init(_ store: any SessionStore) {
        checks = SharedOperation(within: Self.longestWait) { try await store.check() }
        sizes = SharedOperation(within: Self.longestWait) { try await store.size() }
    }

    /// Throws if the store cannot be read, or fails to write for another reason than a full disk.
    func condition() async throws -> StoreCondition { try await checks.value() }

    func size() async throws -> StoreSize { try await sizes.value() }
}

/// Runs at most once at a time: who asks meanwhile shares the result. Beyond its time everyone gets `unavailable`, and
/// a store that hangs is not asked again.
private final class SharedOperation<Value: Sendable>: Sendable {
    private struct State {
        var waiters: [CheckedContinuation<Value, any Error>] = []
        /// `nil` while it does not run.
        var start: ContinuousClock.Instant?
        var hasTimer = false

        mutating func takeWaiters() -> [CheckedContinuation<Value, any Error>] {
            defer { waiters = [] }
            return waiters
        }
    }

    private let state = Mutex(State())
    private let time: Duration
    private let operation: @Sendable () async throws -> Value

    init(within time: Duration, _ operation: @escaping @Sendable () async throws -> Value) {
        self.time = time
        self.operation = operation
    }

    func value() async throws -> Value {
        try await withCheckedThrowingContinuation { waiter in
            let (isLate, isFirst, needsTimer) = state.withLock { state in
                if let start = state.start, start + time <= .now { return (true, false, false) }
                defer {
                    state.waiters.append(waiter)
                    state.start = state.start ?? .now
                    state.hasTimer = true
                }
                return (false, state.start == nil, !state.hasTimer)
            }
            if isLate { return waiter.resume(throwing: late) }
            if isFirst { Task(executorPreference: Workers.shared.probes) { await self.run() } }
            if needsTimer { Task(executorPreference: Workers.shared.probes) { await self.watch() } }
        }
    }

    private func run() async {
        let result: Result<Value, any Error>
        do { result = .success(try await operation()) } catch { result = .failure(error) }
        let waiters = state.withLock { state in
            state.start = nil
            return state.takeWaiters()
        }
        for waiter in waiters { waiter.resume(with: result) }
    }

    /// Ends overlong waits. One timer sleeps on while other runs follow: with one per run, a flood of requests would
    /// keep thousands, because Swift keeps even a cancelled timer until it is due.
    private func watch() async {
        var due: ContinuousClock.Instant? = .now
        while let next = due {
            try? await Task.sleep(until: next)
            let waiters: [CheckedContinuation<Value, any Error>]
            (due, waiters) = state.withLock { state in
                let due = state.waiters.isEmpty ? nil : state.start.map { $0 + time }
                if let due, due > .now { return (due, []) }
                state.hasTimer = false
                return (nil, state.takeWaiters())
            }
            for waiter in waiters { waiter.resume(throwing: late) }
        }
    }

    private var late: StoreError { .unavailable("the database did not answer within \(time)") }
}
