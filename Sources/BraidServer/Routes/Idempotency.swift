import BraidEngine
import BraidHTTP
import BraidStore
import Synchronization

/// A request that may be sent again: its `Idempotency-Key`, and what it asks.
/// Source: draft-ietf-httpapi-idempotency-key-header.
struct IdempotencyKey: Sendable {
    let key: String
    /// The id of the requester's token; empty for a controller. Each requester has its own keys.
    let requester: String
    /// Of method, target and body: the key does not stand for another request.
    let request: Int

    /// Nil for a request without a key.
    init?(_ context: RequestContext) throws {
        guard let field = context.head.headers["idempotency-key"] else { return nil }
        // A string of RFC 9651, or, as most clients send it, the bare characters.
        let key =
            field.count >= 2 && field.hasPrefix("\"") && field.hasSuffix("\"")
            ? String(field.dropFirst().dropLast()) : field
        guard (1...255).contains(key.utf8.count), key.utf8.allSatisfy(\.isVisible) else {
            throw ProblemError(.badRequest, "An Idempotency-Key has 1 to 255 visible ASCII characters.")
        }
        self.key = key
        requester = context.requester.token?.id ?? ""
        var hash = StableHash()
        hash.combine(Array("\(context.head.method) \(context.head.target)\n".utf8))
        hash.combine(context.request.body)
        request = hash.value
    }
}

extension Route {
    /// Refuses a key that the server would ignore: the client would take the request for one that is safe to send again.
    func checkKey(_ head: HTTPRequestHead) throws {
        guard !takesKey, head.headers["idempotency-key"] != nil else { return }
        throw ProblemError(
            .badRequest,
            "\(method) \(head.plainPath) takes no Idempotency-Key: opening a session takes one, and so do the commands that change a session. Send the request without the key."
        )
    }
}

/// FNV-1a in 64 bits (draft-eastlake-fnv): the same in every process. Tells mistakes apart, not attacks.
struct StableHash {
    private var state: UInt64 = 0xCBF2_9CE4_8422_2325

    mutating func combine(_ bytes: [UInt8]) {
        for byte in bytes { state = (state ^ UInt64(byte)) &* 0x0000_0100_0000_01B3 }
    }

    var value: Int { Int(bitPattern: UInt(state)) }
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
            throw ProblemError(
                .idempotencyKeyInUse, "The request with the Idempotency-Key \"\(key.key)\" is still under way.",
                headers: [("Retry-After", "1")])
        }
        defer { names.withLock { _ = $0.remove(name) } }
        return try await body()
    }
}

extension Sessions {
    /// Answers a request once: with what was answered before to the same key, or by doing what is asked. What it
    /// stores must be stored together with the answer that `keep` makes; an answer to what stored nothing is kept here.
    /// Of a response whose body is a session's snapshot, `keep` is given the session and keeps only a reference.
    ///
    /// `session`: the number of the session that is asked; 0 for the opening of one.
    func once(
        _ key: IdempotencyKey, session: Int, context: RequestContext,
        _ body: (_ keep: @escaping @Sendable (HTTPResponse, _ snapshotOf: Session?) -> KeptAnswer) async throws ->
            HTTPResponse
    ) async throws -> HTTPResponse {
        try await keysUnderWay.holding(key, of: session) {
            // Again when another server has answered meanwhile.
            while true {
                if let kept = try await store.answer(to: key.key, by: key.requester, of: session, now: source.now()) {
                    guard kept.request == key.request else {
                        throw ProblemError(
                            .idempotencyKeyReused,
                            "The Idempotency-Key \"\(key.key)\" was sent before with another request.")
                    }
                    return try await response(kept: kept.answer)
                }
                let source = source
                let keep = { @Sendable (response: HTTPResponse, snapshotOf: Session?) in
                    KeptAnswer(
                        session: session, requester: key.requester, key: key.key, at: source.now(),
                        request: key.request,
                        answer: response.kept(snapshotOf: snapshotOf))
                }
                do {
                    return try await body(keep)
                } catch StoreError.answered {
                    continue
                } catch {
                    // A refusal is an answer as well. But what the server could not do, or had no room or time for, may be tried again,
                    // what was not understood may be put right, and what was asked of another revision may be asked of the present one.
                    guard let problem = ProblemError(error), problem.problem.status < 500 else { throw error }
                    guard
                        ![.badRequest, .etagMismatch, .tooMany, .quotaExceeded, .commandTimeout].contains(
                            problem.problem)
                    else {
                        // What it did not go with may be this very request, carried out by another server.
                        if store.sharing != nil,
                            try await store.answer(to: key.key, by: key.requester, of: session, now: source.now())
                                != nil
                        {
                            continue
                        }
                        throw error
                    }
                    do {
                        try await store.keep(
                            keep(problem.response(path: context.head.plainPath, requestID: context.requestID), nil))
                    } catch StoreError.answered {
                        continue
                    }
                    throw error
                }
            }
        }
    }
}

extension Sessions {
    /// A response that was kept. In the place of a reference to a snapshot it has the snapshot as it is now, with its ETag.
    private func response(kept: JSONText) async throws -> HTTPResponse {
        var response = HTTPResponse(kept: kept)
        guard let reference = kept["snapshot"], let id = reference["session"]?.stringValue else { return response }
        let session = try await current(id)
        guard session.epoch == reference["epoch"]?.stringValue else {
            throw ProblemError(
                .notFound,
                "The session \"\(id)\" that this request opened has been ended. Another one was opened under its id.")
        }
        let snapshot = session.snapshotResponse()
        response.headers += snapshot.headers
        response.body = snapshot.body
        return response
    }
}

extension HTTPResponse {
    /// As it is kept: `{"status", "headers", "body"?}`, or with `"snapshot": {"session", "epoch"}` for the headers and the body
    /// of a snapshot.
    func kept(snapshotOf session: Session?) -> JSONText {
        var writer = JSONWriter()
        writer.beginObject()
        writer.name("status")
        writer.value(status)
        writer.name("headers")
        writer.beginArray()
        for (name, value) in headers {
            writer.beginArray()
            writer.value(name)
            writer.value(value)
            writer.endArray()
        }
        writer.endArray()
        if let session {
            writer.name("snapshot")
            writer.beginObject()
            writer.name("session")
            writer.value(session.id)
            writer.name("epoch")
            writer.value(session.epoch)
            writer.endObject()
        } else if case .bytes(let bytes) = body, let text = try? JSONText(parsing: bytes, depthLimit: 1000) {
            writer.name("body")
            writer.value(text)
        }
        writer.endObject()
        return writer.text
    }

    init(kept: JSONText) {
        var headers = (kept["headers"]?.elements() ?? []).compactMap { field -> (String, String)? in
            guard let parts = field.elements(), parts.count == 2, let name = parts[0].stringValue,
                let value = parts[1].stringValue
            else { return nil }
            return (name, value)
        }
        headers.append(("Idempotent-Replayed", "true"))
        self.init(
            status: kept["status"]?.intValue ?? 500, headers: headers,
            body: kept["body"].map { .bytes($0.detached.bytes) } ?? .none)
    }
}
