/// Returns the token to send, or `nil` for none: called at first, and with the `refused` token after a 401.
///
/// `refused` is also `nil` after a throw, which counts as a failed connection, and after a 401 without token.
public typealias TokenProvider = @Sendable (_ refused: String?) async throws -> String?

actor TokenSource {
    struct Issued: Sendable {
        let value: String?
        fileprivate let call: Task<String?, any Error>
    }

    private let provider: TokenProvider
    private var latest: Task<String?, any Error>?

    init(_ provider: @escaping TokenProvider) {
        self.provider = provider
    }

    /// Calls the provider if there is no token or it was refused, once for all requests with that token.
    func token(after refused: Issued? = nil) async throws -> Issued {
        let call: Task<String?, any Error>
        if let latest, latest != refused?.call {
            call = latest
        } else {
            let provider = provider
            call = Task { try await provider(refused?.value) }
            latest = call
        }
        do {
            return Issued(value: try await call.value, call: call)
        } catch {
            if latest == call { latest = nil }
            throw ConnectionFailure(underlying: error, detail: "The token provider failed")
        }
    }
}
