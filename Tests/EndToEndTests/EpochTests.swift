import Foundation
import TestSupport
import Testing

/// If the database has lost revisions, clients must not take new ones for these.
@Suite(.serialized) struct EpochTests {
    private let directory: TemporaryDirectory
    private let database: String

    init() throws {
        directory = try TemporaryDirectory()
        database = directory.path("braid.sqlite")
    }

    private func open(_ client: HTTPClient) throws {
        try #require(
            try client.request("POST", "/v1/sessions", #"{"id":"s","rows":[{"id":"a"},{"id":"b"}]}"#).status == 201)
    }

    /// Returns the last ETag of `count` changes.
    private func change(_ client: HTTPClient, _ text: String, times count: Int) throws -> String {
        var etag: String?
        for number in 0..<count {
            let answer = try client.request(
                "PUT", "/v1/sessions/s/rows/0/0", #"{"model":{"id":"a","text":"\#(text) \#(number)"}}"#)
            #expect(answer.status == 200, "\(answer.text)")
            etag = answer.header("etag")
        }
        return try #require(etag)
    }

    private func epoch(_ client: HTTPClient) throws -> String {
        try #require(try client.get("/v1/sessions/s/snapshot").object["epoch"] as? String)
    }

    /// Also kills the server.
    private func lastEpoch(_ server: ServerProcess) throws -> String {
        defer { server.kill() }
        return try epoch(server.client())
    }

    /// Each connection to the database comes back on its own.
    private func awaitDatabase(_ server: ServerProcess) throws {
        let client = try server.client()
        let isBack = try eventually {
            try client.get("/readyz").status == 200 && client.get("/v1/sessions/s/snapshot").status == 200
        }
        #expect(isBack)
    }

    private func position(_ etag: String) -> String { String(etag.dropFirst().dropLast()) }

    /// A position of an old epoch is none of the new one.
    private func expectForgotten(_ etag: String, by server: ServerProcess) throws {
        let client = try server.client(), old = position(etag), before = try client.get("/v1/sessions/s").text
        for coalesce in ["", "&coalesce"] {
            let updates = try client.get("/v1/sessions/s/updates?since=\(old)\(coalesce)")
            #expect(updates.object["reset"] as? Bool == true, "\(updates.text)")
        }
        let stream = try EventStreamClient(port: server.port, "/v1/sessions/s/updates", lastEventID: old)
        #expect(try stream.events(through: "caught-up").map(\.name) == ["snapshot", "caught-up"])
        let edit = #"{"delete":{"section":0,"row":0}}"#
        let refused = try client.request("POST", "/v1/sessions/s/edits?base=\(old)", edit)
        #expect(refused.object["type"] as? String == "/problems/base-too-old", "\(refused.text)")
        for (method, path, body) in [("POST", "/edits", edit), ("DELETE", "", nil)] {
            let refused = try client.request(method, "/v1/sessions/s\(path)", body, headers: ["If-Match": etag])
            #expect(refused.status == 412, "\(method) \(refused.text)")
        }
        #expect(try client.get("/v1/sessions/s/snapshot", headers: ["If-None-Match": etag]).status == 200)
        #expect(try client.get("/v1/sessions/s").text == before)
    }

    @Test(
        "After a restore, a client that knows lost revisions gets a snapshot, even if numbers are used again",
        .enabled(if: TestDatabase.isSQLite))
    func restoredBackups() throws {
        var server = try ServerProcess(database: database), client = try server.client()
        try open(client)
        let shared = try change(client, "shared", times: 2)
        #expect(try CommandRun(["backup", database, directory.path("backup")]).status == 0)
        let first = try epoch(client)
        let lost = try change(client, "lost", times: 3)

        var epochs = [first]
        for _ in 1...2 {  // the same backup may be restored twice
            #expect(server.stop() == 0)
            for file in try FileManager.default.contentsOfDirectory(atPath: directory.path(""))
            where file.hasPrefix("braid.sqlite") {
                try FileManager.default.removeItem(atPath: directory.path(file))
            }
            try FileManager.default.copyItem(atPath: directory.path("backup"), toPath: database)
            server = try ServerProcess(database: database)
            client = try server.client()
            try expectForgotten(lost, by: server)
            let other = try change(client, "other", times: 4)
            #expect(other != lost && other.contains(".6"))
            try expectForgotten(lost, by: server)
            try expectForgotten(shared, by: server)
            #expect(
                try client.get("/v1/sessions/s/updates?since=\(position(other))").object["to"] as? Int == 6,
                "the new positions are good")
            epochs.append(try epoch(client))
            // Only the first start from the backup begins new epochs.
            #expect(server.stop() == 0)
            server = try ServerProcess(database: database)
            client = try server.client()
            #expect(try epoch(client) == epochs.last)
            // Opened after the restore, a session has another epoch than the restored ones.
            #expect(
                try client.request("POST", "/v1/sessions", #"{"id":"later","rows":[]}"#).object["epoch"] as? String
                    != epochs.last)
        }
        #expect(Set(epochs).count == 3, "\(epochs)")
    }

    @Test(
        "After `kill -9`, sessions have new epochs with --synchronous normal, and keep their epochs with full",
        .enabled(if: TestDatabase.isSQLite), arguments: ["normal", "full"])
    func uncleanStarts(synchronous: String) throws {
        func start() throws -> ServerProcess { try ServerProcess(database: database, ["--synchronous", synchronous]) }
        var server = try start()
        try open(server.client())
        let etag = try change(server.client(), "a", times: 2), first = try epoch(server.client())
        #expect(server.stop() == 0)
        server = try start()
        #expect(try epoch(server.client()) == first, "a clean stop loses nothing")
        server.kill()
        server = try start()
        let second = try epoch(server.client())
        #expect((second == first) == (synchronous == "full"))
        if synchronous == "normal" {
            _ = try change(server.client(), "b", times: 1)
            try expectForgotten(etag, by: server)
            server.kill()
            server = try start()
            #expect(try ![first, second].contains(epoch(server.client())), "each time another one")
            server.kill()
            let full = try ServerProcess(database: database)
            #expect(try ![first, second].contains(epoch(full.client())))
            server = full
        }
        let last = try epoch(server.client())
        server.kill()
        #expect(try lastEpoch(ServerProcess(database: database)) == last, "with full a crash loses nothing")
    }

    @Test(
        "With --deterministic, epochs of restored backups are numbered, and later numbers continue after them",
        .enabled(if: TestDatabase.isSQLite))
    func countedEpochs() throws {
        let server = try ServerProcess(database: database, ["--deterministic"])
        try open(server.client())
        let copy = directory.path("copy.sqlite")
        #expect(try CommandRun(["backup", database, copy]).status == 0)
        let restored = try ServerProcess(database: copy, ["--deterministic"])
        #expect(try epoch(restored.client()) == "epoch-1-1")
        #expect(
            try restored.client().request("POST", "/v1/sessions", #"{"id":"t","rows":[]}"#).object["epoch"] as? String
                == "epoch-2")
    }

    @Test(
        "A crash of PostgreSQL begins new epochs with --synchronous normal, also on running servers, but not with full",
        .enabled(if: PostgresCluster.isPossible, PostgresCluster.needs), arguments: ["normal", "full"])
    func crashesOfPostgres(synchronous: String) throws {
        let cluster = try PostgresCluster()
        let servers = try (0..<2).map { _ in
            try ServerProcess(database: cluster.address, ["--synchronous", synchronous])
        }
        try open(servers[0].client())
        let etag = try change(servers[0].client(), "a", times: 2), first = try epoch(servers[1].client())
        #expect(try epoch(servers[0].client()) == first)
        // Saves the session: without a checkpoint, a crash with `normal` could lose it.
        try TestDatabase.run("CHECKPOINT", in: cluster.address)
        try cluster.control("restart")
        for server in servers { try awaitDatabase(server) }
        let epochs = try servers.map { try epoch($0.client()) }
        #expect(epochs[0] == epochs[1] && (epochs[0] == first) == (synchronous == "full"))
        if synchronous == "normal" {
            _ = try change(servers[1].client(), "b", times: 1)
            for server in servers { try expectForgotten(etag, by: server) }
            // A proper shutdown loses nothing: no new epochs.
            try cluster.control("restart -m fast")
            for server in servers { try awaitDatabase(server) }
            #expect(try servers.map { try epoch($0.client()) } == epochs)
        }
    }

    @Test(
        "Restoring a dump of a PostgreSQL database begins new epochs",
        .enabled(if: PostgresCluster.isPossible, PostgresCluster.needs))
    func restoredDumps() throws {
        let cluster = try PostgresCluster()
        let server = try ServerProcess(database: cluster.address)
        try open(server.client())
        let etag = try change(server.client(), "a", times: 2), first = try epoch(server.client())
        try TestDatabase.run("CREATE DATABASE restored TEMPLATE template0", in: cluster.address)
        let restored = cluster.address.replacingOccurrences(of: "/postgres?", with: "/restored?")
        let process = Process()
        process.executableURL = URL(fileURLWithPath: "/bin/sh")
        process.arguments = [
            "-c", #"pg_dump --dbname "$0" | psql -q --dbname "$1" >/dev/null"#, cluster.address, restored,
        ]
        try process.run()
        process.waitUntilExit()
        let other = try ServerProcess(database: restored)
        let second = try epoch(other.client())
        #expect(second != first)
        try expectForgotten(etag, by: other)
        other.kill()
        #expect(try lastEpoch(ServerProcess(database: restored)) == second)
        #expect(try epoch(server.client()) == first)
    }
}
