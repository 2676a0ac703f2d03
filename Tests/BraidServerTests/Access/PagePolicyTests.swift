import BraidHTTP
import Testing

@testable import BraidServer

@Suite struct PagePolicyTests {
    private static func head(_ fields: [(String, String)], method: String = "POST", host: String? = "127.0.0.1:8080")
        -> HTTPRequestHead
    {
        parsedHead(method, "/v1/sessions", (host.map { [("Host", $0)] } ?? []) + fields)
    }

    private static func problem(_ policy: PagePolicy, _ head: HTTPRequestHead) -> Problem? {
        do {
            try policy.check(head)
            return nil
        } catch { return ProblemError(error)?.problem }
    }

    @Test(
        "An allowed origin must have the form that browsers send: without a path, and with the default port left out",
        arguments: [
            ("https://app.example", "https://app.example"), ("HTTPS://App.Example:443", "https://app.example"),
            ("http://localhost:3000", "http://localhost:3000"),
            ("http://[::1]:80", "http://[::1]"), ("*", "*"), ("https://app.example/", nil), ("app.example", nil),
            ("null", nil), ("https://", nil), ("ftp://a", nil),
            ("https://a b", nil), ("https://u@a", nil), ("", nil),
        ] as [(String, String?)])
    func origins(text: String, origin: String?) {
        #expect(PagePolicy.origin(text) == origin)
    }

    @Test("A server on loopback without a token refuses host names that an attacker can point to this machine")
    func hosts() {
        let policy = PagePolicy(origins: ["https://app.example"], isOpen: true, hosts: ["desk.lan"])
        for host in [
            "127.0.0.1", "127.0.0.1:8080", "localhost:8080", "LocalHost", "a.localhost", "localhost.", "[::1]:8080",
            "192.168.1.2:80", "desk.lan:8080", "app.example", nil,
        ] {
            #expect(Self.problem(policy, Self.head([], host: host)) == nil, "\(host ?? "none")")
        }
        for host in [
            "evil.example", "evil.example:8080", "localhost.evil.example", "127.0.0.1.evil.example", "127.evil.example",
            "notlocalhost", "1.2.3",
        ] {
            #expect(Self.problem(policy, Self.head([], method: "GET", host: host)) == .misdirectedRequest, "\(host)")
        }
        #expect(
            Self.problem(PagePolicy(isOpen: true), Self.head([], host: "evil.example")) == nil,
            "elsewhere names are not known")
    }

    @Test("A server without a token refuses all requests of pages from other origins")
    func pages() {
        let policy = PagePolicy(origins: ["http://localhost:3000"], isOpen: true)
        let fromHere: [[(String, String)]] = [
            [], [("Origin", "http://127.0.0.1:8080")], [("Sec-Fetch-Site", "same-origin")],
            [("Sec-Fetch-Site", "none")],
            [("Origin", "http://localhost:3000"), ("Sec-Fetch-Site", "same-site")],
            [("Origin", "https://127.0.0.1:8080"), ("Sec-Fetch-Site", "same-origin")],
        ]
        let fromElsewhere: [[(String, String)]] = [
            [("Origin", "https://evil.example")], [("Origin", "null")], [("Origin", "http://127.0.0.1:9")],
            [("Origin", "http://127.0.0.1")], [("Origin", "")],
            [("Sec-Fetch-Site", "cross-site")], [("Sec-Fetch-Site", "same-site")],
            [("Origin", "http://127.0.0.1:8080"), ("Sec-Fetch-Site", "cross-site")],
            [("Origin", "http://localhost:3001"), ("Sec-Fetch-Site", "same-site")],
        ]
        for method in ["GET", "POST", "DELETE"] {
            for fields in fromHere {
                #expect(Self.problem(policy, Self.head(fields, method: method)) == nil, "\(method) \(fields)")
            }
            for fields in fromElsewhere {
                #expect(
                    Self.problem(policy, Self.head(fields, method: method)) == .originNotAllowed, "\(method) \(fields)")
            }
        }
        // A proxy may have ended TLS: the scheme cannot be compared, the port may be unknown.
        #expect(Self.problem(policy, Self.head([("Origin", "https://app.example")], host: "app.example")) == nil)
        #expect(Self.problem(policy, Self.head([("Origin", "https://app.example")], host: "app.example:443")) == nil)
        let closed = PagePolicy(isOpen: false)
        for fields in fromElsewhere { #expect(Self.problem(closed, Self.head(fields)) == nil, "a page has no token") }
        #expect(
            Self.problem(
                PagePolicy(origins: ["*"]),
                Self.head([("Origin", "https://evil.example"), ("Sec-Fetch-Site", "cross-site")])) == nil)
    }
}
