import Foundation
import Testing

@Suite(.serialized, .enabled(if: TestDatabase.isSQLite)) struct TestModeTests {
    static let path = "/v1/test/faults"

    /// With the example session `party`.
    static func server(environment: [String: String] = [:]) throws -> ServerProcess {
        try ServerProcess(ServerProcess.attendees + ["--test-mode"], environment: environment)
    }

    /// Each rule as JSON.
    static func setFaults(_ server: ServerProcess, _ rules: String..., headers: [String: String] = [:]) throws {
        let answer = try server.client().request(
            "PUT", path, #"{"faults":[\#(rules.joined(separator: ","))]}"#, headers: headers)
        try #require(answer.status == 200, "\(answer.text)")
    }

    /// By rule: requests matched, and faults applied.
    static func counters(_ server: ServerProcess) throws -> [(matched: Int, applied: Int)] {
        let faults = try server.client().get(path).object["faults"] as? [[String: Any]]
        return try #require(faults).map { ($0["matched"] as? Int ?? -1, $0["applied"] as? Int ?? -1) }
    }

    @Test("Every answer says that the server is in test mode, and so does the first line of the log")
    func header() throws {
        let server = try Self.server(), client = try server.client()
        for (method, target) in [
            ("GET", "/v1/tables"), ("GET", "/nothing"), ("OPTIONS", "/v1/tables"), ("HEAD", "/healthz"), ("GET", "/"),
            ("PUT", "/v1/tables"), ("GET", Self.path),
        ] {
            #expect(try client.request(method, target).header("braid-test-mode") == "true", "\(method) \(target)")
        }
        try client.send("GET / HTTP/9.9\r\n\r\n")
        #expect(try client.receive().header("braid-test-mode") == "true", "a request that cannot be parsed")
        #expect(server.waitForLog { $0.contains("\n") })
        #expect(server.log.split(separator: "\n").first?.contains(" warning test mode: ") == true, "\(server.log)")
    }

    @Test("Without --test-mode, the resources of the test mode do not exist, and no answer mentions the mode")
    func off() throws {
        let server = try ServerProcess(ServerProcess.attendees), client = try server.client()
        for (method, body) in [("GET", nil), ("PUT", #"{"faults":[]}"#), ("DELETE", nil)] {
            let answer = try client.request(method, Self.path, body)
            #expect(answer.status == 404 && answer.object["type"] as? String == "/problems/no-such-resource")
            #expect(answer.header("braid-test-mode") == nil)
        }
    }

    @Test("The variable BRAID_TEST_MODE also starts the test mode, which refuses a PostgreSQL database")
    func starting() throws {
        let server = try ServerProcess(ServerProcess.attendees, environment: ["BRAID_TEST_MODE": "true"])
        #expect(try server.client().get(Self.path).text == #"{"seed":0,"faults":[]}"#)
        let refused = try CommandRun(["serve", "--test-mode", "--database", "postgres://localhost/x"])
        #expect(refused.status != 0)
        #expect(refused.errors.contains("--test-mode") && refused.errors.contains("PostgreSQL"), "\(refused.errors)")
    }

    @Test("Only a controller may set, read and remove fault rules")
    func access() throws {
        let server = try AccessTests.server(["--test-mode"])
        for role in ["viewer", "participant"] {
            let token = AccessTests.bearer(try AccessTests.token(role, on: server).token)
            for (method, body) in [("GET", nil), ("PUT", #"{"faults":[]}"#), ("DELETE", nil)] {
                #expect(try server.client().request(method, Self.path, body).status == 401)
                #expect(try server.client().request(method, Self.path, body, headers: token).status == 403)
            }
        }
        #expect(try server.client().get(Self.path, headers: AccessTests.controller).status == 200)
    }

    @Test("Fault rules do not apply to probes, documents, assets and the resources of the test mode")
    func exceptions() throws {
        let server = try Self.server(), client = try server.client()
        try Self.setFaults(server, #"{"action":{"close":{}}}"#)
        for path in [
            "/healthz", "/readyz", "/metrics", "/", "/openapi.json", "/braid.js", "/inspector.css",
            "/problems/injected-fault", Self.path,
        ] {
            #expect(try client.get(path).status == 200, "\(path)")
        }
        #expect(throws: HTTPClient.Closed.self) { try client.get("/v1/tables") }
        #expect(try Self.counters(server).map(\.applied) == [1])
    }

    @Test("Fault rules are replaced all together, returned as they were sent with their counters, and removed")
    func resource() throws {
        let server = try Self.server(), client = try server.client()
        let rules =
            #"{"action":{"respond":{"status":503}},"match":{"method":"GET"}},{"id":"b","delay":{"milliseconds":0}}"#
        let set = try client.request("PUT", Self.path, #"{"seed":7,"faults":[\#(rules)]}"#)
        let shown =
            #"{"seed":7,"faults":[{"id":"fault-1","action":{"respond":{"status":503}},"match":{"method":"GET"},"matched":0,"applied":0},{"id":"b","delay":{"milliseconds":0},"matched":0,"applied":0}]}"#
        #expect(set.status == 200 && set.text == shown)
        #expect(try client.get(Self.path).text == shown)
        #expect(try client.get("/v1/tables").status == 503)
        #expect(try client.request("POST", "/v1/render", #"{"template":1}"#).status == 200)
        #expect(try Self.counters(server).map(\.applied) == [1, 1])
        let refused = try client.request("PUT", Self.path, #"{"faults":[{"action":{"close":1}}]}"#)
        #expect(refused.status == 400 && refused.text.contains(#""pointer":"/faults/0/action/close""#))
        #expect(try Self.counters(server).map(\.applied) == [1, 1], "a faulty rule changes nothing")
        #expect(try client.request("PUT", Self.path, #"{"faults":[\#(rules)]}"#).object["seed"] as? Int == 0)
        #expect(try client.request("DELETE", Self.path).status == 204)
        #expect(try client.get(Self.path).text == #"{"seed":0,"faults":[]}"#)
        #expect(try client.get("/v1/tables").status == 200)
    }
}
