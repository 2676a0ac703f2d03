import BraidRuntime
import CEpoll
import Glibc
import Synchronization

package struct HTTPConnections: Sendable {
    /// Without reserved ones, like `maximum`.
    package var open: Int
    package var maximum: Int
    package var accepted: Int
    /// Requests that got 503 on a reserved connection.
    package var refused: Int
    /// Closed because the client read nothing of its answer for too long.
    package var stalled: Int
    /// Those of `stalled` with an unfinished stream.
    package var stalledStreams: Int
}

/// Shared by the event loops. Wakes a waiting acceptor when a connection closes.
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
    /// Both: see `HTTPServer.Configuration`.
    let incoming: Quota
    let outgoing: Quota

    init(maximum: Int, incoming: Quota, outgoing: Quota) {
        self.maximum = maximum
        self.incoming = incoming
        self.outgoing = outgoing
    }

    var hasRoom: Bool {
        open.load(ordering: .relaxed) < maximum
            || reserved.load(ordering: .relaxed) < HTTPServer.reservedConnections
    }

    /// At most an eighth of the places is free: idle connections are closed after two sweeps.
    var isCrowded: Bool { open.load(ordering: .relaxed) >= maximum - maximum / 8 }

    var statistics: HTTPConnections {
        HTTPConnections(
            open: open.load(ordering: .relaxed), maximum: maximum, accepted: accepted.load(ordering: .relaxed),
            refused: refused.load(ordering: .relaxed), stalled: stalled.load(ordering: .relaxed),
            stalledStreams: stalledStreams.load(ordering: .relaxed))
    }

    /// Counts a new connection. Returns whether it is reserved.
    func opened() -> Bool {
        accepted.add(1, ordering: .relaxed)
        if takePlace() { return false }
        reserved.add(1, ordering: .relaxed)
        return true
    }

    /// Makes a reserved connection ordinary, if there is room.
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

    func refusedRequest() { refused.add(1, ordering: .relaxed) }

    /// The caller also calls `closed`.
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

    /// Wakes the acceptor at the next close. One just before goes unnoticed, until the next sweep accepts again.
    func waitForRoom() { isAcceptorWaiting.store(true, ordering: .sequentiallyConsistent) }

    func onRoom(_ action: (@Sendable () -> Void)?) { wakeAcceptor.withLock { $0 = action } }
}

/// Accepts on the first loop's thread, and deals connections to the loops in turn, which is fair even with few.
/// Beyond `maxConnections` they are reserved, for probes. When those are used up, too, or file descriptors or memory
/// lack, it pauses: clients wait in the kernel's backlog until a connection closes or the next check of deadlines.
final class Acceptor {
    let socket: Int32
    var isPaused = false
    private let listener: Listener
    private let loops: [EventLoop]
    private let load: ServerLoad
    private let onLimit: @Sendable (_ errno: CInt) -> Void
    private var nextLoop = 0
    /// Calls of `suspend` without their `resume`.
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

    /// Accepts at most 64, so that open connections get their turn. The listener is level-triggered: epoll reports the
    /// rest again.
    func accept() {
        for _ in 0..<64 {
            guard load.hasRoom else { return pause() }
            let accepted = cepoll_accept(socket)
            guard accepted >= 0 else {
                switch errno {
                case EAGAIN: return
                // These concern one client, such as one that has disconnected (accept(2), "Error handling").
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
            // This is that loop's thread.
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

    var isSuspended: Bool { suspensions > 0 }

    /// Refuses new connections until `resume` was called as often.
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
        // A suspended Unix socket's file has another name, under which `close` would not remove it.
        if isSuspended { listener.resume() }
        listener.close()
    }
}
