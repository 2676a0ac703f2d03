import BraidRuntime
import CEpoll
import Glibc

/// The socket of a client, with the state of the client's current request. A connection belongs to its loop's thread.
///
/// A connection handles one request at a time. The connection does not read the socket while the answer is awaited or
/// cannot be written. Unread bytes fill the kernel's buffer, and TCP slows the client down. The kernel still reports
/// that the client has disconnected (`EPOLLRDHUP`, `EPOLLHUP`). An idle connection holds no buffer.
final class HTTPConnection {
    enum Phase {
        /// The connection is receiving a request's head, or a body that is buffered.
        case receiving
        /// The request's handler runs while the body arrives.
        case feeding(HTTPBodyReader)
        /// The request's head is complete. The application is deciding how to handle the body.
        case undecided(Task<Void, Never>)
        /// The request is complete and its handler runs.
        case answering(Task<Void, Never>, endsAtStop: Bool)
        /// The streamed body is complete, and its handler still runs.
        case fed
        /// The answer's body is written as its stream produces bytes.
        case streaming(ByteStream)
        /// The connection's last answer is being written.
        case closing
        /// The server's side is shut down. Bytes from the client are read and dropped, as unread bytes would cause a
        /// reset, which could destroy the answer.
        case lingering
    }

    let loop: EventLoop
    let id: UInt64
    private let socket: Int32
    var phase = Phase.receiving
    private(set) var isClosed = false

    var parser: HTTPParser
    /// Bytes that were read and not parsed, from `heldStart` on. These bytes follow a request that is still being
    /// answered.
    private var held: [UInt8] = []
    private var heldStart = 0
    /// Whether the kernel may have bytes of this socket to read.
    private var isReadable = false
    /// Whether the client sends nothing more, because it has closed its side or disconnected. Bytes that the client
    /// sent before may still be unread.
    private(set) var peerIsDone = false
    /// Whether all bytes that the client sent are read.
    private var isReadToEnd = false
    /// The number of bytes that the connection may still read or write before the other connections get their turn.
    private var turnBytes = 0
    private var waitsForTurn = false

    /// The properties of the current request that the answer needs.
    var exchange = HTTPExchange()
    var head: HTTPRequestHead?
    var body: [UInt8] = []
    var bodyLimit = 0
    /// The lease of the memory for the request's body. The lease counts against `bodyAccount`.
    var bodyLease: Quota.Lease?
    var bodyAccount = Quota.Account()
    /// The lease of the memory for a large answer, until the answer is sent.
    var answerLease: Quota.Lease?
    /// The leases of the memory for a stream's large pieces, until the pieces are sent.
    var pieceLeases: [Quota.Lease] = []

    private var output = OutputQueue()

    /// The start of the wait that the current phase's deadline limits, in milliseconds of the loop's clock.
    var since: Int
    /// The number of bytes of the current request's body that have arrived.
    var bodyBytes = 0
    var lingered = 0
    private var lastProgress: Int
    private var unacknowledged = -1

    init(socket: Int32, id: UInt64, loop: EventLoop) {
        self.socket = socket
        self.id = id
        self.loop = loop
        parser = HTTPParser(limits: loop.limits.parser)
        since = loop.now
        lastProgress = loop.now
    }

    /// Handles the kernel's events for the socket.
    func becameReady(_ events: UInt32) {
        if events & (EPOLLERR.rawValue | EPOLLHUP.rawValue) != 0 { return close() }
        if events & EPOLLRDHUP.rawValue != 0, !peerIsDone {
            peerIsDone = true
            endWaits()
        }
        if events & (EPOLLIN.rawValue | EPOLLRDHUP.rawValue) != 0 { isReadable = true }
        proceed()
    }

    /// Reads, parses, answers and writes as much as is possible without waiting, for at most one turn.
    func proceed() {
        turnBytes = 1 << 20
        waitsForTurn = false
        while !isClosed {
            guard turnBytes > 0 else { return yield() }
            guard output.isEmpty || drain() else { return }
            switch phase {
            case .undecided, .answering, .fed:
                return
            case .streaming(let stream):
                guard relay(stream) else { return }
            case .closing where isReadToEnd:
                close()
            case .closing:
                shutdown(socket, Int32(SHUT_WR))
                phase = .lingering
                since = loop.now
            case .feeding(let reader) where reader.isPaused:
                return
            case .receiving, .feeding, .lingering:
                if heldStart < held.count {
                    parseHeld()
                } else if isReadable {
                    read()
                } else {
                    if loop.isStopping, isIdle { close() }
                    return
                }
            }
        }
    }

    private func yield() {
        guard !waitsForTurn else { return }
        waitsForTurn = true
        loop.takeTurnAgain(id)
    }

    /// Whether the connection is between two requests and has no byte of the next request.
    var isIdle: Bool {
        if case .receiving = phase { return parser.isIdle && head == nil && heldStart == held.count && output.isEmpty }
        return false
    }

    /// Whether the parser may continue: no complete request is being answered, and the body's reader has room.
    private var takesBytes: Bool {
        if isClosed { return false }
        switch phase {
        case .receiving: return output.isEmpty
        case .feeding(let reader): return !reader.isPaused
        default: return false
        }
    }

    func serverStops() {
        // A request that has already arrived is still answered.
        proceed()
        guard !isClosed else { return }
        endWaits()
        proceed()
    }

    /// Ends endless streams and endless waits, because the client has left or the server stops.
    private func endWaits() {
        switch phase {
        case .streaming(let stream) where stream.isEndless: stream.endFromServer()
        // A client that has closed its side may still read, so its command is executed. Cancelling a read request does
        // no harm.
        case .answering(let task, let endsAtStop) where endsAtStop || !loop.isStopping && isRead: task.cancel()
        case .feeding(let reader) where loop.isStopping:
            reader.fail(HTTPFailure(status: 503, detail: "The server is stopping."))
        default: break
        }
    }

    /// Whether the current request only reads and changes nothing.
    private var isRead: Bool { head?.method == "GET" || head?.method == "HEAD" }

    func close() {
        guard !isClosed else { return }
        isClosed = true
        switch phase {
        case .streaming(let stream): stream.close()
        case .answering(let task, _), .undecided(let task): task.cancel()
        case .feeding(let reader):
            reader.fail(HTTPFailure(status: 400, detail: "The client disconnected before its request was complete."))
        default: break
        }
        Glibc.close(socket)
        loop.forget(id)
    }
}

// MARK: - Reading

extension HTTPConnection {
    private static let headRead = 4 * 1024

    private func read() {
        // Read little between requests: the bytes after a request stay in memory until the request is answered.
        let room = head == nil ? Self.headRead : loop.input.count
        let count = recv(socket, loop.input.baseAddress, room, 0)
        guard count > 0 else {
            if count == 0 { return readEnd() }
            switch errno {
            case EAGAIN: isReadable = false
            case EINTR: break
            default: close()
            }
            return
        }
        turnBytes -= count
        // If the kernel returns fewer bytes than requested, it has no more and will report the next byte. But the
        // kernel does not report a second time that the client has closed its side.
        if count < room, !peerIsDone { isReadable = false }
        let bytes = UnsafeBufferPointer(rebasing: loop.input[..<count])
        let used = parse(bytes.span)
        if used < count, !isClosed {
            held = Array(bytes[used...])
            heldStart = 0
        }
    }

    private func parseHeld() {
        let bytes = held
        let start = heldStart
        heldStart += parse(bytes.span.extracting(start...))
        if heldStart == held.count {
            held = []
            heldStart = 0
        }
    }

    /// Parses as many of the bytes as the phase allows. Returns the number of parsed bytes.
    private func parse(_ bytes: Span<UInt8>) -> Int {
        if case .lingering = phase {
            lingered += bytes.count
            if lingered > loop.limits.lingerBytes { close() }
            return bytes.count
        }
        if parser.isIdle, head == nil { since = loop.now }
        var position = 0
        parsing: while takesBytes {
            switch parser.next(bytes, &position) {
            case .needsBytes: break parsing
            case .head(let head): received(head)
            case .body(let range): received(bytes.extracting(range))
            case .end: requestEnded()
            case .failed(let failure): refuse(failure)
            }
            if loop.output.count > 64 * 1024 { flush() }
        }
        flush()
        return position  // Bytes that arrive while lingering are dropped.
    }

    private func readEnd() {
        isReadable = false
        isReadToEnd = true
        peerIsDone = true
        switch phase {
        case .receiving where !isIdle:
            refuse(HTTPFailure(status: 400, detail: "The connection ended before the request was complete."))
            flush()
        case .feeding(let reader):
            exchange.keepsAlive = false
            reader.fail(HTTPFailure(status: 400, detail: "The connection ended before the body was complete."))
        default:
            close()
        }
    }
}

// MARK: - Writing

extension HTTPConnection {
    /// Sends the bytes in the loop's output buffer, and after them `pieces`. Bytes that the socket does not accept wait
    /// in the queue.
    func flush(_ pieces: [[UInt8]] = []) {
        defer { loop.output.removeAll(keepingCapacity: true) }
        guard !isClosed, !(loop.output.isEmpty && pieces.isEmpty) else { return }
        var sent = 0
        if output.isEmpty {
            lastProgress = loop.now
            unacknowledged = -1
            if pieces.isEmpty {
                sent = max(0, send(socket, loop.output, loop.output.count, Int32(MSG_NOSIGNAL)))
                turnBytes -= sent + 4_096  // The system call itself costs time as well.
                if sent == loop.output.count { return }
            }
        }
        // After an error of the socket, the next call fails with the same error.
        output.append(Array(loop.output[sent...]))
        for piece in pieces { output.append(piece) }
        _ = drain()
    }

    /// Ends the leases of an answer's memory if the answer is sent.
    func giveRoomBackIfSent() {
        guard output.isEmpty else { return }
        pieceLeases = []
        if case .streaming = phase { return }
        answerLease = nil
    }

    /// Sends the bytes in the output queue. Returns whether the queue is empty.
    private func drain() -> Bool {
        defer { giveRoomBackIfSent() }
        while !output.isEmpty {
            guard turnBytes > 0 else {
                yield()
                return false
            }
            let sent = output.send(to: socket)
            if sent > 0 {
                lastProgress = loop.now
                turnBytes -= sent
                continue
            }
            switch errno {
            case EAGAIN: break
            case EINTR: continue
            default: close()
            }
            return false
        }
        return true
    }

    /// Whether the client has stopped reading its answer.
    ///
    /// The socket becomes writable only when a third of the kernel's buffer is free. A slow client needs minutes to
    /// free a third. So acknowledged bytes count as progress as well.
    var isStalled: Bool {
        guard !output.isEmpty else { return false }
        let pending = Int(cepoll_unacknowledged(socket))
        if unacknowledged >= 0, pending < unacknowledged { lastProgress = loop.now }
        unacknowledged = pending
        return loop.now - lastProgress > loop.limits.writeTime.milliseconds
    }
}
