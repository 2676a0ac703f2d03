import BraidEngine
import BraidHTTP
import BraidRuntime
import BraidSessions

// Decode: the requester, checks of head and query, the decompressed body.

extension Exchange {
    /// Returns the lease of a decompressed body.
    mutating func decode() async throws -> Quota.Lease? {
        if case .claimed = verdict { self = await identified() }
        switch verdict {
        case .refused(let error, _): throw error
        case .admitted, .claimed, .answered: break
        }
        if lease == nil { lease = try leased() }
        if let route, route.isOfSession, case .admitted(var requester) = verdict, requester.scope.tables != nil {
            try app.access.check(requester, route, head.path)
            try await requester.requireTable(ofSession: parameter("id"), in: app.sessions)
            verdict = .admitted(requester)
        }
        try check()
        return try head.decompress(&body, limit: limits.bodyBytes, memory: limits.bodies, for: account)
    }

    /// Asks the store about the token, or checks its signature, if need be.
    package func identified() async -> Exchange {
        guard case .claimed(let token) = verdict else { return self }
        var exchange = self
        do {
            exchange.verdict = .admitted(try await app.access.requester(token))
        } catch let refusal as TokenRefusal {
            app.log.refused(refusal, by: self)
            exchange.verdict = .refused(SessionError.invalidToken)
        } catch {
            exchange.verdict = .refused(error)
        }
        return exchange
    }

    /// The checks that all routes share. Access comes first: others must not learn what else is wrong.
    func check() throws {
        guard let route else { return }
        try app.access.check(requester, route, head.path)
        try route.checkAccept(head)
        try head.checkAcceptEncoding()
        if !route.ignoresUnknownQuery { try route.checkQuery(head) }
        _ = try flag("pretty")
        if route.takesBody {
            try route.checkContentType(head)
            _ = try head.hasGzipBody
        } else if !body.isEmpty {
            throw ProblemError(
                .badRequest, "\(head.method) \(head.plainPath) accepts no body. Send the request without one.")
        }
        try route.checkConditions(head)
        try route.checkKey(head)
    }

    /// The body, which may nest `deeper` levels beyond the limit. Throws `invalidJSON` if it is empty, or `JSONError`.
    package func json(deeper: Int = 0) throws -> JSONText {
        guard !body.isEmpty else { throw ProblemError(.invalidJSON, "The body is empty. It must be JSON.") }
        return try JSONText(parsing: body, depthLimit: limits.jsonDepth + deeper)
    }
}

extension Route {
    fileprivate func checkQuery(_ head: HTTPRequestHead) throws {
        for (name, _) in head.query
        where name != "pretty" && !query.contains(name) && !(takesTicket && name == Self.ticket) {
            throw ProblemError(
                .badRequest,
                "The query parameter `\(name)` is unknown here. The known parameters are \(query.union(["pretty"]).sorted().map { "`\($0)`" }.joined(separator: ", "))."
            )
        }
        for (index, parameter) in head.query.enumerated()
        where head.query[..<index].contains(where: { $0.name == parameter.name }) {
            throw ProblemError(.badRequest, "The query has the parameter `\(parameter.name)` twice. Send it once.")
        }
    }

    /// A client that accepts only problem documents passes (RFC 9110, 12.5.1).
    fileprivate func checkAccept(_ head: HTTPRequestHead) throws {
        guard let accept = head.accept else { return }
        if [produces, alternative, "application/problem+json"].contains(where: {
            $0.map { accept.weight(of: $0) > 0 } ?? false
        }) {
            return
        }
        let available = ([produces] + [alternative].compactMap { $0 }).joined(separator: " or ")
        throw ProblemError(
            .notAcceptable,
            "The resource answers with \(available), which `Accept: \(head.headers["accept"] ?? "")` does not allow. Send an `Accept` that allows it, or none."
        )
    }

    fileprivate func checkContentType(_ head: HTTPRequestHead) throws {
        let type = head.headers["content-type"]
        // A buffered body is JSON by default; lines must be named.
        if type == nil, !streamsBody { return }
        if let essence = head.bodyType, bodyTypes.contains(essence) { return }
        // RFC 5789, 2.2; RFC 9110, 15.5.16.
        throw ProblemError(
            .unsupportedMediaType,
            "The body must be \(bodyTypes.joined(separator: " or ")), not \(type ?? "of no type"). (With curl: -H 'Content-Type: \(bodyTypes[0])'.)",
            headers: [(method == "PATCH" ? "Accept-Patch" : "Accept", bodyTypes.joined(separator: ", "))])
    }
}

extension HTTPRequestHead {
    /// Lower case, no parameters.
    var bodyType: String? {
        headers["content-type"].map { $0.prefix { $0 != ";" }.lowercased().filter { $0 != " " && $0 != "\t" } }
    }

    /// Throws `notAcceptable` if no coding is accepted, not even the plain body.
    fileprivate func checkAcceptEncoding() throws {
        guard let field = headers["accept-encoding"], field.utf8.contains(UInt8(ascii: ";")) else { return }
        let encodings = AcceptEncoding(field)
        guard !encodings.accepts(nil), encodings.preferred == nil else { return }
        throw ProblemError(
            .notAcceptable,
            "The resource answers in gzip, in zstd or plain (`identity`), which `Accept-Encoding: \(field)` does not allow. Send an `Accept-Encoding` that allows one of them, or none."
        )
    }

    /// Throws `unsupportedMediaType` for others than gzip and identity (RFC 9110, 8.4 and 15.5.16).
    var hasGzipBody: Bool {
        get throws {
            guard let field = headers["content-encoding"] else { return false }
            switch field.lowercased() {
            case "", "identity": return false
            case "gzip", "x-gzip": return true
            default:
                throw ProblemError(
                    .unsupportedMediaType,
                    "The server does not support the `Content-Encoding` \"\(field)\". Send the body in gzip, or plain.",
                    headers: [("Accept-Encoding", "gzip, identity")])
            }
        }
    }
}

extension HTTPRequestHead {
    /// The default of `--max-body-bytes`; few exceed it.
    private static let usualBodyBytes = 16 << 20

    /// Replaces a gzip body by the plain one, and returns its lease; `nil` if the body was plain already.
    /// - Throws: `tooLarge` above the limit, `badRequest` if it is not gzip, `HTTPFailure` without memory.
    package func decompress(
        _ body: inout [UInt8], limit: Int, memory: Quota, for account: Quota.Account
    ) throws -> Quota.Lease? {
        guard !body.isEmpty, try hasGzipBody else { return nil }
        let lease = Quota.Lease(of: memory, to: account)
        let gunzip = Gunzip()
        gunzip.add(body)
        var plain: [UInt8] = []
        do {
            while let piece = try gunzip.next() {
                let size = plain.count + piece.count
                guard size <= limit else {
                    throw ProblemError(
                        .tooLarge,
                        "The decompressed body is longer than the \(limit) bytes that the server accepts here.")
                }
                if size > HTTPBodyDisposition.smallBody {
                    do { try lease.grow(to: size) } catch { throw HTTPFailure.noRoomForBody(error) }
                }
                // At once: a growing array holds old and new bytes together, and of a reservation only the used part
                // takes memory. The system may refuse a much larger one, so longer bodies double it.
                if !plain.isEmpty, plain.capacity < size {
                    plain.reserveCapacity(min(limit, max(2 * size, Self.usualBodyBytes)))
                }
                plain += piece
            }
            try gunzip.finish()
        } catch let failure as Gunzip.Failure {
            throw ProblemError(failure)
        }
        body = plain
        return lease
    }

    /// The plain body's size, as the last four bytes of gzip claim, perhaps wrongly.
    func expectedSize(of body: [UInt8]) -> Int {
        guard body.count > 18, (try? hasGzipBody) == true else { return body.count }
        return max(body.count, body.suffix(4).reversed().reduce(0) { $0 << 8 | Int($1) })
    }
}

extension ProblemError {
    init(_ failure: Gunzip.Failure) {
        self.init(.badRequest, "The body's `Content-Encoding` is gzip, but the body is not: \(failure.detail).")
    }
}
