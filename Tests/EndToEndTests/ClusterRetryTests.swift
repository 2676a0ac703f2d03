import Foundation
import Synchronization
import Testing

/// Servers share a PostgreSQL database. Clients repeat requests and continue streams at another one, and all get a
/// turn.
@Suite(.serialized, .enabled(if: PostgresCluster.isPossible, PostgresCluster.needs)) struct ClusterRetryTests {
    private func open() throws -> (ServerCluster, [KeptClient]) {
        let cluster = try ServerCluster(), clients = try cluster.clients()
        try ConcurrencyTests.open(clients[0])
        return (cluster, clients)
    }

    /// Sends to each server, then reads the answers.
    private func atOnce(_ cluster: ServerCluster, _ target: String, _ body: String, key: String) throws -> [HTTPClient
        .Response]
    {
        let clients = try cluster.indices.map { try cluster[$0].client() }
        for client in clients {
            try client.send(
                "POST \(target) HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n\(key)Content-Length: \(body.utf8.count)\r\n\r\n\(body)"
            )
        }
        return try clients.map { try $0.receive() }
    }

    @Test("A request that is repeated at another server with the same idempotency key gets the first answer")
    func keysHoldEverywhere() throws {
        let (cluster, clients) = try open()
        let tap = #"{"at":{"id":"a0"}}"#, key = ["Idempotency-Key": "k"]
        let first = try clients[0].request("POST", "/v1/sessions/x/taps", tap, headers: key)
        #expect(try clients[2].request("PATCH", "/v1/sessions/x/state", #"{"n":1}"#).status == 200)
        for client in [clients[1], clients[2], clients[1]] {
            let again = try client.request("POST", "/v1/sessions/x/taps", tap, headers: key)
            #expect(
                again.text == first.text && again.header("etag") == first.header("etag")
                    && again.header("idempotent-replayed") == "true", "\(again.text)")
            #expect(
                try client.request("POST", "/v1/sessions/x/taps", #"{"at":{"id":"a1"}}"#, headers: key).text.contains(
                    "/problems/idempotency-key-reused"))
        }
        let refused = try clients[1].request(
            "POST", "/v1/sessions/x/taps", #"{"at":{"id":"none"}}"#, headers: ["Idempotency-Key": "r"])
        cluster.kill(1)
        let again = try clients[0].request(
            "POST", "/v1/sessions/x/taps", #"{"at":{"id":"none"}}"#, headers: ["Idempotency-Key": "r"])
        #expect(
            again.status == 404 && again.text == refused.text && again.header("idempotent-replayed") == "true",
            "\(again.text)")
    }

    @Test("The same request with the same key, sent to three servers at once, is carried out once")
    func oneOfThreeIsDone() throws {
        let (cluster, clients) = try open()
        for round in 1...15 {
            let answers = try atOnce(
                cluster, "/v1/sessions/x/taps", #"{"at":{"id":"a0"}}"#, key: "Idempotency-Key: k\(round)\r\n")
            let done = answers.filter { $0.status == 200 }
            #expect(!done.isEmpty && Set(done.map(\.text)).count == 1, "round \(round): \(answers.map(\.text))")
            #expect(
                answers.allSatisfy { $0.status == 200 || $0.text.contains("/problems/idempotency-key-in-use") },
                "round \(round): \(answers.map(\.text))")
            #expect(done.count { $0.header("idempotent-replayed") == nil } == 1, "round \(round)")
            #expect(try clients[round % 3].get("/v1/sessions/x").object["revision"] as? Int == round)
        }
    }

    @Test("A delete with the same key at three servers at once is carried out once, and late servers send its answer")
    func concurrentDeletes() throws {
        let (cluster, clients) = try open()
        for round in 1...20 {
            let row = #"{"at":[0,0],"model":{"id":"new\#(round)","taps":0}}"#
            let tag = try #require(try clients[round % 3].request("POST", "/v1/sessions/x/rows", row).header("etag"))
            let condition = round % 2 == 0 ? "If-Match: \(tag)\r\n" : ""
            let answers = try atOnce(
                cluster, "/v1/sessions/x/edits", #"{"delete":{"id":"new\#(round)"}}"#,
                key: "Idempotency-Key: k\(round)\r\n\(condition)")
            let done = answers.filter { $0.status == 200 }
            #expect(!done.isEmpty && Set(done.map(\.text)).count == 1, "round \(round): \(answers.map(\.text))")
            #expect(
                answers.allSatisfy { $0.status == 200 || $0.text.contains("/problems/idempotency-key-in-use") },
                "round \(round): \(answers.map(\.text))")
        }
    }

    @Test("Opening a session with the same key or the same id at three servers at once opens one session")
    func oneOfThreeIsOpened() throws {
        let cluster = try ServerCluster(), clients = try cluster.clients()
        for round in 1...15 {
            let id = round % 2 == 0 ? "" : #""id":"k\#(round)","#
            let keyed = try atOnce(
                cluster, "/v1/sessions", #"{\#(id)"table":\#(APITests.list)}"#, key: "Idempotency-Key: o\(round)\r\n")
            let opened = keyed.filter { $0.status == 201 }
            #expect(!opened.isEmpty && Set(opened.map(\.text)).count == 1, "round \(round): \(keyed.map(\.text))")
            #expect(
                keyed.allSatisfy { $0.status == 201 || $0.text.contains("/problems/idempotency-key-in-use") },
                "round \(round): \(keyed.map(\.text))")
            let named = try atOnce(cluster, "/v1/sessions", #"{"id":"s\#(round)","table":\#(APITests.list)}"#, key: "")
            #expect(named.map(\.status).sorted() == [201, 409, 409], "round \(round): \(named.map(\.text))")
            #expect((try clients[round % 3].get("/v1/sessions").object["sessions"] as? [Any])?.count == 2 * round)
        }
    }

    @Test("Streams and long polls receive updates in order, also at servers that did not receive the command")
    func followersAreToldEverywhere() throws {
        let (cluster, clients) = try open()
        let streams = try cluster.indices.map {
            try EventStreamClient(port: cluster[$0].port, "/v1/sessions/x/updates")
        }
        for stream in streams { _ = try stream.events(through: "caught-up") }
        for round in 1...15 {
            let poll = try cluster[(round + 1) % 3].client()
            try poll.send("GET /v1/sessions/x/updates?since=\(round - 1)&wait=60 HTTP/1.1\r\nHost: localhost\r\n\r\n")
            #expect(try clients[round % 3].request("POST", "/v1/sessions/x/taps", #"{"at":{"id":"a0"}}"#).status == 200)
            let events = try streams.map { try $0.events(through: "update") }
            #expect(
                events.allSatisfy {
                    $0.map(\.name) == ["tap", "update"] && $0[1].revision == round && $0 == events[0]
                }, "round \(round): \(events)")
            let polled = try poll.receive().object
            #expect(polled["from"] as? Int == round - 1 && polled["to"] as? Int == round)
        }
    }

    @Test("Every server sends taps and cell events to its streams, whichever server received them")
    func cellEventsAreToldEverywhere() throws {
        let cluster = try ServerCluster(2), clients = try cluster.clients()
        #expect(
            try clients[0].request("POST", "/v1/sessions", #"{"id":"x","table":\#(AccessTests.table)}"#).status == 201)
        let streams = try cluster.indices.map {
            try EventStreamClient(port: cluster[$0].port, "/v1/sessions/x/updates")
        }
        for stream in streams { _ = try stream.events(through: "caught-up") }
        #expect(
            try clients[0].request("POST", "/v1/sessions/x/events", #"{"at":{"id":"1"},"event":{"go":{}}}"#).status
                == 200)
        #expect(try clients[1].request("POST", "/v1/sessions/x/taps", #"{"at":{"id":"1"}}"#).status == 200)
        for stream in streams { #expect(try [stream.next().name, stream.next().name] == ["cellEvent", "tap"]) }
    }

    @Test("A client whose server was killed continues its stream at another server, without missing an update")
    func streamsGoOnElsewhere() throws {
        let (cluster, clients) = try open()
        var stream = try EventStreamClient(port: cluster[0].port, "/v1/sessions/x/updates"), revision = 0
        _ = try stream.events(through: "caught-up")
        for round in 1...6 {
            let victim = round % 2, other = clients[2]
            for _ in 0..<3 {
                #expect(try other.request("POST", "/v1/sessions/x/taps", #"{"at":{"id":"a0"}}"#).status == 200)
            }
            revision += 3
            #expect(
                try stream.events(throughRevision: revision).filter { $0.name == "update" }.map(\.revision) == [
                    revision - 2, revision - 1, revision,
                ])
            let last = stream.lastEventID
            cluster.kill((victim + 1) % 2)
            #expect(try other.request("POST", "/v1/sessions/x/taps", #"{"at":{"id":"a0"}}"#).status == 200)
            revision += 1
            stream = try EventStreamClient(port: cluster[victim].port, "/v1/sessions/x/updates", lastEventID: last)
            #expect(try stream.events(through: "caught-up").map(\.name) == ["tap", "update", "caught-up"])
            try cluster.start((victim + 1) % 2)
        }
    }

    @Test("With many clients on one session at all servers, every client gets a turn and every command succeeds")
    func nobodyStarves() throws {
        let (cluster, clients) = try open()
        let ports = cluster.indices.map { cluster[$0].port }, failures = Mutex<[String]>([]), group = DispatchGroup()
        for number in 0..<12 {
            group.enter()
            Thread.detachNewThread {
                do {
                    let client = try HTTPClient(port: ports[number % 3])
                    for _ in 0..<25 {
                        let answer = try client.request("POST", "/v1/sessions/x/taps", #"{"at":{"id":"a0"}}"#)
                        if answer.status != 200 { failures.withLock { $0.append(answer.text) } }
                    }
                } catch { failures.withLock { $0.append("\(error)") } }
                group.leave()
            }
        }
        group.wait()
        #expect(failures.withLock { $0 } == [])
        for client in clients { #expect(try client.get("/v1/sessions/x/snapshot").text.contains(#""taps":300}"#)) }
    }

    @Test(
        "Revisions that the database has lost are gone at every server, and the session continues from the stored one"
    )
    func storedIsWhatHolds() throws {
        let cluster = try ServerCluster(), clients = try cluster.clients()
        #expect(try clients[0].request("POST", "/v1/sessions", #"{"id":"x","rows":[]}"#).status == 201)
        for number in 1...4 {
            #expect(
                try clients[0].request("POST", "/v1/sessions/x/rows", #"{"at":[0,0],"model":{"id":"\#(number)"}}"#)
                    .status == 200)
            for client in clients {
                #expect(try client.get("/v1/sessions/x/snapshot").object["revision"] as? Int == number)
            }
        }
        try TestDatabase.run(
            "UPDATE session SET revision = 2, updated = (SELECT at FROM journal WHERE revision = 2), total_row_count = 2; DELETE FROM journal WHERE revision > 2; DELETE FROM model WHERE key > 2",
            in: cluster.database)
        // The last server still has the old revision 4, the database another one.
        for (number, client) in [(1, clients[0]), (2, clients[1]), (3, clients[2])] {
            let answer = try client.request(
                "POST", "/v1/sessions/x/rows", #"{"at":[0,0],"model":{"id":"new \#(number)"}}"#)
            #expect(answer.object["revision"] as? Int == 2 + number, "\(answer.text)")
        }
        let snapshots = try clients.map { try $0.get("/v1/sessions/x/snapshot") }
        #expect(Set(snapshots.map(\.text)).count == 1)
        let rows = (snapshots[0].object["sections"] as? [[String: Any]])?.first?["rows"] as? [[String: Any]] ?? []
        #expect(
            rows.map { ($0["model"] as? [String: Any])?["id"] as? String } == ["new 3", "new 2", "new 1", "2", "1"])
    }

    @Test("The other servers repeat a command of any kind in their copies, and their streams do not break")
    func catchingUpReadsNothingAnew() throws {
        let (cluster, clients) = try open()
        let stream = try EventStreamClient(port: cluster[1].port, "/v1/sessions/x/updates")
        _ = try stream.events(through: "caught-up")
        let commands = [
            ("PATCH", "state", #"{"n":1}"#), ("POST", "taps", #"{"at":{"id":"a0"}}"#),
            ("POST", "edits", #"{"delete":{"id":"a1"}}"#),
            ("POST", "moves", #"{"from":{"id":"a0"},"to":{"section":"a","row":1}}"#),
            ("PATCH", "headers", #"{"a":"header"}"#),
            ("POST", "transactions", #"{"commands":[{"patchState":{"n":2}},{"taps":{"at":{"id":"a0"}}}]}"#),
            ("POST", "reset", "{}"),
            // Longer than what a server reads of the journal at once; the next command follows it.
            ("PATCH", "state", #"{"long":"\#(String(repeating: "x", count: 3_000_000))"}"#),
            ("PATCH", "state", #"{"long":""}"#),
        ]
        for (number, (method, resource, body)) in commands.enumerated() {
            let answer = try clients[0].request(method, "/v1/sessions/x/\(resource)", body)
            #expect(
                answer.status == 200 && answer.object["outcome"] as? String == "applied", "\(resource): \(answer.text)")
            let event = try stream.events(through: "update").last
            #expect(event?.revision == number + 1, "\(resource): \(event.debugDescription)")
        }
        let metrics = try clients[1].get("/metrics").text
        #expect(metrics.contains("braid_revisions_of_others_total \(commands.count)\n"))
        #expect(Set(try clients.map { try $0.get("/v1/sessions/x/snapshot").text }).count == 1)
    }
}
