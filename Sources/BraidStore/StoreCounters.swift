import Synchronization

/// The statistics of a store's writes since the store was opened, for metrics.
public struct StoreStatistics: Sendable, Equatable {
    /// The duration of each committed transaction in seconds, its disk flush included. With `synchronous = normal`, a
    /// transaction does not wait for a disk flush.
    public var commitSeconds = Histogram(bounds: [
        0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 1, 5,
    ])
    /// For each committed transaction, the number of write requests that shared it.
    public var groupSizes = Histogram(bounds: [1, 2, 4, 8, 16, 32, 64, 128, 256, 512])
    /// The number of writes that failed, for example because the disk was full.
    public var failures = 0
}

/// Whether a store that can be read also accepts writes.
public enum StoreCondition: Sendable, Equatable {
    case writable
    /// The disk is full. The store still reads and deletes, and refuses other writes until the disk has room.
    case full
}

/// The size of the stored data: sessions, and bytes of the database.
public struct StoreSize: Sendable, Equatable {
    /// The number of sessions.
    public var sessions: Int
    /// The size of the database, in bytes. For PostgreSQL, only Braid Server's PostgreSQL schema counts.
    public var bytes: Int
    /// The length of the file of SQLite's write-ahead log, in bytes. 0 for PostgreSQL and for a database in memory.
    public var logBytes: Int
    /// The size and the free space of the file system that contains the database. `nil` if the store does not know the
    /// file system.
    public var disk: DiskSpace?

    public init(sessions: Int, bytes: Int, logBytes: Int, disk: DiskSpace? = nil) {
        self.sessions = sessions
        self.bytes = bytes
        self.logBytes = logBytes
        self.disk = disk
    }
}

/// The size and the free space of a file system, in bytes.
public struct DiskSpace: Sendable, Equatable {
    public var size: Int
    /// The number of free bytes that this process may use.
    public var free: Int

    public init(size: Int, free: Int) {
        self.size = size
        self.free = free
    }
}

/// Collects ``StoreStatistics``.
package final class StoreCounters: Sendable {
    private let statistics = Mutex(StoreStatistics())

    package init() {}

    package var current: StoreStatistics { statistics.withLock { $0 } }

    package func count(writes: Int, duration: Duration) {
        guard writes > 0 else { return }
        statistics.withLock {
            $0.commitSeconds.add(duration / .seconds(1))
            $0.groupSizes.add(Double(writes))
        }
    }

    package func count(failures: Int) { statistics.withLock { $0.failures += failures } }
}
