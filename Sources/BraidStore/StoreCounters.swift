import Synchronization

/// What the writer has done since the start, for metrics.
public struct StoreStatistics: Sendable, Equatable {
    /// Seconds that transactions took, the flush included: each of them is one flush of the disk.
    public var commitSeconds = Histogram(bounds: [
        0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 1, 5,
    ])
    /// How many writes shared a transaction.
    public var groupSizes = Histogram(bounds: [1, 2, 4, 8, 16, 32, 64, 128, 256, 512])
    /// Writes that failed: a full disk, or one that is out of order.
    public var failures = 0
}

/// How much is stored.
public struct StoreSize: Sendable, Equatable {
    public var sessions: Int
    /// The database's.
    public var bytes: Int
    /// What waits in SQLite's write-ahead log beside it, to be copied into it.
    public var logBytes: Int

    public init(sessions: Int, bytes: Int, logBytes: Int) {
        self.sessions = sessions
        self.bytes = bytes
        self.logBytes = logBytes
    }
}

/// Counts for `StoreStatistics`.
package final class StoreCounters: Sendable {
    private let statistics = Mutex(StoreStatistics())

    package init() {}

    package var current: StoreStatistics { statistics.withLock { $0 } }

    package func count(writes: Int, duration: Duration) {
        statistics.withLock {
            $0.commitSeconds.add(duration / .seconds(1))
            $0.groupSizes.add(Double(writes))
        }
    }

    package func count(failures: Int) { statistics.withLock { $0.failures += failures } }
}
