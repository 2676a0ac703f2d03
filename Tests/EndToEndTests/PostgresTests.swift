import Foundation
import Synchronization
import Testing

/// Tests servers on PostgreSQL. With `BRAID_TEST_DATABASE=postgres`, most of the other end-to-end tests also run on
/// PostgreSQL.
@Suite(.serialized) struct PostgresTests {
    /// After a restart of the database, the server must continue. The server must not acknowledge a command whose
    /// result is unknown.
    @Test(
        "If the database restarts under load, no acknowledged command is lost and none is applied twice",
        .enabled(if: PostgresCluster.isPossible, PostgresCluster.needs))
    func databaseRestarts() async throws {
        let cluster = try PostgresCluster()
        let server = try ServerProcess(database: cluster.address)
        let port = server.port, sessions = (0..<4).map { "s\($0)" }, group = DispatchGroup()
        let client = try server.client()
        for id in sessions {
            #expect(try client.request("POST", "/v1/sessions", #"{"id":"\#(id)","rows":[]}"#).status == 201)
        }
        let done = Mutex(Dictionary(uniqueKeysWithValues: sessions.map { ($0, Set<String>()) })),
            failures = Mutex([Int: Int]()), isOver = Mutex(false)
        for id in sessions {
            DispatchQueue.global().async(group: group) {
                guard let client = try? HTTPClient(port: port) else { return }
                var number = 0
                while !isOver.withLock({ $0 }) {
                    let body = #"{"at":[0,0],"model":{"id":"\#(number)"}}"#
                    // Repeats the same request with the same key until it succeeds.
                    guard
                        let response = try? client.request(
                            "POST", "/v1/sessions/\(id)/rows", body, headers: ["Idempotency-Key": "\(number)"])
                    else { return }
                    if response.status == 200 {
                        _ = done.withLock { $0[id]?.insert("\(number)") }
                        number += 1
                    } else {
                        failures.withLock { $0[response.status, default: 0] += 1 }
                        usleep(20_000)
                    }
                }
            }
        }
        func count() -> Int { done.withLock { $0.values.map(\.count).min() ?? 0 } }
        for _ in 1...3 {
            let before = count()
            while count() < before + 20 { try await Task.sleep(for: .milliseconds(5)) }
            try cluster.control("restart")
        }
        let before = count()
        while count() < before + 20 { try await Task.sleep(for: .milliseconds(5)) }
        isOver.withLock { $0 = true }
        group.wait()
        #expect(failures.withLock { Set($0.keys) }.isSubset(of: [500, 503]), "\(failures.withLock { $0 })")
        // Uses a new connection, because the server may have closed the earlier one, which was idle for a long time on
        // a busy machine.
        #expect(try server.client().get("/readyz").status == 200)
        for round in ["as it is in memory", "after a restart of the server"] {
            let reader = round.hasPrefix("after") ? try ServerProcess(database: cluster.address) : server
            for id in sessions {
                let snapshot = try reader.client().get("/v1/sessions/\(id)/snapshot").object
                let rows = ((snapshot["sections"] as? [[String: Any]])?.first?["rows"] as? [[String: Any]] ?? [])
                    .compactMap { ($0["model"] as? [String: Any])?["id"] as? String }
                let acknowledged = done.withLock { $0[id] ?? [] }
                #expect(Set(rows).count == rows.count, "\(id), \(round)")
                #expect(acknowledged.isSubset(of: rows) && rows.count <= acknowledged.count + 1, "\(id), \(round)")
                #expect(snapshot["revision"] as? Int == rows.count)
            }
            if reader === server { server.kill() }
        }
    }

    @Test(
        "If a COMMIT or its confirmation is lost, the command is not acknowledged, and its repetition is applied once",
        .enabled(if: PostgresCluster.isPossible, PostgresCluster.needs),
        arguments: [(losesAnswer: true, stored: 1), (false, 0)])
    func aLostConfirmation(losesAnswer: Bool, stored: Int) throws {
        let cluster = try PostgresCluster(), socket = cluster.directory + "/.s.PGSQL.5432", isLosing = Atomic(false)
        let proxy = try LossyProxy(connecting: { connectedSocket(path: socket) }) { toServer, piece in
            // The proxy recognizes the COMMIT by the row in the same packet, because the server sends prepared
            // statements without their text. It recognizes the database's confirmation by the text `COMMIT`.
            let sign = toServer ? #"{"id":"a"}"# : "COMMIT\0"
            return isLosing.load(ordering: .relaxed) && toServer != losesAnswer && piece.contains(sign.utf8)
                ? .lose : .pass
        }
        let server = try ServerProcess(database: "postgres://braid@127.0.0.1:\(proxy.port)/postgres?sslmode=disable"),
            client = try server.client()
        #expect(try client.request("POST", "/v1/sessions", #"{"id":"s","rows":[]}"#).status == 201)
        func insert() throws -> HTTPClient.Response {
            try client.request(
                "POST", "/v1/sessions/s/rows", #"{"at":[0,0],"model":{"id":"a"}}"#, headers: ["Idempotency-Key": "k"])
        }
        isLosing.store(true, ordering: .relaxed)
        let lost = try insert()
        #expect(lost.status == 500, "\(lost)")
        #expect(proxy.lost > 0)
        isLosing.store(false, ordering: .relaxed)
        let shown = try client.get("/v1/sessions/s/snapshot").object
        #expect(shown["revision"] as? Int == stored)
        let again = try insert()
        #expect(again.status == 200 && again.header("idempotent-replayed") == (losesAnswer ? "true" : nil), "\(again)")
        let after = try client.get("/v1/sessions/s/snapshot").text
        server.kill()
        let fresh = try ServerProcess(database: cluster.address)
        #expect(try fresh.client().get("/v1/sessions/s/snapshot").text == after)
        #expect(after.contains(#""revision":1,"#))
    }

    @Test(
        "If the database stops, the server refuses commands with 503, and recovers when the database is back",
        .enabled(if: PostgresCluster.isPossible, PostgresCluster.needs))
    func stoppedDatabase() throws {
        let cluster = try PostgresCluster()
        let server = try ServerProcess(database: cluster.address), client = try server.client()
        #expect(try client.request("POST", "/v1/sessions", #"{"id":"s","rows":[]}"#).status == 201)
        try cluster.control("stop")
        let row = #"{"at":[0,0],"model":1}"#
        let refused = try client.request("POST", "/v1/sessions/s/rows", row)
        #expect(refused.status == 503 && refused.header("retry-after") == "1", "\(refused)")
        for _ in 0..<10 {
            #expect(try client.get("/readyz").status == 503)
            #expect(try client.request("POST", "/v1/sessions/s/rows", row).status == 503)
        }
        #expect(try client.get("/healthz").status == 200)
        #expect(try client.get("/metrics").text.contains("\nbraid_database_up 0\n"))
        try cluster.control("start")
        while try client.get("/readyz").status != 200 { usleep(20_000) }
        #expect(try client.get("/metrics").text.contains("\nbraid_database_up 1\n"))
        #expect(try client.request("POST", "/v1/sessions/s/rows", row).status == 200)
        #expect(try client.get("/v1/sessions/s").object["revision"] as? Int == 1)
        #expect(server.stop() == 0)
        let log = server.log, fails = log.ranges(of: "error the database fails: "), line = " reason=unavailable\n"
        #expect(fails.count == 1 && log.ranges(of: "the database works again\(line)").count == 1, "\(log)")
    }

    @Test(
        "A server that was built without the trait `PostgreSQL` refuses to start on PostgreSQL",
        .enabled(if: !PostgresCluster.hasTrait))
    func withoutTheTrait() throws {
        let run = try CommandRun(["serve", "--port", "0", "--database", "postgres://me:secret@127.0.0.1:1/tables"])
        #expect(run.status == 1 && !run.errors.contains("secret") && run.errors.contains("--traits PostgreSQL"))
    }

    @Test("A malformed address of the database prevents the start", .enabled(if: PostgresCluster.hasTrait))
    func wrongAddress() throws {
        let run = try CommandRun(["serve", "--port", "0", "--database", "postgres://me:sec@ret@x:y/tables?%zz"])
        #expect(run.status == 1 && !run.errors.contains("ret@"), "\(run)")
    }

    @Test(
        "While its database is unavailable at the start, the server is alive but not ready, until SIGTERM",
        .enabled(if: PostgresCluster.hasTrait))
    func waitsForItsDatabase() throws {
        let server = try ServerProcess(
            database: "postgres://me:secret@127.0.0.1:1/tables", ["--log-level", "warning", "--drain-time", "3600"])
        let client = try server.client()
        #expect(try client.get("/healthz").status == 200)
        #expect(try client.get("/metrics").status == 200)
        for path in ["/readyz", "/v1/sessions"] {
            let answer = try client.get(path)
            #expect(answer.status == 503 && answer.header("retry-after") == "1", "\(answer.text)")
        }
        #expect(server.waitForLog { $0.contains("next attempt in 2 s") }, "\(server.log)")
        #expect(server.log.contains(" warning waiting for the database postgres://127.0.0.1:1/tables;"))
        #expect(!server.log.contains("secret"), "\(server.log)")
        #expect(server.stop() == 0)
    }

    @Test(
        "A database that accepts connections but never answers delays neither the start nor SIGTERM",
        .enabled(if: PostgresCluster.hasTrait))
    func waitsForASilentDatabase() throws {
        // The kernel accepts connections to a suspended process, but the process never answers.
        let silent = try ServerProcess()
        kill(silent.processIdentifier, SIGSTOP)
        let server = try ServerProcess(database: "postgres://me@127.0.0.1:\(silent.port)/tables")
        #expect(try server.client().get("/healthz").status == 200)
        #expect(try server.client().get("/readyz").status == 503)
        #expect(server.waitForLog { $0.contains("it has not answered for 3 s") }, "\(server.log)")
        let metrics = try server.client().get("/metrics")
        #expect(metrics.status == 200 && metrics.text.contains("\nbraid_database_up 0\n"))
        #expect(server.stop() == 0)
    }

    @Test(
        "When its database becomes available, a waiting server loads the fixtures and is ready",
        .enabled(if: PostgresCluster.isPossible, PostgresCluster.needs))
    func findsItsDatabaseLater() throws {
        let cluster = try PostgresCluster()
        try cluster.control("stop")
        let server = try ServerProcess(database: cluster.address, ServerProcess.attendees),
            client = try server.keptClient()
        #expect(try client.get("/readyz").status == 503)
        try cluster.control("start")
        while try client.get("/readyz").status != 200 { usleep(20_000) }
        #expect(try client.get("/v1/sessions/party").status == 200)
        #expect(
            try client.request("POST", "/v1/sessions/party/edits", #"{"delete":{"section":"attending","row":1}}"#)
                .status == 200)
        #expect(server.waitForLog { $0.contains(" warning the database ") }, "\(server.log)")
        #expect(server.stop() == 0)
    }

    @Test(
        "If its database turns out to belong to another application, a waiting server ends with the reason",
        .enabled(if: PostgresCluster.isPossible, PostgresCluster.needs))
    func findsAnotherDatabaseLater() throws {
        let cluster = try PostgresCluster()
        try TestDatabase.run("CREATE TABLE other (a int)", in: cluster.address)
        try cluster.control("stop")
        let server = try ServerProcess(database: cluster.address)
        try cluster.control("start")
        #expect(server.ended() == 1 && server.log.contains("belongs to another application"), "\(server.log)")
    }
}
