import Foundation
import TestSupport
import Testing

/// `/v1/test/requests`: the API's requests in test mode, with answers.
@Suite(.serialized, .enabled(if: TestDatabase.isSQLite)) struct RecordedRequestTests {
    private static func client(_ options: [String] = [], token: String? = nil) throws -> KeptClient {
        try ServerProcess(
            ["--test-mode"] + ServerProcess.attendees + options, environment: token.map { ["BRAID_TOKEN": $0] } ?? [:]
        ).keptClient()
    }

    private static func entries(_ client: KeptClient, headers: [String: String] = [:]) throws -> [[String: Any]] {
        try client.get("/v1/test/requests", headers: headers).object["requests"] as? [[String: Any]] ?? []
    }

    /// What these tests compare.
    private static func summary(_ entry: [String: Any]) -> String {
        let answer = entry["answer"] as? [String: Any] ?? [:]
        let facts = [entry["method"], entry["path"], answer["status"], answer["problem"], answer["replayed"]]
        return facts.compactMap { $0.map { "\($0)" } }.joined(separator: " ")
    }

    // MARK: The record

    @Test("The record contains every request with its answer, including refused, repeated and malformed requests")
    func everyRequest() throws {
        let client = try Self.client(["--max-body-bytes", "100000"], token: "secret")
        let controller = ["Authorization": "Bearer secret"]
        let key = controller.merging(["Idempotency-Key": "k"]) { $1 }
        let delete = #"{"delete":{"id":"Sara"}}"#
        let large = #"{"x":"\#(String(repeating: "x", count: 100_000))"}"#
        let sent: [(String, String, String?, [String: String], String)] = [
            ("GET", "/v1/sessions/party/snapshot", nil, controller, "200"),
            ("HEAD", "/v1/sessions/party/snapshot", nil, controller, "200"),
            ("POST", "/v1/sessions/party/edits", delete, key, "200"),
            ("POST", "/v1/sessions/party/edits", delete, key, "200 1"),
            ("POST", "/v1/sessions/party/edits", #"{"delete":{"id":"Omar"}}"#, key, "422 idempotency-key-reused"),
            ("POST", "/v1/sessions/party/edits", "{", controller, "400 invalid-json"),
            ("POST", "/v1/sessions/none/edits", delete, controller, "404 session-not-found"),
            ("GET", "/v1/nothing", nil, controller, "404 no-such-resource"),
            ("DELETE", "/v1/sessions", nil, controller, "405 method-not-allowed"),
            ("OPTIONS", "/v1/sessions", nil, controller, "204"),
            ("GET", "/v1/sessions", nil, [:], "401 unauthorized"),
            ("GET", "/v1/sessions", nil, ["Authorization": "Bearer wrong"], "401 unauthorized"),
            ("GET", "/v1/sessions", nil, controller.merging(["Accept": "text/html"]) { $1 }, "406 not-acceptable"),
            ("GET", "/v1/sessions?x=1", nil, controller, "400 bad-request"),
            ("PATCH", "/v1/sessions/party/state", large, controller, "413 content-too-large"),
        ]
        var expected: [String] = []
        for (method, target, body, headers, answer) in sent {
            let response = try client.server.client().request(method, target, body, headers: headers)
            #expect(answer.hasPrefix("\(response.status)"), "\(method) \(target): \(response.text)")
            expected.append("\(method) \(target.prefix { $0 != "?" }) \(answer)")
        }
        // The head is too long.
        let long = try client.server.client()
        try long.send("GET /v1/sessions HTTP/1.1\r\nHost: x\r\nX: \(String(repeating: "x", count: 100_000))\r\n\r\n")
        #expect(try long.receive().status == 431)
        expected.append("GET /v1/sessions 431 headers-too-large")
        // Not recorded: what is outside of the API or controls the test mode.
        for path in ["/healthz", "/readyz", "/metrics", "/", "/openapi.json", "/problems/role", "/v1/test/clock"] {
            #expect(try client.get(path, headers: controller).status == 200)
        }
        #expect(try Self.entries(client, headers: controller).map(Self.summary) == expected)
    }

    @Test("A recorded request contains its answer, but no token")
    func entry() throws {
        let client = try Self.client(["--deterministic"], token: "secret")
        let controller = ["Authorization": "Bearer secret"]
        try client.request(
            "POST", "/v1/sessions/party/tokens", #"{"role":"participant","expiresIn":60}"#, headers: controller)
        let answer = try client.request(
            "POST", "/v1/sessions/party/edits?pretty&form=sequential", #"{"delete":{"id":"Sara"}}"#,
            headers: ["Authorization": "Bearer braid_token-1.secret-1", "X-Test": "a"])
        #expect(answer.status == 200)
        let all = try client.get("/v1/test/requests", headers: controller)
        #expect(!all.text.contains("secret\"") && !all.text.contains("Bearer"))
        let entry = try #require((all.object["requests"] as? [[String: Any]])?.last)
        #expect(entry["id"] as? String == "request-2")
        #expect(entry["time"] as? String == "2000-01-01T00:00:00.003Z")
        #expect(entry["milliseconds"] is Double)
        #expect(entry["method"] as? String == "POST" && entry["path"] as? String == "/v1/sessions/party/edits")
        #expect(entry["query"] as? [String: String] == ["pretty": "", "form": "sequential"])
        let headers = entry["headers"] as? [String: String]
        #expect(headers?["x-test"] == "a" && headers?["authorization"] == nil && headers?["host"] != nil)
        #expect(entry["role"] as? String == "participant" && entry["token"] as? String == "token-1")
        #expect(entry["session"] as? String == "party")
        #expect(entry["body"] as? NSDictionary == ["delete": ["id": "Sara"]])
        let recorded = try #require(entry["answer"] as? [String: Any])
        #expect(recorded["status"] as? Int == 200 && recorded["body"] as? NSDictionary == answer.object as NSDictionary)
        #expect((recorded["headers"] as? [String: String])?["etag"] == answer.header("etag"))
    }

    @Test("A recorded body is text if it is not JSON, is decompressed, and is replaced by its size if it is large")
    func bodies() throws {
        let client = try Self.client()
        try client.request("POST", "/v1/sessions/party/edits", "{delete")
        try client.request(
            "PATCH", "/v1/sessions/party/state", #"{"x":"\#(String(repeating: "x", count: 70_000))"}"#)
        let entries = try Self.entries(client)
        #expect(entries[0]["body"] as? String == "{delete")
        #expect(entries[1]["body"] == nil && entries[1]["bodyBytes"] as? Int == 70_008)
        let packed = gzipMember(Array(#"{"x":1}"#.utf8))
        let connection = try client.server.client()
        try connection.send(
            "PATCH /v1/sessions/party/state HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Encoding: gzip\r\nContent-Length: \(packed.count)\r\n\r\n"
        )
        try connection.send(packed)
        #expect(try connection.receive().status == 200)
        #expect(try Self.entries(client).last?["body"] as? NSDictionary == ["x": 1])
    }

    @Test(
        "A stream is recorded when it begins, and its entry counts the events that were sent",
        arguments: ["identity", "gzip"])
    func streams(coding: String) throws {
        let client = try Self.client()
        let stream = try EventStreamClient(
            port: client.server.port, "/v1/sessions/party/updates", headers: ["Accept-Encoding": coding])
        let entry = try #require(try Self.entries(client).first)
        #expect(Self.summary(entry) == "GET /v1/sessions/party/updates 200")
        /// Counted before they are sent.
        func events() throws -> Int? {
            (try Self.entries(client).first?["answer"] as? [String: Any])?["events"] as? Int
        }
        var received = try stream.events(through: "caught-up").count
        #expect(try events() == received)
        try client.request("POST", "/v1/sessions/party/edits", #"{"delete":{"id":"Sara"}}"#)
        received += try stream.events(throughRevision: 1).count
        #expect(try events() == received)
    }

    @Test("A recorded request says which fault applied to it, and whether its answer was lost")
    func faults() throws {
        let client = try Self.client()
        let rules = try client.request(
            "PUT", "/v1/test/faults",
            #"""
            {"faults": [
              {"id": "busy", "times": 1, "match": {"method": "POST"}, "action": {"respond": {"status": 503}}},
              {"id": "lost", "times": 1, "match": {"method": "POST"}, "action": {"loseAnswer": {}}},
              {"id": "gone", "times": 1, "match": {"method": "POST"}, "action": {"close": {}}}]}
            """#)
        try #require(rules.status == 200, "\(rules.text)")
        for _ in 0..<4 {
            _ = try? client.server.client().request(
                "POST", "/v1/sessions/party/edits", #"{"delete":{"id":"Sara"}}"#, headers: ["Idempotency-Key": "a"])
        }
        let entries = try Self.entries(client)
        #expect(
            entries.map { "\($0["fault"] ?? "-") \($0["lost"] ?? "-") \(Self.summary($0))" } == [
                "busy - POST /v1/sessions/party/edits 503 unavailable", "lost 1 POST /v1/sessions/party/edits 200",
                "gone - POST /v1/sessions/party/edits", "- - POST /v1/sessions/party/edits 200 1",
            ])
        #expect(entries[2]["answer"] == nil, "the server carried nothing out")
        // As a test of retries would claim: the edit came twice, and its answer was replayed.
        let claim = #"{"match":{"path":"/v1/sessions/party/edits","replayed":true},"exactly":1}"#
        #expect(try client.request("POST", "/v1/test/requests/verify", claim).status == 200)
        #expect(try client.get("/v1/sessions/party").object["revision"] as? Int == 1)
    }

    @Test("The record keeps the newest 10,000 requests, and counts the older ones that it has dropped")
    func entryLimit() throws {
        let client = try Self.client(), connection = try client.server.client()
        let extra = 25
        for start in stride(from: 0, to: 10_000 + extra, by: 25) {
            try connection.send(
                (start..<start + 25).map { "GET /v1/sessions?x=\($0) HTTP/1.1\r\nHost: localhost\r\n\r\n" }.joined())
            for _ in 0..<25 { #expect(try connection.receive().status == 400) }
        }
        let record = try client.get("/v1/test/requests").object
        let entries = record["requests"] as? [[String: Any]] ?? []
        #expect(entries.count == 10_000 && record["dropped"] as? Int == extra)
        #expect(
            entries.map { ($0["query"] as? [String: String])?["x"] } == (extra..<10_000 + extra).map { String($0) })
        #expect(try client.request("DELETE", "/v1/test/requests").status == 204)
        #expect(try client.get("/v1/test/requests").text == #"{"requests":[],"dropped":0}"#)
    }

    // MARK: Verification

    private static let matching = #""match":{"method":"POST","path":"/v1/sessions/*/edits","status":200}"#

    @Test(
        "A claim about the number of matching requests is accepted if it is true, and refused if it is false",
        arguments: 0...3)
    func counts(sent: Int) throws {
        let client = try Self.client()
        for row in ["Sara", "Omar", "Jonathan"].prefix(sent) {
            let answer = try client.request("POST", "/v1/sessions/party/edits", #"{"delete":{"id":"\#(row)"}}"#)
            #expect(answer.status == 200, "\(answer.text)")
        }
        try client.request("POST", "/v1/sessions/party/edits", "{}")
        let claims: [(String, (Int) -> Bool)] = [
            ("exactly", { sent == $0 }), ("atLeast", { sent >= $0 }), ("atMost", { sent <= $0 }),
        ]
        for (name, isTrue) in claims {
            for count in 0...4 {
                let answer = try client.request(
                    "POST", "/v1/test/requests/verify", #"{\#(Self.matching),"\#(name)":\#(count)}"#)
                #expect(answer.status == (isTrue(count) ? 200 : 422), "\(name) \(count) of \(sent)")
                #expect(answer.object["count"] as? Int == sent)
                #expect((answer.object["requests"] as? [String])?.count == sent)
                guard answer.status == 422 else { continue }
                #expect(answer.object["type"] as? String == "/problems/verification-failed")
                #expect((answer.object["expected"] as? [String: Any])?[name] as? Int == count)
                let misses = answer.object["nearestMisses"] as? [[String: Any]]
                #expect((misses?.isEmpty == true) == (sent > count), "too many matches need no nearest misses")
            }
        }
    }

    @Test("The answer to a false claim lists the requests that almost match, with their differences")
    func nearestMisses() throws {
        let client = try Self.client()
        _ = try client.get("/v1/tables")
        try client.request(
            "POST", "/v1/sessions/party/edits", #"{"delete":{"id":"Nobody"}}"#, headers: ["Idempotency-Key": "a"])
        try client.request(
            "POST", "/v1/sessions/party/moves", #"{"from":{"id":"Sara"}}"#, headers: ["Idempotency-Key": "a"])
        _ = try client.get("/v1/sessions/party/updates?since=0")
        let answer = try client.request(
            "POST", "/v1/test/requests/verify",
            #"""
            {"match": {"method": "POST", "path": "/v1/sessions/*/edits", "session": "party", "role": "controller",
              "headers": {"Idempotency-Key": "a*"}, "body": {"delete": {"id": "Sara"}}, "status": 200, "replayed": true,
              "problem": "role", "fault": "lost"}, "atLeast": 1}
            """#)
        #expect(answer.status == 422)
        #expect(answer.object["detail"] as? String == "0 of 4 recorded requests match, but at least 1 should.")
        let misses = try #require(answer.object["nearestMisses"] as? [[String: Any]])
        #expect(misses.count == 3)
        let differences = try #require(misses[0]["differences"] as? [[String: Any]])
        let nearest = misses[0]["request"] as? [String: Any]
        #expect(Self.summary(nearest ?? [:]) == "POST /v1/sessions/party/edits 404 row-not-found")
        #expect(
            differences.map { "\($0["member"] ?? "") \($0["expected"] ?? "") \($0["actual"] ?? "none")" } == [
                "/body/delete/id Sara Nobody", "/status 200 404", "/problem role row-not-found", "/replayed 1 0",
                "/fault lost none",
            ])
        let counts = misses.map { ($0["differences"] as? [Any])?.count ?? 0 }
        #expect(counts == counts.sorted())
    }

    @Test(
        "A claim can ask for replayed answers, for a problem and for a role",
        arguments: [
            (#"{"replayed":true}"#, 1), (#"{"replayed":false}"#, 3), (#"{"problem":"row-not-found"}"#, 1),
            (#"{"status":404}"#, 1), (#"{"role":"controller"}"#, 4), (#"{"role":"viewer"}"#, 0), ("{}", 4),
            (#"{"headers":{"idempotency-key":"*"}}"#, 2), (#"{"query":{"since":"0"}}"#, 1),
            (#"{"body":{"delete":{}}}"#, 3), (#"{"fault":"x"}"#, 0), (#"{"session":"party"}"#, 4),
        ])
    func conditions(match: String, count: Int) throws {
        let client = try Self.client()
        for id in ["Sara", "Sara"] {
            try client.request(
                "POST", "/v1/sessions/party/edits", #"{"delete":{"id":"\#(id)"}}"#, headers: ["Idempotency-Key": "a"])
        }
        try client.request("POST", "/v1/sessions/party/edits", #"{"delete":{"id":"Nobody"}}"#)
        _ = try client.get("/v1/sessions/party/updates?since=0")
        let answer = try client.request(
            "POST", "/v1/test/requests/verify", #"{"match":\#(match),"exactly":\#(count)}"#)
        #expect(answer.status == 200, "\(answer.text)")
    }

    @Test(
        "A malformed claim about recorded requests is refused with the place of its fault",
        arguments: [
            ("{}", "", "missing-member"), (#"{"exactly":1,"atMost":2}"#, "", "conflict"),
            (#"{"exactly":-1}"#, "/exactly", "out-of-range"), (#"{"exactly":"1"}"#, "/exactly", "wrong-type"),
            (#"{"exactly":1,"match":{"status":"200"}}"#, "/match/status", "wrong-type"),
            (#"{"exactly":1,"match":{"status":1000}}"#, "/match/status", "out-of-range"),
            (#"{"exactly":1,"match":{"replayed":1}}"#, "/match/replayed", "wrong-type"),
            (#"{"exactly":1,"match":{"stat":200}}"#, "/match/stat", "unknown-member"),
            (#"{"exactly":1,"match":[]}"#, "/match", "wrong-type"),
            (#"{"exactly":1,"matches":{}}"#, "/matches", "unknown-member"),
        ])
    func malformedClaims(body: String, pointer: String, code: String) throws {
        let answer = try Self.client().request("POST", "/v1/test/requests/verify", body)
        let fault = (answer.object["errors"] as? [[String: Any]])?.first
        #expect(answer.status == 400 && fault?["code"] as? String == code, "\(answer.text)")
        #expect(fault?["pointer"] as? String == pointer)
    }
}
