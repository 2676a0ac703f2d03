import BraidEngine
import BraidStore
import Synchronization

/// The key of a request that may be sent again, and a hash of what the request asks.
package struct IdempotencyKey: Sendable {
    let key: String
    /// The ID of the requester's token; empty for a controller. Each requester has its own keys.
    let requester: String
    /// The hash of the request. A key is good for one request only.
    let request: Int

    package init(key: String, requester: String, request: Int) {
        self.key = key
        self.requester = requester
        self.request = request
    }
}

/// Requests with a key that are being answered right now.
final class KeysUnderWay: Sendable {
    private struct Name: Hashable {
        var session: Int
        var requester: String
        var key: String
    }
    private let names = Mutex<Set<Name>>([])

    /// Throws `idempotencyKeyInUse` while another request with the key is under way.
    func holding<Value>(_ key: IdempotencyKey, of session: Int, _ body: () async throws -> Value) async throws -> Value
    {
        let name = Name(session: session, requester: key.requester, key: key.key)
        guard names.withLock({ $0.insert(name).inserted }) else {
            throw SessionError(
                .idempotencyKeyInUse,
                "The request with the Idempotency-Key \"\(key.key)\" is still being carried out. Send it again after the time in `Retry-After`.",
                retryAfter: 1)
        }
        defer { names.withLock { _ = $0.remove(name) } }
        return try await body()
    }
}

extension Sessions {
    package enum Once<Value> {
        case done(Value)
        /// The answer that is stored with the key.
        case replayed(JSONText)
    }

    /// Does what a request asks, unless an answer is stored with its key. Then it returns that answer.
    ///
    /// - Parameters:
    ///   - session: the number of the session that the request is for; 0 for the opening of one.
    ///   - refusal: encodes the answer to an error that the client caused; `nil` to store none.
    ///   - body: does what the request asks. It must store `keep`'s result in the transaction that stores its changes.
    ///     If nothing is to be stored, it stores that result alone.
    package func once<Value>(
        _ key: IdempotencyKey, session: Int, refusal: (any Error) -> JSONText?,
        _ body: (_ keep: @escaping @Sendable (_ answer: JSONText) -> KeptAnswer) async throws -> Value
    ) async throws -> Once<Value> {
        try await keysUnderWay.holding(key, of: session) {
            // Again when another server has answered meanwhile.
            while true {
                if let kept = try await answer(to: key, of: session) { return .replayed(kept) }
                let clock = clock
                let keep = { @Sendable (answer: JSONText) in
                    KeptAnswer(
                        session: session, requester: key.requester, key: key.key, at: clock.now(), request: key.request,
                        answer: answer)
                }
                do {
                    return .done(try await body(keep))
                } catch StoreError.answered {
                    continue
                } catch {
                    // A refusal is an answer as well. But what the server could not do can be tried again.
                    guard SessionError.isRefusal(error) else { throw error }
                    if SessionError.mayPassLater(error) {
                        // The refused request may itself have been executed by another server.
                        if store.sharing != nil, try await stored(key, of: session) != nil { continue }
                        throw error
                    }
                    guard let answer = refusal(error) else { throw error }
                    do {
                        try await store.keep(keep(answer))
                    } catch StoreError.answered {
                        continue
                    }
                    throw error
                }
            }
        }
    }

    /// The answer that is stored with a key. Throws `idempotencyKeyReused` if it answers another request.
    private func answer(to key: IdempotencyKey, of session: Int) async throws -> JSONText? {
        guard let kept = try await stored(key, of: session) else { return nil }
        guard kept.request == key.request else {
            throw SessionError(
                .idempotencyKeyReused,
                "The Idempotency-Key \"\(key.key)\" was sent before with another request. Use a new key for each request."
            )
        }
        return kept.answer
    }

    private func stored(_ key: IdempotencyKey, of session: Int) async throws -> KeptAnswer? {
        try await store.answer(to: key.key, by: key.requester, of: session, now: clock.now())
    }
}
