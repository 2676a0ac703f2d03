import Glibc

/// The process's worker pools. They run the work of requests that does not run on an event loop or on a store's own
/// threads.
///
/// The server assigns each piece of work to a pool by its estimated cost. If a piece of work on the short pool takes
/// more than 4 ms while other work waits, that pool normally demotes the thread that runs it.
public struct Workers: Sendable {
    /// The name of a worker pool.
    public enum Lane: Sendable {
        /// The pool for work that needs a few milliseconds of processor time at most. Such work may wait longer, for
        /// example for the disk.
        case short
        /// The pool for work that takes longer: large tables, bodies, answers and histories. Its threads have a low
        /// priority. So the event loops, the short pool and the store get most of the processor time.
        case long
        /// The pool for readiness, which the server must answer even when the other pools are busy.
        case operations
        /// The pool for metrics, so that a flood of requests for them does not delay readiness.
        case metrics
    }

    public let short: WorkerPool
    public let long: WorkerPool
    public let operations: WorkerPool
    public let metrics: WorkerPool

    public init(processors: Int = max(1, sysconf(Int32(_SC_NPROCESSORS_ONLN)))) {
        // The short pool has half as many threads as the machine has processors (but at least one), because the event
        // loops and the store need the other half. More threads would not make the server faster, because waking a
        // thread costs as much time as a small command.
        short = WorkerPool(.init(name: "braid-short", threads: max(1, processors / 2), demotionTime: .milliseconds(4)))
        long = WorkerPool(.init(name: "braid-long", threads: 2 * processors, niceness: WorkerPool.lowPriority))
        operations = WorkerPool(.init(name: "braid-readiness", threads: 1))
        metrics = WorkerPool(.init(name: "braid-metrics", threads: 1))
    }

    /// Throws if the system does not start the threads of these pools. A pool without threads would keep its work for
    /// ever.
    public func check() throws(ThreadFailure) {
        for pool in [short, long, operations, metrics] where pool.failure != 0 {
            throw ThreadFailure(number: pool.failure)
        }
    }

    /// The most threads of a server that starts: those of the pools, of the event loops, the log and the store, and
    /// Swift's own.
    public static let threadsAtStart = 5 * max(1, sysconf(Int32(_SC_NPROCESSORS_ONLN))) + 9

    /// The worker pools that the whole process shares.
    public static let shared = Workers()

    public subscript(lane: Lane) -> WorkerPool {
        switch lane {
        case .short: short
        case .long: long
        case .operations: operations
        case .metrics: metrics
        }
    }
}
