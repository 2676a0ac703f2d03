import BraidEngine
import BraidHTTP
import BraidSessions
import BraidStore

// Retries with an `Idempotency-Key`, which execute a request only once. Source:
// draft-ietf-httpapi-idempotency-key-header.

extension IdempotencyKey {
    /// Reads the request's `Idempotency-Key`. Returns `nil` without the field. The result also contains a hash of the
    /// request's method, target and body.
    init?(_ context: Exchange) throws {
        guard let field = context.head.headers["idempotency-key"] else { return nil }
        // The `Idempotency-Key` field is a string in quotes (RFC 9651). Most clients send the key without the quotes.
        let key =
            field.count >= 2 && field.hasPrefix("\"") && field.hasSuffix("\"")
            ? String(field.dropFirst().dropLast()) : field
        guard (1...255).contains(key.utf8.count), key.utf8.allSatisfy(\.isVisible) else {
            throw ProblemError(.badRequest, "An Idempotency-Key has 1 to 255 visible ASCII characters.")
        }
        var hash = StableHash()
        hash.combine(Array("\(context.head.method) \(context.head.target)\n".utf8))
        hash.combine(context.request.body)
        self.init(key: key, requester: context.requester.token?.id ?? "", request: hash.value)
    }
}

extension Route {
    /// Throws `badRequest` if the request has an idempotency key and its route does not support keys. Without this
    /// error, the client would believe that the request is safe to repeat.
    func checkKey(_ head: HTTPRequestHead) throws {
        guard !takesKey, head.headers["idempotency-key"] != nil else { return }
        throw ProblemError(
            .badRequest,
            "\(method) \(head.plainPath) takes no Idempotency-Key: opening a session takes one, and so do the commands that change a session. Send the request without the key."
        )
    }
}

/// The 64-bit FNV-1a hash (draft-eastlake-fnv). The same bytes have the same hash in every process, unlike with Swift's
/// `Hasher`. An attacker can construct two requests with the same hash.
struct StableHash {
    private var state: UInt64 = 0xCBF2_9CE4_8422_2325

    mutating func combine(_ bytes: [UInt8]) {
        for byte in bytes { state = (state ^ UInt64(byte)) &* 0x0000_0100_0000_01B3 }
    }

    var value: Int { Int(bitPattern: UInt(state)) }
}

extension Exchange {
    /// Encodes the answer for an error, so that the store can keep the answer for retries with the request's
    /// `Idempotency-Key`. Returns `nil` for a fault of the server itself, whose answer is not stored.
    func keptRefusal(_ error: any Error) -> JSONText? {
        ProblemError(error)?.shown(to: requester).response(path: head.plainPath, requestID: requestID).kept(
            snapshotOf: nil)
    }
}

extension SessionHost {
    /// Returns a stored answer as the response to a retry. If the stored answer refers to a snapshot, the response
    /// contains the session's current snapshot and ETag. Throws `noSession` if this session has ended.
    func response(kept: JSONText) async throws -> HTTPResponse {
        var response = HTTPResponse(kept: kept)
        guard let reference = kept["snapshot"], let id = reference["session"]?.stringValue else { return response }
        let session = try await current(id)
        // If version 0.1.0 stored the answer, the reference contains the session's epoch instead of the time at which
        // the session was opened.
        let isSame =
            reference["created"].map { $0.intValue == session.created }
            ?? (reference["epoch"]?.stringValue == session.epoch)
        guard isSame else {
            throw SessionError(
                .noSession,
                "The session \"\(id)\" that this request opened has been ended. Another one was opened under its id.")
        }
        let snapshot = session.isTooLargeToCache ? session.streamedSnapshotResponse() : session.snapshotResponse()
        response.headers += snapshot.headers
        response.body = snapshot.body
        return response
    }
}

extension HTTPResponse {
    /// Returns the response in the form in which the store keeps it for retries: `{"status", "headers", "body"?}`.
    ///
    /// - Parameter session: the session whose snapshot is the response's body. With a session, the store keeps a
    ///   reference, `"snapshot": {"session", "created"}`, instead of the snapshot and its headers.
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
            writer.name("created")
            writer.value(session.created)
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
