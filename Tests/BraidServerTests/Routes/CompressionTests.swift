import BraidHTTP
import BraidRuntime
import Testing

@testable import BraidServer

@Suite struct CompressionTests {
    /// As in `Accept-Encoding`, and in thousandths. `nil`: the coding is not named.
    private static let weights: [(text: String, value: Int)?] = [
        nil, ("", 1_000), (";q=0", 0), (";q=0.000", 0), ("; q=0.001", 1), (";Q=0.5", 500), (" ; q = 1.0", 1_000),
    ]

    @Test("For every combination of codings and weights, the server chooses the right coding")
    func everyCombination() {
        for gzip in Self.weights {
            for zstd in Self.weights {
                for identity in Self.weights {
                    for any in Self.weights {
                        let elements = [("gzip", gzip), ("zstd", zstd), ("identity", identity), ("*", any)]
                        let field = elements.compactMap { name, weight in weight.map { name + $0.text } }
                            .joined(separator: ", ")
                        let head = parsedHead("GET", "/", [("Host", "x"), ("Accept-Encoding", field)])
                        let expected = Self.expected(gzip?.value, zstd?.value, identity?.value, any?.value)
                        let encodings = AcceptEncoding(field)
                        #expect(encodings.accepts(nil) == expected.acceptsPlain, "\(field)")
                        #expect(encodings.preferred == expected.coding, "\(field)")
                        let large = HTTPResponse(status: 200, body: .bytes([UInt8](repeating: 32, count: 2_000)))
                        #expect(large.coding(for: head) == expected.coding, "\(field)")
                        // Only for clients that exclude plain bodies.
                        let small = HTTPResponse(status: 200, body: .bytes([32]))
                        #expect(
                            small.coding(for: head) == (expected.acceptsPlain ? nil : expected.coding), "\(field)")
                    }
                }
            }
        }
    }

    /// RFC 9110, 12.5.3, written independently of the server's code.
    private static func expected(
        _ gzip: Int?, _ zstd: Int?, _ identity: Int?, _ any: Int?
    ) -> (coding: ContentCoding?, acceptsPlain: Bool) {
        let gzip = gzip ?? any ?? 0, zstd = zstd ?? any ?? 0
        let acceptsPlain = identity.map { $0 > 0 } ?? (any.map { $0 > 0 } ?? true)
        let best = max(gzip, zstd)
        if best == 0 || best < identity ?? 0 { return (nil, acceptsPlain) }
        return (zstd == best ? .zstd : .gzip, acceptsPlain)
    }

    @Test(
        "The server chooses the right coding for header fields that real clients send",
        arguments: [
            ("", nil), ("gzip", .gzip), ("GZIP", .gzip), ("x-gzip", .gzip), ("zstd", .zstd),
            ("gzip, deflate", .gzip), ("deflate, gzip, br, zstd", .zstd), ("br", nil), ("deflate", nil),
            ("gzip;q=1.0, identity; q=0.5, *;q=0", .gzip), ("identity", nil), ("gzip, identity", .gzip),
            ("gzip;q=0.4, identity", nil), ("*", .zstd), ("gzip;q=x", .gzip), ("gzip,,zstd;q=0.1,", .gzip),
            ("compress;q=0.5, gzip;q=1.0", .gzip), (",", nil), (";", nil), ("gzip;q=1.001", .gzip),
        ] as [(String, ContentCoding?)])
    func fields(field: String, coding: ContentCoding?) {
        #expect(AcceptEncoding(field).preferred == coding)
        #expect(AcceptEncoding(field).accepts(nil))
    }

    @Test("Elements of Accept and Accept-Encoding after the 64th are ignored, and parameters after the 16th")
    func longLists() {
        func list(_ others: Int, _ last: String) -> String { String(repeating: "a, ", count: others) + last }
        #expect(AcceptEncoding(list(63, "gzip")).preferred == .gzip)
        #expect(AcceptEncoding(list(64, "gzip")).preferred == nil)
        #expect(Accept(list(63, "text/html;q=0.5")).weight(of: "text/html") == 500)
        #expect(Accept(list(64, "text/html;q=0.5")).weight(of: "text/html") == 0)
        func element(_ others: Int) -> String { "text/html" + String(repeating: ";a=b", count: others) + ";q=0.5" }
        #expect(Accept(element(15)).weight(of: "text/html") == 500)
        #expect(Accept(element(16)).weight(of: "text/html") == 1_000)
    }

    @Test("Without Accept-Encoding nothing is compressed, but large answers to reads name this field in Vary")
    func withoutTheField() {
        let head = parsedHead("GET", "/", [("Host", "x")])
        for body in [HTTPBody.none, .bytes([1]), .bytes([UInt8](repeating: 1, count: 1_024)), .stream(ByteStream())] {
            var response = HTTPResponse(status: 200, body: body)
            #expect(response.coding(for: head) == nil)
            response.encode(in: nil, for: head)
            let isLarge = body.count ?? .max >= 1_024
            #expect(response.headers.map(\.0) == (isLarge ? ["Vary"] : []))
        }
    }

    @Test("An entity tag has a variant for each coding, and the server recognizes the variants that the client accepts")
    func entityTags() {
        func known(_ tag: String, _ encodings: String?) -> String? {
            let fields = [("Host", "x"), ("If-None-Match", tag)] + (encodings.map { [("Accept-Encoding", $0)] } ?? [])
            return parsedHead("GET", "/", fields).knownTag("\"e.7\"")
        }
        for tag in ["\"e.7\"", "\"e.7-gzip\"", "\"e.7-zstd\""] {
            for list in [tag, "W/\(tag)", "\"other\", \(tag)"] {
                #expect(known(list, nil) == tag, "every coding is acceptable to a client that names none")
                #expect(known(list, "gzip, zstd") == tag)
            }
        }
        #expect(known("\"e.7-zstd\"", "gzip") == nil)
        #expect(known("\"e.7-gzip\"", "zstd, gzip;q=0") == nil)
        #expect(known("\"e.7-gzip\", \"e.7\"", "zstd") == "\"e.7\"")
        #expect(known("\"e.7\"", "gzip, identity;q=0") == nil)
        #expect(known("*", "gzip") == "\"e.7\"")
        for other in ["\"e.7-br\"", "\"e.7-\"", "\"e.7-gzip-gzip\"", "\"e.70\"", "\"e-gzip.7\""] {
            #expect(known(other, "gzip, zstd") == nil, "\(other)")
        }
    }

    @Test("A request body with more decompressed bytes than the limit is refused")
    func bombs() throws {
        let bomb = ContentCoding.gzip.compress([UInt8](repeating: 32, count: 1_000_001))
        let head = parsedHead("POST", "/", [("Host", "x"), ("Content-Encoding", "gzip")])
        let memory = Quota(1 << 20)
        var exact = bomb
        let lease = try head.decompress(&exact, limit: 1_000_001, memory: memory, for: .init())
        #expect(exact.count == 1_000_001 && memory.taken == 1_000_001)
        lease?.end()
        #expect(memory.taken == 0)
        for limit in [0, 1, 65_535, 65_536, 1_000_000] {
            var refused = bomb
            #expect { try head.decompress(&refused, limit: limit, memory: memory, for: .init()) } throws: {
                ($0 as? ProblemError)?.problem == .tooLarge
            }
            #expect(memory.taken == 0)
        }
        let others = try memory.lease(900_000)
        var refused = bomb
        #expect { try head.decompress(&refused, limit: 1 << 20, memory: memory, for: .init()) } throws: {
            ($0 as? HTTPFailure)?.status == 503
        }
        others.end()
        #expect(memory.taken == 0)
    }

    @Test("Request bodies may be compressed only with gzip, whatever the letter case of the name")
    func requestCodings() throws {
        func hasGzip(_ field: String) throws -> Bool {
            try parsedHead("POST", "/", [("Host", "x"), ("Content-Encoding", field)]).hasGzipBody
        }
        for field in ["gzip", "GZip", "x-gzip"] { #expect(try hasGzip(field)) }
        for field in ["identity", ""] { #expect(try !hasGzip(field)) }
        for field in ["zstd", "br", "deflate", "gzip, gzip", "gzip;q=1"] {
            #expect { try hasGzip(field) } throws: { error in
                let problem = error as? ProblemError
                return problem?.problem == .unsupportedMediaType
                    && problem?.headers.contains { $0 == ("Accept-Encoding", "gzip, identity") } == true
            }
        }
    }
}
