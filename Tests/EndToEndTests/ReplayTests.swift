import Foundation
import Testing

/// The journal as a file, and what `braid-server replay` makes of it.
@Suite(.serialized) struct ReplayTests {
    private func replay(_ path: String) throws -> (status: Int32, output: String, errors: String) {
        let run = try CommandRun(["replay", path])
        return (run.status, run.output, run.errors)
    }

    @Test func aJournalLeadsToTheSnapshotAgain() throws {
        let client = try ServerProcess().keptClient()
        try ConcurrencyTests.open(client, rows: 3)
        try client.request("POST", "/v1/sessions/x/taps?base=0", #"{"at":{"section":0,"row":1}}"#)
        try client.request("POST", "/v1/sessions/x/transactions", #"{"commands":[{"delete":{"section":"a","row":0}},{"from":{"section":"b","row":0},"to":{"section":"a","row":0}}]}"#)
        try client.request("POST", "/v1/sessions/x/reset")
        try client.request("PUT", "/v1/sessions/x/rows/0/0?notify=false", #"{"model":{"id":"a0","taps":7}}"#)
        let snapshot = try client.get("/v1/sessions/x/snapshot").text
        let journal = try client.get("/v1/sessions/x/journal", headers: ["Accept": "application/x-ndjson"])
        #expect(journal.status == 200 && journal.header("content-type") == "application/x-ndjson")
        #expect(journal.text.split(separator: "\n").count == 5)
        let directory = try TemporaryDirectory()
        let path = directory.path("journal.ndjson")
        try journal.text.write(toFile: path, atomically: true, encoding: .utf8)
        #expect(try replay(path) == (0, snapshot + "\n", ""))

        // What was changed by hand is found, with its line.
        try journal.text.replacingOccurrences(of: #""row":1"#, with: #""row":2"#).write(toFile: path, atomically: true, encoding: .utf8)
        let changed = try replay(path)
        #expect(changed.status != 0 && changed.output.isEmpty && changed.errors.contains("line 2"))
        #expect(try replay(directory.path("nothing")).status != 0)
        #expect(try client.get("/v1/sessions/x/journal?after=1", headers: ["Accept": "application/x-ndjson"]).status == 400)
        #expect(try client.get("/v1/sessions/y/journal", headers: ["Accept": "application/x-ndjson"]).status == 404)
    }

    /// Else it would be replayed, to a table that is none of the last.
    @Test func aJournalWhoseSessionEndsWhileItIsReadIsSeenToBeIncomplete() throws {
        let server = try ServerProcess(), client = try server.client()
        try client.request("POST", "/v1/sessions", #"{"id":"x","rows":[{"id":"a"}]}"#)
        // More than fits between the two.
        let text = String(repeating: "x", count: 1_000_000)
        for number in 0..<20 { try client.request("PUT", "/v1/sessions/x/rows/0/0", #"{"model":{"id":"a","n":\#(number),"text":"\#(text)"}}"#, headers: ["Prefer": "return=minimal"]) }
        let reader = try HTTPClient(port: server.port, receiveBuffer: 4096)
        try reader.send("GET /v1/sessions/x/journal HTTP/1.1\r\nHost: localhost\r\nAccept: application/x-ndjson\r\n\r\n")
        #expect(!reader.isClosed)  // it has begun
        #expect(try client.request("DELETE", "/v1/sessions/x").status == 204)
        #expect(throws: HTTPClient.Closed.self) { try reader.receive() }
    }

    @Test func aJournalThatWasCutShortIsRefused() throws {
        let client = try ServerProcess(["--journal-limit", "2"]).keptClient()
        try ConcurrencyTests.open(client, rows: 1)
        for _ in 0..<4 { try client.request("POST", "/v1/sessions/x/taps", #"{"at":{"section":0,"row":0}}"#) }
        let directory = try TemporaryDirectory()
        let path = directory.path("journal.ndjson")
        try client.get("/v1/sessions/x/journal", headers: ["Accept": "application/x-ndjson"]).text.write(toFile: path, atomically: true, encoding: .utf8)
        #expect(try replay(path).errors.contains("revision 1 is missing"))
    }
}
