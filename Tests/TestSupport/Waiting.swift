import Foundation
import Synchronization

/// Some threads change the value, others wait for it, two minutes at most (then `false`):
///
/// ```
/// let served = Watched<[Int]>([])
/// Thread.detachNewThread { served.withLock { $0.append(1) } }
/// #expect(served.wait { $0 == [1] })
/// ```
public final class Watched<Value: Sendable>: Sendable {
    private struct Waiter: Sendable {
        let isMet: @Sendable (Value) -> Bool
        let resume: @Sendable (Bool) -> Void
    }

    private struct State: Sendable {
        var value: Value
        var waiters: [Int: Waiter] = [:]
        var lastWaiter = 0
    }
    private let state: Mutex<State>

    public init(_ value: Value) { state = Mutex(State(value: value)) }

    public var value: Value { state.withLock { $0.value } }

    @discardableResult
    public func withLock<Result: Sendable>(_ body: (inout Value) throws -> Result) rethrows -> Result {
        let (result, met) = try state.withLock { state in
            let result = try body(&state.value)
            let met = state.waiters.filter { $0.value.isMet(state.value) }
            for number in met.keys { state.waiters[number] = nil }
            return (result, met.values)
        }
        for waiter in met { waiter.resume(true) }
        return result
    }

    /// Suspends the task.
    public func wait(until isMet: @escaping @Sendable (Value) -> Bool) async -> Bool {
        await withCheckedContinuation { continuation in
            let number = add(Waiter(isMet: isMet) { continuation.resume(returning: $0) })
            guard let number else { return continuation.resume(returning: true) }
            DispatchQueue.global().asyncAfter(deadline: .now() + .seconds(120)) { [weak self] in
                self?.remove(number)?.resume(false)
            }
        }
    }

    /// Blocks the thread. Starts none.
    public func wait(until isMet: @escaping @Sendable (Value) -> Bool) -> Bool {
        let met = DispatchSemaphore(value: 0)
        guard let number = add(Waiter(isMet: isMet) { _ in met.signal() }) else { return true }
        if met.wait(timeout: .now() + .seconds(120)) == .success { return true }
        return remove(number) == nil
    }

    /// `nil`: met already.
    private func add(_ waiter: Waiter) -> Int? {
        state.withLock { state in
            if waiter.isMet(state.value) { return nil }
            state.lastWaiter += 1
            state.waiters[state.lastWaiter] = waiter
            return state.lastWaiter
        }
    }

    private func remove(_ number: Int) -> Waiter? { state.withLock { $0.waiters.removeValue(forKey: number) } }
}

/// Happens once, or is a switch.
public typealias Flag = Watched<Bool>

extension Watched where Value == Bool {
    public convenience init() { self.init(false) }

    public var isSet: Bool { value }

    public func set(_ new: Bool = true) { withLock { $0 = new } }

    @discardableResult
    public func wait() async -> Bool { await wait { $0 } }

    @discardableResult
    public func wait() -> Bool { wait { $0 } }
}

/// Polls 6,000 times (two minutes, on a starved machine longer), then `false`. Only for what announces no change:
/// another process's metrics, files or refusals, or a counter without an event. Otherwise use `Watched`, a stream's
/// event or a blocking read.
public func eventually(_ condition: () throws -> Bool) rethrows -> Bool {
    var polling = Polling()
    while try !condition() {
        guard let pause = polling.next() else { return false }
        Thread.sleep(forTimeInterval: pause)
    }
    return true
}

/// Suspends between polls.
public func eventually(
    isolation: isolated (any Actor)? = #isolation, _ condition: () async throws -> Bool
) async rethrows -> Bool {
    var polling = Polling()
    while try await !condition() {
        guard let pause = polling.next() else { return false }
        try? await Task.sleep(for: .seconds(pause))
    }
    return true
}

/// Otherwise Swift would choose the blocking one for a condition without `await`, even in a task.
public func eventually(
    isolation: isolated (any Actor)? = #isolation, _ condition: () throws -> Bool
) async rethrows -> Bool {
    try await eventually(isolation: isolation) { () async throws -> Bool in try condition() }
}

/// Short at first: most conditions are met soon.
private struct Polling {
    private var pause = 0.000_5
    private var left = 6_000

    /// Seconds; `nil` when it was enough. Counted, not timed: each poll lets others run.
    mutating func next() -> Double? {
        defer { pause = min(2 * pause, 0.02) }
        left -= 1
        return left > 0 ? pause : nil
    }
}
