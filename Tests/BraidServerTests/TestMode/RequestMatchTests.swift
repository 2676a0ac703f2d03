import BraidEngine
import BraidHTTP
import BraidSessions
import TestSupport
import Testing

@testable import BraidServer
@testable import BraidTestMode

@Suite struct GlobTests {
    /// A simple definition, in exponential time.
    private func matches(_ pattern: Substring, _ text: Substring) -> Bool {
        guard let first = pattern.first else { return text.isEmpty }
        if first == "*" {
            return matches(pattern.dropFirst(), text) || !text.isEmpty && matches(pattern, text.dropFirst())
        }
        return first == text.first && matches(pattern.dropFirst(), text.dropFirst())
    }

    private func words(of letters: [Character], upTo length: Int) -> [String] {
        (0..<length).reduce(into: [[""]]) { words, _ in
            words.append((words.last ?? []).flatMap { word in letters.map { word + String($0) } })
        }
        .flatMap { $0 }
    }

    @Test("A star matches any characters, and any other character matches itself")
    func shortPatterns() {
        for pattern in words(of: ["a", "b", "*"], upTo: 4) {
            let glob = Glob(pattern)
            for text in words(of: ["a", "b"], upTo: 5) {
                #expect(glob.matches(text) == matches(pattern[...], text[...]), "\(pattern) \(text)")
            }
        }
    }
}

@Suite struct RequestMatchTests {
    private static func request(
        _ method: String = "POST", _ target: String = "/v1/sessions/party/edits?base=3&form=sequential",
        fields: [(String, String)] = [("Idempotency-Key", "k-1"), ("X-A", "1"), ("X-A", "2")],
        body: String = #"{"delete":{"section":"a","row":0},"more":[1,2]}"#,
        role: Role? = .participant
    ) -> TestedRequest {
        let route = Route("POST", "/v1/sessions/{id}/edits") { _ in HTTPResponse(status: 200) }
        return TestedRequest(
            parsedHead(method, target, [("Host", "a")] + fields), Array(body.utf8), route,
            role.map { Requester(role: $0) })
    }

    private static func match(_ json: String) throws -> RequestMatch {
        try RequestMatch(BodyReader(JSONText(parsing: json), at: .root, members: RequestMatch.members))
    }

    @Test(
        "A request matches if it meets all conditions",
        arguments: [
            "{}", #"{"method":"POST"}"#, #"{"session":"party"}"#, #"{"role":"participant"}"#,
            #"{"path":"/v1/sessions/party/edits"}"#, #"{"path":"/v1/sessions/*/edits"}"#, #"{"path":"/v1/**"}"#,
            #"{"path":"/v1/sessions/party/edits/**"}"#, #"{"path":"/**"}"#, #"{"path":"/v1/sessions/p*y/*"}"#,
            #"{"headers":{"idempotency-key":"*"}}"#, #"{"headers":{"Idempotency-Key":"k-*","x-a":"2"}}"#,
            #"{"query":{"base":"3"}}"#, #"{"query":{"base":"*","form":"seq*"}}"#,
            #"{"body":{}}"#, #"{"body":{"delete":{"row":0.0}}}"#, #"{"body":{"more":[1,2]}}"#,
        ])
    func matches(_ json: String) throws {
        #expect(try Self.match(json).matches(Self.request()))
    }

    @Test(
        "A mismatch names the condition, the expected value and the value of the request",
        arguments: [
            (#"{"method":"GET"}"#, "/method", #""GET""#, #""POST""#),
            (#"{"session":"other"}"#, "/session", #""other""#, #""party""#),
            (#"{"role":"viewer"}"#, "/role", #""viewer""#, #""participant""#),
            (#"{"token":"t"}"#, "/token", #""t""#, nil),
            (#"{"path":"/v1/sessions/*"}"#, "/path", #""/v1/sessions/*""#, #""/v1/sessions/party/edits""#),
            (#"{"path":"/v1/sessions/*/*/*"}"#, "/path", #""/v1/sessions/*/*/*""#, #""/v1/sessions/party/edits""#),
            (#"{"headers":{"x-b":"*"}}"#, "/headers/x-b", #""*""#, nil),
            (#"{"headers":{"x-a":"3"}}"#, "/headers/x-a", #""3""#, #""1, 2""#),
            (#"{"query":{"since":"*"}}"#, "/query/since", #""*""#, nil),
            (#"{"query":{"base":"4"}}"#, "/query/base", #""4""#, #""3""#),
            (#"{"body":{"delete":{"section":"b"}}}"#, "/body/delete/section", #""b""#, #""a""#),
            (#"{"body":{"insert":{}}}"#, "/body/insert", "{}", nil),
            (#"{"body":{"more":[1]}}"#, "/body/more", "[1]", "[1,2]"),
            (#"{"body":[]}"#, "/body", "[]", #"{"delete":{"section":"a","row":0},"more":[1,2]}"#),
        ] as [(String, String, String, String?)])
    func mismatches(_ json: String, member: String, expected: String, actual: String?) throws {
        let found = try Self.match(json).mismatches(of: Self.request())
        #expect(found.count == 1)
        #expect(found.first?.member.description == member)
        #expect(found.first?.expected.text == expected)
        #expect(found.first?.actual?.text == actual)
    }

    @Test("A request without a valid token has no role, and a request without a JSON body has no body")
    func missing() throws {
        for role in Role.allCases {
            #expect(try !Self.match(#"{"role":"\#(role.rawValue)"}"#).matches(Self.request(role: nil)))
        }
        for body in ["", "{", "text"] {
            #expect(try !Self.match(#"{"body":{}}"#).matches(Self.request(body: body)))
        }
    }
}
