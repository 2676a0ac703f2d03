import Synchronization

/// For tasks, in order of arrival. Waiting blocks no thread.
///
///     try await lock.withLock { … }
///
/// A debug build stops the process if a task acquires locks against the order of their ranks.
package final class FIFOLock: Sendable {
    /// Locks may be acquired only upwards, so that no two tasks wait for each other.
    package struct Rank: Sendable, Comparable {
        let number: Int

        package init(_ number: Int) { self.number = number }

        package static let leaf = Rank(.max)

        package static func < (one: Rank, other: Rank) -> Bool { one.number < other.number }
    }

    private struct State {
        var isLocked = false
        /// Waiters' numbers by arrival, from `next` on. Cancelled ones are missing in `waiters`.
        var queue: [Int] = []
        var next = 0
        var waiters: [Int: CheckedContinuation<Bool, Never>] = [:]
        var lastNumber = 0
    }

    private let state = Mutex(State())
    private let rank: Rank

    package init(rank: Rank = .leaf) { self.rank = rank }

    /// Throws `CancellationError` if cancelled while waiting.
    package func withLock<Value>(_ body: () async throws -> Value) async throws -> Value {
        #if DEBUG
        let held = HeldLock(rank)
        try await lock()
        defer {
            held.release()
            unlock()
        }
        return try await HeldLock.$innermost.withValue(held) { try await body() }
        #else
        try await lock()
        defer { unlock() }
        return try await body()
        #endif
    }

    /// `nil` if not free.
    package func withLockIfFree<Value>(_ body: () throws -> Value) rethrows -> Value? {
        guard lockIfFree() else { return nil }
        defer { unlock() }
        return try body()
    }

    package var isAwaited: Bool { state.withLock { !$0.waiters.isEmpty } }

    private func lock() async throws(CancellationError) {
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
                    // If cancelled later, the handler finds it in `waiters`.
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

    private func lockIfFree() -> Bool {
        state.withLock { state in
            defer { state.isLocked = true }
            return !state.isLocked
        }
    }

    private func unlock() {
        let waiter: CheckedContinuation<Bool, Never>? = state.withLock { state in
            while state.next < state.queue.count {
                let number = state.queue[state.next]
                state.next += 1
                if state.next > 64, state.next * 2 > state.queue.count {
                    state.queue.removeFirst(state.next)
                    state.next = 0
                }
                // `isLocked` stays true: the lock passes to this waiter.
                if let waiter = state.waiters.removeValue(forKey: number) { return waiter }
            }
            state.isLocked = false
            state.queue = []
            state.next = 0
            return nil
        }
        waiter?.resume(returning: true)
    }
}

#if DEBUG
private final class HeldLock: Sendable {
    @TaskLocal static var innermost: HeldLock?

    private let rank: FIFOLock.Rank
    /// Other tasks inherit the task local value, but not the lock.
    private let task = HeldLock.currentTask
    private let outer: HeldLock?
    private let isReleased = Atomic(false)

    init(_ rank: FIFOLock.Rank) {
        self.rank = rank
        let task = HeldLock.currentTask
        var outer = HeldLock.innermost
        while let lock = outer, lock.task != task || lock.isReleased.load(ordering: .relaxed) { outer = lock.outer }
        self.outer = outer
        if let outer, outer.rank >= rank {
            preconditionFailure("A lock of rank \(rank.number) is acquired under one of rank \(outer.rank.number).")
        }
    }

    func release() { isReleased.store(true, ordering: .relaxed) }

    private static var currentTask: Int? { withUnsafeCurrentTask { $0?.hashValue } }
}
#endif

/// Lets each client (a token) do one piece of work at a time, so that its many do not delay others.
package final class Turns: Sendable {
    private let locks = Mutex<[String: (lock: FIFOLock, users: Int)]>([:])

    package init() {}

    /// Runs `body` after the client's earlier work, or at once without a client. Throws `CancellationError` if
    /// cancelled while waiting.
    package func withTurn<Value>(of client: String?, _ body: () async throws -> Value) async throws -> Value {
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

    package func isAwaited(by client: String) -> Bool { locks.withLock { $0[client]?.lock.isAwaited } ?? false }
}
