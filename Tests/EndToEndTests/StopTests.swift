import Foundation
import Testing

/// SIGTERM: what is under way is finished, streams are closed cleanly, and the database is one file again.
@Suite(.serialized) struct StopTests {
    @Test func whatIsUnderWayIsFinished() throws {
        let directory = try TemporaryDirectory(), database = directory.path("braid.sqlite")
        let server = try ServerProcess(database: database)
        let client = try server.client()
        try client.request("POST", "/v1/sessions", #"{"id":"s","rows":[]}"#)
        // A request whose head has come and whose body comes after the signal; and one that waits for something.
        let body = #"{"at":[0,0],"model":{"id":"1"}}"#, half = body.utf8.count / 2
        let slow = try server.client(), poll = try server.client(), idle = try server.client()
        for client in [slow, poll, idle] { _ = try client.get("/healthz") }
        try slow.send("POST /v1/sessions/s/rows HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: \(body.utf8.count)\r\n\r\n")
        try slow.send(Array(body.utf8.prefix(half)))
        try poll.send("GET /v1/sessions/s/updates?since=0&wait=60 HTTP/1.1\r\nHost: localhost\r\n\r\n")
        let stream = try EventStreamClient(port: server.port, "/v1/sessions/s/updates")
        _ = try stream.events(through: "caught-up")
        kill(server.processIdentifier, SIGTERM)
        #expect(idle.isClosed)
        #expect(try poll.receive().status == 200)
        // Its end is a clean one, and not that of the session.
        #expect(throws: EventStreamClient.Ended.self) { try stream.next() }
        #expect(throws: (any Error).self, "nobody is accepted any more") { try server.client() }
        try slow.send(Array(body.utf8.dropFirst(half)))
        let answer = try slow.receive()
        #expect(answer.status == 200 && answer.object["revision"] as? Int == 1 && answer.header("connection") == "close")
        #expect(slow.isClosed)
        #expect(server.stop() == 0)
        // The log was copied into the database, and what was acknowledged is there.
        let log = try? FileManager.default.attributesOfItem(atPath: database + "-wal")[.size] as? Int
        #expect((log ?? 0) == 0)
        #expect(try ServerProcess(database: database).keptClient().get("/v1/sessions/s/snapshot").object["totalRowCount"] as? Int == 1)
    }
}
