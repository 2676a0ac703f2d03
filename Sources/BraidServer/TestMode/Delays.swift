import Synchronization

/// The requests that a fault delays, before they are handled.
final class Delays: Sendable {
    private struct State {
        var waiting: [Int: Task<Void, any Error>] = [:]
        var last = 0
    }

    private let state = Mutex(State())

    /// Waits for a time. Throws `CancellationError` if the task or all delays are cancelled meanwhile.
    func wait(for time: Duration) async throws {
        let wait = Task { try await Task.sleep(for: time) }
        let number = state.withLock { state in
            state.last += 1
            state.waiting[state.last] = wait
            return state.last
        }
        defer { state.withLock { $0.waiting[number] = nil } }
        try await withTaskCancellationHandler {
            try await wait.value
        } onCancel: {
            wait.cancel()
        }
    }

    /// Ends all waits with an error, so that the delayed requests are not carried out.
    func cancel() {
        for wait in state.withLock({ $0.waiting }).values { wait.cancel() }
    }
}
