import BraidEngine
import BraidHTTP
import BraidSessions
import BraidStore

// Retries with an `Idempotency-Key` (draft-ietf-httpapi-idempotency-key-header).

extension IdempotencyKey {
    /// Reads the request's `Idempotency-Key`. Returns `nil` without the field.
    init?(_ context: Exchange) throws {
        guard let field = context.head.headers["idempotency-key"] else { return nil }
        // A string in quotes (RFC 9651), but most clients send it without.
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
            // A fault of the server itself is no `ProblemError`, and is not stored.
            ProblemError(error)?.shown(to: context.requester)
                .response(path: context.head.plainPath, requestID: context.requestID).kept(snapshotOf: nil)
        }
    }
}

extension Route {
    /// Throws `badRequest` if the request has a key and its route does not support keys: the client would believe that
    /// the request is safe to repeat.
    func checkKey(_ head: HTTPRequestHead) throws {
        guard !takesKey, head.headers["idempotency-key"] != nil else { return }
        throw ProblemError(
            .badRequest,
            "\(method) \(head.plainPath) takes no Idempotency-Key: opening a session takes one, and so do the commands that change a session. Send the request without the key."
        )
    }
}

/// The 64-bit FNV-1a hash (draft-eastlake-fnv), the same in every process. An attacker can construct two requests with
/// the same hash.
struct StableHash {
    private var state: UInt64 = 0xCBF2_9CE4_8422_2325

    mutating func combine(_ bytes: [UInt8]) {
        for byte in bytes { state = (state ^ UInt64(byte)) &* 0x0000_0100_0000_01B3 }
    }

    var value: Int { Int(bitPattern: UInt(state)) }
}

extension SessionHost {
    /// The response to a retry. Instead of a snapshot, the store keeps a reference: the response contains the session's
    /// current snapshot and ETag. Throws `noSession` if this session has ended.
    func replayed(_ kept: JSONText) async throws -> HTTPResponse {
        var response = HTTPResponse(kept: kept)
        guard let reference = kept["snapshot"], let id = reference["session"]?.stringValue else { return response }
        let session = try await current(id)
        // Version 0.1.0 stored the epoch instead.
        let isSame =
            reference["created"].map { $0.intValue == session.created }
            ?? (reference["epoch"]?.stringValue == session.epoch)
        guard isSame else {
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
    /// Returns the response in the form in which the store keeps it for retries: `{"status", "headers", "body"?}`.
    ///
    /// - Parameter session: the session whose snapshot is the body. The store keeps a reference instead of the snapshot
    ///   and its headers: `"snapshot": {"session", "created"}`.
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
