import CEpoll
import Glibc

/// Threads that start tasks in the order in which the tasks arrive. These threads are separate from the event loops'
/// threads and from Swift's own threads.
///
/// A pool can demote threads. If a task uses a thread for longer than `demotionTime` while other tasks wait, the thread
/// gets a low scheduling priority and a new thread replaces it. So the other tasks do not wait for the slow task. A
/// demoted thread ends after its task, because a process without privileges cannot raise a thread's priority again. If
/// the system cannot create the new thread, or `mostDemoted` threads are demoted, the pool does not demote the thread.
///
/// The pool is `@unchecked Sendable`, because `lock` guards all of its mutable state.
public final class WorkerPool: TaskExecutor, @unchecked Sendable {
    struct Configuration: Sendable {
        /// The name of the pool's threads, which has at most 15 bytes (pthread_setname_np(3)).
        var name: String
        var threads: Int
        /// The niceness of the pool's threads (sched(7)): 0 is normal, and 19 is the lowest priority.
        var niceness: Int32 = 0
        /// The time after which the pool demotes a thread if its task is still running and other tasks wait. If `nil`,
        /// the pool demotes no thread.
        var demotionTime: Duration?
    }

    /// The niceness of demoted threads. A demoted thread gets about a tenth of a normal thread's processor time.
    static let lowPriority: Int32 = 10
    /// The most threads that can be demoted at a time. While this many threads are demoted, the pool demotes no other
    /// thread, and tasks wait for a free thread.
    private static let mostDemoted = 64

    private final class Worker {
        let thread = cepoll_thread_id()
        /// The time at which the thread's current task started, in nanoseconds of the monotonic clock. `nil` while the
        /// thread has no task.
        var taskStart: Int?
        var isDemoted = false
    }

    private let configuration: Configuration
    private let lock = UnsafeMutablePointer<pthread_mutex_t>.allocate(capacity: 1)
    private let hasJob = UnsafeMutablePointer<pthread_cond_t>.allocate(capacity: 1)
    private let isContended = UnsafeMutablePointer<pthread_cond_t>.allocate(capacity: 1)
    private var jobs: [UnownedJob] = []
    /// The index in `jobs` of the next task to run. Threads have already taken the tasks before this index.
    private var nextJob = 0
    private var workers: [Worker] = []
    /// The number of the pool's threads that wait for a task. `woken` is the number of those among them that were
    /// signalled and do not run yet.
    private var waiting = 0
    private var woken = 0
    private var isWatching = false
    private var demotions = 0

    /// The error number of the first thread that the system did not start with the pool, otherwise 0.
    private(set) var failure: Int32 = 0

    /// Creates a pool and starts its threads, which run until the process ends unless they are demoted.
    init(_ configuration: Configuration) {
        self.configuration = configuration
        pthread_mutex_init(lock, nil)
        pthread_cond_init(hasJob, nil)
        pthread_cond_init(isContended, nil)
        for _ in 0..<configuration.threads where failure == 0 { failure = start { $0.work() } }
        if configuration.demotionTime != nil, failure == 0 { failure = start { $0.watch() } }
    }

    public func enqueue(_ job: consuming ExecutorJob) {
        let job = UnownedJob(job)
        pthread_mutex_lock(lock)
        jobs.append(job)
        if waiting > woken {
            woken += 1
            pthread_cond_signal(hasJob)
        } else if !isWatching {
            isWatching = true
            pthread_cond_signal(isContended)
        }
        pthread_mutex_unlock(lock)
    }

    /// The number of tasks that wait for a thread of the pool, and the number of demoted threads since the pool's
    /// start.
    var statistics: (queued: Int, demotions: Int) {
        pthread_mutex_lock(lock)
        defer { pthread_mutex_unlock(lock) }
        return (jobs.count - nextJob, demotions)
    }

    // MARK: Threads

    /// Starts a thread of the pool. Returns 0 or an error number.
    private func start(_ body: @escaping @Sendable (WorkerPool) -> Void) -> Int32 {
        startThread(named: configuration.name) { [self] in body(self) }
    }

    private func work() {
        let worker = Worker()
        if configuration.niceness != 0 { cepoll_set_niceness(worker.thread, configuration.niceness) }
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

    /// Removes the next task from the pool's queue and returns it. The caller must hold `lock`. If no task waits, this
    /// method waits for one, and releases `lock` while it waits.
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

    /// Runs on a separate thread. Demotes the pool's threads whose task takes longer than `demotionTime` while other
    /// tasks wait.
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
                // A demoted thread ends after its task. Without a replacement, the pool could have no thread left.
                guard self.start({ $0.work() }) == 0 else { continue }
                worker.isDemoted = true
                demotions += 1
                cepoll_set_niceness(worker.thread, Self.lowPriority)
            }
        }
    }
}
