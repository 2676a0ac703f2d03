import Synchronization

/// A response body that is written as it comes: a bounded queue between a producer (any thread or task) and the loop.
///
/// The arrays are queued, not copied: one event's bytes can stand in the queues of thousands of streams.
/// An idle stream holds no buffer.
public final class ByteStream: Sendable {
    public enum WriteResult: Equatable, Sendable {
        case accepted
        /// Not taken: so many bytes wait already.
        case full(queued: Int)
        /// Not taken: the reader left, or the stream was ended.
        case closed
    }

    /// What the loop found in the queue.
    public struct Taken: Sendable {
        public var pieces: [[UInt8]] = []
        public var bytes = 0
        /// The memory of large pieces.
        public var leases: [Budget.Lease] = []
        /// No piece will follow.
        public var isLast = false
        /// The body is to be cut off where it is, so that the client sees that it is incomplete.
        public var isBroken = false
    }

    private enum Closer {
        case producer, server
    }

    private struct State {
        var queue = Taken()
        /// Who closed it; producers are refused from then on.
        var closer: Closer?
        /// The loop was told of what is in the queue.
        var isTold = false
        var tellLoop: (@Sendable () -> Void)?
        var onClose: (@Sendable () -> Void)?
        var waiting: [CheckedContinuation<Void, Never>] = []
    }

    private let state = Mutex(State())
    /// How many bytes may wait in the queue; as many again may be on their way into the socket.
    public let limit: Int
    /// Whether the body has no end of its own (events): then the server ends it when it stops, and when the client
    /// closes its side, which is how a reader leaves. A body with an end (a download) may finish, within the grace, and
    /// for a client that only closed its side (`nc -N`); that such a one left shows when writing fails.
    public let isEndless: Bool

    public init(limit: Int = 256 * 1024, isEndless: Bool = true) {
        self.limit = limit
        self.isEndless = isEndless
    }

    // MARK: For the producer

    /// Queues the bytes; never blocks. A single piece over the limit is taken while the queue is empty. `lease`: their
    /// memory, held until they are sent.
    @discardableResult
    public func write(_ bytes: [UInt8], _ lease: Budget.Lease? = nil) -> WriteResult {
        let (result, tell): (WriteResult, (@Sendable () -> Void)?) = state.withLock { state in
            if state.closer != nil { return (.closed, nil) }
            if bytes.isEmpty { return (.accepted, nil) }
            if state.queue.bytes > 0, state.queue.bytes + bytes.count > limit {
                return (.full(queued: state.queue.bytes), nil)
            }
            state.queue.pieces.append(bytes)
            state.queue.bytes += bytes.count
            if let lease { state.queue.leases.append(lease) }
            return (.accepted, Self.telling(&state))
        }
        tell?()
        return result
    }

    /// Ends the body: what is queued is still sent.
    public func finish() {
        end { $0.queue.isLast = true }
    }

    /// Cuts the body off: the connection is closed, and the client sees that the body is incomplete.
    public func fail() {
        end { $0.queue.isBroken = true }
    }

    /// Runs `action` once when no reader is left, or the server ends the stream; at once if that was before.
    /// It runs on the loop's thread: must not block. Not run for a stream that the producer has ended itself.
    public func onClose(_ action: @escaping @Sendable () -> Void) {
        let isLate = state.withLock { state in
            if state.closer == nil { state.onClose = action }
            return state.closer == .server
        }
        if isLate { action() }
    }

    /// Returns when the loop has taken all that was queued, or the stream is closed.
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
            mark(&state)
            return (Self.telling(&state), Self.emptying(&state.waiting))
        }
        tell?()
        for continuation in waiting { continuation.resume() }
    }

    // MARK: For the loop

    /// From now on `tell` is called, on any thread, when something came into the queue; once until it is taken.
    public func attach(_ tell: @escaping @Sendable () -> Void) {
        state.withLock { $0.tellLoop = tell }
    }

    /// Everything in the queue.
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

    /// The server ends the body cleanly: what is queued is still sent. Any thread.
    public func endFromServer() {
        close { state in
            state.queue.isLast = true
            return Self.telling(&state)
        }
    }

    /// No reader is left, or all is sent: drops what is queued.
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
                defer { state.onClose = nil }
                return (tell, state.onClose, Self.emptying(&state.waiting))
            }
        tell?()
        action?()
        for continuation in waiting { continuation.resume() }
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
