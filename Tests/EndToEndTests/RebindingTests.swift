import Foundation
import Testing

/// Sessions bound to another version of their description.
@Suite struct RebindingTests {
    /// Of `t`: `first` has two sections with models, `second` another view model and state, `narrow` no section `b`.
    static func description(_ binding: String, sections: String = #"["a","b"]"#, state: String = "{}") -> String {
        #"{"table":"t","sections":\#(sections),"state":\#(state),"cells":{"C":{}},"bindings":[{"on":"allOtherSections","cell":"C","editing":"delete",\#(binding)}]}"#
    }
    static let first = description(
        #""models":{"a":[{"id":"1"},{"id":"2"}],"b":[{"id":"3"}]},"viewModel":"one ${model.id}""#)
    static let second = description(#""models":{"a":[{"id":"9"}]},"viewModel":"two ${model.id}""#, state: #"{"new":1}"#)
    static let narrow = description(#""models":{"a":[]}"#, sections: #"["a"]"#)

    /// Registers all three; `s` has the first.
    static func open(_ client: KeptClient) throws {
        for (index, text) in [first, second, narrow].enumerated() {
            let put = try client.request("PUT", "/v1/tables/t", text)
            try #require(put.object["version"] as? Int == index + 1, "\(put.text)")
            if index == 0 {
                try #require(try client.request("POST", "/v1/sessions", #"{"id":"s","table":"t"}"#).status == 201)
            }
        }
    }

    private func rows(_ client: KeptClient) throws -> [String] {
        let sections = try client.get("/v1/sessions/s/snapshot").object["sections"] as? [[String: Any]] ?? []
        return sections.flatMap { $0["rows"] as? [[String: Any]] ?? [] }.map {
            "\($0["id"] ?? "") \($0["viewModel"] ?? "-")"
        }
    }

    private func version(_ client: KeptClient) throws -> Int? {
        try client.get("/v1/sessions/s").object["tableVersion"] as? Int
    }

    @Test("Binding a session to another version is one update, which the session's followers receive")
    func followers() throws {
        let server = try ServerProcess(), client = try server.keptClient()
        try Self.open(client)
        try client.request("POST", "/v1/sessions/s/edits", #"{"delete":{"id":"1"}}"#)
        let stream = try EventStreamClient(port: server.port, "/v1/sessions/s/updates?since=1")
        let dry = try client.request("PUT", "/v1/sessions/s/table?dryRun", #"{"version":2}"#)
        #expect(try dry.status == 200 && version(client) == 1)
        let bound = try client.request("PUT", "/v1/sessions/s/table", #"{"version":2}"#)
        #expect(bound.object["outcome"] as? String == "applied" && bound.object["revision"] as? Int == 2)
        #expect(try rows(client) == ["2 two 2", "3 two 3"] && version(client) == 2)
        let event = try #require(try stream.events(throughRevision: 2).last)
        #expect(bound.text.contains(event.data) && event.data.contains("reloadRows"))
        let again = try client.request("PUT", "/v1/sessions/s/table", #"{"version":2}"#)
        #expect(again.object["outcome"] as? String == "unchanged" && again.object["revision"] as? Int == 2)
        // It still takes edits.
        #expect(try client.request("POST", "/v1/sessions/s/edits", #"{"delete":{"id":"3"}}"#).status == 200)
        #expect(try client.get("/v1/sessions/s/snapshot").object["state"] as? [String: Int] == ["new": 1])
    }

    @Test("A version that would lose data is refused with a list, and accepted if the request names the sections")
    func losses() throws {
        let client = try ServerProcess().keptClient()
        try Self.open(client)
        let refused = try client.request("PUT", "/v1/sessions/s/table", #"{"version":3,"discard":["a"]}"#)
        #expect(refused.status == 409 && refused.object["type"] as? String == "/problems/models-do-not-fit")
        let errors = refused.object["errors"] as? [[String: Any]]
        #expect(errors?.map { $0["pointer"] as? String } == ["/b"])
        #expect(try version(client) == 1 && rows(client).count == 3)
        #expect(try client.request("PUT", "/v1/sessions/s/table", #"{"version":3,"discard":["b"]}"#).status == 200)
        #expect(try rows(client) == ["1 -", "2 -"])
        // A reset gives what a new session would have now; `narrow` has no models.
        #expect(try client.request("POST", "/v1/sessions/s/reset").status == 200)
        #expect(try rows(client) == [])
    }

    static let wrong: [(body: String, status: Int, pointer: String?)] = [
        (#"{}"#, 400, ""), (#"{"version":1,"table":{}}"#, 400, ""), (#"{"version":"1"}"#, 400, "/version"),
        (#"{"version":0}"#, 400, "/version"), (#"{"version":9}"#, 404, nil), (#"{"table":"t"}"#, 400, "/table"),
        (#"{"version":2,"discard":"b"}"#, 400, "/discard"), (#"{"version":2,"discard":[1]}"#, 400, "/discard/0"),
        (#"{"version":2,"x":1}"#, 400, "/x"), (#"{"table":{"table":"t"},"version":null}"#, 400, ""),
        (#"{"table":{"table":"t","cells":1}}"#, 422, "/table/cells"),
        (first.replacingOccurrences(of: #""table":"t""#, with: #""table":"u""#), 422, "/table/table"),
    ]

    @Test(
        "A faulty request to bind a session is refused with the place of its fault, and changes nothing",
        arguments: wrong)
    func wrongRequests(body: String, status: Int, pointer: String?) throws {
        let client = try ServerProcess().keptClient()
        try Self.open(client)
        let body = body.hasPrefix(#"{"table":"u""#) ? #"{"table":\#(body)}"# : body
        let answer = try client.request("PUT", "/v1/sessions/s/table", body)
        #expect(answer.status == status, "\(answer.text)")
        let pointers = (answer.object["errors"] as? [[String: Any]])?.map { $0["pointer"] as? String }
        #expect(pointers?.first ?? nil == pointer, "\(answer.text)")
        #expect(try client.get("/v1/sessions/s").object["revision"] as? Int == 0)
        try client.request("POST", "/v1/sessions", #"{"id":"plain","rows":[]}"#)
        #expect(try client.request("PUT", "/v1/sessions/plain/table", #"{"version":1}"#).status == 404)
    }

    @Test("A session keeps its version after a restart, a retry and a replay, also with a trimmed journal")
    func restarts() throws {
        let directory = try TemporaryDirectory(), database = directory.path("braid.sqlite")
        let options = ["--journal-limit", "3"]
        func replayed(_ client: KeptClient) throws {
            let path = directory.path("journal.ndjson")
            try client.get("/v1/sessions/s/journal", headers: ["Accept": "application/x-ndjson"]).text.write(
                toFile: path, atomically: true, encoding: .utf8)
            let run = try CommandRun(["replay", path])
            #expect(try run.output == client.get("/v1/sessions/s/snapshot").text + "\n", "\(run.errors)")
        }
        do {
            let client = try ServerProcess(database: database, options).keptClient()
            try Self.open(client)
            let key = ["Idempotency-Key": "k"]
            let bound = try client.request("PUT", "/v1/sessions/s/table", #"{"version":2}"#, headers: key)
            try replayed(client)
            let again = try client.request("PUT", "/v1/sessions/s/table", #"{"version":2}"#, headers: key)
            #expect(again.text == bound.text && again.header("idempotent-replayed") == "true")
            let etag = bound.header("etag") ?? ""
            try client.request("PATCH", "/v1/sessions/s/state", #"{"n":1}"#)
            #expect(
                try client.request("PUT", "/v1/sessions/s/table", #"{"version":1}"#, headers: ["If-Match": etag]).status
                    == 412)
            // Kept after 25 newer versions, because the session uses it.
            for number in 0..<25 {
                try client.request(
                    "PUT", "/v1/tables/t", Self.description(#""models":{"a":[]},"viewModel":\#(number)"#))
            }
            #expect(try client.get("/v1/tables/t/versions/2").status == 200)
            #expect(try client.get("/v1/tables/t/versions/1").status == 404)
            #expect(client.server.stop() == 0)
        }
        let client = try ServerProcess(database: database, options).keptClient()
        #expect(try rows(client) == ["1 two 1", "2 two 2", "3 two 3"] && version(client) == 2)
        try replayed(client)
        for number in 0..<4 { try client.request("PATCH", "/v1/sessions/s/state", #"{"n":\#(number + 2)}"#) }
        try replayed(client)
        let inline = try client.request("PUT", "/v1/sessions/s/table", #"{"table":\#(Self.first)}"#)
        #expect(inline.status == 200, "\(inline.text)")
        try client.request("POST", "/v1/sessions/s/reset")
        try replayed(client)
        #expect(try rows(client).first == "1 one 1" && version(client) == nil)
        // Used by no session, the table can be deleted.
        #expect(try client.request("DELETE", "/v1/tables/t").status == 204)
        #expect(try client.request("DELETE", "/v1/sessions/s").status == 204)
    }

    @Test("Only a controller may bind a session to another version")
    func roles() throws {
        let server = try AccessTests.server(), token = try AccessTests.token("participant", on: server)
        let answer = try server.client().request(
            "PUT", "/v1/sessions/mine/table", #"{"version":1}"#, headers: AccessTests.bearer(token.token))
        #expect(answer.status == 403)
    }

    @Test(
        "When one server binds a session to another version, all servers on the database use that version",
        .enabled(if: PostgresCluster.isPossible, PostgresCluster.needs))
    func cluster() throws {
        let cluster = try ServerCluster(2), clients = try cluster.clients()
        try Self.open(clients[0])
        let stream = try EventStreamClient(port: cluster[1].port, "/v1/sessions/s/updates?since=0")
        var revision = 0
        for (server, body) in [
            (0, #"{"version":2}"#), (1, #"{"table":\#(Self.first)}"#), (0, #"{"version":3,"discard":["b"]}"#),
            (1, #"{"version":2}"#),
        ] {
            let bound = try clients[server].request("PUT", "/v1/sessions/s/table", body)
            revision += 1
            #expect(bound.object["revision"] as? Int == revision, "\(bound.text)")
            let snapshots = try clients.map { try $0.get("/v1/sessions/s/snapshot").text }
            #expect(snapshots[0] == snapshots[1])
            #expect(try version(clients[0]) == version(clients[1]))
            let event = try #require(try stream.events(throughRevision: revision).last)
            #expect(bound.text.contains(event.data))
            // Bound through one server, reset through the other: to this description's table.
            try clients[1 - server].request("POST", "/v1/sessions/s/reset")
            revision = try clients[server].get("/v1/sessions/s").object["revision"] as? Int ?? 0
            #expect(
                try clients[0].get("/v1/sessions/s/snapshot").text == clients[1].get("/v1/sessions/s/snapshot").text)
        }
        cluster.kill(0)
        try cluster.start(0)
        #expect(
            try cluster[0].keptClient().get("/v1/sessions/s/snapshot").text
                == clients[1].get("/v1/sessions/s/snapshot").text)
    }
}
