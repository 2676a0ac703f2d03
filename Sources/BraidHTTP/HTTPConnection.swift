import BraidRuntime
import CEpoll
import Glibc

/// A client's socket and its current request. Only the event loop's thread uses it.
///
/// The socket is not read while a request awaits its answer, or while an answer cannot be written: the kernel's
/// buffer fills, and TCP slows the client down. A disconnected client is still reported (`EPOLLRDHUP`, `EPOLLHUP`).
/// An idle connection holds no buffer.
final class HTTPConnection {
    enum Phase {
        case receiving
        /// `respond(reading:)` runs, and the body arrives.
        case feeding(HTTPBodyReader)
        /// The head is complete; a task decides about the body.
        case undecided(Task<Void, Never>)
        /// The request is complete; a task makes the answer.
        case answering(Task<Void, Never>, endsAtStop: Bool)
        /// The streamed body has arrived; `respond(reading:)` has not answered yet.
        case fed
        case streaming(ByteStream)
        /// Sends the last answer.
        case closing
        /// The last answer is sent and the sending side shut down. The client's bytes are still read and dropped:
        /// closing with unread bytes would reset the connection, and the client could lose the answer.
        case lingering
    }

    let loop: EventLoop
    let id: UInt64
    private let socket: Int32
    /// `nil` with a Unix socket.
    let peer: IPAddress?
    var phase = Phase.receiving
    private(set) var isClosed = false
    /// Accepted while `maxConnections` were open, so for a probe. Ordinary once another has closed.
    var isReserved: Bool
    /// Milliseconds of the loop's clock, like the other times.
    let opened: Int

    var parser: HTTPParser
    /// Bytes that were read; those from `heldStart` on are not parsed yet.
    private var held: [UInt8] = []
    private var heldStart = 0
    /// The kernel may hold unread bytes.
    private var isReadable = false
    /// The client has closed its sending side or disconnected. The kernel may still hold earlier bytes.
    private(set) var peerIsDone = false
    /// The kernel's last bytes are read as well: `recv` has returned 0.
    private var isReadToEnd = false
    /// How many more this turn may read and write.
    private var turnBytes = 0
    /// The loop already lists it to go on.
    private var waitsForTurn = false

    /// The request, from its head's end until its answer begins.
    var exchange: (any HTTPExchange)?
    var framing = ResponseFraming()
    var body: [UInt8] = []
    var bodyLimit = 0
    var bodyLease: Quota.Lease?
    var bodyAccount = Quota.Account()
    var answerLease: Quota.Lease?
    /// For a stream's large pieces, until they are sent.
    var pieceLeases: [Quota.Lease] = []

    private var output = OutputQueue()

    /// When the phase's deadline began to run.
    var since: Int
    var bodyBytes = 0
    var lingered = 0
    /// When the client last took bytes of the answer.
    private var lastProgress: Int
    /// Bytes at the last check of `isStalled`, -1 if unknown.
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

    func becameReady(_ events: UInt32) {
        if events & (EPOLLERR.rawValue | EPOLLHUP.rawValue) != 0 { return close() }
        if events & EPOLLRDHUP.rawValue != 0, !peerIsDone {
            peerIsDone = true
            endWaits()
        }
        if events & (EPOLLIN.rawValue | EPOLLRDHUP.rawValue) != 0 { isReadable = true }
        proceed()
    }

    /// Goes on as far as possible without waiting, but at most for about 1 MiB.
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

    /// No byte of the next request, and no unsent one of the last answer.
    var isIdle: Bool {
        if case .receiving = phase { return isBetweenHeads && heldStart == held.count && output.isEmpty }
        return false
    }

    private var isBetweenHeads: Bool { parser.isIdle && exchange == nil }

    private var takesBytes: Bool {
        if isClosed { return false }
        switch phase {
        case .receiving: return output.isEmpty
        case .feeding(let reader): return !reader.isPaused
        default: return false
        }
    }

    func serverStops() {
        // Requests that have arrived are still handled.
        proceed()
        guard !isClosed else { return }
        endWaits()
        proceed()
    }

    /// Ends what may never end by itself, when the client sends no more or the server stops.
    private func endWaits() {
        switch phase {
        case .streaming(let stream) where stream.isEndless: stream.endFromServer()
        // A client that closed its sending side may still read the answer, so its command is carried out.
        case .answering(let task, let endsAtStop)
        where endsAtStop || !loop.isStopping && exchange?.head.isRead == true:
            task.cancel()
        case .feeding(let reader) where loop.isStopping:
            reader.fail(HTTPFailure(status: 503, detail: "The server is stopping."))
        default: break
        }
    }

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

    /// Only when `held` is used up, as `proceed` ensures: unparsed bytes replace it.
    private func read() {
        // What is read past a request stays in memory until that is answered, so read little of a head at once.
        let room = exchange == nil ? Self.headRead : loop.input.count
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
        // With less than asked for, the kernel has no more, and epoll reports the next bytes. But it does not report
        // twice that the client has closed its side, so then read to the end.
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

    /// Parses what the phase allows, and returns the number of bytes.
    private func parse(_ bytes: Span<UInt8>) -> Int {
        if case .lingering = phase {
            lingered += bytes.count
            if lingered > loop.limits.lingerBytes { close() }
            return bytes.count
        }
        if isBetweenHeads { since = loop.now }
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
        case .feeding(let reader):  // The handler hears of it, and may still answer.
            framing.keepsAlive = false
            reader.fail(HTTPFailure(status: 400, detail: "The connection ended before the body was complete."))
        default:
            close()
        }
    }
}

// MARK: - Deadlines

extension HTTPConnection {
    func checkDeadlines() {
        if isStalled {
            let isStream = if case .streaming = phase { true } else { false }
            loop.load.stalled(isStream: isStream)
            return close()
        }
        let waited = loop.now - since
        let limits = loop.limits
        if isReserved {
            if isIdle, loop.load.promote() {
                isReserved = false
            } else if loop.now - opened > limits.reservedTime.milliseconds {
                return close()
            }
        }
        switch phase {
        case .receiving where isIdle:
            if waited > limits.idleTime.milliseconds || loop.load.isCrowded && waited > 2 * limits.sweep.milliseconds {
                close()
            }
        case .receiving where exchange == nil:
            if !parser.isIdle, waited > limits.headTime.milliseconds {
                timeOut("The request's head did not arrive within \(limits.headTime).")
            }
        case .receiving:
            let isDue = waited > limits.bodyGrace.milliseconds
            // See `leastBodyBytesPerSecond` for the 64.
            let least = limits.leastBodyBytesPerSecond * (loop.load.incoming.isShort ? 64 : 1)
            if isDue, bodyBytes < least * waited / 1_000 {
                timeOut("The body arrived at less than \(least) bytes a second.")
            }
        case .feeding(let reader):
            if reader.isPaused {
                // The handler is slow, not the client.
                since = loop.now
            } else if waited > limits.streamedBodyPause.milliseconds {
                timeOut("No byte of the body arrived for \(limits.streamedBodyPause).")
            }
        case .lingering:
            let time = loop.isStopping ? min(limits.lingerTime, limits.lingerTimeAtStop) : limits.lingerTime
            if waited > time.milliseconds { close() }
        case .undecided, .answering, .fed, .streaming, .closing:
            break
        }
    }

    private func timeOut(_ detail: String) {
        refuse(HTTPFailure(status: 408, detail: detail))
        flush()
        proceed()
    }
}

// MARK: - Writing

extension HTTPConnection {
    /// Sends the loop's output, then `pieces`. What the socket does not accept is queued.
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
        // `drain` meets an error of `send` again, and handles it.
        output.append(Array(loop.output[sent...]))
        for piece in pieces { output.append(piece) }
        _ = drain()
    }

    /// Ends leases once the socket has accepted all; while a stream goes on, only those of its pieces.
    func giveRoomBackIfSent() {
        guard output.isEmpty else { return }
        pieceLeases = []
        if case .streaming = phase { return }
        // The task that made the answer may hold it a moment longer.
        answerLease?.end()
        answerLease = nil
    }

    /// Sends the queue, and returns whether it is empty.
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

    /// The client reads nothing. A full send buffer becomes writable when a third is free, which takes a slow client
    /// minutes, so acknowledged bytes count as progress, too.
    var isStalled: Bool {
        guard !output.isEmpty else { return false }
        let pending = Int(cepoll_unacknowledged(socket))
        if unacknowledged >= 0, pending < unacknowledged { lastProgress = loop.now }
        unacknowledged = pending
        return loop.now - lastProgress > loop.limits.writeTime.milliseconds
    }
}
