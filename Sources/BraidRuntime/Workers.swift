import Glibc

/// The process's threads for the work of requests, apart from those of the event loops and of the stores.
public struct Workers: Sendable {
    /// For a few milliseconds of processor time at most, and for waits, for example for the disk. Work that takes longer
    /// is demoted.
    public let short: WorkerPool
    /// For large tables, bodies, answers and histories, at low priority: event loops, short work and the store go first.
    public let long: WorkerPool
    /// For readiness and metrics, which the server answers even when the other pools are busy.
    public let probes: WorkerPool

    /// The most rows that work on the short pool handles; a session with more is large.
    public static let shortRows = 1_000
    /// The most bytes that the short pool indents or compresses.
    public static let shortBytes = 64 << 10
    /// Nanoseconds. A kind of command that last took longer runs on the long pool.
    public static let shortTime = 2_000_000

    public init(processors: Int = max(1, sysconf(Int32(_SC_NPROCESSORS_ONLN)))) {
        // Half of the processors are for the event loops and the store. More threads would be slower: waking one costs
        // as much as a small command.
        short = WorkerPool(.init(name: "braid-short", threads: max(1, processors / 2), demotionTime: .milliseconds(4)))
        long = WorkerPool(.init(name: "braid-long", threads: 2 * processors, niceness: WorkerPool.lowPriority))
        probes = WorkerPool(.init(name: "braid-probes", threads: 1))
    }

    /// Throws if the system did not start a thread: a pool without threads would keep its work for ever.
    public func check() throws(ThreadFailure) {
        for pool in [short, long, probes] where pool.failure != 0 { throw ThreadFailure(number: pool.failure) }
    }

    /// The most threads of a server that starts: those of the pools, of the event loops, the log and the store, and
    /// Swift's own.
    public static let threadsAtStart = 5 * max(1, sysconf(Int32(_SC_NPROCESSORS_ONLN))) + 8

    public static let shared = Workers()
}
