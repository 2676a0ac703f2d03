import Synchronization

/// A gate that is opened once and then stays open. Tasks use a latch to wait until a thread has ended.
package final class Latch: Sendable {
    /// The tasks that wait for the latch. `nil` after the latch is opened.
    private let waiting = Mutex<[CheckedContinuation<Void, Never>]?>([])

    package init() {}

    package func open() {
        let waiters = waiting.withLock { waiting in
            defer { waiting = nil }
            return waiting ?? []
        }
        for waiter in waiters { waiter.resume() }
    }

    /// Suspends the calling task until the latch is open, even if the task is cancelled.
    package func opened() async {
        await withCheckedContinuation { continuation in
            let isOpen = waiting.withLock { waiting in
                waiting?.append(continuation)
                return waiting == nil
            }
            if isOpen { continuation.resume() }
        }
    }
}
