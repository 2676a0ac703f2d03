import BraidEngine
import BraidStore
import Synchronization

package struct IdempotencyKey: Sendable {
    let key: String
    /// The token's ID; empty for a controller. Another token's same key is another request.
    let requester: String
    /// Hash of method, target and body. Another hash with the same key is the client's mistake.
    let request: Int
    /// The answer to store for an error; `nil`: none.
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

/// Makes what the store keeps of an answer.
package typealias KeepsAnswer = @Sendable (_ answer: JSONText) -> KeptAnswer

/// Keys of the requests that this server is answering.
final class KeysUnderWay: Sendable {
    private struct Name: Hashable {
        var session: Int
        var requester: String
        var key: String
    }
    private let names = Mutex<Set<Name>>([])

    /// Throws `idempotencyKeyInUse`.
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
    /// Answers with `body`, or with `replay` if an earlier attempt with this key is stored.
    ///
    /// `request` is `nil` for one that opens a session. `body` must store the result of `keep` in the same transaction
    /// as its changes, or alone if there are none.
    package func once<Value>(
        _ key: IdempotencyKey, for request: CommandRequest? = nil, replay: (JSONText) async throws -> Value,
        _ body: (_ keep: @escaping KeepsAnswer) async throws -> Value
    ) async throws -> Value {
        let session = try await number(of: request)
        return try await keysUnderWay.holding(key, of: session) {
            // Again, if another server has stored an answer under this key meanwhile.
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
                    // Store a client's error, so that a retry gets the same. After others, a retry can succeed.
                    guard SessionError.isRefusal(error) else { throw error }
                    if SessionError.mayPassLater(error) {
                        // Another server may have executed the request after the key was looked up.
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

    /// The session's number; 0 for a request that opens one.
    private func number(of request: CommandRequest?) async throws -> Int {
        guard let request else { return 0 }
        let session = try await current(request.session)
        try request.check(session)
        return session.number
    }

    /// Throws `idempotencyKeyReused`.
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
