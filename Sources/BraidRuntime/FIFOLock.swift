import Synchronization

/// A lock for tasks, which acquire it in the order of their arrival. A waiting task is suspended and blocks no thread.
public final class FIFOLock: Sendable {
    private struct State {
        var isLocked = false
        /// The numbers of the waiting tasks in order of arrival, from index `next` on. Some of these tasks may have
        /// been cancelled in the meantime.
        var queue: [Int] = []
        var next = 0
        var waiters: [Int: CheckedContinuation<Bool, Never>] = [:]
        var lastNumber = 0
    }

    private let state = Mutex(State())

    public init() {}

    /// Acquires the lock. Throws `CancellationError` if the task is cancelled while it waits.
    public func lock() async throws(CancellationError) {
        if lockIfFree() { return }
        let number = state.withLock { state in
            state.lastNumber += 1
            return state.lastNumber
        }
        let isLocked = await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                let isLocked: Bool? = state.withLock { state in
                    if !state.isLocked {
                        state.isLocked = true
                        return true
                    }
                    // If the task was cancelled before this check, `Task.isCancelled` is `true`. If the task is
                    // cancelled later, the cancellation handler finds the task in `waiters`.
                    if Task.isCancelled { return false }
                    state.queue.append(number)
                    state.waiters[number] = continuation
                    return nil
                }
                if let isLocked { continuation.resume(returning: isLocked) }
            }
        } onCancel: {
            state.withLock { $0.waiters.removeValue(forKey: number) }?.resume(returning: false)
        }
        if !isLocked { throw CancellationError() }
    }

    /// Acquires the lock if it is free. This method never waits. It returns whether this call has acquired the lock.
    public func lockIfFree() -> Bool {
        state.withLock { state in
            defer { state.isLocked = true }
            return !state.isLocked
        }
    }

    /// Whether at least one task waits for the lock.
    public var isAwaited: Bool { state.withLock { !$0.waiters.isEmpty } }

    /// Releases the lock. If tasks wait for the lock, the one that has waited longest acquires it.
    public func unlock() {
        let waiter: CheckedContinuation<Bool, Never>? = state.withLock { state in
            while state.next < state.queue.count {
                let number = state.queue[state.next]
                state.next += 1
                if state.next > 64, state.next * 2 > state.queue.count {
                    state.queue.removeFirst(state.next)
                    state.next = 0
                }
                if let waiter = state.waiters.removeValue(forKey: number) { return waiter }
            }
            state.isLocked = false
            state.queue = []
            state.next = 0
            return nil
        }
        waiter?.resume(returning: true)
    }

    /// Acquires the lock, runs `body` while holding the lock, and then releases it.
    public func withLock<Value>(_ body: () async throws -> Value) async throws -> Value {
        try await lock()
        defer { unlock() }
        return try await body()
    }
}
