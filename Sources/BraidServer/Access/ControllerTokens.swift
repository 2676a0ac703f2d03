import BraidRuntime
import BraidSessions
import Synchronization

/// The controller tokens that the server accepts: usually one, two while operators replace a token, or none.
package final class ControllerTokens: Sendable {
    private struct State {
        var digests: [SHA256Digest]
        var streams: [OpenedStream] = []
        /// The length of `streams` at which closed streams are removed from the list.
        var pruning = 64
    }

    /// A stream that was opened with a controller token.
    private struct OpenedStream {
        let digest: SHA256Digest
        weak var stream: ByteStream?
    }

    /// Whether the server has no controller token, so that every requester is a controller.
    package let isEmpty: Bool
    private let state: Mutex<State>

    package init(_ tokens: [String]) {
        isEmpty = tokens.isEmpty
        state = Mutex(State(digests: tokens.map { PresentedToken($0).digest }))
    }

    /// Replaces the tokens. Ends the streams that were opened with a token that is no longer accepted. Changes nothing
    /// on a server that was started without a controller token.
    ///
    /// - Parameter tokens: at least one token. For an empty array, this method changes nothing, because a server with a
    ///   token must not become a server without one.
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

    /// Returns whether a digest belongs to an accepted token. Compares the digest with all tokens, so that the time
    /// does not reveal which token matched.
    func contains(_ digest: SHA256Digest) -> Bool {
        state.withLock { state in state.digests.reduce(false) { $1 == digest || $0 } }
    }

    /// Registers a stream with the controller token that opened it, so that `replace` can end the stream. Returns
    /// `false` if the token is no longer accepted.
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
