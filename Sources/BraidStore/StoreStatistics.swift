public struct StoreStatistics: Sendable, Equatable {
    /// Per transaction, with its disk flush if there is one.
    public var commitSeconds = Histogram(bounds: [
        0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 1, 5,
    ])
    /// Requests per transaction.
    public var groupSizes = Histogram(bounds: [1, 2, 4, 8, 16, 32, 64, 128, 256, 512])
    public var failures = 0
}

public enum StoreCondition: Sendable, Equatable {
    case writable
    /// Reads and deletes go on.
    case full
}

public struct StoreSize: Sendable, Equatable {
    public var sessions: Int
    /// In PostgreSQL, of Braid Server's schema.
    public var bytes: Int
    public var logBytes: Int
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
    public var free: Int
}

public struct Histogram: Sendable, Equatable {
    /// Inclusive upper bounds, ascending. One more bucket counts the rest.
    public let bounds: [Double]
    /// Not cumulative. One more than `bounds`.
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
