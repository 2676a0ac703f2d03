/// A histogram: the number of measurements in each of several buckets, and the sum of all measurements.
public struct Histogram: Sendable, Equatable {
    /// The inclusive upper bounds of the buckets, ascending. One more bucket counts the values above the last bound.
    public let bounds: [Double]
    /// The number of measurements in each bucket. The counts are not cumulative. This array has one element more than
    /// `bounds`, for the values above the last bound.
    public internal(set) var counts: [Int]
    /// The sum of all measurements.
    public internal(set) var sum = 0.0

    /// Creates an empty histogram.
    public init(bounds: [Double]) {
        self.bounds = bounds
        counts = Array(repeating: 0, count: bounds.count + 1)
    }

    /// Creates a histogram from counts that other code has collected. `counts` must have one element more than
    /// `bounds`.
    public init(bounds: [Double], counts: [Int], sum: Double) {
        self.bounds = bounds
        self.counts = counts
        self.sum = sum
    }

    /// The number of all measurements.
    public var count: Int { counts.reduce(0, +) }

    mutating func add(_ value: Double) {
        counts[bounds.firstIndex { value <= $0 } ?? bounds.count] += 1
        sum += value
    }
}
