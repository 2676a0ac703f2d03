import Glibc

/// A thread that writes log lines to a file descriptor, so that no other thread waits for the descriptor.
///
/// Lines wait in a queue of limited size. If the queue has no room for a line, or if a line cannot be written, the line
/// is dropped and counted. When lines can be written again, the thread also writes a note: a line with the number of
/// dropped lines.
public final class LogWriter: @unchecked Sendable {
    private struct Line {
        var bytes: [UInt8]
        /// The number of dropped lines that this line reports, if the line is a note. 0 for any other line.
        var reported = 0
    }

    /// A lock that guards the properties `queue`, `pending`, `total`, `unreported`, `failed` and `isWaiting`.
    private let condition = Condition()
    private var queue: [Line] = []
    /// The number of bytes in the queue and in the batch of lines that the thread is writing now.
    private var pending = 0
    private var total = 0
    /// The number of dropped lines that no note (a line about dropped lines) has reported yet.
    private var unreported = 0
    /// Whether the thread could not write all lines of its last batch.
    private var failed = false
    /// Whether the writer's thread waits for a line.
    private var isWaiting = false

    private let descriptor: CInt
    private let limit: Int
    private let note: @Sendable (_ dropped: Int) -> [UInt8]
    /// Whether the last byte that was written to the descriptor is in the middle of a line, because a write failed
    /// there. Only the writer's thread uses this property.
    private var isInLine = false

    /// The interval at which the thread tries to write a note about dropped lines while no other lines wait.
    private static let retryTime = Duration.seconds(1)
    /// The pause of the thread after each batch of lines. Without a pause, each line under load would wake the thread.
    private static let pauseMicroseconds: UInt32 = 1_000
    /// The most bytes of several lines that one system call writes. Up to this number (PIPE_BUF), the kernel writes the
    /// bytes of a call to a pipe at once, so the lines of several processes do not mix.
    private static let atomicBytes = 4_096

    /// Creates a writer and starts its thread, which runs until the process ends.
    ///
    /// - Parameters:
    ///   - limit: the most bytes of lines that wait to be written.
    ///   - note: returns the line that reports the given number of dropped lines.
    public init(
        to descriptor: CInt, limit: Int = 4 << 20, note: @escaping @Sendable (_ dropped: Int) -> [UInt8]
    ) throws(ThreadFailure) {
        self.descriptor = descriptor
        self.limit = limit
        self.note = note
        let failure = startThread(named: "braid-log") { [self] in run() }
        guard failure == 0 else { throw ThreadFailure(number: failure) }
    }

    /// The number of lines that have been dropped since the writer was created.
    public var dropped: Int { condition.withLock { total } }

    /// Queues a line, which must end with a line feed. If the queue has no room, drops the line. This method never
    /// waits for the descriptor.
    public func write(_ line: [UInt8]) {
        condition.withLock {
            guard pending + line.count <= limit else { return drop(1, new: 1) }
            reportDropped()
            append(Line(bytes: line))
        }
    }

    /// Waits until all queued lines are written or dropped. Returns after `time` at the latest.
    public func flush(within time: Duration) {
        let deadline = ContinuousClock.now + time
        condition.withLock {
            while pending > 0 || unreported > 0 && !failed, .now < deadline { condition.wait(for: deadline - .now) }
        }
    }

    // The following methods must be called while the caller holds the lock `condition`.

    private func append(_ line: Line) {
        queue.append(line)
        pending += line.bytes.count
        if isWaiting {
            isWaiting = false
            condition.broadcast()
        }
    }

    private func drop(_ count: Int, new: Int) {
        unreported += count
        total += new
    }

    private func reportDropped() {
        guard unreported > 0 else { return }
        let count = unreported
        unreported = 0
        append(Line(bytes: note(count), reported: count))
    }
}

// The thread.
extension LogWriter {
    private func run() {
        while true {
            let lines = next()
            let written = write(lines)
            condition.withLock {
                pending -= lines.reduce(0) { $0 + $1.bytes.count }
                failed = written < lines.count
                for line in lines[written...] { drop(max(1, line.reported), new: line.reported == 0 ? 1 : 0) }
                condition.broadcast()
            }
            usleep(Self.pauseMicroseconds)
        }
    }

    /// Waits for lines, removes all lines from the queue, and returns them.
    private func next() -> [Line] {
        condition.withLock {
            while queue.isEmpty {
                isWaiting = true
                if unreported == 0 {
                    condition.wait()
                    continue
                }
                if failed { condition.wait(for: Self.retryTime) }
                if queue.isEmpty { reportDropped() }
            }
            isWaiting = false
            defer { queue = [] }
            return queue
        }
    }

    /// Writes lines in order, until a write fails. Returns the number of lines that were written completely.
    private func write(_ lines: [Line]) -> Int {
        var next = 0
        while next < lines.count {
            var piece: [UInt8] = isInLine ? [UInt8(ascii: "\n")] : []
            let start = next
            while next < lines.count, next == start || piece.count + lines[next].bytes.count <= Self.atomicBytes {
                piece += lines[next].bytes
                next += 1
            }
            var rest = piece.count - write(piece)
            if rest == 0 {
                isInLine = false
                continue
            }
            if rest < piece.count { isInLine = piece[piece.count - rest - 1] != UInt8(ascii: "\n") }
            // `rest` is the number of bytes at the end of the piece that were not written. Go back over the lines that
            // contain these bytes.
            while rest > 0, next > start {
                next -= 1
                rest -= lines[next].bytes.count
            }
            return next
        }
        return next
    }

    /// Writes bytes to the descriptor, until a write fails. Returns the number of written bytes. If the descriptor is
    /// in non-blocking mode, waits until it accepts more bytes.
    private func write(_ bytes: [UInt8]) -> Int {
        bytes.withUnsafeBytes { buffer in
            var written = 0
            while written < buffer.count {
                let count = Glibc.write(descriptor, buffer.baseAddress.map { $0 + written }, buffer.count - written)
                if count > 0 {
                    written += count
                } else if count < 0, errno == EAGAIN {
                    var readiness = pollfd(fd: descriptor, events: Int16(POLLOUT), revents: 0)
                    poll(&readiness, 1, -1)
                } else if count == 0 || errno != EINTR {
                    break
                }
            }
            return written
        }
    }
}
