import Foundation
import TestSupport
import Testing

/// The journal as a file, and `braid-server replay`.
@Suite(.serialized) struct ReplayTests {
    private func replay(_ path: String) throws -> (status: Int32, output: String, errors: String) {
        let run = try CommandRun(["replay", path])
        return (run.status, run.output, run.errors)
    }

    @Test("A replay of a session's journal leads to the session's snapshot, and detects a changed record")
    func replayedJournal() throws {
        let client = try ServerProcess().keptClient()
        try ConcurrencyTests.open(client, rows: 3)
        try client.request("POST", "/v1/sessions/x/taps?base=0", #"{"at":{"section":0,"row":1}}"#)
        try client.request(
            "POST", "/v1/sessions/x/transactions",
            #"{"commands":[{"delete":{"section":"a","row":0}},{"from":{"section":"b","row":0},"to":{"section":"a","row":0}}]}"#
        )
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

        // A record changed by hand is found, with its line.
        try journal.text.replacingOccurrences(of: #""row":1"#, with: #""row":2"#).write(
            toFile: path, atomically: true, encoding: .utf8)
        let changed = try replay(path)
        #expect(changed.status != 0 && changed.output.isEmpty && changed.errors.contains("line 2"))
        #expect(try replay(directory.path("nothing")).status != 0)
        #expect(
            try client.get("/v1/sessions/x/journal?after=1", headers: ["Accept": "application/x-ndjson"]).status == 400)
        #expect(try client.get("/v1/sessions/y/journal", headers: ["Accept": "application/x-ndjson"]).status == 404)
    }

    /// Its replay would end at a table that the session did not end with.
    @Test("If a session ends while its journal is sent, the client notices that the journal is incomplete")
    func endedSession() throws {
        let server = try ServerProcess(), client = try server.client()
        try client.request("POST", "/v1/sessions", #"{"id":"x","rows":[{"id":"a"}]}"#)
        // Larger than all buffers, so not sent at once.
        let text = String(repeating: "x", count: 1_000_000)
        for number in 0..<20 {
            try client.request(
                "PUT", "/v1/sessions/x/rows/0/0", #"{"model":{"id":"a","n":\#(number),"text":"\#(text)"}}"#,
                headers: ["Prefer": "return=minimal"])
        }
        let reader = try HTTPClient(port: server.port, receiveBuffer: 4096)
        try reader.send(
            "GET /v1/sessions/x/journal HTTP/1.1\r\nHost: localhost\r\nAccept: application/x-ndjson\r\n\r\n")
        #expect(!reader.isClosed)  // The answer has begun.
        #expect(try client.request("DELETE", "/v1/sessions/x").status == 204)
        #expect(throws: HTTPClient.Closed.self) { try reader.receive() }
    }

    @Test(
        "A replay of a trimmed journal leads to the snapshot, byte for byte, after any commands and a restart",
        arguments: 1...3)
    func trimmedJournals(seed: UInt64) throws {
        let directory = try TemporaryDirectory(), path = directory.path("journal.ndjson"),
            database = directory.path("braid.sqlite")
        var server = try ServerProcess(database: database, ["--journal-limit", "5"]), client = try server.client()
        try #require(
            try client.request("POST", "/v1/sessions", #"{"id":"x","table":\#(StreamTests.table)}"#).status == 201)
        var commands = RandomCommands(seed: seed), random = SeededGenerator(seed: seed), cuts = 0
        for number in 1...150 {
            switch Int.random(in: 0..<30, using: &random) {
            case 0: try client.request("POST", "/v1/sessions/x/reset")
            // Stored, not published.
            case 1...9:
                let row = #"{"at":[\#(Int.random(in: 0..<3, using: &random)),0],"model":{"id":"u\#(number)"}}"#
                try client.request("POST", "/v1/sessions/x/rows?notify=false", row)
            default:
                let command = commands.next()
                try client.request(command.method, "/v1/sessions/x/\(command.resource)", command.body)
            }
            if number % 50 == 0 {
                if number == 100 { server.kill() } else { server.stop() }
                server = try ServerProcess(database: database, ["--journal-limit", "5"])
                client = try server.client()
            }
            guard number % 3 == 0 else { continue }
            let snapshot = try client.get("/v1/sessions/x/snapshot").text
            let journal = try client.get("/v1/sessions/x/journal", headers: ["Accept": "application/x-ndjson"]).text
            cuts += journal.contains(#""checkpoint":{"revision":"#) ? 1 : 0
            try journal.write(toFile: path, atomically: true, encoding: .utf8)
            let replayed = try replay(path)
            #expect(replayed == (0, snapshot + "\n", ""), "seed \(seed), command \(number): \(journal)")
        }
        #expect(cuts > 30)
    }

    @Test("The replay refuses a journal with a missing record or a faulty checkpoint, and names the line")
    func damagedJournals() throws {
        let client = try ServerProcess(["--journal-limit", "2"]).keptClient()
        try ConcurrencyTests.open(client, rows: 1)
        for _ in 0..<4 { try client.request("POST", "/v1/sessions/x/taps", #"{"at":{"section":0,"row":0}}"#) }
        let directory = try TemporaryDirectory(), path = directory.path("journal.ndjson")
        let journal = try client.get("/v1/sessions/x/journal", headers: ["Accept": "application/x-ndjson"]).text
        #expect(journal.contains(#""checkpoint":{"revision":2,"#))
        let lines = journal.split(separator: "\n").map(String.init)
        for (text, message) in [
            ([lines[0], lines[2]].joined(separator: "\n"), "line 2: revision 3 is missing"),
            (
                journal.replacingOccurrences(of: #""nextKey":"#, with: #""otherKey":"#),
                "line 1: the checkpoint has no `nextKey`"
            ),
            (
                journal.replacingOccurrences(
                    of: #""checkpoint":{"revision":2,"#, with: #""checkpoint":{"revision":1,"#),
                "line 2: revision 2 is missing"
            ),
            (journal.replacingOccurrences(of: #""rows":[["#, with: #""rows":[7,["#), "line 1"),
        ] {
            try #require(text != journal)
            try text.write(toFile: path, atomically: true, encoding: .utf8)
            let refused = try replay(path)
            #expect(refused.status == 1 && refused.output.isEmpty && refused.errors.contains(message), "\(refused)")
        }
    }
}
