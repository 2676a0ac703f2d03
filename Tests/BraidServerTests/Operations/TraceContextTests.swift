import BraidHTTP
import Testing

@testable import BraidServer

@Suite struct TraceContextTests {
    private static let id = "0af7651916cd43dd8448eb211c80319c"
    private static let valid = "00-\(id)-b7ad6b7169203331-01"

    private static func traceID(_ fields: String...) -> String? {
        parsedHead("GET", "/", [("Host", "x")] + fields.map { ("Traceparent", $0) }).traceID
    }

    @Test("The trace id is read from a well-formed traceparent, even if a later version of the format has more parts")
    func wellFormed() {
        #expect(Self.traceID(Self.valid) == Self.id)
        #expect(Self.traceID("cc-\(Self.id)-b7ad6b7169203331-00-what-comes") == Self.id)
        #expect(Self.traceID() == nil)
    }

    @Test("A traceparent in which one byte was replaced by a wrong one is ignored")
    func oneByte() {
        let bytes = Array(Self.valid.utf8)
        for index in bytes.indices {
            for byte in Array("gG-. \"".utf8) where byte != bytes[index] && byte != UInt8.space {
                var changed = bytes
                changed[index] = byte
                let text = String(decoding: changed, as: UTF8.self)
                #expect(Self.traceID(text) == nil, "\(text)")
            }
        }
    }

    @Test(
        "Other malformed traceparents are ignored",
        arguments: [
            "", "00", "00-\(id)-b7ad6b7169203331-01-", "00-\(id)-b7ad6b7169203331-01-more",
            "ff-\(id)-b7ad6b7169203331-01",
            "cc-\(id)-b7ad6b7169203331-01.", "00-\(String(repeating: "0", count: 32))-b7ad6b7169203331-01",
            "00-\(id)-0000000000000000-01", "00-\(id.uppercased())-b7ad6b7169203331-01", "00-\(id)-b7ad6b7169203331-0",
        ])
    func malformed(text: String) { #expect(Self.traceID(text) == nil) }

    @Test("If a request has two traceparents, both are ignored")
    func two() { #expect(Self.traceID(Self.valid, Self.valid) == nil) }
}
