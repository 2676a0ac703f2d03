import Synchronization

/// A body that is sent while it is produced: a limited queue between a producer (any thread or task) and an event
/// loop.
///
/// It copies nothing, so thousands of streams can share an event's bytes. The server may set a coding
/// (`encode(in:)`), then attaches the stream to its event loop, which starts the producer (`onAttach`).
package final class ByteStream: Sendable {
    package enum WriteResult: Equatable, Sendable {
        case accepted
        case full
        /// The reader has disconnected, or the stream has ended.
        case closed
    }

    package struct Taken: Sendable {
        package var pieces: [[UInt8]] = []
        package var bytes = 0
        /// Those of large pieces.
        package var leases: [Quota.Lease] = []
        package var isLast = false
        /// The producer has failed. The loop closes the connection, so that the client sees it.
        package var isBroken = false

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
        var closer: Closer?
        /// `tellLoop` was called since the last `take()`.
        var isTold = false
        var tellLoop: (@Sendable () -> Void)?
        var frame = BodyFrame(nil)
        var onAttach: (@Sendable () -> Void)?
        var onClose: (@Sendable () -> Void)?
        var waiting: [CheckedContinuation<Void, Never>] = []
    }

    /// Unlocked before any callback or continuation runs: they may use the stream.
    private let state = Mutex(State())
    /// Bytes in the queue, unless a single piece is larger. The connection can hold as many again.
    package let limit: Int
    /// Ended when the server stops or the client closes its sending side; other bodies may finish.
    package let isEndless: Bool
    /// If known beforehand.
    package let length: Int?

    private let estimate: (@Sendable () -> Int)?
    /// About how many plain bytes it will have.
    package var estimatedLength: Int? { length ?? estimate?() }

    package init(
        limit: Int = 256 * 1024, isEndless: Bool = true, length: Int? = nil, estimate: (@Sendable () -> Int)? = nil
    ) {
        self.limit = limit
        self.isEndless = isEndless
        self.length = length
        self.estimate = estimate
    }

    package func encode(in coding: ContentCoding) {
        state.withLock { $0.frame = BodyFrame(coding) }
    }

    // MARK: Producer

    /// Whether the event loop has taken all.
    package var isDrained: Bool { state.withLock { $0.queue.bytes == 0 } }

    package var coding: ContentCoding? { state.withLock { $0.frame.coding } }

    /// `action` starts the producer. It runs on the event loop's thread, so it must not block.
    package func onAttach(_ action: @escaping @Sendable () -> Void) {
        state.withLock { if $0.closer == nil { $0.onAttach = action } }
    }

    /// Compresses. Never waits.
    @discardableResult
    package func write(_ bytes: [UInt8]) -> WriteResult { write(BodyPiece(bytes, in: coding)) }

    /// Never waits. An empty queue accepts even a piece above the limit. The lease ends when it is sent or dropped.
    @discardableResult
    package func write(_ piece: BodyPiece, _ lease: Quota.Lease? = nil) -> WriteResult {
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

    /// For the producer. Queued bytes are still sent.
    package func finish() {
        end { Self.endBody(&$0) }
    }

    /// For the producer. The connection closes after the queued bytes.
    package func fail() {
        end { $0.queue.isBroken = true }
    }

    /// `action` runs once when the client disconnects or the server ends the stream, or at once if that has happened.
    /// It must not block.
    package func onClose(_ action: @escaping @Sendable () -> Void) {
        let isLate = state.withLock { state in
            if state.closer == nil { state.onClose = action }
            return state.closer == .server
        }
        if isLate { action() }
    }

    /// Waits until the queue is taken or the stream closed.
    package func drained() async {
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

    /// `tell` reports bytes or the end: on any thread, once until `take()`. It does not report what is queued already.
    package func attach(_ tell: @escaping @Sendable () -> Void) {
        let start = state.withLock { state in
            state.tellLoop = tell
            defer { state.onAttach = nil }
            return state.onAttach
        }
        start?()
    }

    /// For a task in place of an event loop. An element means something to `take()`. Close the stream at its end.
    package func attach() -> (news: AsyncStream<Void>, end: @Sendable () -> Void) {
        let (news, tell) = AsyncStream.makeStream(of: Void.self, bufferingPolicy: .bufferingNewest(1))
        attach { tell.yield() }
        tell.yield()
        return (news, { tell.finish() })
    }

    /// The whole body. `nil` if it breaks off or the task is cancelled.
    package func gathered() async -> [UInt8]? {
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

    package func take() -> Taken {
        let (taken, waiting) = state.withLock { state in
            let taken = state.queue
            state.queue.pieces = []
            state.queue.bytes = 0
            state.queue.leases = []
            // `isLast` stays: `endBody` asks for it.
            state.isTold = false
            return (taken, Self.emptying(&state.waiting))
        }
        for continuation in waiting { continuation.resume() }
        return taken
    }

    /// On any thread. Queued bytes are still sent.
    package func endFromServer() {
        close { state in
            Self.endBody(&state)
            return Self.telling(&state)
        }
    }

    /// Drops the queue.
    package func close() {
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
