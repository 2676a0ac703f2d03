import Foundation
import Testing

/// What is logged of requests, and what never is.
@Suite(.serialized) struct LogTests {
    private static func serve(_ format: String, _ requests: (KeptClient) throws -> Void) throws -> [String] {
        let server = try ServerProcess(["--log-level", "info", "--log-format", format], environment: ["BRAID_TOKEN": "swordfish"])
        try requests(try server.keptClient())
        server.stop()
        return server.log.split(separator: "\n").map(String.init)
    }

    private static let token = ["Authorization": "Bearer swordfish"]

    @Test func eachRequestIsOneJSONLine() throws {
        let lines = try Self.serve("json") { client in
            _ = try client.request("POST", "/v1/sessions?pretty", #"{"id":"s","rows":[{"id":"secret"}]}"#, headers: Self.token.merging(["X-Request-Id": "r\"1"]) { $1 })
            _ = try client.get("/v1/sessions/s/snapshot?section=secret", headers: Self.token)
            _ = try client.get("/v1/sessions/s", headers: ["Authorization": "Bearer secret"])
            _ = try client.get("/no%0Asuch\"path")
        }
        let objects = try lines.map { try #require(try JSONSerialization.jsonObject(with: Data($0.utf8)) as? [String: Any], "\($0)") }
        let requests = objects.filter { $0["message"] as? String == "request" }
        #expect(requests.count == 4 && requests.allSatisfy { $0["level"] as? String == "info" && ($0["microseconds"] as? Int ?? -1) >= 0 && $0["time"] is String })
        #expect(requests.first?["id"] as? String == "r\"1" && requests.first?["route"] as? String == "/v1/sessions" && requests.first?["status"] as? Int == 201)
        #expect(requests.first?["path"] as? String == "/v1/sessions" && requests.first?["method"] as? String == "POST")
        #expect(requests.map { $0["status"] as? Int } == [201, 404, 401, 404])
        #expect(requests[1]["route"] as? String == "/v1/sessions/{id}/snapshot" && requests[3]["route"] as? String == "")
        #expect(!lines.joined().contains("secret") && !lines.joined().contains("swordfish"), "models, queries and tokens stay out of the log")
    }

    @Test func textLinesCannotBeBrokenOrAddedTo() throws {
        let lines = try Self.serve("text") { client in
            _ = try client.get("/healthz", headers: ["X-Request-Id": "a=b"])
            _ = try client.get("/\"x\"status=200")
        }
        let requests = lines.filter { $0.contains(" info request ") }
        #expect(requests.count == 2)
        #expect(requests.first?.contains(" id=a=b method=GET path=/healthz route=/healthz status=200 microseconds=") == true, "\(lines)")
        #expect(requests.last?.contains(#" path="/\"x\"status=200" route="" status=404 "#) == true, "\(lines)")
    }
}
