/// A closure that returns the token to send requests with, or `nil` for none.
///
/// A client calls its provider before the first request, and again when the server refuses a token (401). `refused` is
/// that token, or `nil` the first time. A provider that throws counts as a failed connection: the request is tried
/// again later.
public typealias TokenProvider = @Sendable (_ refused: String?) async throws -> String?

/// The token that a client's requests carry: what the provider returned last.
actor TokenSource {
    /// A token, and the call of the provider that returned it.
    struct Issued: Sendable {
        let value: String?
        fileprivate let call: Task<String?, any Error>
    }

    private let provider: TokenProvider
    private var latest: Task<String?, any Error>?

    init(_ provider: @escaping TokenProvider) {
        self.provider = provider
    }

    /// The latest token. If that is the `refused` one, the provider is asked for another: once, even if many requests
    /// were refused with it.
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
