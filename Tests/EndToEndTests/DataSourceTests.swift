import Foundation
import Testing

@Suite(.serialized) struct DataSourceTests {
    private static let opening = #"{"id":"s","sections":[{"header":"A","rows":[{"id":1},{"id":2}]},{"rows":["x"]}]}"#

    private func opened(_ body: String = opening) throws -> KeptClient {
        let client = try ServerProcess().keptClient()
        #expect(try client.request("POST", "/v1/sessions", body).status == 201)
        return client
    }

    private func row(_ id: Int, _ cell: String = "object") -> String {
        #"{"id":"\#(id)","cell":"\#(cell)","model":{"id":\#(id)}}"#
    }

    @Test("A session can be opened with rows or sections in place of a table description")
    func openingWithoutTable() throws {
        let client = try opened(#"{"id":"a","row":{"id":1}}"#)
        for (id, body, sections) in [
            ("a", nil, #"[{"id":"s1","header":null,"footer":null,"rowCount":1,"rows":[\#(row(1))]}]"#),
            (
                "b", #"{"id":"b","rows":[1,"x"]}"#,
                #"[{"id":"s1","header":null,"footer":null,"rowCount":2,"diffable":false,"rows":[{"cell":"number","model":1},{"cell":"string","model":"x"}]}]"#
            ),
            (
                "c", #"{"id":"c","section":{"header":"H","footer":{"view":"V","viewModel":1},"rows":[]}}"#,
                #"[{"id":"s1","header":{"title":"H"},"footer":{"view":"V","viewModel":1},"rowCount":0,"rows":[]}]"#
            ),
            (
                "d",
                #"{"id":"d","sections":[{"rows":[]},{"id":"mine","rows":[{"type":"T","id":1}]}],"cellsForModelTypes":{"T":"TCell"}}"#,
                #"[{"id":"s1","header":null,"footer":null,"rowCount":0,"rows":[]},{"id":"mine","header":null,"footer":null,"rowCount":1,"rows":[{"id":"1","cell":"TCell","model":{"type":"T","id":1}}]}]"#
            ),
            ("e", #"{"id":"e","sections":[]}"#, "[]"),
        ] as [(String, String?, String)] {
            if let body { #expect(try client.request("POST", "/v1/sessions", body).status == 201, "\(body)") }
            let text = try client.get("/v1/sessions/\(id)/snapshot").text
            #expect(text.hasPrefix(#"{"session":"\#(id)","epoch":""#), "there is no table")
            #expect(text.hasSuffix(#""sections":\#(sections),"state":{}}"#), "\(text)")
        }
        #expect(try client.get("/v1/sessions/a").object["table"] == nil)
        for (body, status) in [
            (#"{}"#, 400), (#"{"row":1,"rows":[1]}"#, 400), (#"{"rows":[1],"state":{}}"#, 400), (#"{"rows":{}}"#, 400),
            (#"{"section":{}}"#, 400),
            (#"{"sections":[{"rows":[],"header":5}]}"#, 400), (#"{"rows":[],"cellsForModelTypes":{"a":1}}"#, 400),
            (#"{"rows":[{"id":1},{"id":1}]}"#, 422),
            (#"{"sections":[{"id":"a","rows":[]},{"id":"a","rows":[]}]}"#, 400),
        ] { #expect(try client.request("POST", "/v1/sessions", body).status == status, "\(body)") }
    }

    @Test("A session without a description shows its `empty` while it has no rows, also after a restart and a replay")
    func emptyState() throws {
        let directory = try TemporaryDirectory(), database = directory.path("braid.db"),
            journal = directory.path("journal.ndjson")
        let empty = #"{"text":"Nothing here","size":1.0}"#
        var server = try ServerProcess(database: database), client = try server.keptClient()
        let opened = try client.request("POST", "/v1/sessions", #"{"id":"s","rows":[],"empty":\#(empty)}"#)
        #expect(opened.status == 201 && opened.text.hasSuffix(#","state":{},"empty":\#(empty)}"#), "\(opened.text)")
        #expect(
            try client.request("POST", "/v1/sessions/s/rows", #"{"at":[0,0],"model":{"id":1}}"#).text.contains(
                #""totalRowCount":1,"empty":null}"#))
        #expect(try client.get("/v1/sessions/s/snapshot").object["empty"] == nil)
        server.stop()
        server = try ServerProcess(database: database)
        client = try server.keptClient()
        #expect(
            try client.request("DELETE", "/v1/sessions/s/rows/0/0").text.contains(
                #""totalRowCount":0,"empty":\#(empty)}"#))
        #expect(try client.request("POST", "/v1/sessions/s/rows", #"{"at":[0,0],"model":2}"#).status == 200)
        #expect(try client.request("POST", "/v1/sessions/s/reset", "{}").text.contains(#""empty":\#(empty)}"#))
        let shown = try client.get("/v1/sessions/s/snapshot").text
        #expect(shown.hasSuffix(#","empty":\#(empty)}"#))
        try client.get("/v1/sessions/s/journal", headers: ["Accept": "application/x-ndjson"]).text.write(
            toFile: journal, atomically: true, encoding: .utf8)
        #expect(try CommandRun(["replay", journal]).output == shown + "\n")
        for (body, member) in [(#"{"rows":[],"empty":null}"#, "/empty"), (#"{"table":"t","empty":1}"#, "/empty")] {
            let refused = try client.request("POST", "/v1/sessions", body)
            #expect(refused.status == 400 && refused.text.contains(#""pointer":"\#(member)""#), "\(refused.text)")
        }
    }

    @Test("Rows can be added, updated and removed, and the notification says what has changed")
    func rowCalls() throws {
        let client = try opened()
        let added = try client.request("POST", "/v1/sessions/s/rows", #"{"at":[0,1],"model":{"id":3}}"#)
        #expect(
            added.text
                == #"{"revision":1,"outcome":"applied","notification":{"section":0},"update":{"from":0,"to":1,"stages":[{"insertRows":[{"at":[0,1],"row":\#(row(3))}]}],"totalRowCount":4}}"#
        )
        #expect(added.header("etag")?.hasSuffix(#".1""#) == true)
        let section = try client.request("POST", "/v1/sessions/s/rows", #"{"at":[9,9],"model":{"id":4}}"#)
        #expect(
            section.text.contains(
                #""notification":{"dataSource":true},"update":{"from":1,"to":2,"stages":[{"insertSections":[{"at":2,"section":{"id":"s3","#
            ))
        #expect(
            try client.request("PUT", "/v1/sessions/s/rows/0/0", #"{"model":{"id":1,"n":2}}"#).text.contains(
                #""notification":{"rows":[[0,0]]},"update":{"from":2,"to":3,"stages":[{"reloadRows":[{"at":[0,0]"#))
        #expect(
            try client.request(
                "PATCH", "/v1/sessions/s/rows",
                #"{"rows":[{"at":[0,2],"model":{"id":8}},{"at":[1,7],"model":1},{"at":[0,0],"model":{"id":9}}]}"#
            ).text.contains(#""notification":{"rows":[[0,2],[0,0]]}"#))
        #expect(
            try client.request("PUT", "/v1/sessions/s/sections/1/rows", #"{"rows":["y","z"]}"#).text.contains(
                #""notification":{"rows":[[1,0],[1,1]]}"#))
        #expect(
            try client.request("DELETE", "/v1/sessions/s/rows/2/0").text.contains(
                #""notification":{"dataSource":true},"update":{"from":5,"to":6,"stages":[{"deleteSections":[2]}]"#))
        #expect(
            try client.get("/v1/sessions/s/snapshot").text.contains(
                #""rows":[\#(row(9)),\#(row(3)),\#(row(8))]},{"id":"s2","header":null,"footer":null,"rowCount":2,"diffable":false,"rows":[{"cell":"string","model":"y"},{"cell":"string","model":"z"}]}]"#
            ))
        #expect(
            try client.get("/v1/sessions/s/journal?limit=1").text.contains(
                #""command":{"dataSource":{"addRow":{"at":[0,1],"model":{"id":3}}}}"#))
    }

    /// It is alone in the last node of the tree (`PersistentListTests.removals`).
    @Test("The last of 1,537 rows can be removed, and the table then has 1,536 rows")
    func lastOfManyRows() throws {
        let rows = (0..<1_537).map { #"{"id":\#($0)}"# }.joined(separator: ",")
        let client = try opened(#"{"id":"s","rows":[\#(rows)]}"#)
        #expect(try client.request("DELETE", "/v1/sessions/s/rows/0/1536").status == 200)
        let snapshot = try client.get("/v1/sessions/s/snapshot")
        #expect(snapshot.object["totalRowCount"] as? Int == 1_536 && snapshot.text.contains(row(1535)))
    }

    @Test("Sections can be added, updated and removed, and the notification says what has changed")
    func sectionCalls() throws {
        let client = try opened()
        #expect(
            try client.request(
                "POST", "/v1/sessions/s/sections", #"{"section":{"header":"N","rows":[{"id":7}]},"at":1}"#
            ).text
                == #"{"revision":1,"outcome":"applied","notification":{"dataSource":true},"update":{"from":0,"to":1,"stages":[{"insertSections":[{"at":1,"section":{"id":"s3","header":{"title":"N"},"footer":null,"rowCount":1,"rows":[\#(row(7))]}}]}],"totalRowCount":4}}"#
        )
        #expect(
            try client.request("POST", "/v1/sessions/s/sections", #"{"section":{"id":"last","rows":[]},"at":null}"#)
                .text.contains(#""insertSections":[{"at":3,"section":{"id":"last""#))
        #expect(
            try client.request("PUT", "/v1/sessions/s/sections/1/data", #"{"header":"M","footer":null}"#).text
                == #"{"revision":3,"outcome":"applied","notification":{"section":1},"update":{"from":2,"to":3,"stages":[{"updateSections":[{"at":1,"header":{"title":"M"}}]}],"totalRowCount":4}}"#
        )
        #expect(try client.get("/v1/sessions/s/sections/1/data").text == #"{"header":"M","footer":null}"#)
        #expect(
            try client.request(
                "PUT", "/v1/sessions/s/sections/1", #"{"footer":{"view":"V"},"rows":[{"id":7},{"id":8}]}"#
            ).text.contains(#""notification":{"section":1}"#))
        #expect(try client.get("/v1/sessions/s/sections/1/data").text == #"{"header":null,"footer":{"view":"V"}}"#)
        #expect(try client.request("DELETE", "/v1/sessions/s/sections/0").text.contains(#""deleteSections":[0]"#))
        #expect(
            try client.request(
                "PUT", "/v1/sessions/s/sections", #"{"sections":[{"rows":[{"id":8}]},{"id":"last","rows":[1]}]}"#
            ).text.contains(#""notification":{"dataSource":true}"#))
        #expect(
            try client.get("/v1/sessions/s/snapshot").text.contains(
                #""sections":[{"id":"s3","header":null,"footer":null,"rowCount":1,"rows":[\#(row(8))]},{"id":"last","#))
        #expect(
            try client.request("DELETE", "/v1/sessions/s/sections").text
                == #"{"revision":7,"outcome":"applied","notification":{"dataSource":true},"update":{"from":6,"to":7,"stages":[{"deleteSections":[0,1]}],"totalRowCount":0}}"#
        )
    }

    @Test("A call for a row or section that does not exist changes nothing, and reading it gets 404")
    func outOfBounds() throws {
        let client = try opened()
        for (method, path, body) in [
            ("PUT", "rows/0/2", #"{"model":1}"#), ("PUT", "rows/2/0", #"{"model":1}"#),
            ("PUT", "sections/2/rows", #"{"rows":[]}"#),
            ("PATCH", "rows", #"{"rows":[{"at":[0,0],"model":{"id":5}},{"at":[2,0],"model":1}]}"#),
            ("DELETE", "rows/0/2", nil), ("DELETE", "rows/99999999999999999999/0", nil),
            ("PUT", "sections/2/data", #"{"header":"X"}"#), ("PUT", "sections/2", #"{"rows":[]}"#),
            ("DELETE", "sections/2", nil),
        ] as [(String, String, String?)] {
            let answer = try client.request(method, "/v1/sessions/s/\(path)", body)
            #expect(answer.status == 200)
            #expect(
                answer.text.hasPrefix(#"{"revision":0,"outcome":"ignored","reason":""#),
                "\(method) \(path): \(answer.text)")
            #expect(
                answer.text.hasSuffix(
                    #","notification":null,"update":{"from":0,"to":0,"stages":[],"totalRowCount":3}}"#))
        }
        for rows in ["", #"{"at":[0,2],"model":1}"#] {
            #expect(
                try client.request("PATCH", "/v1/sessions/s/rows", #"{"rows":[\#(rows)]}"#).text
                    == #"{"revision":0,"outcome":"unchanged","notification":{"rows":[]},"update":{"from":0,"to":0,"stages":[],"totalRowCount":3}}"#
            )
        }
        #expect(try client.get("/v1/sessions/s/rows/0/1").text == #"{"model":{"id":2}}"#)
        #expect(try client.get("/v1/sessions/s/rows/1/0").text == #"{"model":"x"}"#)
        for (path, problem) in [
            ("rows/0/2", "row-not-found"), ("rows/2/0", "section-not-found"), ("sections/2/data", "section-not-found"),
        ] {
            let answer = try client.get("/v1/sessions/s/\(path)")
            #expect(answer.status == 404 && answer.text.contains("/problems/\(problem)"))
        }
        #expect(try client.get("/v1/sessions/none/rows/0/0").status == 404)
        #expect(try client.request("DELETE", "/v1/sessions/none/rows/0/0").status == 404)
    }

    @Test("A malformed call of the data source is refused and changes nothing")
    func malformedCalls() throws {
        let client = try opened()
        for (method, path, body, status) in [
            ("PUT", "rows/-1/0", #"{"model":1}"#, 400), ("PUT", "rows/0/x", #"{"model":1}"#, 400),
            ("GET", "rows/0/1.0", nil, 400), ("GET", "rows/+1/0", nil, 400),
            ("GET", "sections/x/data", nil, 404), ("DELETE", "sections/-1", nil, 400),
            ("POST", "rows", #"{"at":[0,-1],"model":1}"#, 400),
            ("POST", "rows", #"{"at":[0],"model":1}"#, 400), ("POST", "rows", #"{"at":[0,0.5],"model":1}"#, 400),
            ("POST", "rows", #"{"model":1}"#, 400),
            ("POST", "rows", #"{"at":[0,0]}"#, 400), ("PUT", "rows/0/0", #"{"at":[0,0],"model":1}"#, 400),
            ("PUT", "rows/0/0", #"{"model":1,"more":1}"#, 400),
            ("PUT", "rows/0/0?notify=maybe", #"{"model":1}"#, 400),
            ("PUT", "rows/0/0?notify", #"{"model":1,"notify":true}"#, 400),
            ("PUT", "rows/0/0", #"{"model":1,"notify":1}"#, 400),
            ("PATCH", "rows", #"{"rows":[{"at":[0,0],"model":1},{"at":[0,0],"model":1}]}"#, 400),
            ("POST", "sections", #"{"section":{"rows":[],"title":1}}"#, 400),
            ("POST", "sections", #"{"section":{"id":"s1","rows":[]}}"#, 400),
            ("POST", "sections", #"{"section":{"rows":[]},"at":-1}"#, 400),
            ("PUT", "sections/0", #"{"rows":[],"id":"x"}"#, 400),
            ("PUT", "cells-for-model-types/x", #"{"cell":1}"#, 400),
            ("PUT", "cells-for-model-types/x?notify=false", #"{"cell":"C"}"#, 400), ("DELETE", "rows/0/0", "[]", 400),
            ("PUT", "rows/0/0", #"{"model":{"id":2}}"#, 422), ("PATCH", "rows/0/0", "{}", 405),
        ] as [(String, String, String?, Int)] {
            let answer = try client.request(method, "/v1/sessions/s/\(path)", body)
            #expect(answer.status == status, "\(method) \(path) \(body ?? ""): \(answer.text)")
        }
        #expect(try client.get("/v1/sessions/s").object["revision"] as? Int == 0)
        let fault = try client.request(
            "PUT", "/v1/sessions/s/sections", #"{"sections":[{"rows":[]},{"rows":[],"header":7}]}"#)
        #expect((fault.object["errors"] as? [[String: String]])?.first?["pointer"] == "/sections/1/header")
    }

    @Test("Calls of the data source support dry runs, forms, conditions, preferences and idempotency keys")
    func requestOptions() throws {
        let client = try opened()
        let etag = try #require(try client.get("/v1/sessions/s/snapshot").header("etag"))
        #expect(
            try client.request("DELETE", "/v1/sessions/s/rows/0/0?dryRun").text.contains(
                #""revision":1,"outcome":"applied","notification":{"dataSource":true}"#))
        #expect(try client.get("/v1/sessions/s/snapshot").header("etag") == etag)
        #expect(
            try client.request("DELETE", "/v1/sessions/s/rows/0/0?form=sequential", headers: ["If-Match": etag]).text
                .contains(#""operations":[{"deleteRow":[0,0]}]"#))
        #expect(try client.request("DELETE", "/v1/sessions/s/rows/0/0", headers: ["If-Match": etag]).status == 412)
        #expect(
            try client.request(
                "PUT", "/v1/sessions/s/rows/0/0", #"{"model":{"id":5}}"#, headers: ["Prefer": "return=minimal"]
            ).status == 204)
        #expect(
            try client.request(
                "PUT", "/v1/sessions/s/rows/0/0", #"{"model":{"id":6}}"#, headers: ["Prefer": "return=representation"]
            ).text == client.get("/v1/sessions/s/snapshot").text)
        let once = try client.request(
            "POST", "/v1/sessions/s/rows", #"{"at":[0,0],"model":{"id":7}}"#, headers: ["Idempotency-Key": "k"])
        let again = try client.request(
            "POST", "/v1/sessions/s/rows", #"{"at":[0,0],"model":{"id":7}}"#, headers: ["Idempotency-Key": "k"])
        #expect(once.status == 200 && again.text == once.text && again.header("idempotent-replayed") == "true")
        #expect(once.text.contains(#""notification":{"section":0}"#))
        let transaction = try client.request(
            "POST", "/v1/sessions/s/transactions",
            #"{"commands":[{"dataSource":{"addRow":{"at":[0,0],"model":{"id":1}}}},{"edits":{"delete":{"id":"1"}}}]}"#)
        #expect(
            transaction.status == 403, "the edits of participants are bound by the table, and this one binds no editing"
        )
    }

    @Test("Registering another cell for a model type reloads the rows with models of this type")
    func cellsForModelTypes() throws {
        let client = try opened()
        #expect(
            try client.request("PUT", "/v1/sessions/s/cells-for-model-types/string", #"{"cell":"TextCell"}"#).text
                == #"{"revision":1,"outcome":"applied","notification":null,"update":{"from":0,"to":1,"stages":[{"reloadSections":[{"at":1,"section":{"id":"s2","header":null,"footer":null,"rowCount":1,"diffable":false,"rows":[{"cell":"TextCell","model":"x"}]}}]}],"totalRowCount":3}}"#
        )
        #expect(
            try client.request("PUT", "/v1/sessions/s/cells-for-model-types/string", #"{"cell":"TextCell"}"#).object[
                "outcome"] as? String == "unchanged")
        let table =
            #"{"table":"t","cells":{"C":{},"D":{}},"cellsForModelTypes":{"object":"C"},"bindings":[{"cell":{"byModelType":true},"models":[{"id":1}]}]}"#
        #expect(try client.request("POST", "/v1/sessions", #"{"id":"t","table":\#(table)}"#).status == 201)
        #expect(
            try client.request("PUT", "/v1/sessions/t/cells-for-model-types/object", #"{"cell":"D"}"#).text.contains(
                #""reloadRows":[{"at":[0,0],"row":\#(row(1, "D"))}]"#))
        #expect(
            try client.request("PUT", "/v1/sessions/t/cells-for-model-types/object", #"{"cell":"E"}"#).status == 400)
        let declared = try client.request("POST", "/v1/sessions/t/sections", #"{"section":{"rows":[]}}"#)
        #expect(declared.status == 409 && declared.text.contains("/problems/sections-are-declared"))
        #expect(
            try client.request("POST", "/v1/sessions/t/rows", #"{"at":[0,0],"model":{"id":2}}"#).object["outcome"]
                as? String == "applied")
    }

    @Test("Unpublished changes survive a kill of the server, and stay unpublished until the next command")
    func unpublishedChanges() throws {
        let directory = try TemporaryDirectory()
        var server = try ServerProcess(database: directory.path("braid.sqlite"))
        var client = try server.client()
        try client.request("POST", "/v1/sessions", Self.opening)
        try client.request("PUT", "/v1/sessions/s/cells-for-model-types/string", #"{"cell":"TextCell"}"#)
        let seen = try client.get("/v1/sessions/s/snapshot").text
        for (method, path, body) in [
            ("POST", "rows", #"{"at":[0,0],"model":{"id":3},"notify":false}"#),
            ("PUT", "rows/0/1?notify=false", #"{"model":{"id":1,"n":1}}"#),
            ("DELETE", "rows/1/0?notify=false", nil),
            ("POST", "sections", #"{"section":{"header":"N","rows":["y"]},"at":0,"notify":false}"#),
        ] as [(String, String, String?)] {
            let answer = try client.request(method, "/v1/sessions/s/\(path)", body)
            #expect(
                answer.text.contains(#""outcome":"applied","notification":null"#)
                    && answer.text.contains(#""stages":[]"#), "\(answer.text)")
        }
        let before = try client.get("/v1/sessions/s/snapshot")
        #expect(before.text == seen.replacingOccurrences(of: #""revision":1"#, with: #""revision":5"#))
        server.kill()

        server = try ServerProcess(database: directory.path("braid.sqlite"))
        client = try server.client()
        let after = try client.get("/v1/sessions/s/snapshot")
        #expect(after.text == before.text && after.header("etag") == before.header("etag"))
        #expect(try client.get("/v1/sessions/s/rows/0/0").text == #"{"model":"y"}"#)
        #expect(try client.get("/v1/sessions/s/sections/0/data").text == #"{"header":"N","footer":null}"#)
        #expect(
            try client.request("POST", "/v1/sessions/s/rows", #"{"at":[1,9],"model":{"id":4}}"#).text
                == #"{"revision":6,"outcome":"applied","notification":{"section":1},"update":{"from":5,"to":6,"stages":[{"deleteSections":[1],"insertSections":[{"at":0,"section":{"id":"s3","header":{"title":"N"},"footer":null,"rowCount":1,"diffable":false,"rows":[{"cell":"TextCell","model":"y"}]}}],"insertRows":[{"at":[1,0],"row":\#(row(3))},{"at":[1,3],"row":\#(row(4))}],"reloadRows":[{"at":[0,0],"row":{"id":"1","cell":"object","model":{"id":1,"n":1}}}]}],"totalRowCount":5}}"#
        )
        let updates = try client.get("/v1/sessions/s/updates?since=1").object
        #expect((updates["updates"] as? [[String: Any]])?.map { ($0["stages"] as? [Any])?.count } == [0, 0, 0, 0, 1])
    }

    @Test(
        "With `strict`, a data source call that would be ignored is refused, and its repetition gets the same refusal"
    )
    func strictCalls() throws {
        let client = try opened()
        for (method, path, body, problem) in [
            ("DELETE", "rows/0/9", nil, "row-not-found"), ("DELETE", "rows/9/0", nil, "section-not-found"),
            ("PATCH", "rows", #"{"rows":[{"at":[9,0],"model":1}]}"#, "section-not-found"),
            (
                "POST", "transactions", #"{"commands":[{"dataSource":{"removeRow":{"at":{"id":"none"}}}}]}"#,
                "row-not-found"
            ),
        ] as [(String, String, String?, String)] {
            #expect(
                try client.request(method, "/v1/sessions/s/\(path)", body).object["outcome"] as? String == "ignored")
            for _ in 0..<2 {
                let refused = try client.request(
                    method, "/v1/sessions/s/\(path)?strict", body, headers: ["Idempotency-Key": path])
                #expect(refused.status == 404 && refused.text.contains("/problems/\(problem)"), "\(refused.text)")
            }
        }
        #expect(try client.request("PUT", "/v1/sessions/s/models?strict", "{}").status == 400)
        #expect(try client.get("/v1/sessions/s").object["revision"] as? Int == 0)
    }
}
