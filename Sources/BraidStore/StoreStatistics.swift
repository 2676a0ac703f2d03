package struct StoreStatistics: Sendable, Equatable {
    /// Per transaction, with its disk flush if there is one.
    package var commitSeconds = Histogram(bounds: [
        0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 1, 5,
    ])
    /// Requests per transaction.
    package var groupSizes = Histogram(bounds: [1, 2, 4, 8, 16, 32, 64, 128, 256, 512])
    package var failures = 0
}

package enum StoreCondition: Sendable, Equatable {
    case writable
    /// Reads and deletes go on.
    case full
}

package struct StoreSize: Sendable, Equatable {
    package var sessions: Int
    /// In PostgreSQL, all of Braid Server's schema.
    package var bytes: Int
    package var logBytes: Int
    package var disk: DiskSpace?

    package init(sessions: Int, bytes: Int, logBytes: Int, disk: DiskSpace? = nil) {
        self.sessions = sessions
        self.bytes = bytes
        self.logBytes = logBytes
        self.disk = disk
    }
}

package struct DiskSpace: Sendable, Equatable {
    package var size: Int
    package var free: Int
}

package struct Histogram: Sendable, Equatable {
    /// Inclusive upper bounds, ascending. One more bucket counts the rest.
    package let bounds: [Double]
    /// Not cumulative. One more than `bounds`.
    package internal(set) var counts: [Int]
    package internal(set) var sum = 0.0

    package init(bounds: [Double]) {
        self.bounds = bounds
        counts = Array(repeating: 0, count: bounds.count + 1)
    }

    package init(bounds: [Double], counts: [Int], sum: Double) {
        self.bounds = bounds
        self.counts = counts
        self.sum = sum
    }

    package var count: Int { counts.reduce(0, +) }

    mutating func add(_ value: Double) {
        counts[bounds.firstIndex { value <= $0 } ?? bounds.count] += 1
        sum += value
    }
}
