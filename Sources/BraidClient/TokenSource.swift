/// Returns the token for the client's requests, or `nil` to send none.
///
/// It is called before the first request, and with the `refused` token when the server refuses one (401). `refused` is
/// `nil` in the first call, after the provider threw, and after a refused request without a token. If it throws, the
/// request counts as one without a connection.
public typealias TokenProvider = @Sendable (_ refused: String?) async throws -> String?

/// Keeps the token that the provider returned last.
actor TokenSource {
    /// A token, and the task in which the provider returned it.
    struct Issued: Sendable {
        let value: String?
        fileprivate let call: Task<String?, any Error>
    }

    private let provider: TokenProvider
    private var latest: Task<String?, any Error>?

    init(_ provider: @escaping TokenProvider) {
        self.provider = provider
    }

    /// Calls the provider if there is no token yet, or if the latest is `refused`; once for all requests with the same
    /// token.
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
