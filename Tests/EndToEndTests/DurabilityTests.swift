import Foundation
import Synchronization
import TestSupport
import Testing

@Suite(.serialized) struct DurabilityTests {
    @Test("If the server is killed under load, the database contains every insert that was acknowledged")
    func killUnderLoad() async throws {
        let directory = try TemporaryDirectory()
        let database = directory.path("braid.sqlite")
        let table =
            #"{"table":"list","cells":{"C":{}},"bindings":[{"cell":"C","models":[{"id":"first"}],"editing":"insert"}]}"#
        let sessions = (0..<4).map { "s\($0)" }
        var acknowledged = Dictionary(uniqueKeysWithValues: sessions.map { ($0, 0) })
        for round in 0..<10 {
            let server = try ServerProcess(database: database)
            if round == 0 {
                let client = try server.client()
                #expect(try client.request("PUT", "/v1/tables/list", table).status == 201)
                for id in sessions {
                    #expect(
                        try client.request("POST", "/v1/sessions", #"{"table":"list","id":"\#(id)"}"#).status == 201)
                }
            }
            let counts = Watched(acknowledged), goal = acknowledged.mapValues { $0 + 10 * (round + 1) }
            let port = server.port
            let group = DispatchGroup()
            for id in sessions {
                DispatchQueue.global().async(group: group) {
                    guard let client = try? HTTPClient(port: port) else { return }
                    for number in 0... {
                        let body = #"{"insert":{"section":0,"row":0},"model":{"id":"\#(round)-\#(number)"}}"#
                        guard let response = try? client.request("POST", "/v1/sessions/\(id)/edits", body),
                            response.status == 200,
                            let revision = response.object["revision"] as? Int
                        else { return }
                        counts.withLock { $0[id] = revision }
                    }
                }
            }
            #expect(await counts.wait { $0.allSatisfy { $1 >= goal[$0] ?? 0 } })
            server.kill()
            group.wait()
            acknowledged = counts.value

            let again = try ServerProcess(database: database)
            let client = try again.client()
            for id in sessions {
                let snapshot = try client.get("/v1/sessions/\(id)/snapshot").object
                let revision = try #require(snapshot["revision"] as? Int)
                #expect(revision >= acknowledged[id] ?? 0, "round \(round)")
                #expect(snapshot["totalRowCount"] as? Int == revision + 1, "one row for each revision")
                let first = max(0, revision - 900)
                let updates = try client.get("/v1/sessions/\(id)/updates?since=\(first)").object
                // PostgreSQL can still commit the killed server's last command after the snapshot.
                let last = try #require(updates["to"] as? Int)
                let journalled = (updates["updates"] as? [[String: Any]])?.compactMap { $0["to"] as? Int }
                #expect(last >= revision && journalled == (first..<last).map { $0 + 1 }, "a journal without holes")
                acknowledged[id] = revision
            }
            again.kill()
        }
        #expect(acknowledged.values.allSatisfy { $0 > 0 }, "there was load")
    }

    @Test("A second server on the same database refuses to start", .enabled(if: TestDatabase.isSQLite))
    func secondServer() throws {
        let directory = try TemporaryDirectory()
        let database = directory.path("braid.sqlite")
        let first = try ServerProcess(database: database)
        do {
            _ = try ServerProcess(database: database)
            Issue.record("the second server started")
        } catch let failure as ServerProcess.StartFailure {
            #expect(failure.status != 0)
            #expect(failure.errors.contains(database), "\(failure.errors)")
        }
        #expect(try first.readiness().status == 200)
        #expect(first.stop() == 0)
        #expect(try ServerProcess(database: database).readiness().status == 200)
    }

    /// SQLite would open `braid.sqlite`, and the server lock `file:braid.sqlite`: a second server could open the same
    /// database.
    @Test("The server refuses a database path that is a URI")
    func uriPath() throws {
        let directory = try TemporaryDirectory()
        let run = try CommandRun(
            ["serve", "--port", "0", "--database", "file:braid.sqlite"], directory: directory.url.path)
        #expect(
            run.status == 64
                && run.errors.contains(
                    "--database must be a path, not a URI; a file of that name is ./file:braid.sqlite"),
            "\(run)")
        #expect(try FileManager.default.contentsOfDirectory(atPath: directory.url.path).isEmpty)
    }

    @Test("A server without a token refuses to listen on an address other than loopback")
    func publicAddress() throws {
        #expect(throws: ServerProcess.StartFailure.self) { try ServerProcess(["--hostname", "0.0.0.0"]) }
        let server = try ServerProcess(["--hostname", "0.0.0.0"], environment: ["BRAID_TOKEN": "secret"])
        let client = try server.client()
        #expect(try client.get("/v1/tables").status == 401)
        #expect(try client.get("/v1/tables", headers: ["Authorization": "Bearer wrong!"]).status == 401)
        #expect(try client.get("/v1/tables", headers: ["Authorization": "Bearer secret"]).status == 200)
        #expect(try client.get("/healthz").status == 200)
    }

    /// As a supervisor may.
    @Test("A server that is stopped right after its readiness line exits with status 0")
    func earlyStop() throws {
        for _ in 0..<30 { #expect(try ServerProcess().stop() == 0) }
    }
}
