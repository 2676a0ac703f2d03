import Foundation
import Synchronization

/// A value that some threads change and others wait for:
///
///     let served = Watched<[Int]>([])
///     Thread.detachNewThread { served.withLock { $0.append(1) } }
///     #expect(served.wait { $0 == [1] })
///
/// Every `wait` gives up after two minutes, and then returns `false`.
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

    /// Suspends the task until the value meets a condition.
    public func wait(until isMet: @escaping @Sendable (Value) -> Bool) async -> Bool {
        await withCheckedContinuation { continuation in
            let number = add(Waiter(isMet: isMet) { continuation.resume(returning: $0) })
            guard let number else { return continuation.resume(returning: true) }
            DispatchQueue.global().asyncAfter(deadline: .now() + .seconds(120)) { [weak self] in
                self?.remove(number)?.resume(false)
            }
        }
    }

    /// Blocks the thread until the value meets a condition. Starts no thread.
    public func wait(until isMet: @escaping @Sendable (Value) -> Bool) -> Bool {
        let met = DispatchSemaphore(value: 0)
        guard let number = add(Waiter(isMet: isMet) { _ in met.signal() }) else { return true }
        if met.wait(timeout: .now() + .seconds(120)) == .success { return true }
        return remove(number) == nil
    }

    /// `nil` if the value already meets the condition.
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

/// An event that happens once, or a switch.
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

/// Polls a condition, and returns `false` if it is not met within two minutes. Only for what announces no change: the
/// metrics, the files or the refusals of another process, or a counter without an event. Tests wait for everything else
/// with `Watched`, a stream's event or a blocking read.
public func eventually(_ condition: () throws -> Bool) rethrows -> Bool {
    var polling = Polling()
    while try !condition() {
        guard let pause = polling.next() else { return false }
        Thread.sleep(forTimeInterval: pause)
    }
    return true
}

/// The same for a task, which is suspended between two polls.
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

/// Without this overload, Swift would choose the blocking function for a condition without `await`, even in a task.
public func eventually(
    isolation: isolated (any Actor)? = #isolation, _ condition: () throws -> Bool
) async rethrows -> Bool {
    try await eventually(isolation: isolation) { () async throws -> Bool in try condition() }
}

/// The pauses between polls: short at first, because most conditions are met soon.
private struct Polling {
    private var pause = 0.000_5
    private let end = ContinuousClock.now + .seconds(120)

    /// In seconds. `nil` when the time is over.
    mutating func next() -> Double? {
        defer { pause = min(2 * pause, 0.02) }
        return .now < end ? pause : nil
    }
}
