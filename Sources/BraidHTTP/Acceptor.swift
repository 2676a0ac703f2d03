import BraidRuntime
import CEpoll
import Glibc
import Synchronization

/// Statistics of a server's connections.
public struct HTTPConnections: Sendable {
    /// The number of open connections, without reserved connections.
    public var open: Int
    /// The most connections that may be open at once, without reserved connections.
    public var maximum: Int
    /// The number of client connections that the server has accepted since its start.
    public var accepted: Int
    /// The number of requests that the server refused with 503 because they came on a reserved connection, while all
    /// ordinary connections were in use.
    public var refused: Int
    /// The number of connections that were closed because the client read nothing of its answer for too long.
    public var stalled: Int
    /// The number of connections in `stalled` whose answer was a stream that had not ended yet.
    public var stalledStreams: Int
}

/// The counts and quotas that all event loops of a server share. When a connection closes, this object wakes the
/// acceptor if the acceptor waits for room.
final class ServerLoad: Sendable {
    private let open = Atomic<Int>(0)
    private let reserved = Atomic<Int>(0)
    private let refused = Atomic<Int>(0)
    private let accepted = Atomic<Int>(0)
    private let stalled = Atomic<Int>(0)
    private let stalledStreams = Atomic<Int>(0)
    private let isAcceptorWaiting = Atomic<Bool>(false)
    private let wakeAcceptor = Mutex<(@Sendable () -> Void)?>(nil)
    let maximum: Int
    /// The quota of memory for request bodies. The property `outgoing` is the quota of memory for answers
    /// (`HTTPServer.Configuration`).
    let incoming: Quota
    let outgoing: Quota

    init(maximum: Int, incoming: Quota, outgoing: Quota) {
        self.maximum = maximum
        self.incoming = incoming
        self.outgoing = outgoing
    }

    /// Whether the server can accept one more connection: an ordinary one, or a reserved one for probes.
    var hasRoom: Bool {
        open.load(ordering: .relaxed) < maximum
            || reserved.load(ordering: .relaxed) < HTTPServer.reservedConnections
    }

    /// Whether at least seven eighths of the ordinary connections are in use. While this is so, the server closes idle
    /// connections after a short time.
    var isCrowded: Bool { open.load(ordering: .relaxed) >= maximum - maximum / 8 }

    var facts: HTTPConnections {
        HTTPConnections(
            open: open.load(ordering: .relaxed), maximum: maximum, accepted: accepted.load(ordering: .relaxed),
            refused: refused.load(ordering: .relaxed), stalled: stalled.load(ordering: .relaxed),
            stalledStreams: stalledStreams.load(ordering: .relaxed))
    }

    /// Counts a new connection. Returns `true` if the new connection is a reserved one, which is so if all ordinary
    /// connections are in use.
    func opened() -> Bool {
        accepted.add(1, ordering: .relaxed)
        if takePlace() { return false }
        reserved.add(1, ordering: .relaxed)
        return true
    }

    /// Turns a reserved connection into an ordinary connection. Returns `false` if all ordinary connections are in use.
    func promote() -> Bool {
        guard takePlace() else { return false }
        leave(reserved)
        return true
    }

    private func takePlace() -> Bool {
        var before = open.load(ordering: .relaxed)
        while before < maximum {
            let (isTaken, present) = open.weakCompareExchange(
                expected: before, desired: before + 1, ordering: .relaxed)
            if isTaken { return true }
            before = present
        }
        return false
    }

    /// Counts a request that was refused on a reserved connection.
    func refusedRequest() { refused.add(1, ordering: .relaxed) }

    /// Counts a connection that the server closes because its client reads nothing of its answer. The caller also calls
    /// `closed` for this connection.
    func stalled(isStream: Bool) {
        stalled.add(1, ordering: .relaxed)
        if isStream { stalledStreams.add(1, ordering: .relaxed) }
    }

    func closed(isReserved: Bool) {
        if isReserved { leave(reserved) } else { leave(open) }
    }

    private func leave(_ count: borrowing Atomic<Int>) {
        count.subtract(1, ordering: .sequentiallyConsistent)
        if isAcceptorWaiting.exchange(false, ordering: .sequentiallyConsistent) { wakeAcceptor.withLock { $0 }?() }
    }

    func waitForRoom() { isAcceptorWaiting.store(true, ordering: .sequentiallyConsistent) }

    func onRoom(_ action: (@Sendable () -> Void)?) { wakeAcceptor.withLock { $0 = action } }
}

/// Accepts connections and distributes them over the event loops in turn. Taking turns is fair even with few
/// connections.
///
/// If `maxConnections` connections are open, the next connections are reserved ones, on which the server answers only
/// probes such as health checks.
///
/// The acceptor runs on the first event loop's thread. The acceptor pauses when all ordinary and all reserved
/// connections are in use, or if the system has no file descriptor or no memory left. During the pause, new clients
/// wait in the kernel's backlog. The acceptor continues when a connection closes or when the loop next checks its
/// deadlines.
final class Acceptor {
    let socket: Int32
    var isPaused = false
    private let listener: Listener
    private let loops: [EventLoop]
    private let load: ServerLoad
    private let onLimit: @Sendable (_ errno: CInt) -> Void
    private var nextLoop = 0
    /// The number of `suspend` calls without a matching `resume`. The acceptor accepts connections only if the number
    /// is 0.
    private var suspensions = 0

    init(
        _ listener: Listener, dealingTo loops: [EventLoop], load: ServerLoad,
        onLimit: @escaping @Sendable (_ errno: CInt) -> Void
    ) {
        self.listener = listener
        socket = listener.socket
        self.loops = loops
        self.load = load
        self.onLimit = onLimit
    }

    /// Accepts waiting connections. One call accepts at most 64 connections, so that the event loop serves its open
    /// connections between two calls.
    func accept() {
        for _ in 0..<64 {
            guard load.hasRoom else { return pause() }
            let accepted = cepoll_accept(socket)
            guard accepted >= 0 else {
                switch errno {
                case EAGAIN: return
                // The following errors of `accept` concern a single waiting client, which for example has disconnected.
                // EINTR means that a signal interrupted the call. So the acceptor goes on: accept(2), "Error handling".
                case EINTR, ECONNABORTED, EPROTO, EPERM, ENETDOWN, ENOPROTOOPT, EHOSTDOWN, ENONET, EHOSTUNREACH,
                    EOPNOTSUPP, ENETUNREACH:
                    continue
                default:  // EMFILE, ENFILE, ENOBUFS, ENOMEM: the next `accept` would fail too, so pause.
                    onLimit(errno)
                    return pause()
                }
            }
            let isReserved = load.opened()
            if isReserved { onLimit(0) }
            let loop = loops[nextLoop]
            // The acceptor already runs on the first event loop's thread, so it can give that loop a socket without a
            // message.
            if nextLoop == 0 {
                loop.adopt(accepted, isReserved: isReserved)
            } else {
                loop.post(.adopt(accepted, isReserved: isReserved))
            }
            nextLoop = (nextLoop + 1) % loops.count
        }
    }

    private func pause() {
        isPaused = true
        load.waitForRoom()
    }

    /// Whether the listening socket refuses connections.
    var isSuspended: Bool { suspensions > 0 }

    /// Refuses new connections. The acceptor accepts connections again after as many calls of `resume` as of `suspend`.
    func suspend() {
        if !isSuspended { listener.suspend() }
        suspensions += 1
        isPaused = true
    }

    func resume() {
        suspensions -= 1
        if !isSuspended { listener.resume() }
    }

    func close() {
        if isSuspended { listener.resume() }
        listener.close()
    }
}
