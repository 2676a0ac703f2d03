import Glibc

/// The worker pools for everything that does not run on an event loop.
///
/// The server assigns work to a pool by its estimated cost. If an estimate is too low, the short pool demotes the
/// thread.
public struct Workers: Sendable {
    /// The name of a pool.
    public enum Lane: Sendable {
        /// Work that takes a few milliseconds at most, apart from waiting.
        case short
        /// Work that takes longer: large tables, bodies, answers and histories. The threads of the long pool have a low
        /// priority. The long pool uses the time that the event loops, the short pool and the store do not need.
        case long
        /// Requests for readiness and metrics. This pool runs no request of a session.
        case operations
    }

    public let short: WorkerPool
    public let long: WorkerPool
    public let operations: WorkerPool

    public init(processors: Int = max(1, sysconf(Int32(_SC_NPROCESSORS_ONLN)))) {
        // The short pool uses half of the processors, because the event loops and the store need the other half. Waking
        // another thread costs as much as a small command.
        short = WorkerPool(.init(name: "braid-short", threads: max(1, processors / 2), demotionTime: .milliseconds(4)))
        long = WorkerPool(.init(name: "braid-long", threads: 2 * processors, niceness: WorkerPool.lowPriority))
        operations = WorkerPool(.init(name: "braid-operations", threads: 1))
    }

    /// The worker pools of the process.
    public static let shared = Workers()

    public subscript(lane: Lane) -> WorkerPool {
        switch lane {
        case .short: short
        case .long: long
        case .operations: operations
        }
    }
}
