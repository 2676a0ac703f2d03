import Synchronization

/// What the writer has done since the start, for metrics.
public struct StoreStatistics: Sendable, Equatable {
    /// Transactions, each of them one flush of the disk.
    public var transactions = 0
    /// The writes in them; `writes / transactions` is the mean group.
    public var writes = 0
    public var largestGroup = 0
    /// Seconds spent in transactions, the flush included.
    public var seconds = 0.0
}

final class StoreCounters: Sendable {
    private let statistics = Mutex(StoreStatistics())

    var current: StoreStatistics { statistics.withLock { $0 } }

    func count(writes: Int, duration: Duration) {
        statistics.withLock {
            $0.transactions += 1
            $0.writes += writes
            $0.largestGroup = max($0.largestGroup, writes)
            $0.seconds += duration / .seconds(1)
        }
    }
}
