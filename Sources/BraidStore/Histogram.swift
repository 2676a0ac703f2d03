/// How many measurements fell under each of some bounds, and their sum.
public struct Histogram: Sendable, Equatable {
    /// Upper bounds, ascending, each inclusive; beyond the last there is one bucket more.
    public let bounds: [Double]
    /// As many as bounds, and one more. Not cumulative.
    public internal(set) var counts: [Int]
    public internal(set) var sum = 0.0

    public init(bounds: [Double]) {
        self.bounds = bounds
        counts = Array(repeating: 0, count: bounds.count + 1)
    }

    /// As counted elsewhere; `counts` has one more than `bounds`.
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
