import Foundation
import TestSupport
import Testing

/// `emit` sends events to controllers and changes no table.
@Suite(.serialized) struct EmitTests {
    static let table =
        #"{"table":"t","cells":{"C":{"events":{"go":{}}}},"bindings":[{"cell":"C","models":[{"id":"1"},{"id":"2"}],"onTap":[{"emit":{"name":"opened","payload":{"id":"${model.id}","row":{"$eval":"row"}}}}],"onEvent":{"go":[{"emit":{"name":"${event.name}"}},{"if":"event.removes","do":[{"remove":{}},{"emit":{"name":"removed","payload":{"$eval":"model"}}}]}]}}]}"#

    private static func open(_ server: ServerProcess, headers: [String: String] = [:]) throws -> KeptClient {
        let client = try server.keptClient()
        try #require(
            try client.request("POST", "/v1/sessions", #"{"id":"x","table":\#(table)}"#, headers: headers).status == 201
        )
        return client
    }

    private static let go = #"{"at":{"id":"2"},"event":{"go":{"name":"went","removes":true}}}"#

    @Test("An emitted event creates a revision, and streams receive it before the update of the same command")
    func emittedEventsAreOrdered() throws {
        let server = try ServerProcess(), client = try Self.open(server)
        let stream = try EventStreamClient(port: server.port, "/v1/sessions/x/updates")
        _ = try stream.events(through: "caught-up")
        let tap = try client.request("POST", "/v1/sessions/x/taps", #"{"at":{"id":"2"}}"#)
        #expect(tap.object["revision"] as? Int == 1 && tap.object["outcome"] as? String == "applied", "\(tap.text)")
        #expect(!tap.text.contains("opened"), "participants, who tap, do not see the event")
        try client.request("POST", "/v1/sessions/x/events", Self.go)
        let events = [try stream.next(), try stream.next()] + (try stream.events(through: "update"))
        #expect(events.map(\.name) == ["tap", "emitted", "cellEvent", "emitted", "emitted", "update"])
        #expect(events.map(\.revision) == [0, 1, 1, 1, 1, 2], "the last event of a revision has its position")
        #expect(events[1].data == #"{"name":"opened","payload":{"id":"2","row":1}}"#)
        #expect(events[3].data == #"{"name":"went"}"#)
        #expect(events[4].data == #"{"name":"removed","payload":{"id":"2"}}"#)
        // Also in the journal.
        let records = try client.get("/v1/sessions/x/journal").object["records"] as? [[String: Any]]
        #expect(
            (records ?? []).map { ($0["emitted"] as? [[String: Any]] ?? []).compactMap { $0["name"] as? String } } == [
                ["opened"], ["went", "removed"],
            ])
    }

    @Test("A stream that continues after a restart receives each emitted event exactly once")
    func restarts() throws {
        let directory = try TemporaryDirectory(), database = directory.path("braid.sqlite")
        var server = try ServerProcess(database: database), client = try Self.open(server)
        let stream = try EventStreamClient(port: server.port, "/v1/sessions/x/updates")
        let start = try #require(try stream.events(through: "caught-up").last).id
        let headers = ["Idempotency-Key": "k"]
        for _ in 0..<2 { try client.request("POST", "/v1/sessions/x/events", Self.go, headers: headers) }
        let live = try stream.events(through: "update")
        server.kill()
        server = try ServerProcess(database: database)
        client = try server.keptClient()
        #expect(
            try client.request("POST", "/v1/sessions/x/events", Self.go, headers: headers).header("idempotent-replayed")
                == "true")
        let again = try EventStreamClient(port: server.port, "/v1/sessions/x/updates", lastEventID: start)
        #expect(try again.events(through: "caught-up").dropLast() == live[...])
        #expect(live.map(\.name) == ["cellEvent", "emitted", "emitted", "update"])
    }

    @Test("Only controllers receive emitted events")
    func emittedEventsAreForControllers() throws {
        let server = try AccessTests.server()
        _ = try Self.open(server, headers: AccessTests.controller)
        for role in ["viewer", "participant"] {
            let token = try AccessTests.token(role, on: server, session: "x").token
            let stream = try EventStreamClient(
                port: server.port, "/v1/sessions/x/updates", headers: AccessTests.bearer(token))
            _ = try stream.events(through: "caught-up")
            try server.client().request(
                "POST", "/v1/sessions/x/taps", #"{"at":{"id":"1"}}"#, headers: AccessTests.controller)
            try server.client().request(
                "PATCH", "/v1/sessions/x/state", #"{"for":"\#(role)"}"#, headers: AccessTests.controller)
            #expect(try stream.next().name == "update")
            #expect(
                try server.client().get("/v1/sessions/x/journal", headers: AccessTests.bearer(token)).status == 403)
        }
    }

    @Test("A refused command and a dry run emit nothing")
    func refusedCommandsEmitNothing() throws {
        let server = try ServerProcess(), client = try Self.open(server)
        let stream = try EventStreamClient(port: server.port, "/v1/sessions/x/updates")
        _ = try stream.events(through: "caught-up")
        let commands = #"{"commands":[{"taps":{"at":{"id":"1"}}},{"delete":{"section":"table","row":9}}]}"#
        #expect(try client.request("POST", "/v1/sessions/x/transactions", commands).status >= 400)
        #expect(try client.request("POST", "/v1/sessions/x/taps?dryRun", #"{"at":{"id":"1"}}"#).status == 200)
        let nameless = #"{"at":{"id":"1"},"event":{"go":{"name":"","removes":false}}}"#
        let refused = try client.request("POST", "/v1/sessions/x/events", nameless)
        #expect(
            refused.status == 409 && refused.text.contains("`name` must give the name of an event"), "\(refused.text)")
        try client.request("PATCH", "/v1/sessions/x/state", #"{"last":true}"#)
        #expect(try stream.next().name == "update")
    }

    @Test("A replay of the journal checks the emitted events")
    func aReplayChecksEmittedEvents() throws {
        let client = try Self.open(ServerProcess())
        try client.request("POST", "/v1/sessions/x/events", Self.go)
        let snapshot = try client.get("/v1/sessions/x/snapshot").text
        let journal = try client.get("/v1/sessions/x/journal", headers: ["Accept": "application/x-ndjson"]).text
        let directory = try TemporaryDirectory(), path = directory.path("journal.ndjson")
        try journal.write(toFile: path, atomically: true, encoding: .utf8)
        #expect(try CommandRun(["replay", path]).output == snapshot + "\n")
        try journal.replacingOccurrences(of: #"{"name":"went"}"#, with: #"{"name":"gone"}"#).write(
            toFile: path, atomically: true, encoding: .utf8)
        let changed = try CommandRun(["replay", path])
        #expect(
            changed.status == 1 && changed.errors.contains("line 2: the command emits other events"),
            "\(changed.errors)")
    }

    @Test(
        "Servers that share a database send emitted events to the followers at every server",
        .enabled(if: PostgresCluster.isPossible, PostgresCluster.needs))
    func otherServers() throws {
        let cluster = try ServerCluster(2), clients = try cluster.clients()
        try #require(
            try clients[0].request("POST", "/v1/sessions", #"{"id":"x","table":\#(Self.table)}"#).status == 201)
        let streams = try cluster.indices.map {
            try EventStreamClient(port: cluster[$0].port, "/v1/sessions/x/updates")
        }
        for stream in streams { _ = try stream.events(through: "caught-up") }
        try clients[0].request("POST", "/v1/sessions/x/taps", #"{"at":{"id":"1"}}"#)
        for stream in streams { #expect(try [stream.next().name, stream.next().name] == ["tap", "emitted"]) }
    }
}
