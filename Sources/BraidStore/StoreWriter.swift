import BraidRuntime
import Synchronization

/// What one kind of database does for its `StoreWriter`, which calls it on its thread only.
package protocol GroupCommitter<Work>: AnyObject, Sendable {
    /// What one request writes.
    associatedtype Work: Sendable

    /// Commits a group of requests as one transaction, and gives each its result or an error, now or in a later call.
    ///
    /// - Returns: whether the database accepts writes.
    func commitGroup(_ group: [WriteRequest<Work>], for writer: StoreWriter<Self>) -> Bool
    /// Called before the first group.
    func prepare()
    /// If set, the writer calls `commitGroup` again after this time, if need be with an empty group.
    var pause: Duration? { get }
    /// Called after the last group. Closes the database.
    func close(for writer: StoreWriter<Self>)
}

package struct WriteRequest<Work: Sendable>: Sendable {
    package let work: Work
    /// Only tests whether the database accepts writes, and does not count as a commit.
    package let isTest: Bool
    package let fail: @Sendable (StoreError) -> Void
}

/// The thread that performs a store's writes. While it commits one group, requests wait for the next (`WriteQueue`), so
/// that one disk flush serves them all.
///
/// A thread, not a task, because a flush would block one of the few threads that run Swift's tasks.
package final class StoreWriter<Committer: GroupCommitter>: @unchecked Sendable {
    package typealias Request = WriteRequest<Committer.Work>

    /// Guards `waiting`, `writingSince`, `lastSucceeded` and `isStopping`.
    private let condition = Condition()
    private var waiting = WriteQueue<Request>()
    /// `nil` while the writer waits for requests.
    private var writingSince: ContinuousClock.Instant?
    private var lastSucceeded = true
    private var isStopping = false
    private let committer: Committer
    private let counted = Mutex(StoreStatistics())
    private let trouble: StoreTrouble
    private let end = Latch()

    package init(_ committer: Committer, onChange: @escaping @Sendable (StoreChange) -> Void) throws {
        self.committer = committer
        trouble = StoreTrouble(onChange)
        let failure = startThread(named: "store-writer") { [self] in run() }
        guard failure == 0 else { throw StoreError.noThread(failure) }
    }

    /// Returns when the write is committed, even if the calling task is cancelled meanwhile.
    ///
    /// - Parameters:
    ///   - cost: about how many rows the request writes.
    ///   - work: makes the work that resumes the continuation after the commit.
    package func enqueue<Value: Sendable>(
        isTest: Bool = false, cost: Int, _ work: (CheckedContinuation<Value, any Error>) -> Committer.Work
    ) async throws -> Value {
        try await withCheckedThrowingContinuation { continuation in
            let request = Request(
                work: work(continuation), isTest: isTest, fail: { continuation.resume(throwing: $0) })
            let isOpen = condition.withLock {
                if isStopping { return false }
                waiting.append(request, cost: cost)
                if waiting.count == 1, writingSince == nil { condition.signal() }
                return true
            }
            if !isOpen { request.fail(.closed) }
        }
    }

    package var statistics: StoreStatistics { counted.withLock { $0 } }

    /// The number of waiting requests.
    package var queued: Int { condition.withLock { waiting.count } }

    /// Whether a group has been under way for less than `limit`, and the one before it was committed. Then a test write
    /// would only wait for the group.
    func isBusyAndHealthy(within limit: Duration) -> Bool {
        condition.withLock { lastSucceeded && (writingSince.map { .now - $0 < limit } ?? false) }
    }

    /// Lets the thread finish the waiting requests and end. Returns at once.
    package func stop() {
        condition.withLock {
            isStopping = true
            condition.signal()
        }
    }

    /// Stops the writer, and returns when the database is closed.
    package func stopped() async {
        stop()
        await end.opened()
    }

    // MARK: On the writer's thread

    private func run() {
        committer.prepare()
        while let group = next() {
            let accepts = committer.commitGroup(group, for: self)
            condition.withLock {
                lastSucceeded = accepts
                writingSince = nil
            }
        }
        committer.close(for: self)
        end.open()
    }

    private func next() -> [Request]? {
        condition.withLock {
            while waiting.isEmpty && !isStopping {
                guard let pause = committer.pause else {
                    condition.wait()
                    continue
                }
                condition.wait(for: pause)
                break
            }
            if waiting.isEmpty, isStopping { return nil }
            writingSince = .now
            return waiting.takeGroup()
        }
    }

    /// Counts a committed transaction, before its callers receive their results.
    ///
    /// - Parameter isWhole: whether the database accepts all kinds of writes.
    package func committed(_ group: [Request], since start: ContinuousClock.Instant, isWhole: Bool = true) {
        let duration = ContinuousClock.now - start, writes = group.count { !$0.isTest }
        if writes > 0 {
            counted.withLock {
                $0.commitSeconds.add(duration / .seconds(1))
                $0.groupSizes.add(Double(writes))
            }
        }
        if isWhole { trouble.succeeded() }
    }

    /// - Parameter isTrouble: whether operators must know, because the error is not of one request alone.
    package func fail(_ group: [Request], _ error: StoreError, isTrouble: Bool) {
        if isTrouble, !group.isEmpty { trouble.failed(error) }
        counted.withLock { $0.failures += group.count { !$0.isTest } }
        // Before the callers receive the error, so that a health check which begins after that sees it.
        condition.withLock { lastSucceeded = false }
        for request in group { request.fail(error) }
    }
}

/// The writes that wait, and the decision which of them share a transaction.
///
/// A small write that shares a transaction with a large one waits for it. Each transaction therefore has at most one
/// large write, and while small writes wait, every second transaction has none. So a small write waits for at most one
/// large write, and a large one for those before it and for one transaction of small writes before each.
package struct WriteQueue<Request> {
    private var requests: [Request] = []
    private var large: [Request] = []
    private var hadLarge = false

    package init() {}

    package var count: Int { requests.count + large.count }
    package var isEmpty: Bool { count == 0 }

    package mutating func append(_ request: Request, cost: Int) {
        if cost < Workers.shortRows { requests.append(request) } else { large.append(request) }
    }

    /// Removes and returns the requests of the next transaction, a large one last. Empty only if no request waits.
    package mutating func takeGroup() -> [Request] {
        hadLarge = !large.isEmpty && (requests.isEmpty || !hadLarge)
        defer { requests = [] }
        return hadLarge ? requests + [large.removeFirst()] : requests
    }
}

/// A gate that stays open once it is opened. Tasks use it to wait for the end of a thread.
package final class Latch: Sendable {
    /// `nil` after the latch is opened.
    private let waiting = Mutex<[CheckedContinuation<Void, Never>]?>([])

    package init() {}

    package func open() {
        let waiters = waiting.withLock { waiting in
            defer { waiting = nil }
            return waiting ?? []
        }
        for waiter in waiters { waiter.resume() }
    }

    /// Waits even if the task is cancelled.
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
