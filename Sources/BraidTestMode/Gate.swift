import BraidRuntime
import Synchronization

/// The API's requests pass it, except `/v1/test`: any number at once, but none during a reset.
final class Gate: Sendable {
    private struct State {
        /// By number: what ends the request when the gate closes; `.some(nil)` if it ends by itself. A plain `nil`
        /// would remove the entry.
        var passes: [Int: (@Sendable () -> Void)?] = [:]
        /// Numbers of requests that a fault delays.
        var delays: Set<Int> = []
        var lastPass = 0
        var isClosed = false
        /// Requests outside, until the gate opens.
        var waiting: [CheckedContinuation<Void, Never>] = []
        /// The reset, until nobody is inside.
        var closing: CheckedContinuation<Void, Never>?
    }

    private let state = Mutex(State())
    /// One reset at a time.
    private let closings = FIFOLock()

    /// One request inside, until `leave()`.
    struct Pass: Sendable {
        fileprivate let gate: Gate
        fileprivate let number: Int

        /// Ends the request when the gate closes; needed if it waits for an event or its client.
        func onClose(_ end: @escaping @Sendable () -> Void) {
            let isLate = gate.state.withLock { state in
                state.passes[number] = .some(end)
                return state.isClosed
            }
            if isLate { end() }
        }

        /// Work that may wait for an event: the closing gate cancels it.
        func waiting<Value: Sendable>(
            isDelay: Bool = false, for work: @escaping @Sendable () async -> Value
        ) async -> Value {
            let task = Task { await work() }
            onClose { task.cancel() }
            if isDelay { gate.state.withLock { _ = $0.delays.insert(number) } }
            defer { gate.state.withLock { _ = $0.delays.remove(number) } }
            return await withTaskCancellationHandler {
                await task.value
            } onCancel: {
                task.cancel()
            }
        }

        /// Called once, at the request's end.
        func leave() {
            let closing = gate.state.withLock { state in
                state.passes[number] = nil
                return state.passes.isEmpty ? state.closing.take() : nil
            }
            closing?.resume()
        }
    }

    func enter() async -> Pass {
        while true {
            let pass: Pass? = state.withLock { state in
                guard !state.isClosed else { return nil }
                state.lastPass += 1
                state.passes[state.lastPass] = .some(nil)
                return Pass(gate: self, number: state.lastPass)
            }
            if let pass { return pass }
            await withCheckedContinuation { continuation in
                let isOpen = state.withLock { state in
                    if state.isClosed { state.waiting.append(continuation) }
                    return !state.isClosed
                }
                if isOpen { continuation.resume() }
            }
        }
    }

    func cancelDelays() {
        for end in state.withLock({ state in state.delays.compactMap { state.passes[$0] ?? nil } }) { end() }
    }

    /// Closes the gate, ends those that wait inside, and runs `work` when nobody is inside.
    func alone<Value>(_ work: () async throws -> Value) async throws -> Value {
        try await closings.withLock {
            for end in state.withLock({ state in
                state.isClosed = true
                return state.passes.values.compactMap(\.self)
            }) {
                end()
            }
            await withCheckedContinuation { continuation in
                let isEmpty = state.withLock { state in
                    if !state.passes.isEmpty { state.closing = continuation }
                    return state.passes.isEmpty
                }
                if isEmpty { continuation.resume() }
            }
            defer {
                let waiting = state.withLock { state in
                    state.isClosed = false
                    defer { state.waiting = [] }
                    return state.waiting
                }
                for continuation in waiting { continuation.resume() }
            }
            return try await work()
        }
    }
}
