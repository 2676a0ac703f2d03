/// A program's closure that returns the token for the client's requests, or `nil` to send requests without a token.
///
/// A client calls its token provider before the first request, and again when the server refuses a token (401).
/// `refused` is the refused token. It is `nil` in the first call, in the first call after the provider threw, and after
/// a refused request without a token. If the provider throws, the client treats the request as one without a
/// connection, and normally sends it again later.
public typealias TokenProvider = @Sendable (_ refused: String?) async throws -> String?

/// The source of a client's tokens, which caches the token that the provider returned last.
actor TokenSource {
    /// A token, and the task in which the token provider returned it.
    struct Issued: Sendable {
        let value: String?
        fileprivate let call: Task<String?, any Error>
    }

    private let provider: TokenProvider
    private var latest: Task<String?, any Error>?

    init(_ provider: @escaping TokenProvider) {
        self.provider = provider
    }

    /// Returns the latest token. If there is no token yet, or if the latest token is the `refused` one, calls the
    /// provider. The provider is called once, even if many requests were refused with the same token.
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
