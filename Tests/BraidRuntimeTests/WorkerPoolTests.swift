import Glibc
import Synchronization
import TestSupport
import Testing

@testable import BraidRuntime

@Suite struct WorkerPoolTests {
    @Test("Long work interrupts no ordinary thread, and has niceness 4")
    func longWorkKeepsItsShare() async {
        let ordinary = await Self.scheduling(on: WorkerPool(.init(name: "pool", threads: 1))).value
        let long = await Self.scheduling(on: Workers.shared.long).value
        #expect(ordinary.policy == SCHED_OTHER)
        #expect(long.policy == Self.batch)
        #expect(long.niceness == min(19, ordinary.niceness + 4))
    }

    @Test("A task that is demoted gives way as long work does, and the next does not")
    func demotedTaskKeepsItsShare() async {
        let pool = WorkerPool(.init(name: "pool", threads: 1, demotionTime: .milliseconds(1)))
        let first = Self.scheduling(on: pool) { while pool.statistics.demotions == 0 { usleep(1_000) } }
        // Waits behind the first, which is therefore demoted.
        let second = Self.scheduling(on: pool)
        let long = await Self.scheduling(on: Workers.shared.long).value
        #expect(await first.value == long)
        #expect(await second.value != long)
    }

    /// SCHED_BATCH: its macro needs `_GNU_SOURCE`.
    private static let batch: Int32 = 3

    /// Of the calling thread.
    private struct Scheduling: Equatable {
        let policy = sched_getscheduler(0)
        let niceness = getpriority(__priority_which_t(PRIO_PROCESS.rawValue), 0)
    }

    /// Of the pool's thread, after `work`.
    private static func scheduling(
        on pool: WorkerPool, after work: @escaping @Sendable () -> Void = {}
    ) -> Task<Scheduling, Never> {
        Task(executorPreference: pool) {
            work()
            return Scheduling()
        }
    }

    @Test("A pool whose only thread is slow and cannot be replaced keeps this thread, so the waiting tasks run")
    func noReplacement() async {
        await #expect(processExitsWith: .exitCode(3)) {
            let pool = WorkerPool(.init(name: "pool", threads: 1, demotionTime: .milliseconds(1)))
            let hasRun = Flag()
            refuseThreads()
            Task(executorPreference: pool) {
                // Until its thread is demoted, or the pool had the time to.
                for _ in 0..<200 where pool.statistics.demotions == 0 { usleep(1_000) }
            }
            Task(executorPreference: pool) { hasRun.set() }
            // Blocks: without further threads a suspended task might not continue.
            func waitForTask() -> Bool { hasRun.wait() }
            if waitForTask() { exit(3) }
        }
    }
}
