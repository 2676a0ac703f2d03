#if PostgreSQL
import BraidRuntime
import Glibc

/// Wakes a thread that waits for a socket, by a pipe.
final class WakeUp: Sendable {
    private let reading: CInt
    private let writing: CInt

    /// `nil` on failure, with `errno`.
    init?() {
        var ends: [CInt] = [-1, -1]
        guard pipe(&ends) == 0 else { return nil }
        for end in ends {
            _ = fcntl(end, F_SETFD, FD_CLOEXEC)
            _ = fcntl(end, F_SETFL, O_NONBLOCK)
        }
        (reading, writing) = (ends[0], ends[1])
    }

    deinit {
        close(reading)
        close(writing)
    }

    func signal() {
        var byte: UInt8 = 0
        // Fails if the pipe is full, whose bytes wake the thread as well.
        _ = write(writing, &byte, 1)
    }

    /// Returns whether the socket (-1: none) has input.
    func wait(for socket: CInt, until deadline: ContinuousClock.Instant) -> Bool {
        var descriptors = [
            pollfd(fd: reading, events: Int16(POLLIN), revents: 0),
            pollfd(fd: socket, events: Int16(POLLIN), revents: 0),
        ]
        let count = poll(&descriptors, 2, CInt(clamping: max(0, (deadline - .now).milliseconds + 1)))
        guard count > 0 else { return false }
        var bytes: [UInt8] = Array(repeating: 0, count: 64)
        while read(reading, &bytes, bytes.count) > 0 {}
        return descriptors[1].revents != 0
    }

    func wait(for time: Duration) { _ = wait(for: -1, until: .now + time) }
}
#endif
