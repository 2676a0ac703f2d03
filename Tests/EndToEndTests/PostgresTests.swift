import Foundation
import Synchronization
import TestSupport
import Testing

/// With `BRAID_TEST_DATABASE=postgres`, most other end-to-end tests run on PostgreSQL, too.
@Suite(.serialized) struct PostgresTests {
    @Test(
        "If the database restarts under load, every answer is true: nothing is lost or doubled, with or without keys",
        .enabled(if: PostgresCluster.isPossible, PostgresCluster.needs))
    func databaseRestarts() async throws {
        let cluster = try PostgresCluster()
        let server = try ServerProcess(database: cluster.address)
        let port = server.port, sessions = (0..<6).map { "s\($0)" }, group = DispatchGroup()
        let client = try server.client()
        for id in sessions {
            #expect(try client.request("POST", "/v1/sessions", #"{"id":"\#(id)","rows":[]}"#).status == 201)
        }
        let done = Watched(Dictionary(uniqueKeysWithValues: sessions.map { ($0, Set<String>()) })),
            wrong = Mutex<[String]>([]), isOver = Flag()
        for (index, id) in sessions.enumerated() {
            DispatchQueue.global().async(group: group) {
                guard let client = try? HTTPClient(port: port) else { return }
                let hasKeys = index % 2 == 0
                var number = 0, isUnknown = false
                while !isOver.isSet {
                    let body = #"{"at":[0,0],"model":{"id":"\#(number)"}}"#
                    // Until it succeeds. If a 503 was stored and there is no key, the repetition is refused: the row
                    // exists.
                    guard
                        let response = try? client.request(
                            "POST", "/v1/sessions/\(id)/rows", body,
                            headers: hasKeys ? ["Idempotency-Key": "\(number)"] : [:])
                    else { return wrong.withLock { $0.append("\(id): no answer to \(number)") } }
                    switch response.status {
                    case 200,
                        422 where isUnknown && !hasKeys:
                        _ = done.withLock { $0[id]?.insert("\(number)") }
                        (number, isUnknown) = (number + 1, false)
                    case 503:
                        if response.text.contains("/problems/outcome-unknown") { isUnknown = true }
                        backOff()
                    default: return wrong.withLock { $0.append("\(id): \(number): \(response.text)") }
                    }
                }
            }
        }
        func progress() async throws {
            guard wrong.withLock({ $0.isEmpty }) else { return }
            let goal = done.value.mapValues { $0.count + 20 }
            #expect(await done.wait { $0.allSatisfy { $1.count >= goal[$0] ?? 0 } }, "\(wrong.withLock { $0 })")
        }
        for command in ["restart", "restart -m fast", "restart"] {
            try await progress()
            try cluster.control(command)
            try await progress()
            try cluster.cutConnections()
        }
        try await progress()
        isOver.set()
        group.wait()
        #expect(wrong.withLock { $0 } == [])
        // A new connection: on a busy machine the server may have closed the idle one.
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
        "If a COMMIT or its confirmation is lost, the answer to each kind of change says what is stored",
        .enabled(if: PostgresCluster.isPossible, PostgresCluster.needs), arguments: LostCommit.Lost.allCases)
    func aLostCommit(lost: LostCommit.Lost) throws {
        let cluster = try PostgresCluster(), commits = LostCommit(), proxy = try proxy(to: cluster, commits)
        defer { withExtendedLifetime(proxy) {} }
        let server = try server(behind: proxy), client = try server.keptClient()
        let key = ["Idempotency-Key": "k"], otherKey = ["Idempotency-Key": "other"]
        func change(
            _ method: String, _ target: String, _ body: String? = nil, _ headers: [String: String] = [:], status: Int
        ) throws -> HTTPClient.Response {
            commits.lose(lost)
            let first = try client.request(method, target, body, headers: headers)
            #expect(commits.hasHappened, "\(method) \(target)")
            if lost == .confirmation {
                #expect(first.status == status, "\(method) \(target): \(first)")
                return first
            }
            #expect(first.status == 503 && first.text.contains("/problems/unavailable"), "\(first)")
            #expect(first.header("retry-after") == "1")
            let again = try client.request(method, target, body, headers: headers)
            #expect(again.status == status && again.header("idempotent-replayed") == nil, "\(again)")
            return again
        }
        let row = #"{"at":[0,0],"model":{"id":"a"}}"#, tap = #"{"at":{"id":"none"}}"#
        _ = try change("PUT", "/v1/tables/list", APITests.list, status: 201)
        _ = try change("POST", "/v1/sessions", #"{"id":"s","rows":[]}"#, key, status: 201)
        _ = try change("POST", "/v1/sessions/s/rows", row, key, status: 200)
        _ = try change("PATCH", "/v1/sessions/s/state", #"{"n":1}"#, status: 200)
        _ = try change("POST", "/v1/sessions/s/taps", tap, otherKey, status: 404)
        _ = try change("POST", "/v1/sessions/s/tokens", #"{"role":"viewer","expiresIn":60}"#, status: 201)
        let tokens = try client.get("/v1/sessions/s/tokens").object["tokens"] as? [[String: Any]] ?? []
        #expect(tokens.count == 1)
        let token = try #require(tokens.first?["tokenId"] as? String)
        _ = try change("DELETE", "/v1/sessions/s/tokens/\(token)", status: 204)
        for (target, body, key) in [("rows", row, key), ("taps", tap, otherKey)] {
            let again = try client.request("POST", "/v1/sessions/s/\(target)", body, headers: key)
            #expect(again.status < 500 && again.header("idempotent-replayed") == "true", "\(again)")
        }
        #expect((try client.get("/v1/tables/list/versions").object["versions"] as? [Any])?.count == 1)
        let after = try client.get("/v1/sessions/s/snapshot").text
        #expect(after.contains(#""revision":2,"#), "\(after)")
        let fresh = try ServerProcess(database: cluster.address)
        #expect(try fresh.client().get("/v1/sessions/s/snapshot").text == after)
        _ = try change("DELETE", "/v1/sessions/s", status: 204)
        _ = try change("DELETE", "/v1/tables/list", status: 204)
        #expect(try fresh.client().get("/v1/sessions/s").status == 404)
    }

    @Test(
        "A command whose COMMIT is lost is not taken for another server's same command at the same revision",
        .enabled(if: PostgresCluster.isPossible, PostgresCluster.needs))
    func sameCommandOfAnotherServer() throws {
        let cluster = try PostgresCluster(), commits = LostCommit(), proxy = try proxy(to: cluster, commits)
        let server = try server(behind: proxy), client = try server.client()
        defer { withExtendedLifetime((proxy, server)) {} }
        let other = try ServerProcess(database: cluster.address).keptClient()
        let rows = "/v1/sessions/s/rows", row = #"{"at":[0,0],"model":{}}"#
        #expect(try client.request("POST", "/v1/sessions", #"{"id":"s","rows":[]}"#).status == 201)
        commits.lose(.commit, isClosed: true)
        try client.send(
            "POST \(rows) HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: \(row.utf8.count)\r\n\r\n\(row)"
        )
        #expect(commits.waitForLoss())
        #expect(try other.request("POST", rows, row).object["revision"] as? Int == 1)
        commits.open()
        let refused = try client.receive()
        #expect(refused.status == 503 && refused.text.contains("/problems/unavailable"), "\(refused)")
        #expect(try client.request("POST", rows, row).object["revision"] as? Int == 2)
    }

    private func proxy(to cluster: PostgresCluster, _ commits: LostCommit) throws -> LossyProxy {
        let socket = cluster.directory + "/.s.PGSQL.5432"
        return try LossyProxy(connecting: { connectedSocket(path: socket) }, fate: commits.fate)
    }

    private func server(behind proxy: LossyProxy) throws -> ServerProcess {
        try ServerProcess(database: "postgres://braid@127.0.0.1:\(proxy.port)/postgres?sslmode=disable")
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
        #expect(try eventually { try client.get("/readyz").status == 200 })
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
        // The kernel accepts for a suspended process, which never answers.
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
        #expect(try eventually { try client.get("/readyz").status == 200 })
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
