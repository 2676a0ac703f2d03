import Foundation
import Testing

/// What is logged about requests, and what never.
@Suite(.serialized) struct LogTests {
    /// The log after the requests; `last` is in the last one's line.
    private static func serve(_ format: String, last: String, _ requests: (KeptClient) throws -> Void) throws
        -> [String]
    {
        let server = try ServerProcess(
            ["--log-level", "info", "--log-format", format], environment: ["BRAID_TOKEN": "swordfish"])
        try requests(try server.keptClient())
        // At its stop, the server waits at most five seconds for the log.
        #expect(server.waitForLog { $0.contains(last) }, "\(server.log)")
        server.stop()
        return server.log.split(separator: "\n").map(String.init)
    }

    private static let token = ["Authorization": "Bearer swordfish"]

    @Test("Each request is one JSON line in the log, without models, queries and tokens")
    func jsonLines() throws {
        let lines = try Self.serve("json", last: "such") { client in
            _ = try client.request(
                "POST", "/v1/sessions?pretty", #"{"id":"s","rows":[{"id":"secret"}]}"#,
                headers: Self.token.merging(["X-Request-Id": "r\"1"]) { $1 })
            _ = try client.get("/v1/sessions/s/snapshot?section=secret", headers: Self.token)
            _ = try client.get("/v1/sessions/s", headers: ["Authorization": "Bearer secret"])
            _ = try client.get("/no%0Asuch\"path")
        }
        let objects = try lines.map {
            try #require(try JSONSerialization.jsonObject(with: Data($0.utf8)) as? [String: Any], "\($0)")
        }
        let requests = objects.filter { $0["message"] as? String == "request" }
        #expect(
            requests.count == 4
                && requests.allSatisfy {
                    $0["level"] as? String == "info" && ($0["microseconds"] as? Int ?? -1) >= 0 && $0["time"] is String
                })
        #expect(
            requests.first?["requestId"] as? String == "r\"1" && requests.first?["route"] as? String == "/v1/sessions"
                && requests.first?["status"] as? Int == 201)
        #expect(requests.first?["path"] as? String == "/v1/sessions" && requests.first?["method"] as? String == "POST")
        #expect(requests.map { $0["status"] as? Int } == [201, 404, 401, 404])
        #expect(
            requests[1]["route"] as? String == "/v1/sessions/{id}/snapshot" && requests[3]["route"] as? String == "")
        #expect(
            !lines.joined().contains("secret") && !lines.joined().contains("swordfish"),
            "models, queries and tokens stay out of the log")
    }

    @Test("A client cannot break a text line of the log or add fields to it")
    func textLines() throws {
        let lines = try Self.serve("text", last: "status=404") { client in
            _ = try client.get("/openapi.json", headers: ["X-Request-Id": "a=b"])
            _ = try client.get("/\"x\"status=200")
        }
        let requests = lines.filter { $0.contains(" info request ") }
        #expect(requests.count == 2)
        #expect(
            requests.first?.contains(
                " requestId=a=b client=127.0.0.1 method=GET path=/openapi.json route=/openapi.json status=200 microseconds="
            )
                == true, "\(lines)")
        #expect(requests.last?.contains(#" path="/\"x\"status=200" route="" status=404 "#) == true, "\(lines)")
    }

    @Test(
        "Requests of probes are logged only at the level debug, whatever their status is", arguments: ["info", "debug"])
    func probes(level: String) throws {
        let server = try ServerProcess(["--log-level", level]), client = try server.keptClient()
        for path in ["/healthz", "/readyz", "/metrics"] {
            #expect(try client.get(path).status == 200)
            #expect(try client.request("HEAD", path).status == 200)
            #expect(try client.get(path + "?unknown").status == 400)
        }
        #expect(try client.get("/v1/sessions").status == 200)
        #expect(server.waitForLog { $0.contains("route=/v1/sessions ") }, "\(server.log)")
        server.stop()
        let requests = server.log.split(separator: "\n").filter { $0.contains(" request requestId=") }
        let levels = requests.map { $0.split(separator: " ")[1] }
        #expect(levels == (level == "debug" ? Array(repeating: "debug", count: 9) : []) + ["info"], "\(server.log)")
    }

    @Test("Control characters in a log message are replaced by spaces", .enabled(if: TestDatabase.isSQLite))
    func controlCharacters() throws {
        let directory = try TemporaryDirectory()
        let server = try ServerProcess(database: directory.path("a\u{7F}b\nc"), ["--log-level", "info"])
        #expect(server.waitForLog { $0.contains("/a b c\n") }, "\(server.log)")
        server.stop()
    }

    @Test("The log and the metrics also contain requests that the HTTP layer refuses, with their known fields")
    func refusedRequests() throws {
        let server = try ServerProcess(["--log-level", "debug", "--log-format", "json", "--header-timeout", "1"])
        let fields = "Host: x\r\nX-Request-Id: mine\r\nContent-Type: application/x-ndjson\r\n"
        let cases: [(request: String, status: Int, method: String, path: String, route: String)] = [
            (
                "POST /v1/diff?q HTTP/1.1\r\n\(fields)Content-Length: 999999999\r\n\r\n", 413, "POST", "/v1/diff",
                "/v1/diff"
            ),
            (
                "POST /v1/diff HTTP/1.1\r\n\(fields)Expect: tea\r\nContent-Length: 2\r\n\r\n{}", 417, "POST",
                "/v1/diff", "/v1/diff"
            ),
            (
                "POST /v1/sessions/s/observe HTTP/1.1\r\n\(fields)Expect: tea\r\nContent-Length: 2\r\n\r\n{}", 417,
                "POST", "/v1/sessions/s/observe", "/v1/sessions/{id}/observe"
            ),
            (
                "POST /v1/diff HTTP/1.1\r\n\(fields)Transfer-Encoding: chunked\r\n\r\nx", 400, "POST", "/v1/diff",
                "/v1/diff"
            ),
            ("GET /nothing HTTP/1.1\r\n\(fields)Host: y\r\n\r\n", 400, "GET", "/nothing", ""),
            ("GET /healthz HTTP/1.1\r\n\(fields)", 408, "GET", "/healthz", "/healthz"),
            ("CONNECT a:80 HTTP/1.1\r\n\(fields)\r\n", 501, "CONNECT", "a:80", ""),
            ("hello there\r\n\r\n", 400, "", "", ""),
        ]
        for test in cases {
            let client = try server.client()
            try client.send(test.request)
            let answer = try client.receive()
            #expect(answer.status == test.status, "\(test.request): \(answer.text)")
            #expect(test.method.isEmpty || answer.header("x-request-id") == "mine", "\(test.request)")
            #expect(answer.object["instance"] as? String == test.path)
        }
        let keptClient = try server.keptClient()
        let metrics = try MetricsTests.parse(try keptClient.get("/metrics").text)
        func count(_ method: String, _ route: String, _ status: Int) -> Double? {
            metrics.first {
                $0.name == "braid_http_requests_total"
                    && $0.labels == ["method": method, "route": route, "status": "\(status)"]
            }?.value
        }
        #expect(
            count("POST", "/v1/diff", 413) == 1 && count("POST", "/v1/diff", 417) == 1
                && count("GET", "/healthz", 408) == 1)
        #expect(count("", "", 400) == 2 && count("", "", 501) == 1)
        #expect(server.waitForLog { $0.contains("metrics") }, "\(server.log)")
        server.stop()
        let lines = try server.log.split(separator: "\n").map {
            try #require(try JSONSerialization.jsonObject(with: Data($0.utf8)) as? [String: Any], "\($0)")
        }
        let requests = lines.filter { $0["message"] as? String == "request" && $0["path"] as? String != "/metrics" }
        try #require(requests.count == cases.count, "\(server.log)")
        for (line, test) in zip(requests, cases) {
            #expect(
                line["status"] as? Int == test.status && line["method"] as? String == test.method
                    && line["path"] as? String == test.path && line["route"] as? String == test.route, "\(line)")
            #expect(
                line["level"] as? String == (test.route == "/healthz" ? "debug" : "info")
                    && line["client"] as? String == "127.0.0.1"
                    && (line["requestId"] as? String == "mine") == !test.method.isEmpty,
                "\(line)")
        }
    }

    @Test("An `observe` request with a malformed body is exactly one line of the log")
    func refusedBody() throws {
        let line = "route=/v1/sessions/{id}/observe status=400 "
        let lines = try Self.serve("text", last: line) { client in
            let sender = try client.server.client()
            try client.request("POST", "/v1/sessions", #"{"id":"s","rows":[]}"#, headers: Self.token)
            try sender.send(
                "POST /v1/sessions/s/observe HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer swordfish\r\nContent-Type: application/x-ndjson\r\nTransfer-Encoding: chunked\r\n\r\nx"
            )
            #expect(try sender.receive().status == 400)
        }
        #expect(lines.filter { $0.contains(line) }.count == 1, "\(lines)")
    }
}
