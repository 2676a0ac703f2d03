import Foundation
import Testing

/// Bindings of rows, handlers and model types.
@Suite(.serialized) struct BindingTests {
    func open(_ table: String, on client: KeptClient) throws -> HTTPClient.Response {
        try client.request("POST", "/v1/sessions", #"{"id":"s","table":\#(table)}"#)
    }

    func rows(_ client: KeptClient, _ section: Int = 0) throws -> [[String: Any]] {
        let sections = try client.get("/v1/sessions/s/snapshot").object["sections"] as? [[String: Any]] ?? []
        return section < sections.count ? sections[section]["rows"] as? [[String: Any]] ?? [] : []
    }

    @Test("`shown` hides rows but keeps their models, and a command can refer to displayed rows only")
    func hiddenRows() throws {
        let client = try ServerProcess().keptClient()
        let opened = try open(
            #"{"table":"t","cells":{"C":{}},"state":{"least":2},"bindings":[{"cell":"C","shown":"model.n >= state.least","editing":"delete","moving":{"to":"anySection"},"models":[{"id":"a","n":1},{"id":"b","n":2},{"id":"c","n":1},{"id":"d","n":3},{"id":"e","n":4}]}]}"#,
            on: client)
        #expect(opened.status == 201, "\(opened.text)")
        #expect(try rows(client).map { $0["id"] as? String } == ["b", "d", "e"])
        // Displayed row 1 is stored row 3: some are hidden.
        #expect(
            try client.request(
                "POST", "/v1/sessions/s/moves", #"{"from":{"section":0,"row":2},"to":{"section":0,"row":1}}"#
            ).status == 200)
        #expect(try rows(client).map { $0["id"] as? String } == ["b", "e", "d"])
        #expect(
            try client.request("POST", "/v1/sessions/s/edits", #"{"delete":{"section":0,"row":1}}"#).text.contains(
                #""deleteRows":[[0,1]]"#))
        #expect(
            try client.request("POST", "/v1/sessions/s/edits", #"{"delete":{"id":"a"}}"#).status == 404,
            "a row that is not shown cannot be referred to")
        let shown = try client.request("PATCH", "/v1/sessions/s/state", #"{"least":0}"#)
        #expect((shown.object["update"] as? [String: Any])?["totalRowCount"] as? Int == 4)
        #expect(try rows(client).map { $0["id"] as? String } == ["a", "b", "c", "d"])
    }

    @Test("Derived rows change with the models and the state that they are computed from, and cannot be edited")
    func derivedRows() throws {
        let client = try ServerProcess().keptClient()
        let table = #"""
            {"table":"t","sections":["people","initials","dots"],"cells":{"C":{},"D":{}},"state":{"dots":2},
             "bindings":[
              {"on":{"section":"people"},"cell":"C","models":[{"id":"1","name":"Ada"},{"id":"2","name":"Bob"}],"editing":"delete"},
              {"on":{"section":"initials"},"cell":"C","modelsFrom":{"$map":{"$eval":"models.people"},"each(p)":{"id":"i${p.id}","initial":{"$eval":"p.name[0]"}}},"viewModel":{"text":"${model.initial}"}},
              {"on":{"section":"dots"},"cellProvider":{"$if":"row % 2 == 0","then":"C","else":"D"},"numberOfCells":"state.dots"}]}
            """#
        #expect(try open(table, on: client).status == 422, "the expression language has no %")
        let opened = try open(table.replacingOccurrences(of: "row % 2 == 0", with: "row in [0, 2, 4]"), on: client)
        #expect(opened.status == 201, "\(opened.text)")
        #expect(try rows(client, 1).map { $0["id"] as? String } == ["i1", "i2"])
        #expect(try rows(client, 2).map { $0["cell"] as? String } == ["C", "D"])
        #expect(try rows(client, 2).allSatisfy { $0["id"] == nil && $0["model"] == nil })
        let deleted = try client.request("POST", "/v1/sessions/s/edits", #"{"delete":{"id":"1"}}"#)
        #expect(deleted.text.contains(#""deleteRows":[[0,0],[1,0]]"#), "\(deleted.text)")
        let more = try client.request("PATCH", "/v1/sessions/s/state", #"{"dots":3}"#)
        #expect(more.text.contains(#""insertRows":[{"at":[2,2],"row":{"cell":"C"}}]"#), "\(more.text)")
        #expect(
            try client.request("POST", "/v1/sessions/s/edits", #"{"delete":{"section":"initials","row":0}}"#).object[
                "type"] as? String == "/problems/editing-not-allowed")
        #expect(
            try client.request("PATCH", "/v1/sessions/s/state", #"{"dots":-1}"#).object["type"] as? String
                == "/problems/template-failed")
        #expect(try client.get("/v1/sessions/s").object["revision"] as? Int == 2)
    }

    @Test("A tap runs the handler of its section and the handler for any section")
    func tapHandlers() throws {
        let client = try ServerProcess().keptClient()
        let opened = try open(
            #"""
            {"table":"t","sections":["a","b"],"cells":{"C":{}},"state":{"taps":0,"last":""},"bindings":[
              {"on":{"sections":["a","b"]},"cell":"C","models":{"a":[{"id":"1","on":false}],"b":[{"id":"2"}]}},
              {"on":{"section":"a"},"assumingModelType":"T","onTap":[{"update":{"merge":{"on":{"$eval":"!model.on"}}}}]},
              {"on":"anySection","onTap":[{"setState":{"taps":{"$eval":"state.taps + 1"},"last":"${section}"}}]}]}
            """#, on: client)
        #expect(opened.status == 422, "an assumed type must be declared")
        let table = #"""
            {"table":"t","sections":["a","b"],"cells":{"C":{}},"modelTypes":{"T":{}},"state":{"taps":0,"last":""},"bindings":[
              {"on":{"sections":["a","b"]},"cell":"C","modelType":"T","models":{"a":[{"id":"1","on":false}],"b":[{"id":"2"}]}},
              {"on":{"section":"a"},"assumingModelType":"T","onTap":[{"update":{"merge":{"on":{"$eval":"!(model.on)"}}}}]},
              {"on":"anySection","onTap":[{"setState":{"taps":{"$eval":"state.taps + 1"},"last":"${section}"}}]}]}
            """#
        #expect(try open(table, on: client).status == 201)
        let tapped = try client.request("POST", "/v1/sessions/s/taps", #"{"at":{"section":"a","row":0}}"#)
        #expect(
            tapped.text
                == #"{"revision":1,"outcome":"applied","update":{"from":0,"to":1,"stages":[{"reloadRows":[{"at":[0,0],"row":{"id":"1","cell":"C","model":{"id":"1","on":true}}}]}],"totalRowCount":2,"state":{"taps":1,"last":"a"}}}"#
        )
        let other = try client.request("POST", "/v1/sessions/s/taps", #"{"at":{"id":"2"}}"#)
        #expect(other.text.contains(#""stages":[],"totalRowCount":2,"state":{"taps":2,"last":"b"}"#))
    }

    @Test("An accepted cell event always creates a revision, and an undeclared, invalid or rejected one never does")
    func cellEvents() throws {
        let client = try ServerProcess().keptClient()
        let opened = try open(
            #"""
            {"table":"t","cells":{"Text":{"events":{"textEntered":{"properties":{"text":{"type":"string"}}},"left":{}}}},"bindings":[
              {"cell":"Text","models":[{"id":"name","text":""}],
               "onEvent":{"Text":{"textEntered":[{"if":"len(event.text) > 5","do":[{"reject":"too long"}]},{"update":{"merge":{"text":"${event.text}"}}}]}}}]}
            """#, on: client)
        #expect(opened.status == 201, "\(opened.text)")
        let entered = try client.request(
            "POST", "/v1/sessions/s/events", #"{"at":{"section":0,"row":0},"event":{"textEntered":{"text":"Ada"}}}"#)
        #expect(entered.text.contains(#""model":{"id":"name","text":"Ada"}"#), "\(entered.text)")
        let silent = try client.request("POST", "/v1/sessions/s/events", #"{"at":{"id":"name"},"event":{"left":{}}}"#)
        #expect(
            silent.text
                == #"{"revision":2,"outcome":"applied","update":{"from":1,"to":2,"stages":[],"totalRowCount":1}}"#)
        for (event, status, type) in [
            (#"{"nope":{}}"#, 422, "event-undeclared"), (#"{"textEntered":{}}"#, 422, "event-invalid"),
            (#"{"textEntered":{"text":1}}"#, 422, "event-invalid"),
            (#"{"textEntered":{"text":"abcdef"}}"#, 409, "rejected"), (#"{}"#, 400, "bad-request"),
            (#"{"left":{},"textEntered":{"text":""}}"#, 400, "bad-request"),
        ] {
            let response = try client.request(
                "POST", "/v1/sessions/s/events", #"{"at":{"id":"name"},"event":\#(event)}"#)
            #expect(
                response.status == status && response.object["type"] as? String == "/problems/\(type)",
                "\(response.text)")
        }
        #expect(try client.get("/v1/sessions/s").object["revision"] as? Int == 2)
    }

    @Test("Typing into a text field never reloads its own row, but reloads rows that depend on the text")
    func typedRowsAreNotReloaded() throws {
        let
            server = try ServerProcess([
                "--fixtures", ServerProcess.package.appendingPathComponent("Examples/form").path,
            ]), form = try server.keptClient()
        for (row, section) in [("title", 0), ("notes", 2)] {
            for text in ["P", "Pi", "Pic"] {
                let typed = try form.request(
                    "POST", "/v1/sessions/event/events",
                    #"{"at":{"id":"\#(row)"},"event":{"textEntered":{"text":"\#(text)"}}}"#)
                #expect(
                    typed.text.contains(#""stages":[{"updateRows":[{"at":[\#(section),"#)
                        && typed.text.contains(#""text":"\#(text)""#) && !typed.text.contains("reload"), "\(typed.text)"
                )
            }
        }
        let client = try ServerProcess().keptClient()
        #expect(
            try open(
                #"""
                {"table":"t","sections":["field","greeting"],"state":{"name":""},"cells":{"F":{"events":{"typed":{"properties":{"text":{"type":"string"}}}}},"L":{}},"bindings":[
                  {"on":{"section":"field"},"cell":"F","modelsFrom":[{"id":"name","text":"${state.name}"}],"updates":"manually",
                   "onEvent":{"F":{"typed":[{"setState":{"name":"${event.text}"}}]}}},
                  {"on":{"section":"greeting"},"cell":"L","modelsFrom":[{"id":"greeting","text":"Hello, ${state.name}!"}]}]}
                """#, on: client
            ).status == 201)
        for text in ["A", "Ad", "Ada"] {
            let typed = try client.request(
                "POST", "/v1/sessions/s/events", #"{"at":{"id":"name"},"event":{"typed":{"text":"\#(text)"}}}"#)
            let stages =
                #"[{"reloadRows":[{"at":[1,0],"row":{"id":"greeting","cell":"L","model":{"id":"greeting","text":"Hello, \#(text)!"}}}],"#
                + #""updateRows":[{"at":[0,0],"row":{"id":"name","cell":"F","model":{"id":"name","text":"\#(text)"}}}]}]"#
            #expect(typed.text.contains(#""stages":\#(stages)"#), "\(typed.text)")
        }
    }

    @Test("A tap creates a revision even if it changes nothing, but not if it is refused")
    func tapsAlwaysMakeARevision() throws {
        let client = try ServerProcess().keptClient()
        let table =
            #"{"table":"t","sections":["a","b"],"cells":{"C":{}},"bindings":[{"on":{"section":"a"},"cell":"C","models":[{"id":"1"}]},{"on":{"section":"b"},"cell":"C","models":[{"id":"2"}],"onTap":[{"reject":"no"}]}]}"#
        #expect(try open(table, on: client).status == 201)
        let tapped = try client.request("POST", "/v1/sessions/s/taps", #"{"at":{"id":"1"}}"#)
        #expect(
            tapped.text
                == #"{"revision":1,"outcome":"applied","update":{"from":0,"to":1,"stages":[],"totalRowCount":2}}"#)
        for (at, status) in [(#"{"id":"2"}"#, 409), (#"{"id":"3"}"#, 404)] {
            #expect(try client.request("POST", "/v1/sessions/s/taps", #"{"at":\#(at)}"#).status == status)
        }
        #expect(try client.get("/v1/sessions/s").object["revision"] as? Int == 1)
    }

    @Test("A prefetch handler runs again only after its section has grown, even if the server has restarted")
    func prefetch() throws {
        let directory = try TemporaryDirectory()
        let database = directory.path("braid.sqlite")
        do {
            let client = try ServerProcess(database: database).keptClient()
            let opened = try open(
                #"""
                {"table":"t","cells":{"C":{}},"state":{"asked":0},"bindings":[{"cell":"C","models":[{"id":"a"},{"id":"b"},{"id":"c"},{"id":"d"}],"editing":"insert",
                  "prefetch":{"cellsFromEnd":1},"onPrefetch":[{"setState":{"asked":{"$eval":"state.asked + 1"}}}]}]}
                """#, on: client)
            #expect(opened.status == 201, "\(opened.text)")
            #expect(
                try client.request(
                    "POST", "/v1/sessions/s/displayed-rows", #"{"rows":[{"section":0,"row":0},{"section":0,"row":1}]}"#
                ).object["outcome"] as? String == "unchanged")
            #expect(
                try client.request(
                    "POST", "/v1/sessions/s/displayed-rows", #"{"rows":[{"section":0,"row":1},{"section":0,"row":2}]}"#
                ).text.contains(#""state":{"asked":1}"#))
            #expect(
                try client.request("POST", "/v1/sessions/s/displayed-rows", #"{"rows":[{"section":0,"row":3}]}"#)
                    .object["outcome"] as? String == "unchanged")
            client.server.kill()
        }
        let client = try ServerProcess(database: database).keptClient()
        #expect(
            try client.request("POST", "/v1/sessions/s/displayed-rows", #"{"rows":[{"section":0,"row":3}]}"#).object[
                "outcome"] as? String == "unchanged")
        #expect(
            try client.request("POST", "/v1/sessions/s/edits", #"{"insert":{"section":0,"row":4},"model":{"id":"e"}}"#)
                .status == 200)
        #expect(
            try client.request("POST", "/v1/sessions/s/displayed-rows", #"{"rows":[{"section":0,"row":4}]}"#).text
                .contains(#""state":{"asked":2}"#))
    }

    @Test("The server checks models against their type in patches, inserts and requests to open a session")
    func modelTypes() throws {
        let client = try ServerProcess().keptClient()
        let table =
            #"{"table":"t","cells":{"C":{}},"modelTypes":{"P":{"id":"/id","schema":{"properties":{"id":{"type":"string"},"age":{"type":"uint8"}}}}},"bindings":[{"cell":"C","modelType":"P","models":[],"editing":"insert","insert":{"template":{"age":1}}}]}"#
        #expect(try open(table, on: client).status == 201)
        let wrong = try client.request(
            "PATCH", "/v1/sessions/s/models", #"{"table":[{"id":"a","age":5},{"id":"b","age":300,"x":1}]}"#)
        #expect(wrong.status == 422)
        let pointers = (wrong.object["errors"] as? [[String: String]])?.compactMap { $0["pointer"] }
        #expect(pointers?.sorted() == ["/table/1/age", "/table/1/x"])
        #expect(
            try client.request(
                "POST", "/v1/sessions/s/edits", #"{"insert":{"section":0,"row":0},"model":{"id":"a","age":"old"}}"#
            ).status == 422)
        #expect(
            try client.request("POST", "/v1/sessions/s/edits", #"{"insert":{"section":0,"row":0},"model":{"id":"a"}}"#)
                .status == 200)
        #expect(
            try client.request(
                "POST", "/v1/sessions", #"{"id":"s2","table":\#(table),"models":{"table":[{"id":"a","age":-1}]}}"#
            ).status == 422)
    }

    @Test("`/v1/render` returns the rendered template, or the pointer to the fault of the template")
    func render() throws {
        let client = try ServerProcess().keptClient()
        #expect(
            try client.request("POST", "/v1/render", #"{"template":{"hello":"${who}"},"context":{"who":"you"}}"#).text
                == #"{"result":{"hello":"you"}}"#)
        let faulty = try client.request("POST", "/v1/render", #"{"template":{"a":[{"$eval":"1 +"}]}}"#)
        #expect(faulty.status == 422)
        #expect((faulty.object["errors"] as? [[String: String]])?.first?["pointer"] == "/template/a/0/$eval")
    }
}
