import BraidEngine
import BraidStore
import Synchronization

/// A request's idempotency key, with the requester that sent it and a hash of the request.
package struct IdempotencyKey: Sendable {
    let key: String
    /// The ID of the requester's token, or the empty string for a controller. The same key from another token belongs
    /// to another request.
    let requester: String
    /// A hash of the request's method, target and body. The same key with another hash is a mistake of the client.
    let request: Int
    /// Encodes the answer to an error for the store. `nil` if it keeps none.
    let refusal: @Sendable (any Error) -> JSONText?

    package init(
        key: String, requester: String, request: Int, refusal: @escaping @Sendable (any Error) -> JSONText?
    ) {
        self.key = key
        self.requester = requester
        self.request = request
        self.refusal = refusal
    }
}

/// Makes what a store keeps of an encoded answer, under the request's idempotency key.
package typealias KeepsAnswer = @Sendable (_ answer: JSONText) -> KeptAnswer

/// The idempotency keys of the requests that this server is answering at the moment.
final class KeysUnderWay: Sendable {
    private struct Name: Hashable {
        var session: Int
        var requester: String
        var key: String
    }
    private let names = Mutex<Set<Name>>([])

    /// Reserves a request's idempotency key while `body` runs. Throws `idempotencyKeyInUse` if the same requester's key
    /// is reserved for the same session already.
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

extension SessionHost {
    /// Answers a request with `body`, or with `replay` if the store already contains the answer to an earlier attempt
    /// with the same idempotency key.
    ///
    /// - Parameters:
    ///   - request: the command that the request sends. `nil` if it opens a session.
    ///   - body: must store the result of `keep` in the same transaction as its changes, or alone if it changes nothing.
    package func once<Value>(
        _ key: IdempotencyKey, for request: CommandRequest? = nil, replay: (JSONText) async throws -> Value,
        _ body: (_ keep: @escaping KeepsAnswer) async throws -> Value
    ) async throws -> Value {
        let session = try await number(of: request)
        return try await keysUnderWay.holding(key, of: session) {
            // Starts again if another server has stored an answer under the same key in the meantime.
            while true {
                if let kept = try await answer(to: key, of: session) { return try await replay(kept) }
                let clock = store.answerClock
                let keep = { @Sendable (answer: JSONText) in
                    KeptAnswer(
                        session: session, requester: key.requester, key: key.key, at: clock.now(), request: key.request,
                        answer: answer)
                }
                do {
                    return try await body(keep)
                } catch StoreError.answered {
                    continue
                } catch {
                    // Store the answer to an error of the client, so that a retry gets the same one. After an error of
                    // the server, or one that can pass later, a retry can succeed.
                    guard SessionError.isRefusal(error) else { throw error }
                    if SessionError.mayPassLater(error) {
                        // Another server may have executed the same request after the key was looked up.
                        if store.sharing != nil, try await stored(key, of: session) != nil { continue }
                        throw error
                    }
                    guard let answer = key.refusal(error) else { throw error }
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

    /// The number of the session for which a key is looked up, or 0 for a request that opens a session.
    private func number(of request: CommandRequest?) async throws -> Int {
        guard let request else { return 0 }
        let session = try await current(request.session)
        try request.check(session)
        return session.number
    }

    /// Returns the answer that is stored under an idempotency key, or `nil`. Throws `idempotencyKeyReused` if the key
    /// was sent before with another request.
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
        try await store.answer(to: key.key, by: key.requester, of: session, now: store.answerClock.now())
    }
}
