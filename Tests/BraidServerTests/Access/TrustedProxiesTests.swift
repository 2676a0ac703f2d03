import BraidHTTP
import Testing

@testable import BraidServer

@Suite struct TrustedProxiesTests {
    private static func client(
        trusting proxies: [String], peer: String?, _ lines: [String]
    ) throws -> String {
        let head = parsedHead("GET", "/", [("Host", "x")] + lines.map { ("X-Forwarded-For", $0) })
        return try #require(TrustedProxies(proxies)).client(head, peer: peer.map { try #require(IPAddress($0)) })
    }

    @Test("Without trusted proxies, X-Forwarded-For is ignored", arguments: ["1.2.3.4", "x", ""])
    func none(list: String) throws {
        #expect(try Self.client(trusting: [], peer: "192.0.2.1", [list]) == "192.0.2.1")
        #expect(try Self.client(trusting: ["10.0.0.0/8"], peer: "192.0.2.1", [list]) == "192.0.2.1")
        #expect(try Self.client(trusting: ["10.0.0.0/8"], peer: nil, [list]) == "unix")
    }

    @Test(
        "The client is the last address in the list that is not a trusted proxy, so a client cannot forge its address",
        arguments: [
            (["1.2.3.4"], "1.2.3.4"), (["9.9.9.9, 1.2.3.4"], "1.2.3.4"), (["9.9.9.9", "1.2.3.4"], "1.2.3.4"),
            (["1.2.3.4, 10.0.0.2"], "1.2.3.4"), (["1.2.3.4,10.0.0.2", "10.0.0.3"], "1.2.3.4"),
            (["10.0.0.9, 10.0.0.2"], "10.0.0.9"), ([], "10.0.0.1"), ([""], "10.0.0.1"), (["unknown"], "10.0.0.1"),
            (["1.2.3.4, _hidden, 10.0.0.2"], "10.0.0.2"), (["1.2.3.4:5678"], "1.2.3.4"),
            (["[2001:db8::1]:443"], "2001:db8::1"), (["[2001:db8::1]"], "2001:db8::1"),
            (["2001:db8::1"], "2001:db8::1"),
            (["1.2.3.4, \"x\\\" role=controller"], "10.0.0.1"), (["1.2.3.4 5.6.7.8"], "10.0.0.1"),
        ])
    func lists(lines: [String], client: String) throws {
        #expect(try Self.client(trusting: ["10.0.0.0/8"], peer: "10.0.0.1", lines) == client)
    }

    @Test("Peers at the Unix socket are trusted only if the option contains `unix`")
    func unixSocket() throws {
        #expect(try Self.client(trusting: ["unix"], peer: nil, ["1.2.3.4"]) == "1.2.3.4")
        #expect(try Self.client(trusting: ["unix"], peer: nil, []) == "unix")
        #expect(try Self.client(trusting: ["unix"], peer: "10.0.0.1", ["1.2.3.4"]) == "10.0.0.1")
        #expect(try Self.client(trusting: ["0.0.0.0/0", "::/0"], peer: nil, ["1.2.3.4"]) == "unix")
    }

    @Test("A text that is not an address is refused", arguments: ["", "proxy.example", "10.0.0.0/40", "UNIX"])
    func refused(text: String) { #expect(TrustedProxies(["10.0.0.1", text]) == nil) }
}
