import Foundation
import Testing

@Suite(.serialized, .enabled(if: TestDatabase.isSQLite)) struct PresenceTests {
    private static let path = "/v1/sessions/s/presence"

    private static func start(_ options: [String] = [], environment: [String: String] = [:]) throws -> KeptClient {
        try StreamTests.start(["--test-mode"] + options, environment: environment).0
    }

    private func put(
        _ client: KeptClient, _ name: String?, _ body: String = "{}", headers: [String: String] = [:]
    ) throws -> HTTPClient.Response {
        try client.request("PUT", Self.path + (name.map { "?client=\($0)" } ?? ""), body, headers: headers)
    }

    private func list(_ client: KeptClient, headers: [String: String] = [:]) throws -> [[String: Any]] {
        let answer = try client.get(Self.path, headers: headers)
        #expect(answer.status == 200, "\(answer.text)")
        return answer.object["present"] as? [[String: Any]] ?? []
    }

    private func advance(_ client: KeptClient, _ seconds: Int, headers: [String: String] = [:]) throws {
        #expect(
            try client.request("PUT", "/v1/test/clock", #"{"advance":\#(seconds)}"#, headers: headers).status == 200)
    }

    private func ids(_ event: EventStreamClient.Event, _ member: String) -> [String] {
        if member == "left" { return event.object["left"] as? [String] ?? [] }
        return (event.object[member] as? [[String: Any]] ?? []).compactMap { $0["id"] as? String }
    }

    @Test("Streams that ask get who is present, and each change; other streams get neither")
    func streams() throws {
        let client = try Self.start()
        let one = try client.stream("?presence=true&client=one"), two = try client.stream("?presence&client=two")
        let other = try client.stream()
        #expect(try one.events(through: "presence").map(\.name) == ["snapshot", "caught-up", "presence"])
        #expect(try two.events(through: "presence").last?.data == #"{"present":[]}"#)
        let position = one.lastEventID
        let put = try put(client, "one", #"{"at":{"id":"1"},"data":{"typing":true}}"#)
        #expect(put.status == 200 && put.header("etag") == nil, "\(put.text)")
        let id = try #require(put.object["id"] as? String)
        for stream in [one, two] {
            let event = try stream.next()
            #expect(event.name == "presence" && event.data == #"{"changed":[\#(put.text)],"left":[]}"#)
        }
        #expect(
            put.text.hasPrefix(#"{"id":"\#(id)","role":"controller","at":{"id":"1"},"data":{"typing":true},"since":""#))
        #expect(try client.get(Self.path).text == #"{"present":[\#(put.text)]}"#)
        #expect(try client.request("DELETE", Self.path + "?client=one").status == 204)
        for stream in [one, two] { #expect(try stream.next().data == #"{"changed":[],"left":["\#(id)"]}"#) }
        #expect(try client.request("DELETE", Self.path + "?client=one").status == 204, "it has left already")
        // Neither positions nor the journal know of it.
        #expect(one.lastEventID == position)
        #expect(try client.get("/v1/sessions/s").object["revision"] as? Int == 0)
        #expect(try client.get("/v1/sessions/s/journal").text == #"{"records":[]}"#)
        _ = try client.perform(("PATCH", "state", #"{"n":1}"#))
        #expect(try other.events(throughRevision: 1).map(\.name) == ["snapshot", "caught-up", "update"])
    }

    @Test("A row is named by its id, so it stays the same row when it moves")
    func moves() throws {
        let client = try Self.start()
        func at(_ reference: String) throws -> [String: String]? {
            let answer = try put(client, "c", #"{"at":\#(reference)}"#)
            #expect(answer.status == 200, "\(answer.text)")
            return answer.object["at"] as? [String: String]
        }
        for reference in [#"[0,0]"#, #"{"section":"a","row":0}"#, #"{"id":"1"}"#, #"{"id":"1","section":"a"}"#] {
            #expect(try at(reference) == ["id": "1"], "\(reference)")
        }
        #expect(
            try client.perform(("POST", "moves", #"{"from":{"id":"1"},"to":{"section":"b","row":1}}"#)) == 1)
        #expect(try list(client).first?["at"] as? [String: String] == ["id": "1"])
        #expect(try at("[1,1]") == ["id": "1"])
        for (reference, status) in [
            (#"{"id":"none"}"#, 404), ("[0,9]", 404), ("[9,0]", 404), ("1", 400), ("{}", 400), ("null", 400),
        ] {
            #expect(try put(client, "c", #"{"at":\#(reference)}"#).status == status, "\(reference)")
        }
        #expect(try list(client).first?["at"] as? [String: String] == ["id": "1"], "a refused request changes nothing")
    }

    @Test("A row without an id is refused, and of rows with one id the section is kept")
    func idsOfRows() throws {
        let client = try Self.start()
        let tables = [
            "anonymous": #"{"rows":[1,2]}"#,
            "twice":
                #"{"table":{"table":"t","sections":["a","b"],"cells":{"C":{}},"bindings":[{"on":{"sections":["a","b"]},"cell":"C","models":{"a":[{"id":"1"}],"b":[{"id":"1"}]}}]}}"#,
        ]
        for (id, opening) in tables {
            let opened = try client.request("POST", "/v1/sessions", #"{"id":"\#(id)",\#(opening.dropFirst())"#)
            #expect(opened.status == 201, "\(opened.text)")
        }
        let refused = try client.request("PUT", "/v1/sessions/anonymous/presence", #"{"at":[0,0]}"#)
        #expect(refused.status == 400 && refused.text.contains(#""pointer":"/at""#), "\(refused.text)")
        let named = try client.request("PUT", "/v1/sessions/twice/presence", #"{"at":[1,0]}"#)
        #expect(named.object["at"] as? [String: String] == ["id": "1", "section": "b"], "\(named.text)")
        #expect(try client.request("PUT", "/v1/sessions/twice/presence", #"{"at":{"id":"1"}}"#).status == 409)
    }

    @Test("Who has no stream leaves after 30 seconds, and who has one when it closes")
    func expiry() throws {
        let client = try Self.start()
        let watcher = try client.stream("?presence&client=watcher")
        _ = try watcher.events(through: "presence")
        var held: EventStreamClient? = try client.stream("?presence&client=held")
        _ = try held?.events(through: "presence")
        let ofHeld = try #require(try put(client, "held").object["id"] as? String)
        let ofFree = try #require(try put(client, "free").object["id"] as? String)
        var known: Set<String> = []
        func read(until isMet: (Set<String>) -> Bool) throws {
            while !isMet(known) {
                let event = try watcher.next()
                known.subtract(ids(event, "left"))
                known.formUnion(ids(event, "changed"))
            }
        }
        try read { $0 == [ofHeld, ofFree] }
        try advance(client, 29)
        #expect(try put(client, "free").status == 200)
        try advance(client, 29)
        #expect(try list(client).count == 2)
        try advance(client, 2)
        #expect(try list(client).compactMap { $0["id"] as? String } == [ofHeld])
        try read { $0 == [ofHeld] }
        held = nil
        try read { $0.isEmpty }
        #expect(try client.server.waitForMetric("braid_presence 0"))
    }

    @Test("Every role may be present; another session's token sees nothing, and a token's end is its clients'")
    func tokens() throws {
        let server = try AccessTests.server(["--test-mode"]), client = try server.keptClient()
        let path = "/v1/sessions/mine/presence", bearer = AccessTests.bearer
        let viewer = try AccessTests.token("viewer", on: server),
            stranger = try AccessTests.token(
                "viewer", on: server, session: "theirs")
        let short = try AccessTests.token("participant", on: server, expiresIn: 20)
        for (token, role) in [(viewer.token, "viewer"), (short.token, "participant")] {
            let answer = try client.request("PUT", path + "?client=x", "{}", headers: bearer(token))
            #expect(answer.object["role"] as? String == role, "\(answer.text)")
        }
        for (method, body) in [("GET", nil), ("PUT", "{}"), ("DELETE", nil)] {
            #expect(try client.request(method, path, body).status == 401)
            #expect(try client.request(method, path, body, headers: bearer(stranger.token)).status == 404)
        }
        func roles() throws -> [String] {
            let answer = try client.get(path, headers: AccessTests.controller)
            return (answer.object["present"] as? [[String: Any]] ?? []).compactMap { $0["role"] as? String }.sorted()
        }
        #expect(try roles() == ["participant", "viewer"], "one name, but two tokens")
        // By the viewer's token, only the viewer's client leaves.
        let watching = try EventStreamClient(
            port: server.port, "/v1/sessions/mine/updates?presence", headers: AccessTests.controller)
        _ = try watching.events(through: "presence")
        try advance(client, 21, headers: AccessTests.controller)
        #expect(try watching.next().object["left"] as? [String] != [])
        #expect(try roles() == ["viewer"], "the participant's has expired")
        #expect(
            try client.request(
                "DELETE", "/v1/sessions/mine/tokens/\(viewer.id)", headers: AccessTests.controller
            ).status == 204)
        #expect(try roles() == [])
        #expect(try client.request("PUT", path, "{}", headers: bearer(viewer.token)).status == 401)
    }

    @Test("Clients, their data and their names are limited, and whoever leaves makes room")
    func bounds() throws {
        let client = try Self.start(["--max-subscribers", "8"])
        for number in 1...4 { #expect(try put(client, "c\(number)").status == 200) }
        let refused = try put(client, "c5")
        #expect(refused.status == 429 && refused.object["type"] as? String == "/problems/quota-exceeded")
        #expect(try put(client, "c4", #"{"data":1}"#).status == 200, "who is present may change")
        #expect(try client.request("DELETE", Self.path + "?client=c1").status == 204)
        #expect(try put(client, "c5").status == 200)
        // 1,024 bytes with the quotes; white space around does not count.
        func data(_ bytes: Int) throws -> HTTPClient.Response {
            try put(client, "c5", "{ \"data\" :  \"\(String(repeating: "x", count: bytes - 2))\" }")
        }
        #expect(try data(1_024).status == 200)
        let large = try data(1_025)
        #expect(large.status == 400 && large.text.contains(#""pointer":"/data""#), "\(large.text)")
        #expect(try put(client, String(repeating: "n", count: 64)).status == 429)
        for name in [String(repeating: "n", count: 65), "", "%20", "%C3%A9"] {
            #expect(try put(client, name).status == 400, "\(name)")
        }
        for body in [#"{"other":1}"#, "[]", "1", ""] { #expect(try put(client, "c5", body).status == 400) }
        for query in ["client=x", "presence=maybe", "since=0&presence", "presence&client="] {
            #expect(try client.get("/v1/sessions/s/updates?\(query)").status == 400, "\(query)")
        }
        #expect(try client.request("PUT", "/v1/sessions/none/presence", "{}").status == 404)
    }

    @Test("With the session, presence ends") func endOfSession() throws {
        let client = try Self.start()
        let stream = try client.stream("?presence")
        _ = try stream.events(through: "presence")
        #expect(try put(client, nil).status == 200)
        #expect(try stream.next().name == "presence")
        #expect(try client.request("DELETE", "/v1/sessions/s").status == 204)
        #expect(try stream.events(through: "ended").last?.name == "ended")
        #expect(try client.get(Self.path).status == 404)
        #expect(
            try client.request("POST", "/v1/sessions", #"{"table":\#(StreamTests.table),"id":"s"}"#).status == 201)
        #expect(try list(client).isEmpty)
    }

    @Test("Streams of windows and compressed streams get the same events", arguments: ["identity", "gzip", "zstd"])
    func forms(coding: String) throws {
        let client = try Self.start()
        let stream = try EventStreamClient(
            port: client.server.port, "/v1/sessions/s/updates?offset=0&limit=1&presence&client=w",
            headers: ["Accept-Encoding": coding])
        #expect(try stream.events(through: "presence").last?.data == #"{"present":[]}"#)
        let put = try put(client, "w")
        #expect(try stream.next().data == #"{"changed":[\#(put.text)],"left":[]}"#)
    }
}
