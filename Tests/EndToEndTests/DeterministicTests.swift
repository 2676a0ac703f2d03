import Foundation
import Testing

/// `--deterministic`: the same requests get the same answers, byte for byte.
///
/// `BRAID_WRITE_GOLDEN=1 swift test --filter DeterministicTests` writes the transcript again. Review its changes.
@Suite(.serialized) struct DeterministicTests {
    private static let golden = URL(fileURLWithPath: #filePath).deletingLastPathComponent().appendingPathComponent(
        "Golden/deterministic.txt")
    private static let fixtures = "\(ServerProcess.package.path)/Examples/attendees"

    private static let requests: [(method: String, target: String, body: String?)] = [
        ("GET", "/v1/sessions", nil),
        ("POST", "/v1/sessions", #"{"table":"attendees"}"#),
        ("POST", "/v1/sessions", #"{"table":"attendees","id":"mine"}"#),
        (
            "POST", "/v1/sessions",
            #"{"table":{"table":"clock","cells":{"C":{}},"bindings":[{"cell":"C","models":[{"id":"1"}],"viewModel":{"at":"${now}"}}]}}"#
        ),
        ("POST", "/v1/sessions/party/edits", #"{"delete":{"section":"attending","row":1}}"#),
        ("POST", "/v1/sessions/party/moves", #"{"from":{"id":"Yvonne"},"to":{"section":"attending","row":0}}"#),
        ("POST", "/v1/sessions/party/edits", #"{"delete":{"section":"invited","row":0}}"#),
        ("PATCH", "/v1/sessions/session-2/state", #"{"x":1}"#),
        ("POST", "/v1/sessions/party/reset", nil),
        ("GET", "/v1/sessions/party/journal", nil),
        ("POST", "/v1/render", #"{"template":"${now}"}"#),
        ("POST", "/v1/sessions/party/tokens", #"{"role":"viewer","expiresIn":60}"#),
        ("POST", "/v1/sessions/mine/tokens", #"{"role":"participant","expiresIn":60}"#),
        ("GET", "/v1/sessions/party/tokens", nil),
        ("GET", "/v1/sessions/nothing", nil),
        ("GET", "/v1/sessions", nil),
        ("GET", "/v1/tables", nil),
        ("GET", "/v1/sessions/party/snapshot", nil),
    ]

    private static func transcript(_ client: KeptClient) throws -> String {
        try requests.map { method, target, body in
            let answer = try client.request(method, target, body)
            let names = ["etag", "location", "x-request-id"].compactMap { name in
                answer.header(name).map { "\(name): \($0)\n" }
            }
            return "> \(method) \(target)\n" + (body.map { "\($0)\n" } ?? "")
                + "\(answer.status)\n\(names.joined())\(answer.text)\n"
        }.joined(separator: "\n")
    }

    @Test("With `--deterministic`, the answers are those of the golden transcript, byte for byte")
    func goldenTranscript() throws {
        let transcript = try Self.transcript(
            ServerProcess(["--deterministic", "--fixtures", Self.fixtures]).keptClient())
        if ProcessInfo.processInfo.environment["BRAID_WRITE_GOLDEN"] != nil {
            try transcript.write(to: Self.golden, atomically: true, encoding: .utf8)
        }
        #expect(try transcript == String(contentsOf: Self.golden, encoding: .utf8))
    }

    @Test("With `--deterministic`, a restarted server does not repeat an id, an epoch, a secret or a time")
    func restart() throws {
        let directory = try TemporaryDirectory(), database = directory.path("braid.sqlite")
        let first = try ServerProcess(database: database, ["--deterministic"]).keptClient()
        #expect(
            try first.request("POST", "/v1/sessions", #"{"rows":[]}"#).header("location") == "/v1/sessions/session-1")
        #expect(try first.request("POST", "/v1/sessions", #"{"id":"session-2","rows":[]}"#).status == 201)
        // A client has taken the next number, so the one after it.
        #expect(
            try first.request("POST", "/v1/sessions", #"{"rows":[]}"#).header("location") == "/v1/sessions/session-3")
        try first.request("POST", "/v1/sessions/session-1/rows", #"{"at":[0,0],"model":1}"#)
        let token = try first.request("POST", "/v1/sessions/session-1/tokens", #"{"role":"viewer","expiresIn":1}"#)
        #expect(token.object["token"] as? String == "braid_token-1.secret-1")
        let before = try first.get("/v1/sessions").text
        #expect(before.contains(#""epoch":"epoch-3","revision":0,"created":"2000-01-01T00:00:00.002Z""#), "\(before)")
        #expect(before.contains(#""updated":"2000-01-01T00:00:00.003Z""#))
        first.server.kill()
        let second = try ServerProcess(database: database, ["--deterministic"]).keptClient()
        #expect(try second.get("/v1/sessions").text == before)
        let opened = try second.request("POST", "/v1/sessions", #"{"rows":[]}"#)
        let other = try second.request("POST", "/v1/sessions/session-3/tokens", #"{"role":"viewer","expiresIn":1}"#)
        #expect(other.object["token"] as? String == "braid_token-2.secret-2")
        #expect(opened.header("location") == "/v1/sessions/session-4" && opened.header("etag") == #""epoch-4.0""#)
        #expect(try second.get("/v1/sessions/session-4").text.contains(#""created":"2000-01-01T00:00:00.004Z""#))
    }
}
