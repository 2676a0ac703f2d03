import CEpoll
import Glibc

/// Starts tasks in order of arrival.
///
/// A task that runs longer than `demotionTime` while others wait is demoted: its thread gives way, a new one replaces
/// it, and it ends after the task. So a wrong estimate of a task's cost delays nobody for long.
///
/// `@unchecked`: `lock` guards all mutable state.
package final class WorkerPool: TaskExecutor, @unchecked Sendable {
    struct Configuration: Sendable {
        /// At most 15 bytes (pthread_setname_np(3)).
        var name: String
        var threads: Int
        /// Its threads, and those that they start, interrupt no others and have niceness 4: beside a busy program they
        /// get 0.29 of a core. With 10 they nearly starved, and so did whoever waited for a lock of theirs, such as the
        /// allocator's.
        var givesWay = false
        /// `nil`: never.
        var demotionTime: Duration?
    }

    /// With so many demoted threads, tasks wait for a free one.
    private static let mostDemoted = 64

    private final class Worker {
        let thread = cepoll_thread_id()
        /// Monotonic nanoseconds.
        var taskStart: Int?
        var isDemoted = false
    }

    private let configuration: Configuration
    private let lock = UnsafeMutablePointer<pthread_mutex_t>.allocate(capacity: 1)
    private let hasJob = UnsafeMutablePointer<pthread_cond_t>.allocate(capacity: 1)
    private let isContended = UnsafeMutablePointer<pthread_cond_t>.allocate(capacity: 1)
    private var jobs: [UnownedJob] = []
    /// The first of `jobs` that no thread has taken.
    private var nextJob = 0
    private var workers: [Worker] = []
    /// Threads without a task; the `woken` ones were signalled and do not run yet.
    private var waiting = 0
    private var woken = 0
    private var isWatching = false
    private var demotions = 0

    /// The error number of the first refused thread, or 0.
    private(set) var failure: Int32 = 0

    init(_ configuration: Configuration) {
        self.configuration = configuration
        pthread_mutex_init(lock, nil)
        pthread_cond_init(hasJob, nil)
        pthread_cond_init(isContended, nil)
        for _ in 0..<configuration.threads where failure == 0 { failure = start { $0.work() } }
        if configuration.demotionTime != nil, failure == 0 { failure = start { $0.watch() } }
    }

    package func enqueue(_ job: consuming ExecutorJob) {
        let job = UnownedJob(job)
        pthread_mutex_lock(lock)
        jobs.append(job)
        var signal: UnsafeMutablePointer<pthread_cond_t>?
        if waiting > woken {
            woken += 1
            signal = hasJob
        } else if !isWatching {
            isWatching = true
            signal = isContended
        }
        pthread_mutex_unlock(lock)
        // After the unlock, as `Condition` does.
        if let signal { pthread_cond_signal(signal) }
    }

    /// `demotions`: ever.
    var statistics: (queued: Int, demotions: Int) {
        pthread_mutex_lock(lock)
        defer { pthread_mutex_unlock(lock) }
        return (jobs.count - nextJob, demotions)
    }

    private func start(_ body: @escaping @Sendable (WorkerPool) -> Void) -> Int32 {
        startThread(named: configuration.name) { [self] in body(self) }
    }

    private func work() {
        let worker = Worker()
        if configuration.givesWay { cepoll_give_way(worker.thread) }
        let executor = asUnownedTaskExecutor()
        pthread_mutex_lock(lock)
        workers.append(worker)
        while !worker.isDemoted {
            let job = takeJob()
            worker.taskStart = monotonicNanoseconds()
            pthread_mutex_unlock(lock)
            job.runSynchronously(on: executor)
            pthread_mutex_lock(lock)
            worker.taskStart = nil
        }
        workers.removeAll { $0 === worker }
        pthread_mutex_unlock(lock)
    }

    /// Waits for a job. The caller holds `lock`.
    private func takeJob() -> UnownedJob {
        while nextJob == jobs.count {
            waiting += 1
            while woken == 0 { pthread_cond_wait(hasJob, lock) }
            woken -= 1
            waiting -= 1
        }
        let job = jobs[nextJob]
        nextJob += 1
        if nextJob == jobs.count {
            jobs.removeAll(keepingCapacity: nextJob <= 1_024)
            nextJob = 0
        } else if nextJob > 1_024, nextJob * 2 > jobs.count {
            jobs.removeFirst(nextJob)
            nextJob = 0
        }
        return job
    }

    private func watch() {
        guard let limit = configuration.demotionTime?.nanoseconds else { return }
        pthread_mutex_lock(lock)
        while true {
            while !isWatching { pthread_cond_wait(isContended, lock) }
            pthread_mutex_unlock(lock)
            var pause = timespec(tv_sec: 0, tv_nsec: limit / 2)
            nanosleep(&pause, nil)
            pthread_mutex_lock(lock)
            isWatching = nextJob < jobs.count
            guard isWatching else { continue }
            let now = monotonicNanoseconds()
            for worker in workers where !worker.isDemoted && workers.count < configuration.threads + Self.mostDemoted {
                guard let start = worker.taskStart, now - start > limit else { continue }
                // Only with a new thread: a demoted one ends after its task, and the pool could lose its last.
                guard self.start({ $0.work() }) == 0 else { continue }
                worker.isDemoted = true
                demotions += 1
                cepoll_give_way(worker.thread)
            }
        }
    }
}

/// For requests. Event loops and stores have their own threads.
package struct Workers: Sendable {
    /// For a few milliseconds of processor time, and for waits such as the disk's. Longer work is demoted.
    package let short: WorkerPool
    /// For large tables, bodies, answers and histories: event loops, short work and the store interrupt it.
    package let long: WorkerPool
    /// For readiness and metrics, even when the others are busy.
    package let probes: WorkerPool

    /// A session or a piece of work with more rows is large.
    package static let shortRows = 1_000
    /// Bytes. More are indented and compressed on the long pool.
    package static let shortBytes = 64 << 10
    /// Processor time, nanoseconds. A kind of command that last took longer runs on the long pool.
    package static let shortTime = 2_000_000

    package init(processors: Int = max(1, sysconf(Int32(_SC_NPROCESSORS_ONLN)))) {
        // Half of the processors are for event loops and the store. More threads would be slower: waking one costs as
        // much as a small command.
        short = WorkerPool(.init(name: "braid-short", threads: max(1, processors / 2), demotionTime: .milliseconds(4)))
        long = WorkerPool(.init(name: "braid-long", threads: max(2, processors), givesWay: true))
        probes = WorkerPool(.init(name: "braid-probes", threads: 1))
    }

    /// A pool without threads would keep its work for ever.
    package func check() throws(ThreadFailure) {
        for pool in [short, long, probes] where pool.failure != 0 { throw ThreadFailure(number: pool.failure) }
    }

    /// Pools, event loops, log, store, and Swift's own.
    package static let threadsAtStart = 4 * max(1, sysconf(Int32(_SC_NPROCESSORS_ONLN))) + 9

    package static let shared = Workers()
}
