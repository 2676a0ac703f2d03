import Glibc

package func monotonicNanoseconds() -> Int {
    var time = timespec()
    clock_gettime(CLOCK_MONOTONIC, &time)
    return time.tv_sec * 1_000_000_000 + time.tv_nsec
}

/// Processor time of the calling thread.
package func processorNanoseconds() -> Int {
    var time = timespec()
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time)
    return time.tv_sec * 1_000_000_000 + time.tv_nsec
}

/// Milliseconds since 1970. Can jump.
package func systemMilliseconds() -> Int {
    var time = timespec()
    clock_gettime(CLOCK_REALTIME, &time)
    return time.tv_sec * 1_000 + time.tv_nsec / 1_000_000
}

extension Duration {
    /// Rounded toward zero; must fit into `Int`.
    package var milliseconds: Int {
        Int(clamping: components.seconds) * 1_000 + Int(components.attoseconds / 1_000_000_000_000_000)
    }

    package var nanoseconds: Int {
        Int(clamping: components.seconds).multipliedReportingOverflow(by: 1_000_000_000).partialValue
            + Int(components.attoseconds / 1_000_000_000)
    }
}
