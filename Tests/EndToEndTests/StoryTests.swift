import Foundation
import Testing

/// Faults that earlier versions had.
@Suite(.serialized) struct StoryTests {
    static let table =
        #"{"table":"t","sections":["a","b"],"cells":{"C":{}},"bindings":[{"on":{"sections":["a","b"]},"cell":"C","models":{"a":[{"id":"1"},{"id":"2"}],"b":[{"id":"3"}]},"editing":"delete","moving":{"to":"anySection"},"onDelete":HANDLER}]}"#

    static func table(onDelete: String) -> String { table.replacingOccurrences(of: "HANDLER", with: onDelete) }

    /// Its last value used to count.
    @Test("A query parameter that occurs twice is refused")
    func repeatedParameter() throws {
        let client = try ServerProcess().keptClient()
        for query in ["limit=1&limit=2", "limit=1&limit=1", "pretty&pretty"] {
            #expect(try client.get("/v1/sessions?\(query)").status == 400)
        }
        #expect(try client.get("/v1/sessions?limit=1&pretty").status == 200)
    }

    /// 32,769 or more moving sections overflowed.
    @Test("The diff of 33,000 sections finds the one section that has moved")
    func manySections() throws {
        let client = try ServerProcess().keptClient()
        let ids = (0..<33_000).map { #"{"id":"\#($0)","rows":[]}"# }
        let from = #"{"sections":[\#(ids.joined(separator: ","))]}"#,
            to = #"{"sections":[\#((ids.dropFirst() + ids.prefix(1)).joined(separator: ","))]}"#
        let answer = try client.request("POST", "/v1/diff", #"{"from":\#(from),"to":\#(to)}"#)
        #expect(
            answer.text == #"{"from":0,"to":0,"stages":[{"moveSections":[{"from":0,"to":32999}]}],"totalRowCount":0}"#)
    }

    /// It used to stay in memory.
    @Test("A session that is ended while the server reads it from the disk no longer exists")
    func endDuringRead() throws {
        let directory = try TemporaryDirectory()
        let database = directory.path("braid.sqlite")
        let models = (0..<20_000).map { #"{"id":"\#($0)"}"# }.joined(separator: ",")
        do {
            let client = try ServerProcess(database: database).keptClient()
            #expect(
                try client.request(
                    "POST", "/v1/sessions",
                    #"{"id":"x","table":\#(Self.table(onDelete: "[]")),"models":{"a":[\#(models)]}}"#
                ).status == 201)
        }
        for delay in [0, 20_000, 60_000, 150_000] as [UInt32] {
            let server = try ServerProcess(database: database)
            let reader = try server.client(), ender = try server.client()
            try reader.send("GET /v1/sessions/x/snapshot HTTP/1.1\r\nHost: localhost\r\n\r\n")
            // Before, during or after the read.
            usleep(delay)
            #expect([204, 404].contains(try ender.request("DELETE", "/v1/sessions/x").status))
            _ = try reader.receive()
            #expect(try ender.get("/v1/sessions/x/snapshot").status == 404)
            #expect(
                try ender.request(
                    "POST", "/v1/sessions",
                    #"{"id":"x","table":\#(Self.table(onDelete: "[]")),"models":{"a":[\#(models)]}}"#
                ).status == 201)
            server.kill()
        }
    }

    @Test(
        "A fault of a handler is reported as a fault of the description, and not of the client's request",
        arguments: [
            #"[{"setHeaders":{"$eval":"{a: 5}"}}]"#, #"[{"display":{"$eval":"['a','a']"}}]"#,
            #"[{"remove":{"section":"b","row":7}}]"#,
            #"[{"insert":{"section":{"$eval":"'z'"},"model":{"id":"9"}}}]"#, #"[{"setModels":{"$eval":"{z: []}"}}]"#,
            #"[{"update":{"merge":{"x":1}}}]"#,
        ])
    func faultyHandler(handler: String) throws {
        let client = try ServerProcess().keptClient()
        #expect(
            try client.request("POST", "/v1/sessions", #"{"id":"s","table":\#(Self.table(onDelete: handler))}"#).status
                == 201)
        let answer = try client.request("POST", "/v1/sessions/s/edits", #"{"delete":{"id":"1"}}"#)
        #expect(answer.object["type"] as? String == "/problems/handler-contract", "\(answer.text)")
        #expect(answer.object["errors"] == nil)
    }

    /// Mistakes that were not reported.
    @Test(
        "`/v1/tables/validate` reports a mistake in a table description with the pointer to the mistake",
        arguments: [
            (
                #"{"table":"t","sections":["a","b"],"cells":{"C":{}},"bindings":[{"on":{"section":"a"},"cell":"C","models":[]},{"on":"allOtherSections","cell":"C","models":{"a":[{"id":"y"}]}}]}"#,
                "/bindings/1/models/a"
            ),
            (
                #"{"table":"t","cells":{"C":{}},"bindings":[{"cell":"C","models":[],"headers":{"zz":"x"}}]}"#,
                "/bindings/0/headers/zz"
            ),
            (
                #"{"table":"t","cells":{"C":{}},"modelTypes":{"P":{},"Q":{}},"sections":["a"],"bindings":[{"on":"allOtherSections","cell":"C","modelType":"P","models":{}},{"on":{"section":"a"},"assumingModelType":"Q","onDelete":[]}]}"#,
                "/bindings/1/assumingModelType"
            ),
            (
                #"{"table":"t","cells":{"C":{}},"bindings":[{"cell":"C","models":[{"id":"1"},{"id":"1"}]}]}"#,
                "/bindings/0/models/1"
            ),
            (
                #"{"table":"t","cells":{"C":{}},"bindings":[{"cell":"C","models":[{}]}]}"#,
                "/bindings/0/models/0/id"
            ),
            (
                #"{"table":"t","cells":{"C":{}},"bindings":[{"cell":"C","models":[],"onDelete":[{"insert":{"section":"zz","model":{}}}]}]}"#,
                "/bindings/0/onDelete/0/insert/section"
            ),
            (
                #"{"table":"t","cells":{"C":{}},"bindings":[{"cell":"C","models":[],"onDelete":[{"setState":5}]}]}"#,
                "/bindings/0/onDelete/0/setState"
            ),
            (
                #"{"table":"t","cells":{"C":{}},"bindings":[{"cell":{"byModelType":true},"models":[],"viewModel":{}}]}"#,
                "/bindings/0/cell"
            ),
            (
                #"{"table":"t","cells":{"C":{}},"bindings":[{"cellProvider":"C","viewModels":[]}]}"#,
                "/bindings/0/viewModels"
            ),
            (#"{"table":"t","cells":{"C":{}},"empty":null,"bindings":[{"cell":"C","models":[]}]}"#, "/empty"),
        ])
    func faultyDescription(table: String, pointer: String) throws {
        let answer = try ServerProcess().keptClient().request("POST", "/v1/tables/validate", table)
        #expect(answer.status == 422)
        #expect(
            (answer.object["errors"] as? [[String: String]])?.compactMap { $0["pointer"] }.contains(pointer) == true,
            "\(answer.text)")
    }

    @Test("Requests and handlers find rows whose ids are integers beyond the range of Int64")
    func largeIntegerIDs() throws {
        let client = try ServerProcess().keptClient()
        let table = Self.table(onDelete: #"[{"remove":{"section":"b","id":{"$eval":"model.id"}}}]"#)
        let big = #"{"id":12345678901234567890}"#
        #expect(
            try client.request(
                "POST", "/v1/sessions",
                #"{"id":"s","table":\#(table),"models":{"a":[\#(big)],"b":[\#(big),{"id":-0}]}}"#
            ).status == 201)
        #expect(
            try client.request("POST", "/v1/sessions/s/edits", #"{"delete":{"id":12345678901234567890,"section":"a"}}"#)
                .status == 200)
        #expect(try client.get("/v1/sessions/s/snapshot").text.contains(#""rows":[{"id":"0","cell""#))
    }

    @Test("A transaction that restores the old table has the outcome `unchanged`, unless it sets displayed sections")
    func undoneTransaction() throws {
        let client = try ServerProcess().keptClient()
        #expect(
            try client.request("POST", "/v1/sessions", #"{"id":"s","table":\#(Self.table(onDelete: "[]"))}"#).status
                == 201)
        for commands in [
            #"{"patchState":{"z":1}},{"patchState":{"z":null}}"#,
            #"{"patchHeaders":{"a":"x"}},{"patchHeaders":{"a":null}}"#,
            #"{"displayedSections":["b"]},{"displayedSections":["a","b"]}"#,
        ] {
            let answer = try client.request("POST", "/v1/sessions/s/transactions", #"{"commands":[\#(commands)]}"#)
            #expect(
                answer.object["outcome"] as? String == (commands.contains("displayed") ? "applied" : "unchanged"),
                "\(answer.text)")
        }
        #expect(
            try client.request("PATCH", "/v1/sessions/s/footers", #"{"b":null}"#).object["outcome"] as? String
                == "unchanged")
    }

    /// Not of a future revision, which another command could create.
    @Test("The answer to a dry run contains the ETag of the current revision")
    func dryRunETag() throws {
        let client = try ServerProcess().keptClient()
        let etag = try client.request("POST", "/v1/sessions", #"{"id":"s","table":\#(Self.table(onDelete: "[]"))}"#)
            .header("etag")
        #expect(try client.request("PATCH", "/v1/sessions/s/state?dryRun", #"{"x":1}"#).header("etag") == etag)
        #expect(
            try client.request(
                "PATCH", "/v1/sessions/s/state", #"{"x":1}"#,
                headers: ["Prefer": #"respond-async, return="minimal"; foo=1"#]
            ).status == 204)
    }

    /// Must not crash when the emptied section's handler is due.
    @Test("A prefetch handler may empty another section whose prefetch handler would run next")
    func prefetchHandlers() throws {
        let client = try ServerProcess().keptClient()
        let table =
            #"{"table":"t","sections":["a","b"],"cells":{"C":{}},"bindings":[{"on":{"sections":["a","b"]},"cell":"C","models":{"a":[{"id":"1"},{"id":"2"}],"b":[{"id":"3"},{"id":"4"}]},"prefetch":{"cellsFromEnd":5},"onPrefetch":[{"setModels":{"a":[],"b":[]}}]}]}"#
        #expect(try client.request("POST", "/v1/sessions", #"{"id":"s","table":\#(table)}"#).status == 201)
        let answer = try client.request(
            "POST", "/v1/sessions/s/displayed-rows", #"{"rows":[{"section":"a","row":1},{"section":"b","row":1}]}"#)
        #expect(answer.status == 200)
        #expect((answer.object["update"] as? [String: Any])?["totalRowCount"] as? Int == 0)
    }

    @Test("`/v1/diff` accepts the server's own snapshots, also if they contain the height `automatic`")
    func diffOfSnapshots() throws {
        let client = try ServerProcess().keptClient()
        let table =
            #"{"table":"t","cells":{"C":{}},"empty":[],"bindings":[{"cell":"C","models":[{"id":"1"}],"header":{"view":"V","viewModel":[1]},"footer":"f","dimensions":{"cellHeight":"automatic","estimatedCellHeight":4.5,"headerHeight":"automatic"},"editing":"delete","moving":{"to":"anySection"}}]}"#
        let old = try client.request("POST", "/v1/sessions", #"{"id":"s","table":\#(table)}"#).text
        let deleted = try client.request("POST", "/v1/sessions/s/edits", #"{"delete":{"id":"1"}}"#).text
        let diff = try client.request(
            "POST", "/v1/diff", #"{"from":\#(old),"to":\#(client.get("/v1/sessions/s/snapshot").text)}"#)
        #expect(diff.status == 200, "\(diff.text)")
        #expect(deleted == #"{"revision":1,"outcome":"applied","update":\#(diff.text)}"#)
    }

    @Test("A template that is cheap for one row is refused if all rows together exceed the limit of steps")
    func stepLimit() throws {
        let client = try ServerProcess(["--command-timeout", "3600"]).keptClient()
        let models = (0..<4_000).map { #"{"id":"\#($0)"}"# }.joined(separator: ",")
        let table =
            #"{"table":"t","cells":{"C":{}},"bindings":[{"cell":"C","models":[\#(models)],"viewModel":{"$reduce":{"$eval":"range(0,9000)"},"initial":0,"each(sum,x)":{"$eval":"sum + x"}}}]}"#
        let answer = try client.request("POST", "/v1/sessions", #"{"id":"s","table":\#(table)}"#)
        #expect(answer.object["type"] as? String == "/problems/template-failed", "\(answer.text.prefix(300))")
        #expect(try client.get("/healthz").status == 200)
    }

    @Test("A revision that changes no model also renders the rows that read the time, as a restart would do")
    func rowsWithTime() throws {
        let directory = try TemporaryDirectory()
        let database = directory.path("braid.sqlite")
        var before = ""
        do {
            let client = try ServerProcess(database: database).keptClient()
            let table =
                #"{"table":"t","cells":{"C":{"events":{"e":{}}}},"bindings":[{"cell":"C","models":[{"id":"1"}],"viewModel":{"t":"${now}"}}]}"#
            #expect(try client.request("POST", "/v1/sessions", #"{"id":"s","table":\#(table)}"#).status == 201)
            // The event's time differs from the opening's.
            usleep(2_000)
            #expect(
                try client.request("POST", "/v1/sessions/s/events", #"{"at":{"id":"1"},"event":{"e":{}}}"#).text
                    .contains("reloadRows"))
            before = try client.get("/v1/sessions/s/snapshot").text
            client.server.kill()
        }
        #expect(try ServerProcess(database: database).keptClient().get("/v1/sessions/s/snapshot").text == before)
    }

    /// Evaluated once per section, not per pair.
    @Test("A moving policy with an expression works for a table with 300 sections")
    func movingPolicy() throws {
        let client = try ServerProcess().keptClient()
        let ids = (0..<300).map { "\"s\($0)\"" }.joined(separator: ",")
        let table =
            #"{"table":"t","sections":[\#(ids)],"cells":{"C":{}},"bindings":[{"on":{"sections":[\#(ids)]},"cell":"C","models":{"s0":[{"id":"1"}]},"moving":{"to":{"passing":"displayedCount < 2"}}}]}"#
        #expect(try client.request("POST", "/v1/sessions", #"{"id":"s","table":\#(table)}"#).status == 201)
        #expect(try client.request("PATCH", "/v1/sessions/s/headers", #"{"s1":"x"}"#).status == 200)
    }
}
