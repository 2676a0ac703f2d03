import BraidRuntime
import CEpoll
import Glibc

/// A client's socket, with the state of the request that the client is sending or that the server is answering. Only
/// the event loop's thread uses a connection.
///
/// A connection handles one request at a time. The server does not read the socket while the answer to a completely
/// received request is awaited, or while an answer cannot be written. Unread bytes fill the kernel's buffer, and TCP
/// slows the client down. The kernel still reports that the client has disconnected (`EPOLLRDHUP`, `EPOLLHUP`). An idle
/// connection holds no buffer.
final class HTTPConnection {
    enum Phase {
        /// The connection is receiving a request's head, or a body that the server buffers as a whole.
        case receiving
        /// The handler of the current request runs and reads the request's body while the body arrives.
        case feeding(HTTPBodyReader)
        /// The request's head is complete. The application is deciding how to handle the body.
        case undecided(Task<Void, Never>)
        /// The request is complete, its body included, and the task that produces its answer runs.
        case answering(Task<Void, Never>, endsAtStop: Bool)
        /// The request's streamed body has arrived completely, and the handler that reads it has not answered yet.
        case fed
        /// The server is sending an answer whose body comes from a stream, piece by piece as the stream produces bytes.
        case streaming(ByteStream)
        /// The last answer of the connection is being sent. The server closes the connection after this answer.
        case closing
        /// The server has sent its last answer and shut down its sending side. The server still reads and drops the
        /// client's bytes: closing with unread bytes would reset the connection, and the client could lose the answer.
        case lingering
    }

    let loop: EventLoop
    let id: UInt64
    private let socket: Int32
    /// The IP address of the connection's other end. `nil` with a Unix socket.
    let peer: IPAddress?
    var phase = Phase.receiving
    private(set) var isClosed = false
    /// Whether this connection is reserved: it was accepted while `maxConnections` connections were open. A reserved
    /// connection accepts only probes (`HTTPHandler.isProbe`). It can become an ordinary connection after another one
    /// has closed.
    var isReserved: Bool
    /// The time at which the server accepted the connection, in milliseconds of the loop's clock.
    let opened: Int

    var parser: HTTPParser
    /// Bytes that were read from the socket. The bytes from index `heldStart` on are not parsed yet, for example
    /// because they follow a request that is still being answered.
    private var held: [UInt8] = []
    private var heldStart = 0
    /// Whether the kernel may have received bytes for this socket that the server has not read from it yet.
    private var isReadable = false
    /// Whether the client sends nothing more, because it has closed its sending side or disconnected. The server may
    /// still have to read bytes that the client sent before.
    private(set) var peerIsDone = false
    /// Whether the server has read the end of the client's bytes: the client sends nothing more, and the kernel holds
    /// no unread bytes.
    private var isReadToEnd = false
    /// The number of bytes that this connection may still read or write before the loop's other connections get their
    /// turn.
    private var turnBytes = 0
    private var waitsForTurn = false

    /// The properties of the current request on which the encoding of its answer depends, such as the HTTP version.
    var exchange = HTTPExchange()
    var head: HTTPRequestHead?
    var body: [UInt8] = []
    var bodyLimit = 0
    /// The lease of the memory for the request's body. The leased bytes count towards the share of the account
    /// `bodyAccount`.
    var bodyLease: Quota.Lease?
    var bodyAccount = Quota.Account()
    /// The lease of the memory for a large answer to the client, until the answer is sent.
    var answerLease: Quota.Lease?
    /// The leases of the memory for large pieces of an answer's stream, until the pieces are sent.
    var pieceLeases: [Quota.Lease] = []

    private var output = OutputQueue()

    /// The time at which the connection started to wait for what its current phase needs, for example for the next
    /// request. The phase's deadline counts from this time. The time is in milliseconds of the loop's clock.
    var since: Int
    /// The number of bytes of the current request's body that have arrived.
    var bodyBytes = 0
    var lingered = 0
    private var lastProgress: Int
    private var unacknowledged = -1

    init(socket: Int32, id: UInt64, loop: EventLoop, isReserved: Bool) {
        self.socket = socket
        peer = IPAddress(peerOf: socket)
        self.id = id
        self.loop = loop
        self.isReserved = isReserved
        opened = loop.now
        parser = HTTPParser(limits: loop.limits.parser)
        since = loop.now
        lastProgress = loop.now
    }

    /// Handles the events that epoll has reported for the connection's socket.
    func becameReady(_ events: UInt32) {
        if events & (EPOLLERR.rawValue | EPOLLHUP.rawValue) != 0 { return close() }
        if events & EPOLLRDHUP.rawValue != 0, !peerIsDone {
            peerIsDone = true
            endWaits()
        }
        if events & (EPOLLIN.rawValue | EPOLLRDHUP.rawValue) != 0 { isReadable = true }
        proceed()
    }

    /// Reads, parses, answers and writes as much as the connection can without waiting. One call stops after about 1
    /// MiB, so that other connections get their turn.
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

    /// Whether the connection is between two requests, with no received byte of the next request and no unsent byte of
    /// an answer.
    var isIdle: Bool {
        if case .receiving = phase { return parser.isIdle && head == nil && heldStart == held.count && output.isEmpty }
        return false
    }

    /// Whether the parser may parse more bytes. It may only while the connection receives a request. Even then it may
    /// not while bytes of an answer are unsent, or while the buffer of the body's reader is full.
    private var takesBytes: Bool {
        if isClosed { return false }
        switch phase {
        case .receiving: return output.isEmpty
        case .feeding(let reader): return !reader.isPaused
        default: return false
        }
    }

    func serverStops() {
        // Even when the server stops, it still handles requests whose bytes have already arrived.
        proceed()
        guard !isClosed else { return }
        endWaits()
        proceed()
    }

    /// Ends work that may never end by itself, such as an endless answer stream or a long poll. Called when the client
    /// sends nothing more, or when the server stops.
    private func endWaits() {
        switch phase {
        case .streaming(let stream) where stream.isEndless: stream.endFromServer()
        // If a client has closed its sending side, it may still read the answer, so the server still executes the
        // client's command. Only the task of a GET or HEAD is cancelled, which does no harm.
        case .answering(let task, let endsAtStop) where endsAtStop || !loop.isStopping && isRead: task.cancel()
        case .feeding(let reader) where loop.isStopping:
            reader.fail(HTTPFailure(status: 503, detail: "The server is stopping."))
        default: break
        }
    }

    /// Whether the current request is a GET or HEAD, which changes nothing.
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
        // Before a request's head is complete, read only 4 KiB at a time. What is read beyond the end of a request
        // stays in memory until the request is answered.
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
        // If the kernel returns fewer bytes than the buffer holds, it has no more now, and epoll will report the next
        // bytes. But epoll does not report again that the client has closed its side, so after that, read on to the
        // end.
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

    /// Parses as many of the received bytes as the connection's phase allows. Returns the number of parsed bytes. A
    /// connection in the phase `lingering` drops the bytes instead and counts them as parsed.
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
        return position
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
    /// in the connection's output queue.
    func flush(_ pieces: [[UInt8]] = []) {
        defer { loop.output.removeAll(keepingCapacity: true) }
        guard !isClosed, !(loop.output.isEmpty && pieces.isEmpty) else { return }
        var sent = 0
        if output.isEmpty {
            lastProgress = loop.now
            unacknowledged = -1
            if pieces.isEmpty {
                sent = max(0, send(socket, loop.output, loop.output.count, Int32(MSG_NOSIGNAL)))
                turnBytes -= sent + 4_096  // The system call also costs time, so it counts as 4,096 bytes of the turn.
                if sent == loop.output.count { return }
            }
        }
        // An error of `send` is not handled here: `drain` sends to the same socket next and handles the error.
        output.append(Array(loop.output[sent...]))
        for piece in pieces { output.append(piece) }
        _ = drain()
    }

    /// Ends the leases of the memory for an answer's bytes, if the socket has accepted all these bytes. While an
    /// answer's stream continues, only the leases of its sent pieces end.
    func giveRoomBackIfSent() {
        guard output.isEmpty else { return }
        pieceLeases = []
        if case .streaming = phase { return }
        // Releasing the reference is not enough to end the lease: the task that made the answer may hold another
        // reference for a moment.
        answerLease?.end()
        answerLease = nil
    }

    /// Sends the bytes in the connection's output queue. Returns whether the queue is empty afterwards.
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
    /// After the kernel's send buffer is full, the socket becomes writable again only when a third of the buffer is
    /// free. A slow client needs minutes to free a third. So bytes that the client's TCP acknowledges count as progress
    /// as well.
    var isStalled: Bool {
        guard !output.isEmpty else { return false }
        let pending = Int(cepoll_unacknowledged(socket))
        if unacknowledged >= 0, pending < unacknowledged { lastProgress = loop.now }
        unacknowledged = pending
        return loop.now - lastProgress > loop.limits.writeTime.milliseconds
    }
}
