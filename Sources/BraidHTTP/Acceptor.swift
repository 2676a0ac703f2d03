import BraidRuntime
import CEpoll
import Glibc
import Synchronization

/// What a server knows of its connections.
public struct HTTPConnections: Sendable {
    public var open: Int
    /// How many may be.
    public var maximum: Int
    /// Since the start.
    public var accepted: Int
    /// Closed because their reader took nothing of what waited for it.
    public var stalled: Int
    /// Of these, streams.
    public var stalledStreams: Int
}

/// How many connections are open, and whether the acceptor waits for one to close. Shared by the loops.
final class ServerLoad: Sendable {
    private let open = Atomic<Int>(0)
    private let accepted = Atomic<Int>(0)
    private let stalled = Atomic<Int>(0)
    private let stalledStreams = Atomic<Int>(0)
    private let isAcceptorWaiting = Atomic<Bool>(false)
    private let wakeAcceptor = Mutex<(@Sendable () -> Void)?>(nil)
    let maximum: Int
    /// Memory for request bodies and for answers (`HTTPServer.Configuration`).
    let incoming: Budget
    let outgoing: Budget

    init(maximum: Int, incoming: Budget, outgoing: Budget) {
        self.maximum = maximum
        self.incoming = incoming
        self.outgoing = outgoing
    }

    var connections: Int { open.load(ordering: .relaxed) }
    var isFull: Bool { connections >= maximum }

    var facts: HTTPConnections {
        HTTPConnections(
            open: connections, maximum: maximum, accepted: accepted.load(ordering: .relaxed),
            stalled: stalled.load(ordering: .relaxed),
            stalledStreams: stalledStreams.load(ordering: .relaxed))
    }

    func opened() {
        open.add(1, ordering: .relaxed)
        accepted.add(1, ordering: .relaxed)
    }

    /// Besides `closed`.
    func stalled(isStream: Bool) {
        stalled.add(1, ordering: .relaxed)
        if isStream { stalledStreams.add(1, ordering: .relaxed) }
    }

    func closed() {
        open.subtract(1, ordering: .sequentiallyConsistent)
        if isAcceptorWaiting.exchange(false, ordering: .sequentiallyConsistent) { wakeAcceptor.withLock { $0 }?() }
    }

    func waitForRoom() { isAcceptorWaiting.store(true, ordering: .sequentiallyConsistent) }

    func onRoom(_ action: (@Sendable () -> Void)?) { wakeAcceptor.withLock { $0 = action } }
}

/// Takes new connections and deals them to the loops in turn, which is fair with few connections too.
///
/// Lives on the first loop's thread. Out of descriptors, or full, it pauses: the waiting clients stay in the kernel's
/// backlog, nothing spins, and it goes on when a connection closes or at the next sweep.
final class Acceptor {
    let socket: Int32
    var isPaused = false
    private let listener: Listener
    private let loops: [EventLoop]
    private let load: ServerLoad
    private var nextLoop = 0

    init(_ listener: Listener, dealingTo loops: [EventLoop], load: ServerLoad) {
        self.listener = listener
        socket = listener.socket
        self.loops = loops
        self.load = load
    }

    /// Accepts what waits: some at a time, so that the open connections have their turn too.
    func accept() {
        for _ in 0..<64 {
            guard !load.isFull else { return pause() }
            let accepted = cepoll_accept(socket)
            guard accepted >= 0 else {
                switch errno {
                case EAGAIN: return
                // This one client is gone already, or its network failed: accept(2), "Error handling".
                case EINTR, ECONNABORTED, EPROTO, EPERM, ENETDOWN, ENOPROTOOPT, EHOSTDOWN, ENONET, EHOSTUNREACH,
                    EOPNOTSUPP, ENETUNREACH:
                    continue
                default: return pause()  // EMFILE, ENFILE, ENOBUFS, ENOMEM: it would fail again at once
                }
            }
            load.opened()
            let loop = loops[nextLoop]
            // The acceptor's own loop adopts at once: its first requests need no wake.
            if nextLoop == 0 { loop.adopt(accepted) } else { loop.post(.adopt(accepted)) }
            nextLoop = (nextLoop + 1) % loops.count
        }
    }

    private func pause() {
        isPaused = true
        load.waitForRoom()
    }

    func close() { listener.close() }
}
