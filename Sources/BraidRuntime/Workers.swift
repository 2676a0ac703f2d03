import Glibc

/// Where work runs that is not an event loop's.
///
/// The server sorts work by its estimated cost. An estimate can be wrong: the short pool demotes what takes longer.
public struct Workers: Sendable {
    public enum Lane: Sendable {
        /// Work that should take a few milliseconds at most, apart from what it waits for.
        case short
        /// Work that takes longer: large tables, bodies, answers and histories. Its threads have a low priority, so
        /// that they use what the event loops, the short pool and the store leave.
        case long
        /// Readiness and metrics. No request of a session runs here.
        case operations
    }

    public let short: WorkerPool
    public let long: WorkerPool
    public let operations: WorkerPool

    public init(processors: Int = max(1, sysconf(Int32(_SC_NPROCESSORS_ONLN)))) {
        // The event loops and the store need the other processors. To wake one more thread costs as much as a small
        // command.
        short = WorkerPool(.init(name: "braid-short", threads: max(1, processors / 2), demotionTime: .milliseconds(4)))
        long = WorkerPool(.init(name: "braid-long", threads: 2 * processors, niceness: WorkerPool.lowPriority))
        operations = WorkerPool(.init(name: "braid-operations", threads: 1))
    }

    /// The pools of this process.
    public static let shared = Workers()

    public subscript(lane: Lane) -> WorkerPool {
        switch lane {
        case .short: short
        case .long: long
        case .operations: operations
        }
    }
}
