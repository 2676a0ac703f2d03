import Glibc

/// Writes log lines on its thread, so that no other waits for the descriptor. Lines without room, or that cannot be
/// written, are dropped; a later note counts them.
package final class LogWriter: @unchecked Sendable {
    private struct Line {
        var bytes: [UInt8]
        /// The dropped lines that this note counts.
        var reported = 0
    }

    /// Guards `queue`, `pending`, `total`, `unreported`, `failed` and `isWaiting`.
    private let condition = Condition()
    private var queue: [Line] = []
    /// Bytes, also of the batch being written.
    private var pending = 0
    private var total = 0
    private var unreported = 0
    private var failed = false
    private var isWaiting = false

    private let descriptor: CInt
    private let limit: Int
    private let note: @Sendable (_ dropped: Int) -> [UInt8]
    /// A failed write has left half a line. For the thread only.
    private var isInLine = false

    /// How often a failed note is tried again while no lines come.
    private static let retryTime = Duration.seconds(1)
    /// Slept after each batch: otherwise, under load, every line would wake the thread.
    private static let pauseMicroseconds: UInt32 = 5_000
    /// PIPE_BUF: so many bytes go to a pipe at once, so that lines of several processes do not mix.
    private static let atomicBytes = 4_096

    package init(
        to descriptor: CInt, limit: Int = 4 << 20, note: @escaping @Sendable (_ dropped: Int) -> [UInt8]
    ) throws(ThreadFailure) {
        self.descriptor = descriptor
        self.limit = limit
        self.note = note
        let failure = startThread(named: "braid-log") { [self] in run() }
        guard failure == 0 else { throw ThreadFailure(number: failure) }
    }

    package var dropped: Int { condition.withLock { total } }

    /// `line` ends with its line feed. Never waits for the descriptor.
    package func write(_ line: [UInt8]) {
        condition.withLock {
            guard pending + line.count <= limit else { return drop(1, new: 1) }
            reportDropped()
            append(Line(bytes: line))
        }
    }

    /// Waits until all lines are written or dropped.
    package func flush(within time: Duration) {
        let deadline = ContinuousClock.now + time
        condition.withLock {
            while pending > 0 || unreported > 0 && !failed, .now < deadline { condition.wait(for: deadline - .now) }
        }
    }

    // The caller holds `condition`.

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

    /// Until the first failed write. Returns the lines written whole.
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
            // Go back over the lines whose bytes, the piece's last `rest`, were not written.
            while rest > 0, next > start {
                next -= 1
                rest -= lines[next].bytes.count
            }
            return next
        }
        return next
    }

    /// Until the first failed write. Returns the bytes written. Waits for a non-blocking descriptor.
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
