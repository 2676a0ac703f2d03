import BraidRuntime
import Synchronization

/// Called on the writer's thread only.
package protocol GroupCommitter<Work>: AnyObject, Sendable {
    associatedtype Work: Sendable

    /// Commits the group in one transaction, and answers each request, now or later. Returns whether it is committed
    /// and the database accepts all writes, for `isBusyAndHealthy`.
    func commitGroup(_ group: [WriteRequest<Work>], for writer: StoreWriter<Self>) -> Bool
    /// Before the first group, which waits for it. May block.
    func prepare()
    /// How long the writer waits for requests before it calls `commitGroup` with an empty group. `nil`: for ever.
    var pause: Duration? { get }
    /// The last call, after the last group.
    func close(for writer: StoreWriter<Self>)
}

package struct WriteRequest<Work: Sendable>: Sendable {
    package let work: Work
    /// The statistics do not count it as a commit.
    package let isTest: Bool
    package let fail: @Sendable (StoreError) -> Void
}

/// The thread that writes. While it commits one group, requests gather for the next (`WriteQueue`), so that one disk
/// flush serves them all. No task: a flush would block one of Swift's few threads.
package final class StoreWriter<Committer: GroupCommitter>: @unchecked Sendable {
    package typealias Request = WriteRequest<Committer.Work>

    /// Guards `waiting`, `writingSince`, `lastSucceeded` and `isStopping`.
    private let condition = Condition()
    private var waiting = WriteQueue<Request>()
    /// `nil` while idle.
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

    /// Returns at once. The work's report or `fail` is called after the commit or the failure, on the writer's thread.
    /// `cost`: about how many rows it writes.
    package func enqueue(
        _ work: Committer.Work, isTest: Bool = false, cost: Int, fail: @escaping @Sendable (StoreError) -> Void
    ) {
        let request = Request(work: work, isTest: isTest, fail: fail)
        let isOpen = condition.withLock {
            if isStopping { return false }
            waiting.append(request, cost: cost)
            // Only the first: a running writer looks again before it waits.
            if waiting.count == 1, writingSince == nil { condition.signal() }
            return true
        }
        if !isOpen { request.fail(.closed) }
    }

    package var statistics: StoreStatistics { counted.withLock { $0 } }

    package var queued: Int { condition.withLock { waiting.count } }

    /// Whether the last group succeeded, and the next has been under way for less than `limit`. A test write would only
    /// wait for that.
    func isBusyAndHealthy(within limit: Duration) -> Bool {
        condition.withLock { lastSucceeded && (writingSince.map { .now - $0 < limit } ?? false) }
    }

    /// Returns at once. Waiting requests are still committed.
    package func stop() {
        condition.withLock {
            isStopping = true
            condition.signal()
        }
    }

    package func stopped() async {
        stop()
        await end.opened()
    }

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

    /// Call it before the callers get their results. `isWhole`: all kinds of writes are accepted.
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

    /// `isTrouble`: operators must know, because not one request alone caused the error.
    package func fail(_ group: [Request], _ error: StoreError, isTrouble: Bool) {
        if isTrouble, !group.isEmpty { trouble.failed(error) }
        counted.withLock { $0.failures += group.count { !$0.isTest } }
        // Before the callers hear of it, so that a health check that begins afterwards sees the failure.
        condition.withLock { lastSucceeded = false }
        for request in group { request.fail(error) }
    }
}

package typealias Completion<Value> = @Sendable (Result<Value, any Error>) -> Void

/// Returns when `queue` has called its argument, even if the task is cancelled meanwhile.
package func completion<Value: Sendable>(of queue: (@escaping Completion<Value>) -> Void) async throws -> Value {
    try await withCheckedThrowingContinuation { continuation in queue { continuation.resume(with: $0) } }
}

/// A small write would wait for a large one in its transaction. So a transaction has at most one large write, and
/// while small ones wait, every second has none: a small write waits for at most one large one.
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

    /// The next transaction's requests, a large one last.
    package mutating func takeGroup() -> [Request] {
        hadLarge = !large.isEmpty && (requests.isEmpty || !hadLarge)
        defer { requests = [] }
        return hadLarge ? requests + [large.removeFirst()] : requests
    }
}

/// Opens once, for tasks that wait for a thread's end.
package final class Latch: Sendable {
    /// `nil` once open.
    private let waiting = Mutex<[CheckedContinuation<Void, Never>]?>([])

    package init() {}

    package func open() {
        let waiters = waiting.withLock { waiting in
            defer { waiting = nil }
            return waiting ?? []
        }
        for waiter in waiters { waiter.resume() }
    }

    /// Waits, even if the task is cancelled.
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
