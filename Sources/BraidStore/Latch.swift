import Synchronization

/// Closed until it is opened, once: for those who wait until a thread has ended.
package final class Latch: Sendable {
    /// Who waits; nil: it is open.
    private let waiting = Mutex<[CheckedContinuation<Void, Never>]?>([])

    package init() {}

    package func open() {
        let waiters = waiting.withLock { waiting in
            defer { waiting = nil }
            return waiting ?? []
        }
        for waiter in waiters { waiter.resume() }
    }

    /// Returns when it is open, whether or not the task is cancelled.
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
