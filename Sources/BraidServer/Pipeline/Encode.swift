import BraidEngine
import BraidHTTP
import BraidRuntime

// Encode: common header fields, `?pretty`, compression.

extension Exchange {
    /// On the event loop, for small responses.
    func encodeAtOnce(_ response: HTTPResponse, in coding: ContentCoding?) -> HTTPResponse {
        var response = response
        addFields(to: &response)
        indent(&response)
        response.encode(in: coding, for: head)
        return response
    }

    /// Adds header fields and indents for `?pretty`; the body stays plain.
    package func present(_ response: HTTPResponse) async -> HTTPResponse {
        var response = response
        addFields(to: &response)
        guard isPretty, let size = response.body.estimatedCount, size > Workers.shortBytes,
            size <= limits.prettyBytes
        else {
            indent(&response)
            return response
        }
        do {
            return try await inTurn(of: account.client ?? account.resource) { [response] in
                await gatherAndIndent(response, size)
            }
        } catch {
            return response  // The client has disconnected.
        }
    }

    /// Needs several times the body's memory; without it, the body stays as it is.
    private func gatherAndIndent(_ given: HTTPResponse, _ size: Int) async -> HTTPResponse {
        var response = given
        let memory = given.lease ?? Quota.Lease(of: app.sessions.streams.buffers, to: account)
        if size > Memory.largeBytes {
            do { try memory.grow(to: 3 * size) } catch { return given }
            response.lease = memory
        }
        if case .stream(let stream) = given.body {
            guard let bytes = await stream.gathered() else {
                response.isWithheld = true
                return response
            }
            response.body = .bytes(bytes)
        }
        indent(&response)
        return response
    }

    /// Unless it would exceed `prettyBytes`.
    func indent(_ response: inout HTTPResponse) {
        guard isPretty, let bytes = response.body.bytes, !bytes.isEmpty, bytes.count <= limits.prettyBytes,
            let text = try? JSONText(parsing: bytes, depthLimit: 1000),
            var pretty = text.pretty(limit: limits.prettyBytes)
        else { return }
        pretty.append(.lineFeed)
        response.body = .bytes(pretty)
    }

    var isPretty: Bool {
        route?.obeysPretty != true
            && head.query.contains { $0.name == "pretty" && $0.value != "false" && $0.value != "0" }
    }

    /// A large body without a lease needs one while it is compressed; if there is none, it stays plain.
    package func compress(_ response: HTTPResponse) async -> HTTPResponse {
        var response = response
        let coding = response.coding(for: head)
        guard let coding, response.needsCompression(in: coding), response.isLarge else {
            response.encode(in: coding, for: head)
            return response
        }
        do {
            return try await inTurn(of: account.client) { [response] in
                var response = response
                let size = response.body.count ?? 0
                let memory = response.lease ?? Quota.Lease(of: app.sessions.streams.buffers, to: account)
                defer { if response.lease == nil { memory.end() } }
                var isAffordable = true
                if size > Memory.largeBytes { do { try memory.grow(to: size) } catch { isAffordable = false } }
                response.encode(in: isAffordable ? coding : nil, for: head)
                return response
            }
        } catch {
            response.encode(in: nil, for: head)  // The client has disconnected.
            return response
        }
    }

    /// On the long pool, one at a time per client or session.
    private func inTurn(
        of holder: String?, _ work: @Sendable () async -> HTTPResponse
    ) async throws -> HTTPResponse {
        try await app.sessions.streams.turns.withTurn(of: holder) {
            await withTaskExecutorPreference(Workers.shared.long) { await work() }
        }
    }

    /// On every answer.
    func addFields(to response: inout HTTPResponse) {
        response.account = account
        response.headers.reserveCapacity(response.headers.count + 4)
        response.headers.append(("X-Request-Id", requestID))
        response.headers += app.pages.headers(for: head)
        // Without it, caches choose for how long they reuse an answer (RFC 9111, 4.2.2). An unknown method may be a
        // GET.
        if head.isRead || head.method.isEmpty, !response.headers.contains(where: { $0.0 == "Cache-Control" }) {
            // A shared cache keeps what was answered without `Authorization` (RFC 9111, 3.5).
            response.headers.append(("Cache-Control", sender?.ticket == nil ? "no-cache" : "private, no-cache"))
        }
        // Caches must keep one answer per media type (RFC 9110, 12.5.5).
        if route?.alternative != nil { response.headers.append(("Vary", "Accept")) }
    }
}

extension HTTPResponse {
    /// `members` writes those of the body's object.
    package static func object(
        status: Int = 200, headers: [(String, String)] = [], _ members: (inout JSONWriter) -> Void
    ) -> HTTPResponse {
        .json(JSONText.object(members).bytes, status: status, headers: headers)
    }

    package static func json(_ value: some JSONWritable, headers: [(String, String)] = []) -> HTTPResponse {
        .json(JSONText(value).bytes, headers: headers)
    }

    package static func json(_ bytes: [UInt8], status: Int = 200, headers: [(String, String)] = []) -> HTTPResponse {
        HTTPResponse(status: status, headers: [("Content-Type", "application/json")] + headers, body: .bytes(bytes))
    }

    /// Less fits into one packet.
    private static let leastBytes = 1_024

    /// `nil`: plain.
    func coding(for head: HTTPRequestHead) -> ContentCoding? {
        guard body.count != 0, let field = head.headers["accept-encoding"] else { return nil }
        // The announced length is that of the plain bytes.
        if case .stream(let stream) = body, stream.length != nil { return nil }
        // A small body only for clients that exclude the plain one, as with `identity;q=0`.
        guard isWorthCompressing || field.utf8.contains(UInt8(ascii: ";")) else { return nil }
        let encodings = AcceptEncoding(field)
        return isWorthCompressing || !encodings.accepts(nil) ? encodings.preferred : nil
    }

    private var isWorthCompressing: Bool { body.count.map { $0 >= Self.leastBytes } ?? true }

    var isLarge: Bool { (body.count ?? 0) > Workers.shortBytes }

    /// A stream's producer compresses it later; shared bytes may be compressed already.
    func needsCompression(in coding: ContentCoding) -> Bool {
        switch body {
        case .shared(let bytes): !bytes.hasBody(in: coding)
        case .bytes: true
        case .none, .stream: false
        }
    }

    /// Compresses the body (a stream's pieces later, as they are made), and sets the fields that depend on the coding.
    mutating func encode(in coding: ContentCoding?, for head: HTTPRequestHead) {
        // Caches must keep one answer per coding (RFC 9110, 12.5.5).
        if head.isRead, isWorthCompressing || status == 304 {
            if let field = headers.firstIndex(where: { $0 == ("Vary", "Accept") }) {
                headers[field].1 = "Accept, Accept-Encoding"
            } else {
                headers.append(("Vary", "Accept-Encoding"))
            }
        }
        guard let coding else { return }
        switch body {
        case .none: return
        case .bytes(let bytes): body = .bytes(coding.compress(bytes))
        case .shared(let bytes): body = .bytes(bytes.body(in: coding))
        case .stream(let stream): stream.encode(in: coding)
        }
        headers.append(("Content-Encoding", coding.rawValue))
        // A strong ETag differs by coding (RFC 9110, 8.8.3.3). Other methods' is the session's position.
        if head.isRead, let field = headers.firstIndex(where: { $0.0 == "ETag" }) {
            headers[field].1 = entityTag(headers[field].1, in: coding)
        }
    }
}

/// `"a"` becomes `"a-gzip"`.
func entityTag(_ etag: String, in coding: ContentCoding) -> String { "\(etag.dropLast())-\(coding.rawValue)\"" }
