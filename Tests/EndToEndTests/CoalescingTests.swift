import Foundation
import TestSupport
import Testing

/// `?coalesce`: one update from a position to now.
@Suite(.serialized) struct CoalescingTests {
    private struct Revision {
        var snapshot: [String: Any]
        var revision: Int { snapshot["revision"] as? Int ?? -1 }
        var replica: TableReplica { TableReplica(snapshot: snapshot) }
    }

    private func snapshot(_ client: KeptClient) throws -> Revision {
        Revision(snapshot: try client.get("/v1/sessions/x/snapshot").object)
    }

    /// From every revision, in stages and sequential in turn; from memory and, after a restart, from disk.
    @Test("One combined update leads from any revision to the current revision", arguments: 0..<3)
    func combinedUpdates(seed: Int) throws {
        var random = SeededGenerator(seed: UInt64(seed))
        let directory = try TemporaryDirectory()
        let database = directory.path("braid.sqlite")
        var server = try ServerProcess(database: database), client = try server.keptClient()
        try ConcurrencyTests.open(client, rows: 5)
        var revisions = [try snapshot(client)]
        for step in 0..<60 {
            let section = Int.random(in: 0..<3, using: &random), row = Int.random(in: 0..<5, using: &random)
            switch Int.random(in: 0..<8, using: &random) {
            case 0:
                try client.request("POST", "/v1/sessions/x/edits", #"{"delete":{"section":\#(section),"row":\#(row)}}"#)
            case 1...3:
                let to = Int.random(in: 0..<3, using: &random)
                try client.request(
                    "POST", "/v1/sessions/x/moves",
                    #"{"from":{"section":\#(section),"row":\#(row)},"to":{"section":\#(to),"row":\#(Int.random(in: 0..<5, using: &random))}}"#
                )
            case 4:
                try client.request(
                    "POST", "/v1/sessions/x/rows", #"{"at":[\#(section),\#(row)],"model":{"id":"n\#(step)","taps":0}}"#)
            case 5:
                let displayed = ["a", "b", "c"].shuffled(using: &random).prefix(Int.random(in: 1...3, using: &random))
                try client.request(
                    "PUT", "/v1/sessions/x/displayed-sections",
                    "[\(displayed.map { "\"\($0)\"" }.joined(separator: ","))]")
            case 6: try client.request("PATCH", "/v1/sessions/x/headers", #"{"a":"A\#(step)"}"#)
            default: try client.request("POST", "/v1/sessions/x/taps", #"{"at":{"section":\#(section),"row":\#(row)}}"#)
            }
            let now = try snapshot(client)
            if now.revision > revisions[revisions.count - 1].revision { revisions.append(now) }
        }
        #expect(revisions.count > 25)
        let last = revisions[revisions.count - 1]
        for restarts in [false, true] {
            if restarts {
                server.kill()
                server = try ServerProcess(database: database)
                client = try server.keptClient()
            }
            for (index, then) in revisions.enumerated() {
                let form = index % 2 == 0 ? "" : "&form=sequential"
                let answer = try client.get("/v1/sessions/x/updates?since=\(then.revision)&coalesce\(form)").object
                let updates = try #require(answer["updates"] as? [[String: Any]])
                #expect(answer["from"] as? Int == then.revision && answer["to"] as? Int == last.revision)
                #expect(updates.count == (then.revision == last.revision ? 0 : 1))
                var replica = then.replica
                for update in updates {
                    #expect(update["from"] as? Int == then.revision && update["to"] as? Int == last.revision)
                    #expect((update["stages"] as? [Any])?.count ?? 0 <= 3)
                    #expect((update["operations"] != nil) == (index % 2 == 1), "the form that was asked for")
                    try replica.apply(update)
                }
                replica.pass(to: last.revision)
                #expect(replica.text == last.replica.text, "from revision \(then.revision): \(updates)")
            }
        }
    }

    @Test("A combined update omits undone changes, and a client with a position of another epoch gets a snapshot")
    func undoneChanges() throws {
        let client = try ServerProcess(["--journal-limit", "3"]).keptClient()
        try ConcurrencyTests.open(client, rows: 2)
        try client.request("POST", "/v1/sessions/x/rows", #"{"at":[0,1],"model":{"id":"n","taps":0}}"#)
        try client.request("POST", "/v1/sessions/x/edits", #"{"delete":{"id":"n"}}"#)
        #expect(
            try client.get("/v1/sessions/x/updates?since=0&coalesce").text
                == #"{"from":0,"to":2,"updates":[{"from":0,"to":2,"stages":[],"totalRowCount":6}]}"#)
        #expect(try client.get("/v1/sessions/x/updates?since=2&coalesce").text == #"{"from":2,"to":2,"updates":[]}"#)
        #expect(
            try client.get("/v1/sessions/x/updates?since=0&coalesce", headers: ["Accept": "text/event-stream"]).status
                == 400)
        #expect(try client.get("/v1/sessions/x/updates?since=nope.0&coalesce").object["reset"] as? Bool == true)
    }
}
