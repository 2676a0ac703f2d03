import Glibc

/// Nanoseconds of the monotonic clock, to measure how long something took.
public func monotonicNanoseconds() -> Int {
    var time = timespec()
    clock_gettime(CLOCK_MONOTONIC, &time)
    return time.tv_sec * 1_000_000_000 + time.tv_nsec
}

extension Duration {
    /// The duration in whole milliseconds; longer ones than `Int` can count are not expected.
    public var milliseconds: Int {
        Int(clamping: components.seconds) * 1_000 + Int(components.attoseconds / 1_000_000_000_000_000)
    }

    /// The duration in nanoseconds.
    public var nanoseconds: Int {
        Int(clamping: components.seconds).multipliedReportingOverflow(by: 1_000_000_000).partialValue
            + Int(components.attoseconds / 1_000_000_000)
    }
}
