import BraidRuntime
import Synchronization

/// A request's body that a handler reads while the body arrives. Only one task may read it at a time.
///
/// The reader buffers about `limit` bytes of the body. If the buffer is full, the event loop stops reading the socket,
/// and TCP slows the client down.
public final class HTTPBodyReader: Sendable {
    private struct State {
        var bytes: [UInt8] = []
        var isPaused = false
        var end: Result<Void, HTTPFailure>?
        var waiting: CheckedContinuation<Result<[UInt8]?, HTTPFailure>, Never>?
    }

    private let state = Mutex(State())
    private let limit: Int
    /// The lease of the memory in which the request's handler holds bytes of the body. Before the handler holds more
    /// than `limit` bytes at once, the lease grows to the size of these bytes. If the lease is `nil`, no quota limits
    /// this memory.
    private let lease: Quota.Lease?
    /// Makes the event loop read the connection's socket again. Any thread can call this closure.
    private let resume: @Sendable () -> Void

    public init(limit: Int = 64 * 1024, lease: Quota.Lease? = nil, resume: @escaping @Sendable () -> Void = {}) {
        self.limit = limit
        self.lease = lease
        self.resume = resume
    }

    /// Returns the bytes of the body that arrived since the last call, waiting until there is at least one. Returns
    /// `nil` at the end of the body.
    ///
    /// - Throws: `HTTPFailure` if the body breaks off, is malformed or pauses for too long, if the server stops or is
    ///   reset, or if another call already waits.
    public func next() async throws -> [UInt8]? {
        let result: Result<[UInt8]?, HTTPFailure> = await withCheckedContinuation { continuation in
            let (now, wasPaused): (Result<[UInt8]?, HTTPFailure>?, Bool) = state.withLock { state in
                if !state.bytes.isEmpty {
                    defer {
                        state.bytes = []
                        state.isPaused = false
                    }
                    return (.success(state.bytes), state.isPaused)
                }
                if let end = state.end { return (end.map { nil }, false) }
                guard state.waiting == nil else {
                    return (.failure(HTTPFailure(status: 500, detail: "The body has two readers at once.")), false)
                }
                state.waiting = continuation
                return (nil, false)
            }
            if wasPaused { resume() }
            if let now { continuation.resume(returning: now) }
        }
        return try result.get()
    }

    /// Leases memory for a handler that is about to hold the given number of bytes of the body at once. Up to `limit`
    /// bytes need no lease. Throws `HTTPFailure` if the quota refuses the lease.
    public func hold(_ bytes: Int) throws {
        guard bytes > limit else { return }
        do {
            try lease?.grow(to: bytes)
        } catch {
            throw HTTPFailure.noRoomForBody(error)
        }
    }

    // MARK: For the loop

    /// Whether the body's buffer is full, so that the event loop must not read the socket before the reader calls
    /// `resume`.
    var isPaused: Bool { state.withLock { $0.isPaused } }

    /// Adds bytes that the event loop has received to the body's buffer. The buffer joins the bytes of all chunks, so a
    /// body of many tiny chunks needs no additional memory.
    public func append(_ bytes: UnsafeBufferPointer<UInt8>) {
        let waiting = state.withLock { state -> CheckedContinuation<Result<[UInt8]?, HTTPFailure>, Never>? in
            guard state.end == nil else { return nil }  // After the body has failed, later bytes of it are dropped.
            if state.waiting == nil {
                state.bytes.append(contentsOf: bytes)
                state.isPaused = state.bytes.count >= limit
            }
            defer { state.waiting = nil }
            return state.waiting
        }
        waiting?.resume(returning: .success(Array(bytes)))
    }

    /// Marks the body as complete. The body's reader first gets the buffered bytes, and then `nil` for the end.
    public func finish() { end(.success(())) }

    /// Marks the body as broken off. The body's reader first gets the buffered bytes, and then `failure` as a thrown
    /// error.
    public func fail(_ failure: HTTPFailure) { end(.failure(failure)) }

    private func end(_ end: Result<Void, HTTPFailure>) {
        let waiting = state.withLock { state -> CheckedContinuation<Result<[UInt8]?, HTTPFailure>, Never>? in
            guard state.end == nil else { return nil }
            state.end = end
            defer { state.waiting = nil }
            return state.waiting
        }
        waiting?.resume(returning: end.map { nil })
    }
}
