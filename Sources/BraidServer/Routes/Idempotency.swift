import BraidEngine
import BraidHTTP
import BraidSessions
import BraidStore

// `Idempotency-Key` (draft-ietf-httpapi-idempotency-key-header).

extension IdempotencyKey {
    init?(_ context: Exchange) throws {
        guard let field = context.head.headers["idempotency-key"] else { return nil }
        // A quoted string (RFC 9651), but most clients omit the quotes.
        let key =
            field.count >= 2 && field.hasPrefix("\"") && field.hasSuffix("\"")
            ? String(field.dropFirst().dropLast()) : field
        guard (1...255).contains(key.utf8.count), key.utf8.allSatisfy(\.isVisible) else {
            throw ProblemError(.badRequest, "An Idempotency-Key has 1 to 255 visible ASCII characters.")
        }
        var hash = StableHash()
        hash.combine(Array("\(context.head.method) \(context.head.target)\n".utf8))
        hash.combine(context.body)
        self.init(key: key, requester: context.requester.token?.id ?? "", request: hash.value) { error in
            // The server's own fault is no `ProblemError`, and not stored.
            ProblemError(error)?.shown(to: context.requester)
                .response(path: context.head.plainPath, requestID: context.requestID).kept(snapshotOf: nil)
        }
    }
}

extension Route {
    /// Throws `badRequest` for a key on a route that takes none: the client would think that it is safe to repeat.
    func checkKey(_ head: HTTPRequestHead) throws {
        guard !takesKey, head.headers["idempotency-key"] != nil else { return }
        throw ProblemError(
            .badRequest,
            "\(method) \(head.plainPath) takes no Idempotency-Key: opening a session takes one, and so do the commands that change a session. Send the request without the key."
        )
    }
}

/// 64-bit FNV-1a (draft-eastlake-fnv), the same in every process. Not against attackers: they can construct collisions.
struct StableHash {
    private var state: UInt64 = 0xCBF2_9CE4_8422_2325

    mutating func combine(_ bytes: [UInt8]) {
        for byte in bytes { state = (state ^ UInt64(byte)) &* 0x0000_0100_0000_01B3 }
    }

    var value: Int { Int(bitPattern: UInt(state)) }
}

extension SessionHost {
    /// In place of a snapshot a reference is kept, so a retry gets the current one and its ETag. Throws `noSession` if
    /// the session has ended.
    func replayed(_ kept: JSONText, _ context: Exchange) async throws -> HTTPResponse {
        var response = HTTPResponse(kept: kept)
        guard let reference = kept["snapshot"], let id = reference["session"]?.stringValue else { return response }
        let session = try await current(id)
        // Version 0.1.0 stored the epoch.
        let isSame =
            reference["created"].map { $0.intValue == session.created }
            ?? (reference["epoch"]?.stringValue == session.epoch)
        guard isSame else {
            throw SessionError(
                .noSession,
                "The session \"\(id)\" that this request opened has been ended. Another one was opened under its id.")
        }
        let snapshot = try await session.displayed(to: Looker(context), for: context.account).snapshotResponse()
        response.headers += snapshot.headers
        response.body = snapshot.body
        return response
    }
}

extension HTTPResponse {
    /// As stored for retries: `{"status", "headers", "body"?}`. If the body is a session's snapshot, `"snapshot":
    /// {"session", "created"}` in place of it and its headers.
    func kept(snapshotOf session: Session?) -> JSONText {
        .object {
            $0.member("status", status)
            $0.array("headers", of: headers) { $0.value([$1.0, $1.1]) }
            if let session {
                $0.object("snapshot") {
                    $0.member("session", session.id)
                    $0.member("created", session.created)
                }
            } else if case .bytes(let bytes) = body {
                // Keeps only JSON in `.bytes`, as commands and problems have; any other body would be lost. 1000 is the
                // parser's limit: answers nest deeper than requests.
                $0.member("body", try? JSONText(parsing: bytes, depthLimit: 1000))
            }
        }
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
