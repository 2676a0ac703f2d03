import Glibc

/// Returns the time of the monotonic clock, in nanoseconds. Differences of such times measure durations.
public func monotonicNanoseconds() -> Int {
    var time = timespec()
    clock_gettime(CLOCK_MONOTONIC, &time)
    return time.tv_sec * 1_000_000_000 + time.tv_nsec
}

/// Returns the operating system's time, in milliseconds since 1970. This time can jump, because somebody can set it.
public func systemMilliseconds() -> Int {
    var time = timespec()
    clock_gettime(CLOCK_REALTIME, &time)
    return time.tv_sec * 1_000 + time.tv_nsec / 1_000_000
}

extension Duration {
    /// The duration in whole milliseconds, rounded toward zero. The number must not exceed the range of `Int`.
    public var milliseconds: Int {
        Int(clamping: components.seconds) * 1_000 + Int(components.attoseconds / 1_000_000_000_000_000)
    }

    /// The duration in nanoseconds.
    public var nanoseconds: Int {
        Int(clamping: components.seconds).multipliedReportingOverflow(by: 1_000_000_000).partialValue
            + Int(components.attoseconds / 1_000_000_000)
    }
}
