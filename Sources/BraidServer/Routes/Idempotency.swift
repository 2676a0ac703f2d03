import BraidEngine
import BraidHTTP
import BraidSessions
import BraidStore

// Requests that may be sent again. Source: draft-ietf-httpapi-idempotency-key-header.

extension IdempotencyKey {
    /// The request's `Idempotency-Key`; `nil` for a request without one. The hash is of method, target and body.
    init?(_ context: RequestContext) throws {
        guard let field = context.head.headers["idempotency-key"] else { return nil }
        // A string of RFC 9651, or, as most clients send it, the bare characters.
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
    /// Refuses a key that the server would ignore: the client would take the request for one that is safe to send
    /// again.
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

extension RequestContext {
    /// The encoding of a refusal that is kept under the request's key; `nil` for an error that is not the client's.
    func keptRefusal(_ error: any Error) -> JSONText? {
        ProblemError(error)?.response(path: head.plainPath, requestID: requestID).kept(snapshotOf: nil)
    }
}

extension Sessions {
    /// Returns a response that was kept. A reference to a snapshot is replaced by the snapshot as it is now, with its
    /// ETag.
    func response(kept: JSONText) async throws -> HTTPResponse {
        var response = HTTPResponse(kept: kept)
        guard let reference = kept["snapshot"], let id = reference["session"]?.stringValue else { return response }
        let session = try await current(id)
        guard session.epoch == reference["epoch"]?.stringValue else {
            throw SessionError(
                .noSession,
                "The session \"\(id)\" that this request opened has been ended. Another one was opened under its id.")
        }
        let snapshot = session.snapshotResponse()
        response.headers += snapshot.headers
        response.body = snapshot.body
        return response
    }
}

extension HTTPResponse {
    /// As it is kept: `{"status", "headers", "body"?}`, or with `"snapshot": {"session", "epoch"}` for the headers and
    /// the body of a snapshot.
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
