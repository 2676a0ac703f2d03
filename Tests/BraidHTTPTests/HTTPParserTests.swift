import Testing

@testable import BraidHTTP

/// Whatever the pieces of the input were.
struct Parsed: Equatable {
    var heads: [String] = []
    var bodies: [[UInt8]] = []
    var ended = 0
    var failure: HTTPFailure?

    /// The second and later pieces start at `cuts`.
    init(_ bytes: [UInt8], cuts: [Int] = [], limits: HTTPParser.Limits = .init()) {
        var parser = HTTPParser(limits: limits)
        for (start, end) in zip([0] + cuts, cuts + [bytes.count]) {
            let piece = Array(bytes[start..<end])
            var position = 0
            feeding: while true {
                switch parser.next(piece.span, &position) {
                case .needsBytes:
                    break feeding
                case .head(let head):
                    let facts =
                        "\(head.method) \(head.target) \(head.path) \(head.query) \(head.headers.all) \(head.minor) \(head.keepsAlive)"
                    heads.append(facts + " \(head.framing) \(head.expectsContinue) \(head.host ?? "")")
                    bodies.append([])
                case .body(let range):
                    bodies[bodies.count - 1] += piece[range]
                case .end:
                    ended += 1
                case .failed(let failure):
                    self.failure = failure
                    return
                }
            }
        }
    }
}

func head(_ text: String) throws -> HTTPRequestHead {
    var parser = HTTPParser()
    var position = 0
    let bytes = [UInt8](text.utf8)
    switch parser.next(bytes.span, &position) {
    case .head(let head): return head
    case .failed(let failure): throw failure
    default: throw HTTPFailure(status: 0, detail: "no head")
    }
}

struct HTTPParserTests {
    static let wellFormed: [String] = [
        "GET / HTTP/1.1\r\nHost: a\r\n\r\n",
        "\r\nGET /a%2Fb/c?x=1&y=a+b&pretty HTTP/1.1\r\nHost: a\r\nX:  padded\t \r\nEmpty:\r\n\r\n",
        "POST /x HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\n\r\nhelloGET /next HTTP/1.1\r\nHost: b\r\n\r\n",
        "POST /x HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: Chunked\r\n\r\n5\r\nhello\r\n00c;ext=\"1\";b\r\n hello again\r\n0\r\nTrailer: t\r\n\r\n\r\nGET / HTTP/1.0\r\n\r\n",
        "POST /x HTTP/1.1\r\nHost: a\r\nContent-Length: 0\r\nExpect: 100-continue\r\n\r\nOPTIONS * HTTP/1.1\r\nHost: [::1]:80\r\nConnection: foo, Close\r\n\r\n",
        "GET http://example.com:80/a?b HTTP/1.1\r\nHost: other\r\n\r\n",
    ]

    static let cutShort: [String] = wellFormed + malformed.map(\.0).filter { $0.utf8.count < 300 }

    @Test(
        "The parser returns what it has read of a head that is malformed or incomplete",
        arguments: [
            ("GET /a?b HTTP/1.1\r\nHost: x\r\nX-Request-Id: 1\r\nHost: y\r\n", "GET", "/a?b"),
            ("POST / HTTP/1.1\r\nX-Request-Id: 1\r\nContent-Le", "POST", "/"),
            ("POST /é HTTP/1.1\r\nX-Request-Id: 1\r\n\r\n", "POST", "/%C3%A9"),
            ("CONNECT a:80 HTTP/1.1\r\nHost: a:80\r\nX-Request-Id: 1\r\n\r\n", "CONNECT", "a:80"),
        ])
    func unfinishedHeads(_ text: String, method: String, target: String) throws {
        var parser = HTTPParser(), position = 0
        let bytes = [UInt8](text.utf8)
        _ = parser.next(bytes.span, &position)
        let unfinished = parser.takeUnfinishedHead(), head = try #require(unfinished)
        #expect(
            head.method == method && head.target == target && head.headers["x-request-id"] == "1"
                && head.framing == .none)
    }

    @Test(
        "The parser returns no unfinished head before a valid request line or after a complete head",
        arguments: [
            "GET / HTTP/1.1", "hello\r\n", "GET / HTTP/9.9\r\n", "GET / HTTP/1.1\r\nHost: x\r\n\r\n",
            "POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n0\r\nA: b\r\nno field\r\n",
        ])
    func noUnfinishedHead(_ text: String) {
        var parser = HTTPParser(), position = 0
        let bytes = [UInt8](text.utf8)
        reading: while true {
            switch parser.next(bytes.span, &position) {
            case .needsBytes, .failed: break reading
            case .head, .body, .end: break
            }
        }
        let head = parser.takeUnfinishedHead()
        #expect(head == nil)
    }

    @Test("The result of parsing does not depend on how the bytes are split into pieces", arguments: cutShort)
    func splits(_ text: String) {
        let bytes = [UInt8](text.utf8)
        let whole = Parsed(bytes)
        #expect(Parsed(bytes, cuts: Array(1..<bytes.count)) == whole, "byte by byte")
        for first in 1..<bytes.count {
            #expect(Parsed(bytes, cuts: [first]) == whole, "cut at \(first)")
        }
        var random = UInt64(bytes.count)
        for _ in 0..<200 {
            var cuts: Set<Int> = []
            for _ in 0..<5 {
                random = random &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
                cuts.insert(1 + Int(random >> 33) % (bytes.count - 1))
            }
            #expect(Parsed(bytes, cuts: cuts.sorted()) == whole, "cut at \(cuts.sorted())")
        }
    }

    @Test("A corrupted request gives the same result whole and byte by byte, and fails only with 400, 413, 417 or 505")
    func corruptedRequests() {
        var random = UInt64(42)
        func next(_ bound: Int) -> Int {
            random = random &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
            return Int(random >> 33) % bound
        }
        let spice = [UInt8]("\r\n\r\n :;,%=0a\t\u{0}".utf8) + [0xC3, 0xFF]
        for round in 0..<3_000 {
            var bytes = [UInt8](Self.wellFormed[round % Self.wellFormed.count].utf8)
            for _ in 0...next(3) {
                let at = next(bytes.count)
                switch next(3) {
                case 0: bytes[at] = spice[next(spice.count)]
                case 1: bytes.insert(spice[next(spice.count)], at: at)
                default: bytes.remove(at: at)
                }
            }
            let whole = Parsed(bytes)
            #expect(Parsed(bytes, cuts: Array(1..<bytes.count)) == whole)
            #expect(whole.failure.map { [400, 413, 417, 505].contains($0.status) } ?? true)
        }
    }

    @Test("The parser finds all requests and their bodies in well-formed input") func wellFormedRequests() {
        let parsed = Self.wellFormed.map { Parsed([UInt8]($0.utf8)) }
        #expect(parsed.allSatisfy { $0.failure == nil })
        #expect(parsed.map(\.ended) == [1, 1, 2, 2, 2, 1])
        #expect(parsed[2].bodies == [Array("hello".utf8), []])
        #expect(parsed[3].bodies == [Array("hello hello again".utf8), []])
    }

    @Test("The parser accepts every prefix of well-formed input") func prefixes() {
        for text in Self.wellFormed {
            let bytes = [UInt8](text.utf8)
            for count in 0..<bytes.count {
                let parsed = Parsed(Array(bytes[..<count]))
                #expect(parsed.failure == nil)
                #expect(parsed.ended <= Parsed(bytes).ended)
            }
        }
    }

    @Test("The parser splits the target into path and query and decodes them. An absolute target contains the host")
    func targets() throws {
        let request = try head("GET /v1/a%2Fb/%C3%A9+/?x=1&y=a+b%26&pretty&=&z== HTTP/1.1\r\nHost: h:1\r\n\r\n")
        #expect(request.path == ["v1", "a/b", "é+", ""])
        #expect(request.query.map(\.name) == ["x", "y", "pretty", "", "z"])
        #expect(request.query.map(\.value) == ["1", "a b&", "", "", "="])
        #expect(request.target == "/v1/a%2Fb/%C3%A9+/?x=1&y=a+b%26&pretty&=&z==")
        #expect(request.host == "h:1")
        #expect(try head("GET / HTTP/1.1\r\nHost: a\r\n\r\n").path == [""])
        #expect(try head("OPTIONS * HTTP/1.1\r\nHost: a\r\n\r\n").path == [])
        let absolute = try head("GET HTTPS://b.c:8/x HTTP/1.1\r\nHost: a\r\n\r\n")
        #expect(absolute.host == "b.c:8" && absolute.path == ["x"])
        #expect(try head("GET http://b?q HTTP/1.1\r\nHost: a\r\n\r\n").query.first?.name == "q")
    }

    @Test("Header names are compared without regard to case, and the values of repeated headers are joined")
    func headerNames() throws {
        let headers = try head("GET / HTTP/1.1\r\nHost: a\r\nAccept: x\r\naccePT:  y ; q=1 \r\n\r\n").headers
        #expect(headers["ACCEPT"] == "x, y ; q=1")
        #expect(headers.values("accept") == ["x", "y ; q=1"])
        #expect(headers["accep"] == nil)
    }

    @Test(
        "The HTTP version and the header Connection determine whether the connection stays open",
        arguments: [
            ("GET / HTTP/1.1\r\nHost: a\r\n\r\n", true),
            ("GET / HTTP/1.1\r\nHost: a\r\nConnection: x , CLOSE\r\n\r\n", false),
            ("GET / HTTP/1.0\r\n\r\n", false), ("GET / HTTP/1.0\r\nConnection: Keep-Alive\r\n\r\n", true),
            ("GET / HTTP/1.1\r\nHost: a\r\nConnection: keep-alive\r\nConnection: close\r\n\r\n", false),
            ("GET / HTTP/1.0\r\nConnection: keep-alive, close\r\n\r\n", false),
            ("GET / HTTP/1.2\r\nHost: a\r\n\r\n", true),
        ])
    func keepAlive(_ text: String, _ keeps: Bool) throws {
        #expect(try head(text).keepsAlive == keeps)
    }

    @Test("The parser refuses each malformed request with the expected status", arguments: malformed)
    func malformedRequests(_ text: String, _ status: Int) {
        let parsed = Parsed([UInt8](text.utf8))
        #expect(parsed.failure?.status == status, "\(text.prefix(80)): \(parsed)")
    }

    @Test("The parser refuses control characters except tabs, and in the target also tabs, spaces and non-ASCII bytes")
    func forbiddenBytes() {
        let line = [UInt8]("GET /".utf8)
        let rest = [UInt8](" HTTP/1.1\r\nHost: a\r\n\r\n".utf8)
        for byte in UInt8.min...UInt8.max where byte <= 0x20 || byte >= 0x7F {
            #expect(Parsed(line + [byte] + rest).failure?.status == 400, "\(byte) in the target")
        }
        for byte in UInt8.min...UInt8.max {
            let isFine = byte == 9 || byte >= 0x20 && byte != 0x7F
            let bytes = [UInt8]("GET / HTTP/1.1\r\nHost: a\r\nX: a".utf8) + [byte] + [UInt8]("b\r\n\r\n".utf8)
            #expect((Parsed(bytes).failure == nil) == isFine, "\(byte) in a field")
        }
    }

    @Test("The limits of the parser apply to each request of a connection, and not to the whole connection")
    func repeatedRequests() {
        let extensions = "1;\(String(repeating: "x", count: 10_000))\r\na\r\n0\r\n\r\n"
        let request = [UInt8]("\r\n\(chunked)\(extensions)".utf8)
        #expect(Parsed(request + request).ended == 2)
    }

    @Test("The parser ignores the header Expect in an HTTP/1.0 request") func oldExpectations() throws {
        for value in ["100-continue", "200-ok"] {
            #expect(try !head("POST / HTTP/1.0\r\nExpect: \(value)\r\nContent-Length: 1\r\n\r\n").expectsContinue)
        }
    }

    @Test("The parser accepts input at exactly each limit, and refuses longer input") func exactLimits() throws {
        func request(target: Int = 1, fields: Int = 0, padding: Int = 0) -> [UInt8] {
            let lines = (0..<fields).map { "F\($0): x\r\n" }.joined()
            let pad = padding > 0 ? "P: \(String(repeating: "p", count: padding))\r\n" : ""
            return [UInt8](
                "GET /\(String(repeating: "t", count: target - 1)) HTTP/1.1\r\nHost: a\r\n\(lines)\(pad)\r\n".utf8)
        }
        #expect(Parsed(request(target: 8_192)).failure == nil)
        #expect(Parsed(request(target: 8_193)).failure?.status == 414)
        #expect(Parsed(request(fields: 99)).failure == nil)
        #expect(Parsed(request(fields: 100)).failure?.status == 431)
        let bare = request().count + "P: \r\n".utf8.count
        #expect(Parsed(request(padding: 32_768 - bare)).failure == nil)
        #expect(Parsed(request(padding: 32_769 - bare)).failure?.status == 431)
        // The framing of bodies: trailers, chunk sizes, Content-Length.
        func trailers(_ count: Int) -> [UInt8] {
            [UInt8]("\(chunked)0\r\nT: \(String(repeating: "t", count: count - 7))\r\n\r\n".utf8)
        }
        #expect(Parsed(trailers(8_192)).ended == 1)
        #expect(Parsed(trailers(8_193)).failure?.status == 431)
        #expect(Parsed([UInt8]("\(chunked)\(String(repeating: "0", count: 15))\r\n\r\n".utf8)).ended == 1)
        #expect(
            try head("\(post)Content-Length: \(String(repeating: "9", count: 18))\r\n\r\n").framing
                == .length(999_999_999_999_999_999))
        #expect(
            Parsed([UInt8]("\(post)Content-Length: \(String(repeating: "9", count: 19))\r\n\r\n".utf8)).failure?.status
                == 413)
        for bytes in [
            request(target: 8_193), request(target: 100_000), request(fields: 100), request(padding: 32_769 - bare),
        ] {
            #expect(Parsed(bytes, cuts: Array(1..<bytes.count)) == Parsed(bytes))
        }
    }

    @Test("The parser refuses all input after a failure") func failures() {
        var parser = HTTPParser()
        var position = 0
        let bad = [UInt8]("GET\r\n".utf8)
        _ = parser.next(bad.span, &position)
        let good = [UInt8]("GET / HTTP/1.1\r\nHost: a\r\n\r\n".utf8)
        position = 0
        guard case .failed(let failure) = parser.next(good.span, &position) else {
            Issue.record("the parser went on after a failure")
            return
        }
        #expect(failure.status == 400)
    }

    @Test("The parser's time is linear in the length of a header line that arrives byte by byte") func linearTime() {
        // In pieces of one byte, a parser that reads the head again for each would take too long for 1 MB.
        var parser = HTTPParser(limits: .init(headBytes: 20 << 20))
        var position = 0
        let start = [UInt8]("GET / HTTP/1.1\r\nX: ".utf8)
        _ = parser.next(start.span, &position)
        let byte = [UInt8]("x".utf8)
        let time = ContinuousClock().measure {
            for _ in 0..<1_000_000 {
                position = 0
                _ = parser.next(byte.span, &position)
            }
        }
        #expect(time < .seconds(100))
    }
}

private let get = "GET / HTTP/1.1\r\n"
private let post = "POST / HTTP/1.1\r\nHost: a\r\n"
private let chunked = post + "Transfer-Encoding: chunked\r\n\r\n"

/// With the status of the answer.
let malformed: [(String, Int)] = [
    // Request lines.
    ("GET\r\n\r\n", 400), ("GET /\r\n\r\n", 400), ("GET / \r\n\r\n", 400), ("GET  / HTTP/1.1\r\nHost: a\r\n\r\n", 400),
    ("GET / HTTP/1.1 \r\nHost: a\r\n\r\n", 400), (" GET / HTTP/1.1\r\nHost: a\r\n\r\n", 400),
    ("GET\t/\tHTTP/1.1\r\n\r\n", 400),
    ("G(T / HTTP/1.1\r\nHost: a\r\n\r\n", 400), ("GÉT / HTTP/1.1\r\nHost: a\r\n\r\n", 400),
    (" / HTTP/1.1\r\nHost: a\r\n\r\n", 400),
    (String(repeating: "M", count: 33) + " / HTTP/1.1\r\nHost: a\r\n\r\n", 501),
    ("\r\n\r\nGET / HTTP/1.1\r\nHost: a\r\n\r\n", 400),
    // The version.
    ("GET / HTTP/2.0\r\nHost: a\r\n\r\n", 505), ("GET / HTTP/9.9\r\nHost: a\r\n\r\n", 505),
    ("GET / HTTP/0.9\r\n\r\n", 505),
    ("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", 505), ("GET / HTTP/1\r\nHost: a\r\n\r\n", 400),
    ("GET / HTTP/1.10\r\nHost: a\r\n\r\n", 400),
    ("GET / http/1.1\r\nHost: a\r\n\r\n", 400), ("GET / HTTP/1,1\r\nHost: a\r\n\r\n", 400),
    ("GET / HTTP/+1.1\r\nHost: a\r\n\r\n", 400),
    ("GET / ICY/1.1x\r\nHost: a\r\n\r\n", 400),
    // The target.
    ("GET a HTTP/1.1\r\nHost: a\r\n\r\n", 400), ("GET * HTTP/1.1\r\nHost: a\r\n\r\n", 400),
    ("GET /a b HTTP/1.1\r\nHost: a\r\n\r\n", 400),
    ("GET /a#b HTTP/1.1\r\nHost: a\r\n\r\n", 400), ("GET /é HTTP/1.1\r\nHost: a\r\n\r\n", 400),
    ("GET /% HTTP/1.1\r\nHost: a\r\n\r\n", 400),
    ("GET /%4 HTTP/1.1\r\nHost: a\r\n\r\n", 400), ("GET /%zz HTTP/1.1\r\nHost: a\r\n\r\n", 400),
    ("GET /%C3 HTTP/1.1\r\nHost: a\r\n\r\n", 400),
    ("GET /%00 HTTP/1.1\r\nHost: a\r\n\r\n", 400), ("GET /?a=%C3%28 HTTP/1.1\r\nHost: a\r\n\r\n", 400),
    ("GET ftp://a/ HTTP/1.1\r\nHost: a\r\n\r\n", 400), ("GET http:///x HTTP/1.1\r\nHost: a\r\n\r\n", 400),
    ("GET http://u@h/x HTTP/1.1\r\nHost: a\r\n\r\n", 400), ("CONNECT a:80 HTTP/1.1\r\nHost: a\r\n\r\n", 501),
    ("GET /" + String(repeating: "a", count: 9_000) + " HTTP/1.1\r\nHost: a\r\n\r\n", 414),
    // Line ends.
    ("GET / HTTP/1.1\nHost: a\n\n", 400), (get + "Host: a\n\r\n", 400), (get + "Host: a\r\n\n", 400),
    (get + "Host: a\rX: b\r\n\r\n", 400),
    (get + "Host: a\r\r\n\r\n", 400), ("\nGET / HTTP/1.1\r\nHost: a\r\n\r\n", 400),
    // Fields.
    (get + "Host : a\r\n\r\n", 400), (get + "Host: a\r\n b\r\n\r\n", 400), (get + " Host: a\r\n\r\n", 400),
    (get + "Host\r\n\r\n", 400),
    (get + "Host: a\r\n: x\r\n\r\n", 400), (get + "Host: a\r\nX y: z\r\n\r\n", 400),
    (get + "Host: a\r\nX: \u{0}\r\n\r\n", 400),
    (get + "Host: a\r\nX\u{0}: y\r\n\r\n", 400), (get + "Host: a\r\nÉ: y\r\n\r\n", 400),
    (get + "Host: a\r\n\tX: y\r\n\r\n", 400),
    (get + "Host: a\r\nX: " + String(repeating: "x", count: 40_000) + "\r\n\r\n", 431),
    (get + "Host: a\r\n" + String(repeating: "X: y\r\n", count: 101) + "\r\n", 431),
    // Host.
    (get + "\r\n", 400), (get + "Host: a\r\nHost: a\r\n\r\n", 400), (get + "Host:\r\n\r\n", 400),
    (get + "Host: a b\r\n\r\n", 400),
    (get + "Host: a:b\r\n\r\n", 400), (get + "Host: a/b\r\n\r\n", 400), (get + "Host: [::1\r\n\r\n", 400),
    (get + "Host: u@h\r\n\r\n", 400),
    (get + "Host: a, b:1\r\n\r\n", 400), (get + "Host: a:123456\r\n\r\n", 400),
    ("GET / HTTP/1.0\r\nHost: a\r\nHost: b\r\n\r\n", 400),
    // Content-Length.
    (post + "Content-Length: +4\r\n\r\nabcd", 400), (post + "Content-Length: -4\r\n\r\nabcd", 400),
    (post + "Content-Length: 4 4\r\n\r\n", 400),
    (post + "Content-Length: 4,4\r\n\r\nabcd", 400), (post + "Content-Length: 0x4\r\n\r\nabcd", 400),
    (post + "Content-Length:\r\n\r\n", 400),
    (post + "Content-Length: 4\r\nContent-Length: 5\r\n\r\nabcd", 400),
    (post + "Content-Length: 4\r\nContent-Length: 4\r\n\r\nabcd", 400),
    (post + "Content-Length : 4\r\n\r\nabcd", 400), (post + "Content-Length: 99999999999999999999\r\n\r\n", 413),
    // Transfer-Encoding.
    (post + "Content-Length: 4\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n", 400),
    (post + "Transfer-Encoding : chunked\r\n\r\n0\r\n\r\n", 400),
    (post + "Transfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n", 400), (post + "Transfer-Encoding: gzip\r\n\r\n", 400),
    (post + "Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n", 400),
    (post + "Transfer-Encoding: identity\r\n\r\n", 400),
    (post + "Transfer-Encoding: chunked, chunked\r\n\r\n0\r\n\r\n", 400),
    (post + "Transfer-Encoding: \u{B}chunked\r\n\r\n0\r\n\r\n", 400),
    (post + "Transfer-Encoding: xchunked\r\n\r\n0\r\n\r\n", 400), (post + "Transfer-Encoding:\r\n\r\n", 400),
    ("POST / HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n", 400),
    // Chunks.
    (chunked + "+4\r\nabcd\r\n0\r\n\r\n", 400), (chunked + "0x4\r\nabcd\r\n0\r\n\r\n", 400),
    (chunked + " 4\r\nabcd\r\n0\r\n\r\n", 400),
    (chunked + "4 \r\nabcd\r\n0\r\n\r\n", 400), (chunked + "\r\nabcd\r\n", 400), (chunked + "4\nabcd\n0\n\n", 400),
    (chunked + "-1\r\n", 400),
    (chunked + "4\r\nabcdX\r\n0\r\n\r\n", 400), (chunked + "4\r\nabcd0\r\n\r\n", 400),
    (chunked + "10000000000000004\r\nabcd\r\n", 400),
    (chunked + String(repeating: "0", count: 16) + "\r\n\r\n", 400), (chunked + "4;\n\r\nabcd", 400),
    (chunked + "4;a\u{0}\r\nabcd", 400),
    (chunked + "4;" + String(repeating: "x", count: 17_000) + "\r\nabcd", 400),
    (chunked + String(repeating: "1;" + String(repeating: "x", count: 1_000) + "\r\na\r\n", count: 17), 400),
    (chunked + "0\r\nT : x\r\n\r\n", 400), (chunked + "0\r\nT: x\n\r\n", 400), (chunked + "0\r\n T: x\r\n\r\n", 400),
    (chunked + "0\r\nT: " + String(repeating: "x", count: 9_000) + "\r\n\r\n", 431),
    (chunked + "0\r\n" + String(repeating: "T: x\r\n", count: 2_000), 431),
    // Expect.
    (post + "Expect: 200-ok\r\nContent-Length: 1\r\n\r\na", 417),
    (post + "Expect: 100-continue, x\r\nContent-Length: 1\r\n\r\na", 417),
]
