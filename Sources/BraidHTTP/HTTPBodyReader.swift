import BraidRuntime
import Synchronization

/// A body that one task reads while it arrives. When about `limit` bytes wait, the event loop stops reading the
/// socket, and TCP slows the client down.
package final class HTTPBodyReader: Sendable {
    private struct State {
        var bytes: [UInt8] = []
        var isPaused = false
        var end: Result<Void, HTTPFailure>?
        var waiting: CheckedContinuation<Result<[UInt8]?, HTTPFailure>, Never>?
    }

    private let state = Mutex(State())
    private let limit: Int
    /// For what the handler holds beyond `limit` bytes. `nil`: unlimited.
    private let lease: Quota.Lease?
    /// Makes the loop read the socket again; from any thread.
    private let resume: @Sendable () -> Void

    package init(limit: Int = 64 * 1024, lease: Quota.Lease? = nil, resume: @escaping @Sendable () -> Void = {}) {
        self.limit = limit
        self.lease = lease
        self.resume = resume
    }

    /// `nil` at the end. Throws `HTTPFailure` if the body breaks off, is malformed or pauses for too long, if the
    /// server stops or is reset, or if another call waits.
    package func next() async throws -> [UInt8]? {
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

    /// Leases what the handler keeps of the body, beyond `limit` bytes. Throws `HTTPFailure` if there is no memory.
    package func hold(_ bytes: Int) throws {
        guard bytes > limit else { return }
        do {
            try lease?.grow(to: bytes)
        } catch {
            throw HTTPFailure.noRoomForBody(error)
        }
    }

    var isPaused: Bool { state.withLock { $0.isPaused } }

    /// Joins chunks, so that tiny ones need no more memory.
    package func append(_ bytes: UnsafeBufferPointer<UInt8>) {
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

    /// The body is complete. `next` returns buffered bytes before the end, or before the error of `fail`.
    package func finish() { end(.success(())) }

    package func fail(_ failure: HTTPFailure) { end(.failure(failure)) }

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
