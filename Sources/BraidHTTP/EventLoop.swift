import BraidRuntime
import CEpoll
import Glibc
import Synchronization

/// Runs its connections on one thread: waits on epoll, reads, parses, answers.
///
/// `@unchecked`: only that thread touches the state; others `post` to the mailbox.
final class EventLoop: @unchecked Sendable {
    enum Mail {
        case adopt(Int32, isReserved: Bool)
        /// The task of an `undecided` disposition has decided.
        case decided(connection: UInt64, any HTTPExchange)
        case answer(connection: UInt64, HTTPResponse)
        /// A stream has bytes or has ended, or a body's reader has room again.
        case resume(connection: UInt64)
        case acceptAgain
        /// `false` refuses new connections.
        case accept(Bool, done: @Sendable () -> Void)
        case disconnect(done: @Sendable () -> Void)
        case stop(deadline: Int, onExit: @Sendable () -> Void)
    }

    private struct Mailbox {
        var mails: [Mail] = []
        var isOpen = true
    }

    let handler: any HTTPHandler
    let limits: HTTPServer.Limits
    let load: ServerLoad

    private let mailbox = Mutex(Mailbox())
    private let epoll: Int32
    private let bell: Int32
    /// 0 while the thread does not run.
    private let thread = Atomic<UInt>(0)

    // From here on, for the loop's thread only.

    /// One for all connections: each parses its bytes before the next one reads.
    let input = UnsafeMutableBufferPointer<UInt8>.allocate(capacity: 64 * 1024)
    /// For answers. Empty whenever the loop turns to another connection.
    var output: [UInt8] = []
    /// Of the last wake-up, in monotonic milliseconds.
    private(set) var now = 0
    private(set) var dateLine: [UInt8] = []
    private var dateSecond = -1
    private(set) var isStopping = false
    private var stopDeadline = Int.max
    private var onExit: [@Sendable () -> Void] = []
    private var nextSweep = 0
    private var connections: [HTTPConnection?] = []
    private var generations: [UInt32] = []
    private var freeSlots: [Int] = []
    /// Handled at the end of the turn. The loop's own thread appends without the lock.
    private var mails: [Mail] = []
    /// IDs of connections that used up their turn, or were resumed.
    private var again: [UInt64] = []
    /// How many continue before new events. With more, a command's answer would wait for the thousands of streams
    /// that send its update.
    private static let againInATurn = 64
    private var acceptor: Acceptor?

    private static let bellID = UInt64.max
    private static let listenerID = UInt64.max - 1

    init(handler: any HTTPHandler, limits: HTTPServer.Limits, load: ServerLoad) throws(HTTPServerError) {
        self.handler = handler
        self.limits = limits
        self.load = load
        epoll = epoll_create1(Int32(EPOLL_CLOEXEC))
        bell = cepoll_event()
        guard epoll >= 0, bell >= 0, watch(bell, Self.bellID, EPOLLIN.rawValue | EPOLLET.rawValue) else {
            throw HTTPServerError("cannot make an event loop", errno: errno)
        }
        output.reserveCapacity(64 * 1024)
    }

    deinit {
        close(epoll)
        close(bell)
        input.deallocate()
    }

    /// Call it before `start`.
    func accept(with acceptor: Acceptor) {
        self.acceptor = acceptor
        watchListener(true)
    }

    /// Closing the socket also removes it from epoll.
    func stopAccepting() {
        acceptor?.close()
        acceptor = nil
    }

    func start() throws(HTTPServerError) {
        let failure = startThread(named: "braid-loop") { [self] in run() }
        guard failure == 0 else { throw HTTPServerError("cannot start a thread", errno: failure) }
    }

    /// From any thread. Only the first mail in an empty mailbox wakes the loop.
    func post(_ mail: Mail) {
        if thread.load(ordering: .relaxed) == UInt(pthread_self()) { return mails.append(mail) }
        let (isOpen, isFirst) = mailbox.withLock { mailbox in
            if mailbox.isOpen { mailbox.mails.append(mail) }
            return (mailbox.isOpen, mailbox.mails.count == 1)
        }
        // After the unlock, as `Condition` does.
        if !isOpen { dispose(mail) } else if isFirst { cepoll_signal(bell) }
    }

    /// For mail that the loop no longer handles: closes what it holds, and tells whoever waits.
    private func dispose(_ mail: Mail) {
        switch mail {
        case .adopt(let socket, let isReserved):
            close(socket)
            load.closed(isReserved: isReserved)
        case .answer(_, let response): response.abandon()
        case .stop(_, let onExit): onExit()
        case .accept(_, let done), .disconnect(let done): done()
        case .decided, .resume, .acceptAgain: break
        }
    }
}

// MARK: - Turns

extension EventLoop {
    private func run() {
        thread.store(UInt(pthread_self()), ordering: .relaxed)
        var events = [epoll_event](repeating: epoll_event(), count: 256)
        while true {
            let count = Int(epoll_wait(epoll, &events, Int32(events.count), timeout))
            readClock()
            for index in 0..<max(count, 0) {
                let event = events[index]
                switch event.data.u64 {
                case Self.bellID: readMail()
                case Self.listenerID: acceptConnections()
                default: connection(event.data.u64)?.becameReady(event.events)
                }
            }
            if !again.isEmpty { proceedAgain() }
            if !mails.isEmpty { readMails() }
            // Lets a worker make its answer, even on few cores.
            if !again.isEmpty { sched_yield() }
            if now >= nextSweep { sweep() }
            if isStopping, isDone { return exit() }
        }
    }

    private var timeout: Int32 {
        if !again.isEmpty || !mails.isEmpty { return 0 }
        let isIdle = freeSlots.count == connections.count && acceptor?.isPaused != true && !isStopping
        return isIdle ? -1 : Int32(clamping: max(0, min(nextSweep, stopDeadline) - Self.clock()))
    }

    private func readClock() {
        now = Self.clock()
        let second = time(nil)
        guard second != dateSecond else { return }
        dateSecond = second
        dateLine.removeAll(keepingCapacity: true)
        dateLine.append("Date: ")
        dateLine.append(contentsOf: HTTPDate.text(secondsSince1970: second))
        dateLine.append("\r\n")
    }

    static func clock() -> Int {
        var time = timespec()
        clock_gettime(CLOCK_MONOTONIC, &time)
        return time.tv_sec * 1_000 + time.tv_nsec / 1_000_000
    }

    /// Checks all deadlines, in place of a timer for each connection.
    private func sweep() {
        nextSweep = now + limits.sweep.milliseconds
        for case let connection? in connections { connection.checkDeadlines() }
        if acceptor?.isPaused == true { acceptAgain() }
    }

    private func readMail() {
        let posted = mailbox.withLock { mailbox in
            defer { mailbox.mails = [] }
            return mailbox.mails
        }
        if mails.isEmpty { mails = posted } else { mails += posted }
    }

    private func proceedAgain() {
        let turn = Array(again.prefix(Self.againInATurn))
        again.removeFirst(turn.count)
        for id in turn { connection(id)?.proceed() }
    }

    /// What these mails post comes in the next turn.
    private func readMails() {
        let taken = mails
        mails = []
        for mail in taken { read(mail) }
    }

    private func read(_ mail: Mail) {
        switch mail {
        case .adopt(let socket, let isReserved): adopt(socket, isReserved: isReserved)
        case .answer(let id, let response):
            if let connection = connection(id) { connection.answerCame(response) } else { response.abandon() }
        case .decided(let id, let exchange): connection(id)?.decided(exchange)
        case .resume(let id): takeTurnAgain(id)
        case .acceptAgain: acceptAgain()
        case .accept(let isOn, let done):
            accept(isOn)
            done()
        case .disconnect(let done):
            for case let connection? in connections { connection.close() }
            done()
        case .stop(let deadline, let onExit): stop(deadline, onExit)
        }
    }

    private func stop(_ deadline: Int, _ onExit: @escaping @Sendable () -> Void) {
        self.onExit.append(onExit)
        isStopping = true
        stopDeadline = min(stopDeadline, deadline)
        stopAccepting()
        for case let connection? in connections { connection.serverStops() }
    }

    private var isDone: Bool {
        if now >= stopDeadline {
            for case let connection? in connections { connection.close() }
        }
        return freeSlots.count == connections.count
    }

    /// In this order: with the mailbox closed and `thread` 0, mail that `dispose` causes is disposed of in turn.
    /// Earlier, it would be lost in `mails`.
    private func exit() {
        mails += mailbox.withLock { mailbox in
            mailbox.isOpen = false
            defer { mailbox.mails = [] }
            return mailbox.mails
        }
        thread.store(0, ordering: .relaxed)
        for mail in mails { dispose(mail) }
        mails = []
        for action in onExit { action() }
    }
}

// MARK: - Connections

extension EventLoop {
    /// `nil` once closed: a newer connection in the slot has another ID.
    private func connection(_ id: UInt64) -> HTTPConnection? {
        let slot = Int(UInt32(truncatingIfNeeded: id))
        guard slot < connections.count, generations[slot] == UInt32(truncatingIfNeeded: id >> 32) else { return nil }
        return connections[slot]
    }

    func adopt(_ socket: Int32, isReserved: Bool) {
        if isStopping {
            Glibc.close(socket)
            return load.closed(isReserved: isReserved)
        }
        if freeSlots.isEmpty {
            freeSlots.append(connections.count)
            connections.append(nil)
            generations.append(0)
        }
        let slot = freeSlots.removeLast()
        generations[slot] &+= 1
        let id = UInt64(generations[slot]) << 32 | UInt64(slot)
        connections[slot] = HTTPConnection(socket: socket, id: id, loop: self, isReserved: isReserved)
        // Registered once, edge-triggered: to slow a client down, the loop just stops reading, without `epoll_ctl`.
        let interest = EPOLLIN.rawValue | EPOLLOUT.rawValue | EPOLLRDHUP.rawValue | EPOLLET.rawValue
        if !watch(socket, id, interest) { connections[slot]?.close() }
    }

    func forget(_ id: UInt64) {
        let slot = Int(UInt32(truncatingIfNeeded: id))
        let isReserved = connections[slot]?.isReserved ?? false
        connections[slot] = nil
        freeSlots.append(slot)
        load.closed(isReserved: isReserved)
    }

    func takeTurnAgain(_ id: UInt64) { again.append(id) }

    private func watch(_ descriptor: Int32, _ id: UInt64, _ interest: UInt32) -> Bool {
        var event = epoll_event()
        event.events = interest
        event.data.u64 = id
        return epoll_ctl(epoll, EPOLL_CTL_ADD, descriptor, &event) == 0
    }

    private func watchListener(_ isOn: Bool) {
        guard let acceptor else { return }
        var event = epoll_event()
        event.events = EPOLLIN.rawValue
        event.data.u64 = Self.listenerID
        _ = epoll_ctl(epoll, isOn ? EPOLL_CTL_ADD : EPOLL_CTL_DEL, acceptor.socket, &event)
    }

    private func acceptConnections() {
        acceptor?.accept()
        if acceptor?.isPaused == true { watchListener(false) }
    }

    private func acceptAgain() {
        guard let acceptor, acceptor.isPaused, !acceptor.isSuspended else { return }
        acceptor.isPaused = false
        watchListener(true)
    }

    private func accept(_ isOn: Bool) {
        if isOn {
            acceptor?.resume()
            acceptAgain()
        } else {
            if acceptor?.isPaused == false { watchListener(false) }
            acceptor?.suspend()
        }
    }
}

extension HTTPResponse {
    /// Drops an unsent answer: tells the stream's producer, and ends the lease.
    func abandon() {
        if case .stream(let stream) = body { stream.close() }
        lease?.end()
    }
}
