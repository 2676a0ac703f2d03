import Foundation
import Glibc
import TestSupport
import Testing

/// Models, line by line.
@Suite(.serialized) struct ObserveTests {
    private func observe(
        _ client: KeptClient, _ body: String, _ query: String = "", type: String = "application/x-ndjson"
    ) throws -> HTTPClient.Response {
        try client.request("POST", "/v1/sessions/s/observe\(query)", body, headers: ["Content-Type": type])
    }

    /// In chunks.
    private func begin(_ client: HTTPClient) throws {
        try client.send(
            "POST /v1/sessions/s/observe HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/x-ndjson\r\nTransfer-Encoding: chunked\r\n\r\n"
        )
    }

    private func chunk(_ text: String) -> String { "\(String(text.utf8.count, radix: 16))\r\n\(text)\r\n" }

    private func revision(_ client: KeptClient) throws -> Int? {
        try client.get("/v1/sessions/s").object["revision"] as? Int
    }

    private func waitForRevision(_ client: KeptClient, _ wanted: Int) throws -> Bool {
        try eventually { try revision(client) ?? 0 >= wanted }
    }

    @Test("`observe` applies each line when it arrives, before the client sends the next line")
    func lineByLine() throws {
        let (client, _) = try StreamTests.start()
        let stream = try client.stream()
        _ = try stream.events(through: "caught-up")
        let sender = try client.server.client()
        try begin(sender)
        for number in 1...5 {
            try sender.send(chunk(#"{"a":[{"id":"1","n":\#(number)}]}"# + "\n"))
            #expect(try stream.next().revision == number, "before the next line is sent")
        }
        // Blank lines are ignored, text after the last line break is a line, and a line may come in chunks.
        try sender.send(chunk("\n \r\n{\"a\":[]") + chunk("}\r\n") + chunk(#"{"a":[]}"#) + "0\r\n\r\n")
        #expect(try sender.receive().text == #"{"applied":6,"unchanged":1,"revision":6}"#)
        #expect(try sender.get("/healthz").status == 200, "the connection goes on")
    }

    @Test("`observe` accepts a body without lines, and then changes nothing")
    func emptyBody() throws {
        let (client, _) = try StreamTests.start()
        #expect(try observe(client, "").text == #"{"applied":0,"unchanged":0,"revision":0}"#)
        #expect(try observe(client, "\n\n").text == #"{"applied":0,"unchanged":0,"revision":0}"#)
    }

    @Test("The refusal of a line of `observe` names the line, and the lines before it stay applied")
    func faultyLine() throws {
        let (client, _) = try StreamTests.start()
        let lines = [#"{"a":[]}"#, "", #"{"a":[{"id":"9"}]}"#]
        let cases = [
            (#"{"a":[}"#, 400, "/problems/invalid-json", ""), (#"{"a":7}"#, 400, "/problems/bad-request", "/a"),
            (#"{"nope":[]}"#, 404, "/problems/section-not-found", ""),
            (#"{"a":[{"id":"1"},{"id":"1"}]}"#, 422, "/problems/duplicate-row-id", ""),
        ]
        for (bad, status, type, pointer) in cases {
            let (before, response) = (
                try revision(client) ?? 0,
                try observe(client, (lines + [bad, #"{"a":[{"id":"7"}]}"#]).joined(separator: "\n"))
            )
            #expect(response.status == status, "\(response.text)")
            #expect(response.object["type"] as? String == type)
            #expect(response.object["line"] as? Int == 4)
            #expect((response.object["detail"] as? String)?.contains("This is line 4") == true)
            let errors = response.object["errors"] as? [[String: String]]
            #expect(errors?.first?["detail"]?.hasPrefix("line 4: ") == true)
            #expect(errors?.first?["pointer"] == pointer)
            #expect(try revision(client) == before + 2)
            #expect(try client.get("/v1/sessions/s/snapshot").text.contains(#""id":"9""#))
        }
    }

    @Test("The limit for bodies applies to each line of `observe`, and not to all lines together")
    func longLines() throws {
        let (client, _) = try StreamTests.start(["--max-body-bytes", "100000"])
        func line(_ bytes: Int) -> String {
            let frame = #"{"a":[{"id":"1","t":""}]}"#
            return frame.replacingOccurrences(
                of: #""""#, with: "\"\(String(repeating: "x", count: bytes - frame.utf8.count))\"")
        }
        let long = (0..<20).map { line(100_000 - $0) }.joined(separator: "\n")
        #expect(try observe(client, long).object["applied"] as? Int == 20, "together they may be longer")
        for end in ["", "\n"] {
            let response = try observe(try anew(client), "{}\n" + line(100_001) + end)
            #expect(response.status == 413)
            #expect(response.object["line"] as? Int == 2)
        }
    }

    /// Returns a client with a new connection, because an answer before the end of the body closes the connection.
    private func anew(_ client: KeptClient) throws -> KeptClient { try client.server.keptClient() }

    @Test("`observe` refuses other content types, unknown parameters and sessions that do not exist")
    func refusals() throws {
        let (client, _) = try StreamTests.start()
        #expect(try observe(try anew(client), "{}", type: "application/json").status == 415)
        #expect(try observe(try anew(client), "{}", "?nope").status == 400)
        let response = try client.request(
            "POST", "/v1/sessions/none/observe", "{}", headers: ["Content-Type": "application/x-ndjson"])
        #expect(response.status == 404)
    }

    @Test("If a client disappears during `observe`, its complete lines stay applied and an incomplete line is ignored")
    func vanishedClient() throws {
        let (client, _) = try StreamTests.start()
        do {
            let sender = try client.server.client()
            try begin(sender)
            try sender.send(chunk("{\"a\":[]}\n{\"a\":[{\"id\":\"5\"}]}\n{\"b\":[]}"))
            #expect(try waitForRevision(client, 2))
        }
        // The server has ended the request.
        let ended = #"braid_http_requests_total{method="POST",route="/v1/sessions/{id}/observe",status="400"} 1"#
        #expect(try client.server.waitForMetric(ended))
        #expect(try revision(client) == 2, "a line whose end did not come might be half a line")
        #expect(try observe(client, #"{"b":[]}"#).object["revision"] as? Int == 3)
    }

    @Test("If a session ends, the remaining lines of `observe` do not change a new session with the same id")
    func endedSession() throws {
        let (client, _) = try StreamTests.start()
        let sender = try client.server.client()
        try begin(sender)
        try sender.send(chunk("{\"a\":[]}\n"))
        #expect(try waitForRevision(client, 1))
        #expect(try client.request("DELETE", "/v1/sessions/s").status == 204)
        #expect(try client.request("POST", "/v1/sessions", #"{"table":\#(StreamTests.table),"id":"s"}"#).status == 201)
        try sender.send(chunk("{\"a\":[{\"id\":\"5\"}]}\n"))
        let response = try sender.receive()
        #expect(response.status == 404 && response.object["line"] as? Int == 2, "\(response.text)")
        #expect(try revision(client) == 0)
    }

    @Test("If the server stops, the answer to `observe` names the first line that was not applied")
    func stoppedServer() throws {
        let (client, _) = try StreamTests.start()
        let sender = try client.server.client()
        try begin(sender)
        try sender.send(chunk("{\"a\":[]}\n\n{\"a\":[{\"id\":\"5\"}]}\n"))
        #expect(try waitForRevision(client, 2))
        kill(client.server.processIdentifier, SIGTERM)
        let response = try sender.receive()
        #expect(response.status == 503)
        #expect(response.object["line"] as? Int == 4)
    }

    /// The server reads the lines one by one, so a fast sender has to wait.
    @Test("The memory of the server does not grow with the number of lines that a client sends to `observe`")
    func memoryOfLines() throws {
        // With a single arena, glibc does not keep freed memory for each thread separately.
        let (client, _) = try StreamTests.start(["--journal-limit", "5"], environment: ["MALLOC_ARENA_MAX": "1"])
        let sender = try client.server.client()
        try begin(sender)
        let text = String(repeating: "x", count: 10_000)
        var memory = 0
        let lines = 4_000
        for number in 1...lines {
            try sender.send(chunk(#"{"a":[{"id":"1","n":\#(number),"t":"\#(text)"}]}"# + "\n"))
            if number == 500 {
                #expect(try waitForRevision(client, number))
                memory = try client.server.residentBytes()
            }
        }
        try sender.send("0\r\n\r\n")
        #expect(try sender.receive().object["applied"] as? Int == lines)
        let growth = try client.server.residentBytes() - memory
        #expect(growth < 10 << 20, "memory grew by \(growth) bytes over \(lines * text.utf8.count) bytes of lines")
    }
}
