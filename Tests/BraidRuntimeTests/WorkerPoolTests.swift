import Glibc
import Synchronization
import TestSupport
import Testing

@testable import BraidRuntime

@Suite struct WorkerPoolTests {
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
