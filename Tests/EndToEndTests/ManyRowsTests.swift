import Foundation
import TestSupport
import Testing

/// Many rows in one request, and the sections that paths name.
@Suite(.serialized) struct ManyRowsTests {
    private static let session = "/v1/sessions/s"
    private static let opening =
        #"{"id":"s","sections":[{"id":"todo","rows":[{"id":"milk"},{"id":"tea"}]},{"id":"done","rows":[{"id":"rye"}]}]}"#

    private func opened(_ body: String = opening, options: [String] = []) throws -> KeptClient {
        let client = try ServerProcess(options).keptClient()
        #expect(try client.request("POST", "/v1/sessions", body).status == 201)
        return client
    }

    private func ids(_ client: KeptClient) throws -> [String] {
        let sections = try client.get(Self.session + "/snapshot").object["sections"] as? [[String: Any]] ?? []
        return sections.map { section in
            let rows = (section["rows"] as? [[String: Any]] ?? []).map { $0["id"] as? String ?? "-" }
            return "\(section["id"] ?? ""): \(rows.joined(separator: " "))"
        }
    }

    private func tally(_ section: String, _ inserted: Int, _ replaced: Int, _ moved: Int, _ unchanged: Int) -> String {
        #""rows":{"section":"\#(section)","inserted":\#(inserted),"replaced":\#(replaced),"moved":\#(moved),"unchanged":\#(unchanged)},"update""#
    }

    @Test("Several rows are inserted with one request, as JSON or as lines, and the answer says how many")
    func inserting() throws {
        let client = try opened(), path = Self.session + "/sections/todo/rows"
        let body = #"{"models":[{"id":"a"},{"id":"b"}],"at":{"after":"milk"}}"#
        let dry = try client.request("POST", path + "?dryRun", body)
        #expect(dry.status == 201 && dry.text.contains(tally("todo", 2, 0, 0, 0)), "\(dry.text)")
        for isRepeated in [false, true] {
            let made = try client.request("POST", path, body, headers: ["Idempotency-Key": "k"])
            #expect(
                made.status == 201 && made.header("location") == nil && made.text.contains(tally("todo", 2, 0, 0, 0)))
            #expect(made.text.contains(#""notification":{"section":0}"#))
            #expect((made.header("idempotent-replayed") == "true") == isRepeated)
        }
        let lines = ["Content-Type": "application/x-ndjson; charset=utf-8"]
        let made = try client.request("POST", path, "{\"id\":\"c\"}\r\n\n  {\"id\" : \"d\"}", headers: lines)
        #expect(made.status == 201 && made.text.contains(tally("todo", 2, 0, 0, 0)), "\(made.text)")
        #expect(try ids(client) == ["todo: milk a b tea c d", "done: rye"])
        #expect(try client.request("POST", path, "\n", headers: lines).text.contains(#""outcome":"unchanged""#))
        let silent = try client.request("POST", path + "?notify=false", #"{"id":"e"}"#, headers: lines)
        #expect(silent.status == 201 && silent.text.contains(#""notification":null"#))
        for (body, status, problem) in [
            ("{\"id\":\"x\"}\n{\"id\":", 400, "line 2, column 7"), ("{\"id\":\"x\"} {}", 400, "line 1, column 12"),
            ("{\"id\":\"x\"}\n\n{\"id\":\"tea\"}", 422, #""pointer":"/models/1/id","code":"duplicate""#),
        ] {
            let refused = try client.request("POST", path, body, headers: lines)
            #expect(refused.status == status && refused.text.contains(problem), "\(refused.text)")
        }
        #expect(try client.request("PUT", Self.session + "/rows", "{}", headers: lines).status == 415)
        let type = try client.request("POST", path, "{}", headers: ["Content-Type": "text/plain"])
        #expect(type.status == 415 && type.header("accept") == "application/json, application/x-ndjson")
    }

    @Test("Rows are put by their ids, in whichever section they are, also after a restart and in a replay")
    func putting() throws {
        let directory = try TemporaryDirectory(), database = directory.path("braid.db")
        var server = try ServerProcess(database: database), client = try server.keptClient()
        #expect(try client.request("POST", "/v1/sessions", Self.opening).status == 201)
        let path = Self.session + "/rows"
        let body = #"{"section":"todo","models":[{"id":"oat"},{"id":"rye","n":1},{"id":"tea","n":1},{"id":"milk"}]}"#
        let tag = try #require(try client.get(Self.session + "/snapshot").header("etag"))
        let put = try client.request("PUT", path, body, headers: ["If-Match": tag])
        #expect(put.status == 200 && put.text.contains(tally("todo", 1, 2, 0, 1)), "\(put.text)")
        #expect(put.text.contains(#""notification":{"dataSource":true}"#))
        #expect(try client.request("PUT", path, body, headers: ["If-Match": tag]).status == 412)
        #expect(try ids(client) == ["todo: milk tea oat", "done: rye"])
        server.stop()
        server = try ServerProcess(database: database)
        client = try server.keptClient()
        let again = try client.request("PUT", path, body)
        #expect(again.text.contains(#""outcome":"unchanged""#) && again.text.contains(tally("todo", 0, 0, 0, 4)))
        let moved = try client.request(
            "PUT", path,
            #"{"section":"todo","at":"start","move":true,"models":[{"id":"rye","n":1},{"id":"tea","n":1}]}"#)
        #expect(moved.text.contains(tally("todo", 0, 0, 1, 1)), "\(moved.text)")
        #expect(try ids(client) == ["todo: rye milk tea oat", "done: "])
        let transaction = try client.request(
            "POST", Self.session + "/transactions",
            #"{"commands":[{"dataSource":{"putRows":{"section":"new","models":[{"id":"fig"}]}}},{"dataSource":{"insertRow":{"section":"new","at":0,"models":[{"id":"egg"}]}}}]}"#
        )
        #expect(transaction.status == 200 && !transaction.text.contains(#""rows":{"section""#))
        #expect(try ids(client) == ["todo: rye milk tea oat", "done: ", "new: egg fig"])
        let snapshot = try client.get(Self.session + "/snapshot").text, journal = directory.path("journal.ndjson")
        try client.get(Self.session + "/journal", headers: ["Accept": "application/x-ndjson"]).text.write(
            toFile: journal, atomically: true, encoding: .utf8)
        #expect(try CommandRun(["replay", journal]).output == snapshot + "\n")
        #expect(try client.get(Self.session + "/snapshot?at=1").text.contains(#"{"id":"rye","n":1}"#))
        #expect(try client.request("POST", Self.session + "/reset").status == 200)
        #expect(try ids(client) == ["todo: milk tea", "done: rye"])
    }

    @Test("Many rows may fill a session up to its limit, but not exceed it")
    func limitOfRows() throws {
        let client = try opened(options: ["--max-rows", "5"])
        for (method, path, body) in [
            ("POST", "/sections/todo/rows", #"{"models":[{"id":"a"},{"id":"b"},{"id":"c"}]}"#),
            ("PUT", "/rows", #"{"section":"todo","models":[{"id":"tea"},{"id":"a"},{"id":"b"},{"id":"c"}]}"#),
        ] {
            let refused = try client.request(method, Self.session + path, body)
            #expect(refused.status == 422 && refused.text.contains("/problems/too-many-rows"), "\(refused.text)")
            #expect(try ids(client) == ["todo: milk tea", "done: rye"])
            let fitting = body.replacingOccurrences(of: #",{"id":"c"}"#, with: "")
            let full = try client.request(method, Self.session + path + "?dryRun", fitting)
            #expect(full.object["outcome"] as? String == "applied", "\(full.text)")
        }
    }

    @Test("`{section}` means the same section in all paths: its id, or its index if no id is a number")
    func sectionsOfPaths() throws {
        func shown(_ client: KeptClient, _ name: String) throws -> [String] {
            let path = Self.session + "/sections/\(name)"
            for (method, path, body) in [
                ("PUT", path + "/rows", #"{"rows":[{"id":"a"}]}"#), ("POST", path + "/rows", #"{"model":{"id":"b"}}"#),
                ("PUT", path + "/rows/c", #"{"id":"c"}"#), ("PATCH", path + "/rows/c", #"{"n":1}"#),
                ("PUT", path + "/data", #"{"header":"H"}"#), ("DELETE", path + "/rows/a", nil),
            ] as [(String, String, String?)] {
                let answer = try client.request(method, path, body)
                #expect(answer.text.contains(#""outcome":"applied""#), "\(method) \(path): \(answer.text)")
            }
            #expect(try client.get(path + "/rows/c").text == #"{"id":"c","n":1}"#)
            #expect(try client.get(path + "/data").object["header"] as? String == "H")
            return try ids(client)
        }
        #expect(try shown(opened(), "0") == ["todo: b c", "done: rye"])
        #expect(try shown(opened(), "done") == ["todo: milk tea", "done: b c"])
        let numbered = #"{"id":"s","sections":[{"id":"1","rows":[]},{"id":"0","rows":[]},{"id":"x","rows":[]}]}"#
        let client = try opened(numbered)
        #expect(try shown(client, "0") == ["1: ", "0: b c", "x: "])
        // Repeated, it does not mean the section with the index.
        for outcome in ["applied", "ignored"] {
            let removed = try client.request("DELETE", Self.session + "/sections/0")
            #expect(removed.object["outcome"] as? String == outcome)
        }
        #expect(try client.request("POST", Self.session + "/sections/2/rows", #"{"model":{"id":"n"}}"#).status == 201)
        #expect(try ids(client) == ["1: ", "x: ", "2: n"])
        for (method, path, body) in [
            ("POST", "/rows", #"{"model":{"id":"b"}}"#), ("PUT", "/rows/c", #"{"id":"c"}"#),
            ("PATCH", "/rows/c", "{}"), ("DELETE", "/rows/c", nil), ("GET", "/rows/c", nil), ("GET", "/data", nil),
        ] as [(String, String, String?)] {
            let client = try opened()
            for (section, status) in [("2", 404), ("99999999999999999999", 404), ("-1", 400)] {
                let refused = try client.request(method, Self.session + "/sections/\(section)" + path, body)
                #expect(refused.status == status, "\(method) \(section)\(path): \(refused.text)")
            }
        }
    }

    @Test("With `base`, a call of the data source finds a row whose old section is not displayed any more")
    func rowsOfVanishedSections() throws {
        let table =
            #"{"table":"t","sections":["a","c"],"sectionDisplay":{"behavior":"hidesSectionsWithNoCellData"},"cells":{"C":{}},"bindings":[{"on":{"sections":["a","c"]},"cell":"C","models":{"a":[{"id":"x"}],"c":[{"id":"m"}]},"moving":{"to":"anySection"}}]}"#
        for (method, path, body) in [
            ("PUT", "rows/1/0", #"{"model":{"id":"m","v":1}}"#), ("DELETE", "rows/1/0", nil),
            ("POST", "rows", #"{"at":[1,0],"model":{"id":"n"}}"#),
            ("POST", "rows", #"{"at":["c",0],"model":{"id":"n"}}"#),
            ("PATCH", "rows", #"{"rows":[{"at":[1,0],"model":{"id":"m","v":1}}]}"#),
            ("PATCH", "rows", #"{"rows":[{"at":["c",0],"model":{"id":"m","v":1}}]}"#),
        ] as [(String, String, String?)] {
            let client = try opened(#"{"id":"s","table":\#(table)}"#)
            #expect(
                try client.request("POST", Self.session + "/moves", #"{"from":{"id":"m"},"to":["a",1]}"#).status == 200)
            let answer = try client.request(method, Self.session + "/\(path)?base=0", body)
            #expect(answer.status == 200 && answer.object["outcome"] as? String == "applied", "\(answer.text)")
            if method != "PATCH" { #expect(answer.object["at"] as? [Int] == [0, 1], "\(answer.text)") }
            #expect(try ids(client) == [method == "POST" ? "a: x n m" : method == "DELETE" ? "a: x" : "a: x m"])
            let gone = try opened(#"{"id":"s","table":\#(table)}"#)
            #expect(try gone.request("DELETE", Self.session + "/rows/1/0").status == 200)
            let refused = try gone.request(method, Self.session + "/\(path)?base=0", body)
            #expect(refused.status == 409 && refused.text.contains("/problems/row-gone"), "\(refused.text)")
        }
    }

    @Test("With `strict`, a list of rows of which one does not exist is refused, and the refusal points to it")
    func strictList() throws {
        let client = try opened()
        for (at, detail) in [
            ("[0,2]", "no row 2"), (#"{"id":"none"}"#, "none"), (#"{"id":"rye","section":"todo"}"#, "rye"),
        ] {
            let body = #"{"rows":[{"at":[1,0],"model":{"id":"new"}},{"at":\#(at),"model":{"id":"x"}}]}"#
            let refused = try client.request("PATCH", Self.session + "/rows?strict", body)
            #expect(refused.status == 404 && refused.text.contains("/problems/row-not-found"), "\(refused.text)")
            #expect(refused.text.contains(#""pointer":"/rows/1/at""#) && refused.text.contains(detail))
            #expect(try ids(client) == ["todo: milk tea", "done: rye"])
            let dry = try client.request("PATCH", Self.session + "/rows?dryRun", body)
            #expect(dry.object["outcome"] as? String == "applied")
        }
    }
}
