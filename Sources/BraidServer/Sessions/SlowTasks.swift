import Dispatch

/// Runs what takes the processor long on threads of its own, as many as there are cores. On those of all other tasks, as many again, the short
/// ones would wait until the long are done; among threads the kernel shares the cores.
final class SlowTasks: TaskExecutor {
    static let shared = SlowTasks()

    func enqueue(_ job: consuming ExecutorJob) {
        let job = UnownedJob(job), executor = asUnownedTaskExecutor()
        // Each class of service has its threads; Swift's own tasks are of the default one.
        DispatchQueue.global(qos: .utility).async { job.runSynchronously(on: executor) }
    }
}
