import Glibc

/// Where work runs that is not an event loop's.
///
/// The server sorts work by its estimated cost. An estimate can be wrong: the short pool demotes what takes longer.
struct Workers: Sendable {
    enum Lane: Sendable {
        /// Work that should take a few milliseconds at most, apart from what it waits for.
        case short
        /// Work that takes longer: large tables, bodies, answers and histories. Its threads have a low priority, so that they
        /// use what the event loops, the short pool and the store leave.
        case long
        /// Readiness and metrics. No request of a session runs here.
        case operations
    }

    let short: WorkerPool
    let long: WorkerPool
    let operations: WorkerPool

    init(processors: Int = max(1, sysconf(Int32(_SC_NPROCESSORS_ONLN)))) {
        short = WorkerPool(.init(name: "braid-short", threads: max(2, processors), demotionTime: .milliseconds(4)))
        long = WorkerPool(.init(name: "braid-long", threads: 2 * processors, niceness: WorkerPool.lowPriority))
        operations = WorkerPool(.init(name: "braid-operations", threads: 1))
    }

    /// The pools of this process.
    static let shared = Workers()

    subscript(lane: Lane) -> WorkerPool {
        switch lane {
        case .short: short
        case .long: long
        case .operations: operations
        }
    }
}
