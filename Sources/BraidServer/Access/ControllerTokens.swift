import BraidRuntime
import BraidSessions
import Synchronization

/// The accepted controller tokens: usually one, two while operators replace it, or none.
package final class ControllerTokens: Sendable {
    private struct State {
        var digests: [SHA256Digest]
        var streams: [OpenedStream] = []
        /// When `streams` is this long, closed ones are removed.
        var pruning = 64
    }

    private struct OpenedStream {
        let digest: SHA256Digest
        weak var stream: ByteStream?
    }

    /// If so, and no signed tokens are accepted, everyone is a controller.
    package let isEmpty: Bool
    private let state: Mutex<State>

    package init(_ tokens: [String]) {
        isEmpty = tokens.isEmpty
        state = Mutex(State(digests: tokens.map { PresentedToken($0).digest }))
    }

    /// Ends the streams of tokens no longer accepted. A server with tokens never becomes one without, nor the reverse.
    package func replace(with tokens: [String]) {
        guard !isEmpty, !tokens.isEmpty else { return }
        let digests = tokens.map { PresentedToken($0).digest }
        let ended = state.withLock { state in
            state.digests = digests
            defer { state.streams.removeAll { !digests.contains($0.digest) } }
            return state.streams.filter { !digests.contains($0.digest) }.compactMap(\.stream)
        }
        for stream in ended { stream.endFromServer() }
    }

    /// One of them signs each ticket; `[nil]` without any.
    var signers: [SHA256Digest?] { isEmpty ? [nil] : state.withLock { $0.digests } }

    /// Compares with all tokens (`==` left of `||`), so that the time does not tell which matched.
    func contains(_ digest: SHA256Digest) -> Bool {
        state.withLock { state in state.digests.reduce(false) { $1 == digest || $0 } }
    }

    /// `replace` will end the stream. Returns `false` if the token is no longer accepted.
    func follow(_ digest: SHA256Digest, _ stream: ByteStream) -> Bool {
        state.withLock { state in
            guard state.digests.contains(digest) else { return false }
            if state.streams.count >= state.pruning {
                state.streams.removeAll { $0.stream == nil }
                state.pruning = max(64, 2 * state.streams.count)
            }
            state.streams.append(OpenedStream(digest: digest, stream: stream))
            return true
        }
    }
}
