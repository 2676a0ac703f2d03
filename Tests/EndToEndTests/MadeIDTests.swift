import Foundation
import TestSupport
import Testing

/// Made with `uuid()` in templates.
@Suite(.serialized) struct MadeIDTests {
    static let table =
        #"{"table":"t","cells":{"C":{}},"bindings":[{"cell":"C","models":[{"id":"a"}],"editing":"insert","insert":{"template":{"id":"${uuid()}"}},"onTap":[{"insert":{"section":"table","model":{"id":"${uuid()}"}}}]}]}"#

    private static func make(_ client: KeptClient, taps: Int = 3) throws -> [String] {
        for _ in 0..<taps {
            #expect(try client.request("POST", "/v1/sessions/x/taps", #"{"at":{"id":"a"}}"#).status == 200)
        }
        #expect(
            try client.request("POST", "/v1/sessions/x/edits", #"{"insert":{"section":"table","row":0}}"#).status == 200
        )
        return try ids(client)
    }

    private static func ids(_ client: KeptClient) throws -> [String] {
        let sections = try client.get("/v1/sessions/x/snapshot").object["sections"] as? [[String: Any]]
        return (sections?.first?["rows"] as? [[String: Any]] ?? []).compactMap { $0["id"] as? String }
    }

    private static func open(_ client: KeptClient) throws {
        try #require(try client.request("POST", "/v1/sessions", #"{"id":"x","table":\#(table)}"#).status == 201)
    }

    @Test("A replay of the journal creates the same ids with `uuid()`, also after a restart and from a checkpoint")
    func replay() throws {
        let directory = try TemporaryDirectory(), path = directory.path("journal.ndjson")
        for options in [[], ["--journal-limit", "2"]] {
            let database = directory.path("\(options.count).sqlite")
            var server = try ServerProcess(database: database, options), client = try server.keptClient()
            try Self.open(client)
            let made = try Self.make(client)
            #expect(Set(made).count == 5)
            for id in made where id != "a" {
                #expect(
                    id.firstMatch(of: /^[0-9a-f]{8}-[0-9a-f]{4}-8[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/) != nil)
            }
            server.kill()
            server = try ServerProcess(database: database, options)
            client = try server.keptClient()
            #expect(try Self.ids(client) == made)
            #expect(try Set(Self.make(client)).count == 9)
            let snapshot = try client.get("/v1/sessions/x/snapshot").text
            let journal = try client.get("/v1/sessions/x/journal", headers: ["Accept": "application/x-ndjson"]).text
            #expect(journal.contains("checkpoint") == !options.isEmpty)
            try journal.write(toFile: path, atomically: true, encoding: .utf8)
            let run = try CommandRun(["replay", path])
            #expect(run.status == 0 && run.output == snapshot + "\n", "\(run.errors)")
        }
    }

    @Test("`uuid()` creates other ids in each session, but the same ids on each server with --deterministic")
    func idsDifferBetweenSessions() throws {
        func made(_ options: [String]) throws -> [String] {
            let client = try ServerProcess(options).keptClient()
            try Self.open(client)
            return try Self.make(client).filter { $0 != "a" }
        }
        #expect(try Set(made([])).isDisjoint(with: made([])))
        #expect(try made(["--deterministic"]) == made(["--deterministic"]))
    }

    @Test("A command that is repeated with its idempotency key creates no further ids")
    func retry() throws {
        let client = try ServerProcess().keptClient()
        try Self.open(client)
        let headers = ["Idempotency-Key": "k"]
        let first = try client.request("POST", "/v1/sessions/x/taps", #"{"at":{"id":"a"}}"#, headers: headers)
        let again = try client.request("POST", "/v1/sessions/x/taps", #"{"at":{"id":"a"}}"#, headers: headers)
        #expect(first.text == again.text)
        #expect(try Self.ids(client).count == 2)
    }

    @Test(
        "Servers that share a database have the same ids from `uuid()` in their copies of a session",
        .enabled(if: PostgresCluster.isPossible, PostgresCluster.needs))
    func otherServersFollow() throws {
        let cluster = try ServerCluster(2), clients = try cluster.clients()
        try Self.open(clients[0])
        let streams = try cluster.indices.map {
            try EventStreamClient(port: cluster[$0].port, "/v1/sessions/x/updates")
        }
        for stream in streams { _ = try stream.events(through: "caught-up") }
        for round in 0..<6 {
            let tap = try clients[round % 2].request("POST", "/v1/sessions/x/taps", #"{"at":{"id":"a"}}"#)
            #expect(tap.status == 200)
            let events = try streams.map { try $0.events(through: "update") }
            #expect(events[0] == events[1])
        }
        #expect(try Self.ids(clients[0]) == Self.ids(clients[1]))
    }
}
