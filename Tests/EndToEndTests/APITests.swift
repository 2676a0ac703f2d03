import Foundation
import Testing

@Suite(.serialized) struct APITests {
    static let list =
        #"{"table":"list","sections":["a","b"],"cells":{"C":{}},"bindings":[{"on":{"sections":["a","b"]},"cell":"C","models":{"a":[{"id":"1","n":1.10},{"id":"2","n":2}],"b":[]},"editing":"delete","moving":{"to":"anySection"}}]}"#

    @Test("A table can be registered, replaced, listed and deleted, and only a changed description is a new version")
    func tableLifeCycle() throws {
        let client = try ServerProcess().keptClient()
        let created = try client.request("PUT", "/v1/tables/list", Self.list)
        #expect(created.status == 201)
        #expect(created.header("location") == "/v1/tables/list")
        #expect(created.text == #"{"table":"list","version":1}"#)
        #expect(
            try client.request("PUT", "/v1/tables/list", Self.list).text == #"{"table":"list","version":1}"#,
            "the same description is no new version")
        let replaced = try client.request(
            "PUT", "/v1/tables/list", Self.list.replacingOccurrences(of: "1.10", with: "1.20"))
        #expect(replaced.status == 200)
        #expect(replaced.text == #"{"table":"list","version":2}"#)
        #expect(try client.get("/v1/tables/list").text == Self.list.replacingOccurrences(of: "1.10", with: "1.20"))
        let tables = try client.get("/v1/tables").object["tables"] as? [[String: Any]]
        #expect(tables?.count == 1)
        #expect(tables?.first?["table"] as? String == "list")
        #expect(try client.request("DELETE", "/v1/tables/list").status == 204)
        #expect(try client.request("DELETE", "/v1/tables/list").status == 404)
        #expect(try client.get("/v1/tables/list").status == 404)
    }

    @Test("The refusal of a table description contains the JSON pointers of all its faults")
    func descriptionFaults() throws {
        let client = try ServerProcess().keptClient()
        let response = try client.request(
            "PUT", "/v1/tables/x",
            #"{"table":"x","sectons":["a"],"bindings":[{"on":{"section":"nope"},"cell":"C","models":[]},{"modles":[]}]}"#
        )
        #expect(response.status == 422)
        let errors = (response.object["errors"] as? [[String: String]] ?? []).compactMap { $0["pointer"] }
        #expect(errors.contains("/sectons"))
        #expect(errors.contains("/bindings/0/on/section"))
        #expect(errors.contains("/bindings/1/modles"))
    }

    @Test("The pointers to the faults of a description inside another request start at the root of the request")
    func inlineDescriptionFaults() throws {
        let client = try ServerProcess().keptClient()
        let response = try client.request(
            "POST", "/v1/sessions", #"{"table":{"table":"x","cells":{},"bindings":[{"cell":"C","models":[]}]}}"#)
        let errors = response.object["errors"] as? [[String: String]]
        #expect(
            response.status == 422 && errors?.map { $0["pointer"] } == ["/table/bindings/0/cell"], "\(response.text)")
    }

    /// The request does not contain what the description made: a pointer into it would mislead.
    @Test("If the description makes a faulty model or view model, the refusal does not point into the request")
    func faultyMadeModel() throws {
        let client = try ServerProcess().keptClient()
        let table = #"""
            {"table":"t","sections":["a","d","e"],"modelTypes":{"P":{"id":"/id","schema":{"properties":{"id":{"type":"string"},"n":{"type":"int8"}}}}},"cells":{"C":{},"V":{"viewModel":{"type":"string"}}},
             "bindings":[{"on":{"section":"a"},"cell":"C","models":[{"id":"1","n":1}],"onTap":[{"update":{"merge":{"id":1.5}}}]},
              {"on":{"section":"d"},"cell":"C","modelType":"P","modelsFrom":{"$eval":"models.a"}},{"on":{"section":"e"},"cell":"V","models":[],"viewModel":{"$eval":"model.v"}}]}
            """#
        try #require(try client.request("POST", "/v1/sessions", #"{"id":"x","table":\#(table)}"#).status == 201)
        for (method, path, body, maker, pointersInDescription) in [
            ("PATCH", "models", #"{"a":[{"id":"1","n":"one"}]}"#, #"`modelsFrom` of the section "d""#, []),
            ("POST", "taps", #"{"at":{"section":"a","row":0}}"#, #"handler of the section "a""#, []),
            ("PATCH", "models", #"{"e":[{"id":"1","v":1}]}"#, #"the section "e""#, ["/cells/V/viewModel/type"]),
        ] as [(String, String, String, String, [String])] {
            func pointers(_ answer: HTTPClient.Response) -> [String] {
                (answer.object["errors"] as? [[String: Any]] ?? []).compactMap { $0["pointer"] as? String }
            }
            let refused = try client.request(method, "/v1/sessions/x/\(path)", body)
            #expect(refused.status == 422 && pointers(refused) == pointersInDescription, "\(refused.text)")
            #expect((refused.object["detail"] as? String)?.contains(maker) == true, "\(refused.text)")
            // In a transaction, the pointer names the failed command.
            let transaction = try client.request(
                "POST", "/v1/sessions/x/transactions", #"{"commands":[{"\#(path)":\#(body)}]}"#)
            #expect(pointers(transaction) == ["/commands/0"] + pointersInDescription, "\(transaction.text)")
        }
        // Not that the id is unknown: another section displays a row with it.
        #expect(
            try client.request("POST", "/v1/sessions/x/taps", #"{"at":{"id":"1","section":"e"}}"#).object["detail"]
                as? String == #"No displayed row of the section "e" has the id "1". Get the snapshot."#)
    }

    @Test("A session can be opened, listed page by page and ended, and an id that is used again gets a new epoch")
    func sessionLifeCycle() throws {
        let client = try ServerProcess().keptClient()
        try client.request("PUT", "/v1/tables/list", Self.list)
        let opened = try client.request(
            "POST", "/v1/sessions", #"{"table":"list","id":"s1","models":{"b":[{"id":"9","n":1e400}]},"state":{"x":1}}"#
        )
        #expect(opened.status == 201)
        #expect(opened.header("location") == "/v1/sessions/s1")
        #expect(opened.text == (try client.get("/v1/sessions/s1/snapshot").text))
        #expect(opened.text.contains(#""n":1.10"#) && opened.text.contains(#""n":1e400"#), "numbers digit for digit")
        #expect(opened.text.hasSuffix(#""state":{"x":1}}"#))
        for id in ["s2", "s3"] {
            #expect(try client.request("POST", "/v1/sessions", #"{"table":"list","id":"\#(id)"}"#).status == 201)
        }
        #expect(
            try client.request("POST", "/v1/sessions", #"{"table":\#(Self.list)}"#).status == 201,
            "an inline description, an id of the server's choosing")
        let first = try client.get("/v1/sessions?limit=2").object
        #expect((first["sessions"] as? [[String: Any]])?.count == 2)
        let next = try #require(first["next"] as? String)
        let second = try client.get("/v1/sessions?limit=2&after=\(next)").object
        #expect((second["sessions"] as? [[String: Any]])?.count == 2)
        #expect(second["next"] == nil)
        let facts = try client.get("/v1/sessions/s1").object
        #expect(facts["table"] as? String == "list")
        #expect(facts["totalRowCount"] as? Int == 3)
        #expect(try client.request("DELETE", "/v1/sessions/s1").status == 204)
        #expect(try client.get("/v1/sessions/s1/snapshot").status == 404)
        #expect(try client.request("DELETE", "/v1/sessions/s1").status == 404)
        let again = try client.request("POST", "/v1/sessions", #"{"table":"list","id":"s1"}"#)
        #expect(again.header("etag") != opened.header("etag"), "an epoch is never used again")
    }

    @Test("A snapshot can be requested as a window of rows, and is not sent again if the client has its ETag")
    func snapshotRequests() throws {
        let client = try ServerProcess().keptClient()
        try client.request("POST", "/v1/sessions", #"{"table":\#(Self.list),"id":"s"}"#)
        let snapshot = try client.get("/v1/sessions/s/snapshot")
        let etag = try #require(snapshot.header("etag"))
        let unchanged = try client.get("/v1/sessions/s/snapshot", headers: ["If-None-Match": "\"other\", \(etag)"])
        #expect(unchanged.status == 304)
        #expect(unchanged.header("etag") == etag)
        #expect(try client.get("/v1/sessions/s/snapshot", headers: ["If-None-Match": "W/\(etag)"]).status == 304)
        #expect(try client.get("/v1/sessions/s/snapshot", headers: ["If-None-Match": "\"other\""]).status == 200)
        let head = try client.request("HEAD", "/v1/sessions/s/snapshot")
        #expect(head.status == 200)
        #expect(head.header("content-length") == "\(snapshot.body.count)")
        let window = try client.get("/v1/sessions/s/snapshot?section=a&offset=1&limit=1").text
        #expect(
            window.contains(#""rowCount":2"#) && window.contains(#""id":"2""#) && !window.contains(#""id":"1","cell""#))
        #expect(!window.contains(#""id":"b""#), "a window has only the sections that it touches")
        let pretty = try client.get("/v1/sessions/s/snapshot?pretty")
        #expect(pretty.text.contains("\n  \"session\": \"s\""))
    }

    @Test("A large snapshot is sent in chunks, and supports ETags, HEAD and `?pretty` as a small snapshot does")
    func largeSnapshot() throws {
        let client = try ServerProcess().keptClient()
        let models = (0..<20_000).map { #"{"id":"row-\#($0)","name":"Somebody"}"# }.joined(separator: ",")
        let opened = try client.request(
            "POST", "/v1/sessions", #"{"table":\#(Self.list),"id":"s","models":{"a":[\#(models)]}}"#)
        #expect(opened.status == 201)
        try client.request("POST", "/v1/sessions/s/edits", #"{"delete":{"id":"row-17"}}"#)
        let snapshot = try client.get("/v1/sessions/s/snapshot")
        #expect(snapshot.header("transfer-encoding") == "chunked")
        #expect(snapshot.object["totalRowCount"] as? Int == 19_999)
        #expect(((snapshot.object["sections"] as? [[String: Any]])?.first?["rows"] as? [Any])?.count == 19_999)
        let etag = try #require(snapshot.header("etag"))
        #expect(try client.get("/v1/sessions/s/snapshot", headers: ["If-None-Match": etag]).status == 304)
        #expect(try client.request("HEAD", "/v1/sessions/s/snapshot").header("etag") == etag)
        #expect(try client.get("/v1/sessions/s/snapshot?pretty").text.contains("\n  \"session\": \"s\""))
        #expect(try client.get("/v1/sessions/s/snapshot?section=a&limit=1").header("content-length") != nil)
    }

    @Test("A large snapshot that answers a command, a dry run or a repeated command is sent in chunks")
    func largeSnapshotsOfCommands() throws {
        let client = try ServerProcess().keptClient()
        let text = String(repeating: "x", count: 100_000)
        let models = (0..<12).map { #"{"id":"row-\#($0)","text":"\#(text)"}"# }.joined(separator: ",")
        let opened = try client.request(
            "POST", "/v1/sessions", #"{"table":\#(Self.list),"id":"s","models":{"a":[\#(models)]}}"#)
        #expect(opened.status == 201)
        func delete(_ query: String = "") throws -> HTTPClient.Response {
            try client.request(
                "POST", "/v1/sessions/s/edits\(query)", #"{"delete":{"id":"row-7"}}"#,
                headers: ["Prefer": "return=representation", "Idempotency-Key": "k\(query)"])
        }
        let before = try client.get("/v1/sessions/s/snapshot"), dry = try delete("?dryRun")
        #expect(dry.status == 200 && dry.header("transfer-encoding") == "chunked")
        #expect(dry.header("preference-applied") == "return=representation")
        #expect(dry.object["revision"] as? Int == 1 && dry.object["totalRowCount"] as? Int == 11)
        #expect(dry.header("etag") == before.header("etag"))
        let indented = try delete("?dryRun&pretty")
        #expect(indented.text.hasPrefix("{\n  ") && indented.object["totalRowCount"] as? Int == 11)
        let first = try delete(), again = try delete(), now = try client.get("/v1/sessions/s/snapshot")
        #expect(again.header("idempotent-replayed") == "true" && first.header("idempotent-replayed") == nil)
        for answer in [first, again] {
            #expect(answer.status == 200 && answer.header("transfer-encoding") == "chunked")
            #expect(answer.text == now.text && answer.header("etag") == now.header("etag"))
        }
    }

    @Test("The answer to a command contains its update by default, or what the header `Prefer` requests")
    func commandAnswers() throws {
        let client = try ServerProcess().keptClient()
        let opened = try client.request("POST", "/v1/sessions", #"{"table":\#(Self.list),"id":"s"}"#)
        let etag = try #require(opened.header("etag"))
        let dry = try client.request("POST", "/v1/sessions/s/edits?dryRun", #"{"delete":{"id":"1"}}"#)
        #expect(dry.object["revision"] as? Int == 1)
        #expect(try client.get("/v1/sessions/s/snapshot").header("etag") == etag, "a dry run changes nothing")
        let minimal = try client.request(
            "POST", "/v1/sessions/s/moves", #"{"from":{"id":"1"},"to":{"section":"b","row":0}}"#,
            headers: ["Prefer": "return=minimal", "If-Match": etag])
        #expect(minimal.status == 204)
        let several = ["Prefer": #"respond-async, return="minimal"; why=x, return=representation"#]
        #expect(
            try client.request("POST", "/v1/sessions/s/edits?dryRun", #"{"delete":{"id":"1"}}"#, headers: several)
                .status == 204, "the first counts")
        #expect(minimal.header("etag") != etag)
        #expect(
            try client.request(
                "POST", "/v1/sessions/s/moves", #"{"from":{"id":"1"},"to":{"section":"a","row":0}}"#,
                headers: ["If-Match": etag]
            ).status == 412)
        let whole = try client.request(
            "PATCH", "/v1/sessions/s/headers", #"{"a":"A"}"#, headers: ["Prefer": "return=representation"])
        #expect(whole.text == (try client.get("/v1/sessions/s/snapshot").text))
        let unchanged = try client.request("PATCH", "/v1/sessions/s/headers", #"{"a":"A"}"#)
        #expect(
            unchanged.text
                == #"{"revision":2,"outcome":"unchanged","update":{"from":2,"to":2,"stages":[],"totalRowCount":2}}"#)
        let sequential = try client.request(
            "POST", "/v1/sessions/s/edits?form=sequential", #"{"delete":{"section":"a","row":0}}"#)
        #expect(
            sequential.text
                == #"{"revision":3,"outcome":"applied","update":{"from":2,"to":3,"operations":[{"deleteRow":[0,0]}],"totalRowCount":1}}"#
        )
        let state = try client.request("PATCH", "/v1/sessions/s/state", #"{"x":{"y":1}}"#)
        #expect(
            state.text
                == #"{"revision":4,"outcome":"applied","update":{"from":3,"to":4,"stages":[],"totalRowCount":1,"state":{"x":{"y":1}}}}"#
        )
        let hidden = try client.request("PUT", "/v1/sessions/s/displayed-sections", #"["b"]"#)
        #expect(
            hidden.text
                == #"{"revision":5,"outcome":"applied","update":{"from":4,"to":5,"stages":[{"deleteSections":[0]}],"totalRowCount":1}}"#
        )
        #expect(
            try client.request("POST", "/v1/sessions/s/edits", #"{"delete":{"section":"a","row":0}}"#).status == 404,
            "a hidden section's rows cannot be referred to")
    }

    @Test("A transaction creates one revision, or changes nothing if one of its commands is refused")
    func transactions() throws {
        let client = try ServerProcess().keptClient()
        try client.request("POST", "/v1/sessions", #"{"table":\#(Self.list),"id":"s"}"#)
        let before = try client.get("/v1/sessions/s/snapshot").text
        let failed = try client.request(
            "POST", "/v1/sessions/s/transactions",
            #"{"commands":[{"edits":{"delete":{"id":"1"}}},{"edits":{"delete":{"id":"1"}}}]}"#)
        #expect(failed.status == 404)
        #expect(try client.get("/v1/sessions/s/snapshot").text == before)
        let done = try client.request(
            "POST", "/v1/sessions/s/transactions",
            #"{"commands":[{"delete":{"id":"1"}},{"patchModels":{"b":[{"id":"1","n":1.10}]}},{"patchHeaders":{"b":"B"}}]}"#
        )
        #expect(done.object["revision"] as? Int == 1)
        let updates = try client.get("/v1/sessions/s/updates?since=0").object
        #expect((updates["updates"] as? [Any])?.count == 1)
        #expect(updates["to"] as? Int == 1)
    }

    @Test("The updates since a position are returned, or a snapshot if the journal does not contain the position")
    func updatesSince() throws {
        let client = try ServerProcess(["--journal-limit", "3"]).keptClient()
        let epoch = try #require(
            try client.request("POST", "/v1/sessions", #"{"table":\#(Self.list),"id":"s"}"#).object["epoch"] as? String)
        for number in 0..<6 { try client.request("PATCH", "/v1/sessions/s/headers", #"{"a":"\#(number)"}"#) }
        let recent = try client.get("/v1/sessions/s/updates?since=4").object
        #expect((recent["updates"] as? [[String: Any]])?.compactMap { $0["to"] as? Int } == [5, 6])
        let sequential = try client.get("/v1/sessions/s/updates?since=4&form=sequential").object
        #expect((sequential["updates"] as? [[String: Any]])?.map { $0["operations"] != nil } == [true, true])
        #expect(try client.get("/v1/sessions/s/updates?since=\(epoch).6").text == #"{"from":6,"to":6,"updates":[]}"#)
        for position in ["0", "other.5", "7"] {
            let reset = try client.get("/v1/sessions/s/updates?since=\(position)").object
            #expect(reset["reset"] as? Bool == true, "\(position)")
            #expect((reset["snapshot"] as? [String: Any])?["revision"] as? Int == 6)
        }
    }

    @Test("`/v1/diff` computes the same update from two snapshots as the command that led from one to the other")
    func diff() throws {
        let client = try ServerProcess().keptClient()
        let old = try client.request("POST", "/v1/sessions", #"{"table":\#(Self.list),"id":"s"}"#).text
        let deleted = try client.request("POST", "/v1/sessions/s/edits", #"{"delete":{"id":"1"}}"#)
        let new = try client.get("/v1/sessions/s/snapshot").text
        let diff = try client.request(
            "POST", "/v1/diff", #"{"from":\#(old),"to":\#(new)}"#,
            headers: ["Content-Type": "Application/JSON; charset=utf-8"])
        #expect(diff.status == 200)
        #expect(deleted.text == #"{"revision":1,"outcome":"applied","update":\#(diff.text)}"#)
    }

    @Test("OPTIONS and the refusal of a method list the allowed methods, and an answer repeats a valid request id")
    func methodsAndRequestIDs() throws {
        let client = try ServerProcess().keptClient()
        let options = try client.request("OPTIONS", "/v1/sessions/x/snapshot")
        #expect(options.status == 204)
        #expect(options.header("allow") == "GET, HEAD, OPTIONS")
        #expect(try client.request("POST", "/v1/sessions/x/snapshot", "{}").header("allow") == "GET, HEAD, OPTIONS")
        #expect(try client.request("OPTIONS", "*").status == 204)
        for (id, isTaken) in [
            ("abc", true), (String(repeating: "i", count: 128), true), (String(repeating: "i", count: 129), false),
            ("a b", false),
        ] {
            let answered = try client.get("/healthz", headers: ["X-Request-Id": id]).header("x-request-id")
            #expect((answered == id) == isTaken, "\(id)")
        }
        #expect(try client.get("/healthz").header("x-request-id")?.isEmpty == false)
    }

    @Test("The refusal of a transaction names the faulty command, and the transaction changes nothing")
    func refusedTransaction() throws {
        let client = try ServerProcess(["--fixtures", "\(ServerProcess.package.path)/Examples/accounts"]).keptClient()
        for (command, status, pointer) in [
            (#"{"delete": {"section": "savings", "row": 9}}"#, 404, "/commands/1"),
            (#"{"patchHeaders": {"none": "x"}}"#, 404, "/commands/1"),
            (#"{"patchModels": {"checking": [{"number": 1}]}}"#, 422, "/commands/1/patchModels/checking/0"),
            (
                #"{"events": {"at": {"id": "filter"}, "event": {"segmentChosen": {"segment": "x"}}}}"#, 422,
                "/commands/1/events/event/segmentChosen/segment"
            ),
        ] {
            let refused = try client.request(
                "POST", "/v1/sessions/bank/transactions",
                #"{"commands": [{"patchState": {"opened": "1"}}, \#(command)]}"#)
            let errors = refused.object["errors"] as? [[String: Any]]
            #expect(
                refused.status == status && (errors?.first?["pointer"] as? String)?.hasPrefix(pointer) == true,
                "\(refused.text)")
            #expect(try client.get("/v1/sessions/bank/snapshot").text.contains(#""revision":0"#))
        }
    }
}

extension ServerProcess {
    /// The client keeps the server alive.
    func keptClient() throws -> KeptClient { try KeptClient(server: self) }
}

final class KeptClient {
    let server: ServerProcess
    private(set) var client: HTTPClient
    private var lastUse = ContinuousClock.now

    init(server: ServerProcess) throws {
        self.server = server
        client = try server.client()
    }

    @discardableResult
    func request(_ method: String, _ target: String, _ body: String? = nil, headers: [String: String] = [:]) throws
        -> HTTPClient.Response
    {
        // The server closes connections idle for 75 s, and a busy machine can be that slow between two requests.
        if ContinuousClock.now - lastUse > .seconds(60) { client = try server.client() }
        defer { lastUse = .now }
        return try client.request(method, target, body, headers: headers)
    }

    func get(_ target: String, headers: [String: String] = [:]) throws -> HTTPClient.Response {
        try request("GET", target, headers: headers)
    }
}
