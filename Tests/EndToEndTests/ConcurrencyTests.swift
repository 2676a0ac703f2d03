import Foundation
import Synchronization
import TestSupport
import Testing

/// Clients behind the latest revision: `?base=`, replaced descriptions, `reset`.
@Suite(.serialized) struct ConcurrencyTests {
    static let table =
        #"{"table":"t","sections":["a","b","c"],"cells":{"C":{}},"bindings":[{"on":"allOtherSections","cell":"C","models":{},"editing":"delete","moving":{"to":"anySection"},"onTap":[{"update":{"merge":{"taps":{"$eval":"model.taps + 1"}}}}]}]}"#

    static func open(_ client: KeptClient, rows: Int = 6) throws {
        func models(_ section: String) -> String {
            "[" + (0..<rows).map { #"{"id":"\#(section)\#($0)","taps":0}"# }.joined(separator: ",") + "]"
        }
        let body =
            #"{"id":"x","table":\#(table),"models":{"a":\#(models("a")),"b":\#(models("b")),"c":\#(models("c"))}}"#
        try #require(try client.request("POST", "/v1/sessions", body).status == 201)
    }

    /// As a client saw it: ids of sections and displayed rows.
    struct Seen {
        var revision: Int
        var sections: [String]
        var rows: [[String]]

        init(_ client: KeptClient) throws {
            let snapshot = try client.get("/v1/sessions/x/snapshot").object
            revision = try #require(snapshot["revision"] as? Int)
            let sections = try #require(snapshot["sections"] as? [[String: Any]])
            self.sections = sections.compactMap { $0["id"] as? String }
            rows = sections.map { ($0["rows"] as? [[String: Any]] ?? []).compactMap { $0["id"] as? String } }
        }

        func place(of id: String) -> [Int]? {
            for (section, rows) in rows.enumerated() { if let row = rows.firstIndex(of: id) { return [section, row] } }
            return nil
        }
    }

    @Test("The server rebases the index path of a command with `base`, and the answer says where the row is now")
    func staleIndexPath() throws {
        let client = try ServerProcess().keptClient()
        try Self.open(client)
        try client.request("POST", "/v1/sessions/x/edits", #"{"delete":{"section":"a","row":0}}"#)
        try client.request(
            "POST", "/v1/sessions/x/moves", #"{"from":{"section":"a","row":1},"to":{"section":"b","row":3}}"#)
        // At revision 0, a2 was row 2 of its section; now it is in `b`.
        let tapped = try client.request("POST", "/v1/sessions/x/taps?base=0", #"{"at":{"section":"a","row":2}}"#)
        #expect(tapped.object["at"] as? [Int] == [1, 3])
        #expect(tapped.text.contains(#""id":"a2","cell":"C","model":{"id":"a2","taps":1}"#), "\(tapped.text)")
        // A base with an epoch, a section by its index.
        let epoch = try #require(try client.get("/v1/sessions/x").object["epoch"] as? String)
        #expect(
            try client.request("POST", "/v1/sessions/x/taps?base=\(epoch).1", #"{"at":{"section":0,"row":4}}"#).object[
                "at"] as? [Int] == [0, 3])
        // At the base, row 0 of `a` was one that is gone now. Without a base, it is the row that is there.
        let gone = try client.request("POST", "/v1/sessions/x/edits?base=0", #"{"delete":{"section":"a","row":0}}"#)
        #expect(gone.status == 409 && gone.text.contains("/problems/row-gone"))
        #expect(
            try client.request("POST", "/v1/sessions/x/edits?dryRun", #"{"delete":{"section":"a","row":0}}"#).object[
                "at"] == nil)
        // The session was never there.
        #expect(
            try client.request("POST", "/v1/sessions/x/taps?base=99", #"{"at":{"section":0,"row":0}}"#).status == 400)
        #expect(
            try client.request("POST", "/v1/sessions/x/taps?base=nope.0", #"{"at":{"section":0,"row":0}}"#).text
                .contains("/problems/base-too-old"))
        #expect(
            try client.request("POST", "/v1/sessions/x/taps?base=-1", #"{"at":{"section":0,"row":0}}"#).status == 400)
        // The journal has the rebased command, with the row's place when it was applied.
        let records = try client.get("/v1/sessions/x/journal?after=2&limit=1").text
        #expect(records.contains(#""command":{"taps":{"at":{"section":1,"row":3}}}"#), "\(records)")
    }

    @Test("A base that is older than the journal is refused")
    func oldBase() throws {
        let client = try ServerProcess(["--journal-limit", "2"]).keptClient()
        try Self.open(client)
        for _ in 0..<5 { try client.request("POST", "/v1/sessions/x/taps", #"{"at":{"section":0,"row":1}}"#) }
        let old = try client.request("POST", "/v1/sessions/x/taps?base=1", #"{"at":{"section":0,"row":1}}"#)
        #expect(old.status == 409 && old.text.contains("/problems/base-too-old"))
        #expect(
            try client.request("POST", "/v1/sessions/x/taps?base=4", #"{"at":{"section":0,"row":1}}"#).status == 200)
    }

    @Test("The server also rebases the index paths in calls of the data source")
    func dataSourceCalls() throws {
        let client = try ServerProcess().keptClient()
        try client.request(
            "POST", "/v1/sessions", #"{"id":"x","sections":[{"rows":[{"id":"1"},{"id":"2"}]},{"rows":[{"id":"3"}]}]}"#)
        try client.request("DELETE", "/v1/sessions/x/rows/0/0")
        let updated = try client.request("PUT", "/v1/sessions/x/rows/0/1?base=0", #"{"model":{"id":"2","new":true}}"#)
        #expect(updated.object["at"] as? [Int] == [0, 0])
        #expect(try client.get("/v1/sessions/x/rows/0/0").text == #"{"model":{"id":"2","new":true}}"#)
        #expect(try client.request("PUT", "/v1/sessions/x/rows/0/0?base=0", #"{"model":{"id":"1"}}"#).status == 409)
    }

    /// For what did not exist at the base, the engine's index is the largest integer, which the answer must not show.
    @Test("If a row or a section did not exist at the base, the refusal names the index that the client sent")
    func outOfBounds() throws {
        let client = try ServerProcess().keptClient()
        try Self.open(client)
        try client.request("POST", "/v1/sessions/x/edits", #"{"delete":{"section":"a","row":0}}"#)
        for path in ["sections/7/data", "sections/7/rows", "rows/7/0", "rows/0/40"] {
            let body = ["sections/7/data": "{}", "sections/7/rows": #"{"rows":[]}"#][path] ?? #"{"model":{"id":"n"}}"#
            let ignored = try client.request("PUT", "/v1/sessions/x/\(path)?base=0", body)
            #expect(
                ignored.object["outcome"] as? String == "ignored" && ignored.object["at"] == nil,
                "\(path): \(ignored.text)")
            #expect(!ignored.text.contains("9223372036854775807"), "\(path): \(ignored.text)")
        }
        // Beyond any section: updates are ignored, inserts append.
        let far = 1 << 40
        #expect(
            try client.request("PUT", "/v1/sessions/x/rows/0/\(far)?base=0", #"{"model":{"id":"n"}}"#).object["outcome"]
                as? String == "ignored")
        #expect(
            try client.request("POST", "/v1/sessions/x/rows?base=0&dryRun", #"{"at":[0,\#(far)],"model":{"id":"n"}}"#)
                .object["at"] as? [Int] == [0, 5])
        for (reference, told) in [
            (#"{"section":0,"row":\#(far)}"#, "no row \(far)"), (#"{"section":\#(far),"row":0}"#, "no section \(far)"),
            (#"{"section":7,"row":0}"#, "no section 7"), (#"{"section":0,"row":40}"#, "no row 40"),
            (#"{"section":"a","row":6}"#, "no row 6"),
        ] {
            let refused = try client.request("POST", "/v1/sessions/x/taps?base=0", #"{"at":\#(reference)}"#)
            #expect(
                refused.status == 404 && (refused.object["detail"] as? String)?.contains(told) == true,
                "\(reference): \(refused.text)")
        }
    }

    /// Two clients edit at random, each based on what it saw last.
    @Test(
        "A command with a base applies to the row that its client saw, or is refused with `row-gone`", arguments: 0..<4)
    func rebasedCommands(seed: Int) throws {
        var random = SeededGenerator(seed: UInt64(seed))
        let client = try ServerProcess().keptClient()
        try Self.open(client)
        var seen = [try Seen(client), try Seen(client)], hits = 0, gone = 0
        for _ in 0..<120 {
            let who = Int.random(in: 0...1, using: &random)
            if Int.random(in: 0..<4, using: &random) == 0 { seen[who] = try Seen(client) }
            let view = seen[who]
            guard let section = view.rows.indices.filter({ !view.rows[$0].isEmpty }).randomElement(using: &random)
            else { continue }
            let row = Int.random(in: view.rows[section].indices, using: &random), id = view.rows[section][row]
            let reference =
                Bool.random(using: &random)
                ? #"{"section":\#(section),"row":\#(row)}"# : #"{"section":"\#(view.sections[section])","row":\#(row)}"#
            let before = try Seen(client)
            let answer: HTTPClient.Response
            switch Int.random(in: 0..<8, using: &random) {
            case 0:
                answer = try client.request(
                    "POST", "/v1/sessions/x/edits?base=\(view.revision)", #"{"delete":\#(reference)}"#)
            case 1...3:
                let target = Int.random(in: view.sections.indices, using: &random)
                answer = try client.request(
                    "POST", "/v1/sessions/x/moves?base=\(view.revision)",
                    #"{"from":\#(reference),"to":{"section":"\#(view.sections[target])","row":\#(Int.random(in: 0..<max(1, view.rows[target].count), using: &random))}}"#
                )
            case 4:
                let displayed = ["a", "b", "c"].shuffled(using: &random).prefix(Int.random(in: 1...3, using: &random))
                try client.request(
                    "PUT", "/v1/sessions/x/displayed-sections",
                    "[\(displayed.map { "\"\($0)\"" }.joined(separator: ","))]")
                continue
            default:
                answer = try client.request(
                    "POST", "/v1/sessions/x/taps?base=\(view.revision)", #"{"at":\#(reference)}"#)
            }
            if answer.status == 200 {
                #expect(
                    answer.object["at"] as? [Int] == before.place(of: id),
                    "\(id) as of \(view.revision): \(answer.text)")
                hits += 1
            } else {
                #expect(answer.status == 409 && answer.text.contains("row-gone"), "\(answer.text)")
                // `row-gone` may also mean the move's target section.
                if answer.text.contains("The row") {
                    #expect(before.place(of: id) == nil, "\(id) as of \(view.revision): \(answer.text)")
                }
                gone += 1
            }
        }
        #expect(hits > 40 && gone > 3, "\(hits) \(gone)")
    }

    @Test("A session can be opened while another client replaces its table description")
    func openingDuringReplacement() throws {
        let server = try ServerProcess(), client = try server.keptClient(), port = server.port
        try client.request("PUT", "/v1/tables/t", Self.table)
        let isOver = Mutex(false), group = DispatchGroup()
        group.enter()
        Thread.detachNewThread {
            guard let other = try? HTTPClient(port: port) else { return group.leave() }
            var text = Self.table
            while !isOver.withLock({ $0 }), (try? other.request("PUT", "/v1/tables/t", text)) != nil {
                // Two in turn: the same description again would be no new version.
                text = text == Self.table ? text.replacingOccurrences(of: "\"c\"]", with: "\"d\"]") : Self.table
                // Time to read a description that is not replaced at once.
                usleep(10_000)
            }
            group.leave()
        }
        defer {
            isOver.withLock { $0 = true }
            group.wait()
        }
        // So many rows that a description is registered while models are read and written.
        let models = (0..<300).map { #"{"id":"\#($0)","taps":0}"# }.joined(separator: ",")
        for round in 0..<100 {
            let opened = try client.request("POST", "/v1/sessions", #"{"table":"t","models":{"a":[\#(models)]}}"#)
            try #require(opened.status == 201, "round \(round): \(opened.text)")
            let id = try #require(opened.object["session"] as? String)
            // Then no session uses this version, and the server deletes it when there are 20 newer ones.
            #expect(try client.request("DELETE", "/v1/sessions/\(id)").status == 204)
        }
    }

    @Test("A reset restores a session as it was opened, as a new revision, and a restart keeps the result")
    func resets() throws {
        let directory = try TemporaryDirectory()
        let database = directory.path("braid.sqlite")
        var opened = "", reset = ""
        do {
            let server = try ServerProcess(database: database), client = try server.keptClient()
            try Self.open(client, rows: 2)
            opened = try client.get("/v1/sessions/x/snapshot").text
            try client.request("POST", "/v1/sessions/x/edits", #"{"delete":{"section":"a","row":0}}"#)
            try client.request("PUT", "/v1/sessions/x/displayed-sections", #"["c"]"#)
            try client.request("PATCH", "/v1/sessions/x/headers", #"{"c":"C"}"#)
            try client.request("PATCH", "/v1/sessions/x/state", #"{"s":1}"#)
            let answer = try client.request("POST", "/v1/sessions/x/reset")
            #expect(answer.status == 200 && answer.object["revision"] as? Int == 5)
            reset = try client.get("/v1/sessions/x/snapshot").text
            #expect(reset == opened.replacingOccurrences(of: #""revision":0"#, with: #""revision":5"#))
            #expect(
                try client.request("POST", "/v1/sessions/x/reset", "{}").object["outcome"] as? String == "unchanged")
            #expect(try client.request("POST", "/v1/sessions/x/reset", #"{"x":1}"#).status == 400)
            #expect(try client.request("POST", "/v1/sessions/y/reset").status == 404)
            server.kill()
        }
        let client = try ServerProcess(database: database).keptClient()
        #expect(try client.get("/v1/sessions/x/snapshot").text == reset)
        // Also without a description.
        try client.request(
            "POST", "/v1/sessions", #"{"id":"d","rows":[{"id":"1"}],"cellsForModelTypes":{"object":"C"}}"#)
        let first = try client.get("/v1/sessions/d/snapshot").text
        try client.request("POST", "/v1/sessions/d/sections", #"{"section":{"rows":[2]},"at":0}"#)
        try client.request("PUT", "/v1/sessions/d/cells-for-model-types/object", #"{"cell":"D"}"#)
        try client.request("POST", "/v1/sessions/d/reset")
        #expect(
            try client.get("/v1/sessions/d/snapshot").text
                == first.replacingOccurrences(of: #""revision":0"#, with: #""revision":3"#))
    }
}
