import Synchronization

/// The requests that wait because a fault delays them. The server has not begun to execute these requests.
final class Delays: Sendable {
    private struct State {
        var waiting: [Int: Task<Void, any Error>] = [:]
        var last = 0
    }

    private let state = Mutex(State())

    /// Waits for a time. Throws `CancellationError` if the caller's task is cancelled, or if `cancel()` is called
    /// meanwhile.
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

    /// Ends the waiting of all delayed requests with an error, so that these requests are not executed.
    func cancel() {
        for wait in state.withLock({ $0.waiting }).values { wait.cancel() }
    }
}
