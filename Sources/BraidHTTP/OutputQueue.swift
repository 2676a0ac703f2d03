import Glibc

/// What a socket would not take yet, in order. Holds the arrays themselves; nothing is copied.
struct OutputQueue {
    private var pieces: [[UInt8]] = []
    /// The first piece that is not sent, and how much of it is.
    private var first = 0
    private var offset = 0

    var isEmpty: Bool { first == pieces.count }

    mutating func append(_ piece: [UInt8]) {
        if !piece.isEmpty { pieces.append(piece) }
    }

    /// Sends what the socket takes: as many pieces in one call as it may have. Gives -1 (see errno) or the number of
    /// bytes.
    mutating func send(to socket: Int32) -> Int {
        let count = min(pieces.count - first, Self.piecesInACall)
        let sent = withUnsafeTemporaryAllocation(of: iovec.self, capacity: Self.piecesInACall) { vectors in
            sending(0, of: count, to: socket, vectors)
        }
        if sent > 0 { drop(sent) }
        return sent
    }

    /// The limit of Linux is 1,024 (UIO_MAXIOV); the recursion below is what keeps it lower.
    private static let piecesInACall = 64

    /// Nests one `withUnsafeBytes` for each piece: the pointers are valid only inside.
    private func sending(_ index: Int, of count: Int, to socket: Int32, _ vectors: UnsafeMutableBufferPointer<iovec>)
        -> Int
    {
        guard index < count else {
            var message = msghdr()
            message.msg_iov = vectors.baseAddress
            message.msg_iovlen = count
            // Without the flag, a peer that left would end the process with SIGPIPE.
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
            pieces[first] = []  // its memory is not needed until the whole queue is sent
            first += 1
        }
        offset = rest
        if isEmpty {
            pieces = []
            first = 0
        }
    }
}
