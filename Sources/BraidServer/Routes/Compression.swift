import BraidHTTP
import BraidRuntime

/// The codings of bodies that a client accepts, each with its weight (RFC 9110, 12.5.3).
struct AcceptEncoding: Sendable {
    private let weights: WeightedNames

    init(_ field: String) { weights = WeightedNames(field) }

    /// Returns whether the client accepts a coding, or the plain body if `coding` is `nil`.
    func accepts(_ coding: ContentCoding?) -> Bool { weight(of: coding) > 0 }

    /// The coding that the client prefers. `nil` means the plain body. If the weights are equal, a compressed body is
    /// preferred.
    var preferred: ContentCoding? {
        let best = ContentCoding.allCases.reduce(nil as ContentCoding?) { best, coding in
            weight(of: coding) > (best.map { weight(of: $0) } ?? 0) ? coding : best
        }
        guard let best, weight(of: best) >= weights["identity"] ?? 0 else { return nil }
        return best
    }

    private func weight(of coding: ContentCoding?) -> Int {
        switch coding {
        // Every client accepts the plain body, unless `Accept-Encoding` excludes it.
        case nil: weights["identity"] ?? (weights["*"] == 0 ? 0 : 1)
        case .gzip: weights["gzip"] ?? weights["x-gzip"] ?? weights["*"] ?? 0
        case .zstd: weights["zstd"] ?? weights["*"] ?? 0
        }
    }
}

extension HTTPRequestHead {
    /// The request's `Accept-Encoding` field. `nil` without the field: the server then compresses nothing.
    var acceptEncoding: AcceptEncoding? { headers["accept-encoding"].map(AcceptEncoding.init) }

    /// Whether the request's body is in gzip.
    ///
    /// - Throws: `unsupportedMediaType` for a coding other than gzip and identity (RFC 9110, 8.4 and 15.5.16).
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

// MARK: - Request bodies

extension HTTPRequest {
    /// The size in bytes that few decompressed bodies exceed: the default of `--max-body-bytes`.
    private static let usualBodyBytes = 16 << 20

    /// Decompresses a body in gzip, and returns the lease of the plain body's memory. Leaves another body as it is and
    /// returns `nil`.
    ///
    /// - Throws: `tooLarge` if the plain body is longer than the limit, `badRequest` if the body is not gzip, or
    ///   `HTTPFailure` if the quota refuses the memory.
    mutating func decompressBody(
        limit: Int, memory: Quota, for account: Quota.Account
    ) throws -> Quota.Lease? {
        guard !body.isEmpty, try head.hasGzipBody else { return nil }
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
                // The memory for the decompressed bytes of most bodies is reserved at once. If the array grew, it would
                // need memory for the old and for the new bytes. Only the used part of the reservation occupies memory.
                // The system can refuse a reservation of a much higher limit, so a longer body doubles its reservation.
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

    /// The size of the body in bytes. For a body in gzip, the decompressed size that the body's last four bytes claim,
    /// but at least the compressed size. The client may claim a wrong size.
    var expectedSize: Int {
        guard body.count > 18, (try? head.hasGzipBody) == true else { return body.count }
        return max(body.count, body.suffix(4).reversed().reduce(0) { $0 << 8 | Int($1) })
    }
}

extension ProblemError {
    init(_ failure: Gunzip.Failure) {
        self.init(.badRequest, "The body's `Content-Encoding` is gzip, but the body is not: \(failure.detail).")
    }
}

// MARK: - Answers

extension HTTPResponse {
    /// The size in bytes from which the server compresses a body. Smaller bodies fit into one packet.
    private static let leastBytes = 1_024

    /// Returns the coding in which the client gets the answer's body. `nil` means the plain body.
    func coding(for head: HTTPRequestHead) -> ContentCoding? {
        guard body.count != 0, let field = head.headers["accept-encoding"] else { return nil }
        // A stream of known length stays plain, because the answer announces the length of the plain bytes.
        if case .stream(let stream) = body, stream.length != nil { return nil }
        // A small body is compressed only if `Accept-Encoding` excludes the plain body. Only a weight, as in
        // `identity;q=0`, can exclude the plain body.
        guard isWorthCompressing || field.utf8.contains(UInt8(ascii: ";")) else { return nil }
        let encodings = AcceptEncoding(field)
        return isWorthCompressing || !encodings.accepts(nil) ? encodings.preferred : nil
    }

    private var isWorthCompressing: Bool { body.count.map { $0 >= Self.leastBytes } ?? true }

    /// Returns whether the body must be compressed now to be sent in a coding. A stream is compressed later, and shared
    /// bytes may already be compressed.
    func needsCompression(in coding: ContentCoding) -> Bool {
        switch body {
        case .shared(let bytes): !bytes.hasBody(in: coding)
        case .bytes: true
        case .none, .stream: false
        }
    }

    /// Compresses the body in a coding and sets the header fields that depend on codings. Each coding of a resource has
    /// its own strong ETag.
    ///
    /// - Complexity: see `BodyPiece`. This method does not compress a stream: the stream's producer does so later.
    mutating func encode(in coding: ContentCoding?, for head: HTTPRequestHead) {
        let isRead = head.method == "GET" || head.isHead
        // Caches must store one answer for each coding (RFC 9110, 12.5.5).
        if isRead, isWorthCompressing || status == 304 {
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
        // Only the ETag of a GET or HEAD is the tag of the answer's body. The ETag of other answers is the session's
        // position.
        if isRead, let field = headers.firstIndex(where: { $0.0 == "ETag" }) {
            headers[field].1 = entityTag(headers[field].1, in: coding)
        }
    }
}

/// Returns the entity tag of a body in a coding: `"a"` becomes `"a-gzip"`.
func entityTag(_ etag: String, in coding: ContentCoding) -> String { "\(etag.dropLast())-\(coding.rawValue)\"" }
