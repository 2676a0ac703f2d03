import Glibc

/// What a socket has not accepted yet, without copies.
struct OutputQueue {
    private var pieces: [[UInt8]] = []
    /// The first unsent piece, and its sent bytes.
    private var first = 0
    private var offset = 0

    var isEmpty: Bool { first == pieces.count }

    mutating func append(_ piece: [UInt8]) {
        if !piece.isEmpty { pieces.append(piece) }
    }

    /// Returns the bytes sent, or -1 with `errno`.
    mutating func send(to socket: Int32) -> Int {
        let count = min(pieces.count - first, Self.piecesInACall)
        let sent = withUnsafeTemporaryAllocation(of: iovec.self, capacity: Self.piecesInACall) { vectors in
            sending(0, of: count, to: socket, vectors)
        }
        if sent > 0 { drop(sent) }
        return sent
    }

    /// Linux allows 1,024 (UIO_MAXIOV), but `sending` calls itself for each piece.
    private static let piecesInACall = 64

    /// Collects the pieces from `index` on, then sends them in one call. The nesting keeps their pointers valid.
    private func sending(_ index: Int, of count: Int, to socket: Int32, _ vectors: UnsafeMutableBufferPointer<iovec>)
        -> Int
    {
        guard index < count else {
            var message = msghdr()
            message.msg_iov = vectors.baseAddress
            message.msg_iovlen = count
            // A disconnected peer would end the process with SIGPIPE.
            return sendmsg(socket, &message, Int32(MSG_NOSIGNAL))
        }
        return pieces[first + index].withUnsafeBytes { bytes in
            let start = index == 0 ? offset : 0
            vectors[index] = iovec(
                iov_base: UnsafeMutableRawPointer(mutating: bytes.baseAddress.map { $0 + start }),
                iov_len: bytes.count - start)
            return sending(index + 1, of: count, to: socket, vectors)
        }
    }

    private mutating func drop(_ count: Int) {
        var rest = count + offset
        while first < pieces.count, rest >= pieces[first].count {
            rest -= pieces[first].count
            pieces[first] = []  // Free the memory of a sent piece at once, before the rest of the queue is sent.
            first += 1
        }
        offset = rest
        if isEmpty {
            pieces = []
            first = 0
        }
    }
}
