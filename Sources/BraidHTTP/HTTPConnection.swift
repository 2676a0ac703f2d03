import BraidRuntime
import CEpoll
import Glibc

/// One client's socket: what it is doing, and what it does next. Belongs to its loop's thread.
///
/// One request is under way at a time. While its answer is awaited or cannot be written, the socket is not read:
/// the kernel's buffer is the bound, and TCP slows the client down. That the peer left is told by the kernel all the
/// same (`EPOLLRDHUP`, `EPOLLHUP`). An idle connection holds no buffer.
final class HTTPConnection {
    enum Phase {
        /// A head, or a body that is being gathered.
        case receiving
        /// The handler runs while its body arrives.
        case feeding(HTTPBodyReader)
        /// The head is complete; the application decides how to take the body.
        case undecided(Task<Void, Never>)
        /// The handler runs; the request is complete.
        case answering(Task<Void, Never>, endsAtStop: Bool)
        /// The handler has read the whole body and still runs.
        case fed
        /// The answer's body is written as it comes.
        case streaming(ByteStream)
        /// The last answer is being written.
        case closing
        /// Our side is shut; what the client still sends is dropped, so that a reset does not destroy the answer.
        case lingering
    }

    let loop: EventLoop
    let id: UInt64
    private let socket: Int32
    var phase = Phase.receiving
    private(set) var isClosed = false

    var parser: HTTPParser
    /// Read but not parsed yet, from `heldStart` on: what came behind a request that is still being answered.
    private var held: [UInt8] = []
    private var heldStart = 0
    /// The kernel may have something to read.
    private var isReadable = false
    /// The peer sends nothing more (a half-close, or it left); what it sent before may still be unread.
    private(set) var peerIsDone = false
    /// All that the peer sent is read.
    private var isReadToEnd = false
    /// What this turn may still read or write before the other connections have theirs.
    private var turnBytes = 0
    private var waitsForTurn = false

    /// The request under way.
    var exchange = HTTPExchange()
    var head: HTTPRequestHead?
    var body: [UInt8] = []
    var bodyLimit = 0
    /// The memory of the request's body, and who pays for it.
    var bodyLease: Budget.Lease?
    var bodyAccount = Budget.Account()
    /// The memory of a large answer, until it is sent.
    var answerLease: Budget.Lease?
    /// The memory of a stream's large pieces, until they are sent.
    var pieceLeases: [Budget.Lease] = []

    private var output = OutputQueue()

    /// When the wait began that the deadline of this phase counts from, in the loop's milliseconds.
    var since: Int
    /// Bytes of the body under way.
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

    /// What the kernel told.
    func becameReady(_ events: UInt32) {
        if events & (EPOLLERR.rawValue | EPOLLHUP.rawValue) != 0 { return close() }
        if events & EPOLLRDHUP.rawValue != 0, !peerIsDone {
            peerIsDone = true
            endWaits()
        }
        if events & (EPOLLIN.rawValue | EPOLLRDHUP.rawValue) != 0 { isReadable = true }
        proceed()
    }

    /// Does all that can be done without waiting, or a turn's worth of it.
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

    /// Between two requests, with nothing of the next.
    var isIdle: Bool {
        if case .receiving = phase { return parser.isIdle && head == nil && heldStart == held.count && output.isEmpty }
        return false
    }

    /// Whether the parser may go on: no request is under way but the one being received, and its reader has room.
    private var takesBytes: Bool {
        if isClosed { return false }
        switch phase {
        case .receiving: return output.isEmpty
        case .feeding(let reader): return !reader.isPaused
        default: return false
        }
    }

    func serverStops() {
        // What has come already is still a request to answer.
        proceed()
        guard !isClosed else { return }
        endWaits()
        proceed()
    }

    /// Ends what has no end of its own, because the client or the server leaves.
    private func endWaits() {
        switch phase {
        case .streaming(let stream) where stream.isEndless: stream.endFromServer()
        // A client that has closed its side may still read, so its command is carried out. To drop a read does no harm.
        case .answering(let task, let endsAtStop) where endsAtStop || !loop.isStopping && isRead: task.cancel()
        case .feeding(let reader) where loop.isStopping:
            reader.fail(HTTPFailure(status: 503, detail: "The server is stopping."))
        default: break
        }
    }

    /// Whether the request under way only reads.
    private var isRead: Bool { head?.method == "GET" || head?.method == "HEAD" }

    func close() {
        guard !isClosed else { return }
        isClosed = true
        switch phase {
        case .streaming(let stream): stream.close()
        case .answering(let task, _), .undecided(let task): task.cancel()
        case .feeding(let reader):
            reader.fail(HTTPFailure(status: 400, detail: "The client left before its request was complete."))
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
        // Between requests little is read at a time: what follows a request waits in memory until that is answered.
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
        // Less than asked for: nothing is left, and the next byte is told of; but an end told of before is not told
        // again.
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

    /// Uses as many of the bytes as the phase allows; gives their number.
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
        return position  // what lies behind the last request is dropped with what still comes
    }

    private func readEnd() {
        isReadable = false
        isReadToEnd = true
        peerIsDone = true
        switch phase {
        case .receiving where !isIdle:
            refuse(HTTPFailure(status: 400, detail: "The connection's end came before the request was complete."))
            flush()
        case .feeding(let reader):
            exchange.keepsAlive = false
            reader.fail(HTTPFailure(status: 400, detail: "The connection's end came before the body was complete."))
        default:
            close()
        }
    }
}

// MARK: - Writing

extension HTTPConnection {
    /// Sends what is encoded in the loop's buffer, then `pieces`; what the socket does not take waits in the queue.
    func flush(_ pieces: [[UInt8]] = []) {
        defer { loop.output.removeAll(keepingCapacity: true) }
        guard !isClosed, !(loop.output.isEmpty && pieces.isEmpty) else { return }
        var sent = 0
        if output.isEmpty {
            lastProgress = loop.now
            unacknowledged = -1
            if pieces.isEmpty {
                sent = max(0, send(socket, loop.output, loop.output.count, Int32(MSG_NOSIGNAL)))
                turnBytes -= sent + 4_096  // a call costs as much as some bytes
                if sent == loop.output.count { return }
            }
        }
        // An error shows itself again in the next call.
        output.append(Array(loop.output[sent...]))
        for piece in pieces { output.append(piece) }
        _ = drain()
    }

    /// Once an answer is sent, its memory is there for others.
    func giveRoomBackIfSent() {
        guard output.isEmpty else { return }
        pieceLeases = []
        if case .streaming = phase { return }
        answerLease = nil
    }

    /// Whether all that waited is sent.
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

    /// Whether the reader takes anything of what waits for it. The socket becomes writable only after a third of the
    /// kernel's buffer has gone, which takes a slow reader minutes; so what the peer has acknowledged counts too.
    var isStalled: Bool {
        guard !output.isEmpty else { return false }
        let pending = Int(cepoll_unacknowledged(socket))
        if unacknowledged >= 0, pending < unacknowledged { lastProgress = loop.now }
        unacknowledged = pending
        return loop.now - lastProgress > loop.limits.writeTime.milliseconds
    }
}
