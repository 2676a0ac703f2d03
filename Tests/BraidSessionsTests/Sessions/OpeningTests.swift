import BraidEngine
import BraidRuntime
import BraidStore
import Testing

@testable import BraidSessions

@Suite struct OpeningTests {
    private static func open(_ row: String, in sessions: SessionHost) async throws -> Session {
        let body = try JSONText(parsing: #"{"id":"a","rows":["\#(row)"]}"#)
        return try await sessions.open(SessionOpening(body), text: body).session
    }

    @Test("A request that opens a session gets this session, even if another one has replaced it in the meantime")
    func replacedSession() async throws {
        for _ in 0..<100 where try await isReplaced() { return }
        Issue.record("the task has never suspended between the store and the memory")
    }

    /// `false` if the store answered before the task suspended: then the session is in memory at once.
    private func isReplaced() async throws -> Bool {
        let store = try SQLiteStore(path: ":memory:"), sessions = SessionHost(store: store),
            executor = SteppedExecutor()
        let opening = Task(executorPreference: executor) {
            defer { executor.finish() }
            return try await Self.open("first", in: sessions)
        }
        // Until the session is stored, and not yet in memory.
        var jobs = executor.jobs.makeAsyncIterator(), job = await jobs.next()
        while let next = job, try await store.sessionSummary("a") == nil {
            await executor.run(next)
            job = await jobs.next()
        }
        guard job != nil, sessions.inMemory("a") == nil else {
            while let next = job {
                await executor.run(next)
                job = await jobs.next()
            }
            _ = try await opening.value
            await store.close()
            return false
        }
        try await sessions.end("a")
        let second = try await Self.open("second", in: sessions)
        while let next = job {
            await executor.run(next)
            job = await jobs.next()
        }
        let first = try await opening.value
        #expect(first.number < second.number && RestartTests.text(first).contains("first"))
        #expect(sessions.inMemory("a") === second)
        await store.close()
        return true
    }
}

/// Runs a task's jobs only when a test calls `run`.
private final class SteppedExecutor: TaskExecutor {
    let jobs: AsyncStream<UnownedJob>
    private let queue: AsyncStream<UnownedJob>.Continuation

    init() { (jobs, queue) = AsyncStream.makeStream(of: UnownedJob.self) }

    func enqueue(_ job: consuming ExecutorJob) { queue.yield(UnownedJob(job)) }

    /// The task has no further job.
    func finish() { queue.finish() }

    /// In a thread, until the job ends.
    func run(_ job: UnownedJob) async {
        await withCheckedContinuation { (done: CheckedContinuation<Void, Never>) in
            startThread(named: "stepped") { [self] in
                job.runSynchronously(on: asUnownedTaskExecutor())
                done.resume()
            }
        }
    }
}
