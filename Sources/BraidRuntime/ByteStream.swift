import Synchronization

/// A response body that is sent while it is produced: a queue of limited size between a producer (any thread or task)
/// and an event loop.
///
/// The queue holds arrays without copying them, so thousands of streams can share the bytes of one event. An idle
/// stream holds no buffer. The server may set a coding (`encode(in:)`), and then attaches the stream to its event loop,
/// which starts the producer (`onAttach`).
public final class ByteStream: Sendable {
    /// Whether the stream has accepted bytes.
    public enum WriteResult: Equatable, Sendable {
        case accepted
        /// The queue has no room.
        case full
        /// The reader has disconnected, or the stream has ended.
        case closed
    }

    /// What the event loop takes from the queue at once.
    public struct Taken: Sendable {
        public var pieces: [[UInt8]] = []
        public var bytes = 0
        /// Those of the large pieces.
        public var leases: [Quota.Lease] = []
        /// Whether the body ends with these pieces.
        public var isLast = false
        /// Whether the body breaks off after these pieces. The event loop must then close the connection, so that the
        /// client sees that the body is incomplete.
        public var isBroken = false

        fileprivate mutating func append(_ piece: [UInt8]) {
            guard !piece.isEmpty else { return }
            pieces.append(piece)
            bytes += piece.count
        }
    }

    private enum Closer {
        case producer, server
    }

    private struct State {
        var queue = Taken()
        /// Who has closed the stream, which then refuses the producer's bytes.
        var closer: Closer?
        /// Whether the event loop was notified since its last call of `take()`.
        var isTold = false
        var tellLoop: (@Sendable () -> Void)?
        var frame = BodyFrame(nil)
        var onAttach: (@Sendable () -> Void)?
        var onClose: (@Sendable () -> Void)?
        var waiting: [CheckedContinuation<Void, Never>] = []
    }

    private let state = Mutex(State())
    /// The most bytes in the queue, unless a single piece is larger. The connection's output queue can hold as many
    /// again.
    public let limit: Int
    /// Whether the body has no end, like a stream of events. If the server stops or the client closes its sending side,
    /// the server ends an endless body; one with an end, such as a download, may finish.
    public let isEndless: Bool
    /// The bytes of the whole body, if they are known before the first one is sent.
    public let length: Int?

    private let estimate: (@Sendable () -> Int)?
    /// About the number of plain bytes of the whole body. `nil` if unknown.
    public var estimatedLength: Int? { length ?? estimate?() }

    /// Creates a stream whose queue holds at most `limit` bytes, or one larger piece.
    public init(
        limit: Int = 256 * 1024, isEndless: Bool = true, length: Int? = nil, estimate: (@Sendable () -> Int)? = nil
    ) {
        self.limit = limit
        self.isEndless = isEndless
        self.length = length
        self.estimate = estimate
    }

    /// Sets the content coding. Called before the stream is attached.
    public func encode(in coding: ContentCoding) {
        state.withLock { $0.frame = BodyFrame(coding) }
    }

    // MARK: Producer

    /// The content coding, which is known once the stream is attached.
    public var coding: ContentCoding? { state.withLock { $0.frame.coding } }

    /// Registers the action that starts the producer when the stream is attached. It runs on the event loop's thread,
    /// so it must not block.
    public func onAttach(_ action: @escaping @Sendable () -> Void) {
        state.withLock { if $0.closer == nil { $0.onAttach = action } }
    }

    /// Compresses bytes in the stream's coding, and queues them if there is room. Never waits.
    @discardableResult
    public func write(_ bytes: [UInt8]) -> WriteResult { write(BodyPiece(bytes, in: coding)) }

    /// Queues a piece, which must have the stream's coding, if there is room. Never waits. An empty queue accepts even
    /// a piece above the limit.
    ///
    /// - Parameter lease: the lease of the piece's memory, which is held until the piece is sent or dropped.
    @discardableResult
    public func write(_ piece: BodyPiece, _ lease: Quota.Lease? = nil) -> WriteResult {
        let (result, tell): (WriteResult, (@Sendable () -> Void)?) = state.withLock { state in
            if state.closer != nil { return (.closed, nil) }
            if piece.bytes.isEmpty { return (.accepted, nil) }
            if state.queue.bytes > 0, state.queue.bytes + piece.bytes.count > limit {
                return (.full, nil)
            }
            state.queue.append(state.frame.opening(piece))
            state.queue.append(piece.bytes)
            if let lease { state.queue.leases.append(lease) }
            return (.accepted, Self.telling(&state))
        }
        tell?()
        return result
    }

    /// Ends the body, for the producer. The event loop still sends the queued bytes.
    public func finish() {
        end { Self.endBody(&$0) }
    }

    /// Breaks the body off, for the producer. The event loop still sends the queued bytes, and then closes the
    /// connection.
    public func fail() {
        end { $0.queue.isBroken = true }
    }

    /// Registers the action that runs once when the client disconnects or the server ends the stream (not the
    /// producer), or at once if this has happened already. It usually runs on an event loop's thread, so it must not
    /// block.
    public func onClose(_ action: @escaping @Sendable () -> Void) {
        let isLate = state.withLock { state in
            if state.closer == nil { state.onClose = action }
            return state.closer == .server
        }
        if isLate { action() }
    }

    /// Waits until the event loop has taken the whole queue, or the stream is closed.
    public func drained() async {
        await withCheckedContinuation { continuation in
            let isDrained = state.withLock { state in
                if state.closer != nil || state.queue.bytes == 0 { return true }
                state.waiting.append(continuation)
                return false
            }
            if isDrained { continuation.resume() }
        }
    }

    private func end(_ mark: (inout State) -> Void) {
        let (tell, waiting): ((@Sendable () -> Void)?, [CheckedContinuation<Void, Never>]) = state.withLock { state in
            if state.closer != nil { return (nil, []) }
            state.closer = .producer
            state.onClose = nil
            state.onAttach = nil
            mark(&state)
            return (Self.telling(&state), Self.emptying(&state.waiting))
        }
        tell?()
        for continuation in waiting { continuation.resume() }
    }

    // MARK: Event loop

    /// Attaches the stream to an event loop, which `tell` notifies of new bytes or the end: on any thread, and once until
    /// the loop calls `take()`.
    public func attach(_ tell: @escaping @Sendable () -> Void) {
        let start = state.withLock { state in
            state.tellLoop = tell
            defer { state.onAttach = nil }
            return state.onAttach
        }
        start?()
    }

    /// Attaches the stream to a task in place of an event loop. The sequence has an element when there is something to
    /// `take()`. Close the stream at its end.
    public func attach() -> (news: AsyncStream<Void>, end: @Sendable () -> Void) {
        let (news, tell) = AsyncStream.makeStream(of: Void.self, bufferingPolicy: .bufferingNewest(1))
        attach { tell.yield() }
        tell.yield()
        return (news, { tell.finish() })
    }

    /// Returns the bytes of a whole body that has an end, in memory. `nil` if the body breaks off, or if the task is
    /// cancelled.
    public func gathered() async -> [UInt8]? {
        defer { close() }
        var bytes: [UInt8] = []
        bytes.reserveCapacity(estimatedLength ?? 0)
        for await _ in attach().news {
            let taken = take()
            for piece in taken.pieces { bytes += piece }
            if taken.isBroken { return nil }
            if taken.isLast { return bytes }
        }
        return nil
    }

    /// Removes the content of the stream's queue and returns it. The event loop calls this method.
    public func take() -> Taken {
        let (taken, waiting) = state.withLock { state in
            let taken = state.queue
            state.queue.pieces = []
            state.queue.bytes = 0
            state.queue.leases = []
            state.isTold = false
            return (taken, Self.emptying(&state.waiting))
        }
        for continuation in waiting { continuation.resume() }
        return taken
    }

    /// Ends the body for the server, on any thread, for example because it stops. The event loop still sends the queued
    /// bytes.
    public func endFromServer() {
        close { state in
            Self.endBody(&state)
            return Self.telling(&state)
        }
    }

    /// Closes the stream and drops its queue: all bytes are sent, the client has disconnected, or the body is not sent.
    public func close() {
        close { state in
            state.queue = Taken()
            state.tellLoop = nil
            return nil
        }
    }

    private func close(_ change: (inout State) -> (@Sendable () -> Void)?) {
        let (tell, action, waiting):
            ((@Sendable () -> Void)?, (@Sendable () -> Void)?, [CheckedContinuation<Void, Never>]) = state.withLock {
                state in
                if state.closer == nil { state.closer = .server }
                let tell = change(&state)
                state.onAttach = nil
                defer { state.onClose = nil }
                return (tell, state.onClose, Self.emptying(&state.waiting))
            }
        tell?()
        action?()
        for continuation in waiting { continuation.resume() }
    }

    private static func endBody(_ state: inout State) {
        guard !state.queue.isLast else { return }
        state.queue.append(state.frame.closing)
        state.queue.isLast = true
    }

    private static func telling(_ state: inout State) -> (@Sendable () -> Void)? {
        guard !state.isTold, let tell = state.tellLoop else { return nil }
        state.isTold = true
        return tell
    }

    private static func emptying(_ waiting: inout [CheckedContinuation<Void, Never>]) -> [CheckedContinuation<
        Void, Never
    >] {
        defer { waiting = [] }
        return waiting
    }
}
