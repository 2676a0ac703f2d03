import BraidHTTP

// Checks of a request's query and header fields that all routes share. `Conditions.swift` and `Idempotency.swift`
// contain the checks of conditions and of idempotency keys.

extension Route {
    /// Throws `badRequest` if the request's query has a parameter that the route does not know, or the same parameter
    /// twice.
    func checkQuery(_ head: HTTPRequestHead) throws {
        for (name, _) in head.query where name != "pretty" && !query.contains(name) {
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

    /// Throws `notAcceptable` unless the client accepts one of the route's media types, or at least problem documents
    /// (RFC 9110, 12.5.1).
    func checkAccept(_ head: HTTPRequestHead) throws {
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

    /// Throws `unsupportedMediaType` if the body has a type that the route does not accept, or no type although the
    /// route needs one.
    func checkContentType(_ head: HTTPRequestHead) throws {
        let type = head.headers["content-type"]
        // For a buffered body, a missing `Content-Type` means JSON. For a body of lines that is read while it arrives,
        // the request must name the type.
        if type == nil, streamedBody == nil { return }
        if let essence = head.bodyType, bodyTypes.contains(essence) { return }
        // The field `Accept-Patch` or `Accept` of the answer lists the accepted types (RFC 5789, 2.2; RFC 9110,
        // 15.5.16).
        throw ProblemError(
            .unsupportedMediaType,
            "The body must be \(bodyTypes.joined(separator: " or ")), not \(type ?? "of no type"). (With curl: -H 'Content-Type: \(bodyTypes[0])'.)",
            headers: [(method == "PATCH" ? "Accept-Patch" : "Accept", bodyTypes.joined(separator: ", "))])
    }
}

extension HTTPRequestHead {
    /// The media type in `Content-Type`, in lower case and without parameters.
    var bodyType: String? {
        headers["content-type"].map { $0.prefix { $0 != ";" }.lowercased().filter { $0 != " " && $0 != "\t" } }
    }

    /// Throws `notAcceptable` if the client accepts no coding of the answer, not even the plain body.
    func checkAcceptEncoding() throws {
        guard let field = headers["accept-encoding"], field.utf8.contains(UInt8(ascii: ";")) else { return }
        let encodings = AcceptEncoding(field)
        guard !encodings.accepts(nil), encodings.preferred == nil else { return }
        throw ProblemError(
            .notAcceptable,
            "The resource answers in gzip, in zstd or plain (`identity`), which `Accept-Encoding: \(field)` does not allow. Send an `Accept-Encoding` that allows one of them, or none."
        )
    }
}
