/// Statistics of a store's writes since it was opened.
public struct StoreStatistics: Sendable, Equatable {
    /// Seconds for each transaction, with its disk flush (none with `synchronous = normal`).
    public var commitSeconds = Histogram(bounds: [
        0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 1, 5,
    ])
    /// For each transaction, the requests that shared it.
    public var groupSizes = Histogram(bounds: [1, 2, 4, 8, 16, 32, 64, 128, 256, 512])
    /// Writes that failed, for example because the disk was full.
    public var failures = 0
}

/// Whether a store that can be read also accepts writes.
public enum StoreCondition: Sendable, Equatable {
    case writable
    /// The disk is full: the store reads and deletes, and refuses other writes until there is room.
    case full
}

/// How much a store contains, for metrics.
public struct StoreSize: Sendable, Equatable {
    public var sessions: Int
    /// Of the database. In PostgreSQL, only Braid Server's schema counts.
    public var bytes: Int
    public var logBytes: Int
    /// The file system of the database, if the store knows it.
    public var disk: DiskSpace?

    public init(sessions: Int, bytes: Int, logBytes: Int, disk: DiskSpace? = nil) {
        self.sessions = sessions
        self.bytes = bytes
        self.logBytes = logBytes
        self.disk = disk
    }
}

public struct DiskSpace: Sendable, Equatable {
    public var size: Int
    /// Those that this process may use.
    public var free: Int
}

/// The number of measurements in each of several buckets, and the sum of all.
public struct Histogram: Sendable, Equatable {
    /// Inclusive upper bounds, ascending. One more bucket counts what is above the last.
    public let bounds: [Double]
    /// Not cumulative. One element more than `bounds`.
    public internal(set) var counts: [Int]
    public internal(set) var sum = 0.0

    public init(bounds: [Double]) {
        self.bounds = bounds
        counts = Array(repeating: 0, count: bounds.count + 1)
    }

    public init(bounds: [Double], counts: [Int], sum: Double) {
        self.bounds = bounds
        self.counts = counts
        self.sum = sum
    }

    public var count: Int { counts.reduce(0, +) }

    mutating func add(_ value: Double) {
        counts[bounds.firstIndex { value <= $0 } ?? bounds.count] += 1
        sum += value
    }
}
