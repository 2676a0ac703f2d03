import Foundation
import TestSupport
import Testing

/// After a signal, the server finishes open requests, closes streams properly and empties the write-ahead log.
@Suite(.serialized) struct StopTests {
    /// Ctrl-C stops both programs of `braid-server serve 2>&1 | cat`, and `cat` may be first.
    @Test("The server continues, and stops normally, after the program that reads its log has ended")
    func endedLogReader() throws {
        let directory = try TemporaryDirectory(), database = directory.path("braid.sqlite")
        let run = Process(), output = Pipe()
        run.executableURL = URL(fileURLWithPath: "/bin/bash")
        run.environment = ServerProcess.environment()
        run.arguments = [
            "-c", "{ \"$0\" serve --port 0 --database \"$1\" 2>&1; echo $? > \"$1-status\"; } | grep -m 1 listening",
            ServerProcess.binary.path, database,
        ]
        run.standardOutput = output
        try run.run()
        let line = String(decoding: output.fileHandleForReading.availableData, as: UTF8.self)
        let port = try #require(Int(line.dropLast().split(separator: ":").last ?? ""))
        // Each writes a line that nobody reads.
        let client = try HTTPClient(port: port)
        for _ in 0..<20 { #expect(try client.get("/v1/tables").status == 200) }
        let lock = try String(contentsOfFile: database + "-lock", encoding: .utf8)
        kill(try #require(lock.split(separator: " ").first.flatMap { pid_t($0) }), SIGINT)
        run.waitUntilExit()
        #expect(try String(contentsOfFile: database + "-status", encoding: .utf8) == "0\n")
    }

    @Test(
        "If the server starts with closed standard streams, it does not use their descriptors for other files",
        arguments: ["<&- >&-", "<&- 2>&-", "2>&-"])
    func closedStandardStreams(closed: String) throws {
        let directory = try TemporaryDirectory(), database = directory.path("braid.sqlite"), run = Process()
        run.executableURL = URL(fileURLWithPath: "/bin/bash")
        run.environment = ServerProcess.environment()
        run.arguments = [
            "-c", "exec \"$0\" serve --socket \"$1.socket\" --database \"$1\" \(closed)", ServerProcess.binary.path,
            database,
        ]
        try run.run()
        #expect(eventually { FileManager.default.fileExists(atPath: database + ".socket") })
        for descriptor in 0...2 {
            let target = try FileManager.default.destinationOfSymbolicLink(
                atPath: "/proc/\(run.processIdentifier)/fd/\(descriptor)")
            #expect(!target.hasPrefix("anon_inode") && !target.hasPrefix(database), "\(descriptor): \(target)")
        }
        run.terminate()
        run.waitUntilExit()
        #expect(run.terminationStatus == 0)
    }

    @Test("A stop finishes open requests, closes idle connections and streams, and empties the write-ahead log")
    func openRequests() throws {
        let directory = try TemporaryDirectory(), database = directory.path("braid.sqlite")
        let server = try ServerProcess(database: database)
        let client = try server.client()
        try client.request("POST", "/v1/sessions", #"{"id":"s","rows":[]}"#)
        // A request completed only after the signal, and a long poll.
        let body = #"{"at":[0,0],"model":{"id":"1"}}"#, half = body.utf8.count / 2
        let slow = try server.client(), poll = try server.client()
        // Connections go to the event loops in turn: each has an idle one.
        let idle = try (0..<max(1, sysconf(Int32(_SC_NPROCESSORS_ONLN)))).map { _ in try server.client() }
        for client in [slow, poll] + idle { _ = try client.get("/healthz") }
        try slow.send(
            "POST /v1/sessions/s/rows HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: \(body.utf8.count)\r\nExpect: 100-continue\r\n\r\n"
        )
        // `100 Continue`: the head has arrived.
        #expect(slow.waitForAnswer())
        try slow.send(Array(body.utf8.prefix(half)))
        try poll.send("GET /v1/sessions/s/updates?since=0&wait=60 HTTP/1.1\r\nHost: localhost\r\n\r\n")
        let stream = try EventStreamClient(port: server.port, "/v1/sessions/s/updates")
        _ = try stream.events(through: "caught-up")
        #expect(try server.waitForMetric(#"braid_subscribers{by="poll"} 1"#))
        kill(server.processIdentifier, SIGTERM)
        for client in idle { #expect(client.isClosed) }
        #expect(try poll.receive().status == 200)
        // Properly, and without `ended`: the session goes on.
        #expect(throws: EventStreamClient.Ended.self) { try stream.next() }
        #expect(throws: (any Error).self, "nobody is accepted any more") { try server.client() }
        try slow.send(Array(body.utf8.dropFirst(half)))
        let answer = try slow.receive()
        #expect(
            answer.status == 200 && answer.object["revision"] as? Int == 1 && answer.header("connection") == "close")
        #expect(slow.isClosed)
        #expect(server.ended() == 0)
        // The write-ahead log is empty, the database has the row.
        let log = try? FileManager.default.attributesOfItem(atPath: database + "-wal")[.size] as? Int
        #expect((log ?? 0) == 0)
        #expect(
            try ServerProcess(database: database).keptClient().get("/v1/sessions/s/snapshot").object["totalRowCount"]
                as? Int == 1)
    }
}
