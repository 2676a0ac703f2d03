import BraidEngine
import BraidStore
import Synchronization

/// A request's idempotency key, with the requester that sent it and a hash of the request.
package struct IdempotencyKey: Sendable {
    let key: String
    /// The ID of the requester's token, or the empty string for a controller. The same key from another token belongs
    /// to another request.
    let requester: String
    /// A hash of the request's method, target and body. If the same key arrives with another hash, the client has
    /// reused it by mistake.
    let request: Int

    package init(key: String, requester: String, request: Int) {
        self.key = key
        self.requester = requester
        self.request = request
    }
}

/// The idempotency keys of the requests that this server is answering at the moment.
final class KeysUnderWay: Sendable {
    private struct Name: Hashable {
        var session: Int
        var requester: String
        var key: String
    }
    private let names = Mutex<Set<Name>>([])

    /// Reserves a request's idempotency key while `body` runs. Throws `idempotencyKeyInUse` if the server is already
    /// answering another request with this key, from the same requester and for the same session.
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
    /// The result of a request with an idempotency key: a new result, or the stored answer of an earlier attempt.
    package enum Once<Value> {
        case done(Value)
        /// The answer that the store keeps under the key. An earlier attempt of the same request was answered, and
        /// nothing was executed now.
        case replayed(JSONText)
    }

    /// Performs a request unless it was performed before. If the store contains an answer under the request's
    /// idempotency key, returns that answer instead.
    ///
    /// - Parameters:
    ///   - session: the number of the session that the request is for, or 0 if the request opens a session.
    ///   - refusal: encodes the answer to an error that the client caused. The closure returns `nil` if the store
    ///     should keep no answer.
    ///   - body: performs the request. The closure must store the result of `keep` in the same transaction as its
    ///     changes. A closure that stores no changes stores the result of `keep` alone.
    package func once<Value>(
        _ key: IdempotencyKey, session: Int, refusal: (any Error) -> JSONText?,
        _ body: (_ keep: @escaping @Sendable (_ answer: JSONText) -> KeptAnswer) async throws -> Value
    ) async throws -> Once<Value> {
        try await keysUnderWay.holding(key, of: session) {
            // If another server has stored an answer under the same idempotency key in the meantime, the loop starts
            // again and finds this answer.
            while true {
                if let kept = try await answer(to: key, of: session) { return .replayed(kept) }
                let clock = store.answerClock
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
                    // Store the answer to an error of the client, so that a retry gets the same answer. Do not store an
                    // error of the server or an error that can pass later, so that a retry can succeed.
                    guard SessionError.isRefusal(error) else { throw error }
                    if SessionError.mayPassLater(error) {
                        // Another server may have executed the same request after this server looked the idempotency
                        // key up. In that case, return the other server's answer.
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
