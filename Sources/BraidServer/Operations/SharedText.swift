import BraidRuntime
import Synchronization

/// A text that is written for all who ask for it within a moment, so that a flood of requests costs no more than a few
/// texts a second. Nobody gets a text that was begun before they asked.
final class SharedText: Sendable {
    private struct State {
        /// The text that waits to be written.
        var next: Task<SharedBytes, Never>?
        /// The time before which the next text is not written.
        var due = ContinuousClock.now
    }

    static let pause = Duration.milliseconds(50)
    private let state = Mutex(State())
    private let write: @Sendable () async -> [UInt8]

    init(_ write: @escaping @Sendable () async -> [UInt8]) { self.write = write }

    func bytes() async -> SharedBytes {
        let text = state.withLock { state in
            let due = state.due
            let text =
                state.next
                ?? Task(executorPreference: Workers.shared.probes) {
                    if due > .now { try? await Task.sleep(until: due) }
                    self.state.withLock { $0 = State(due: .now + Self.pause) }
                    return SharedBytes(await self.write())
                }
            state.next = text
            return text
        }
        return await text.value
    }
}
