import Foundation
import Synchronization
import Testing

/// What servers on one PostgreSQL database promise, one by one. `ClusterSimulationTests` tests many at once, under
/// faults.
@Suite(.serialized, .enabled(if: PostgresCluster.isPossible, PostgresCluster.needs)) struct ClusterTests {
    /// Three servers and the session `x`, with rows `a0`, `a1`, … in the section `a`, and so on.
    private func open(rows: Int = 3) throws -> (ServerCluster, [KeptClient]) {
        let cluster = try ServerCluster(), clients = try cluster.clients()
        try ConcurrencyTests.open(clients[0], rows: rows)
        return (cluster, clients)
    }

    private func patch(_ client: KeptClient, _ number: Int, headers: [String: String] = [:], query: String = "") throws
        -> HTTPClient.Response
    {
        try client.request("PATCH", "/v1/sessions/x/state\(query)", #"{"n":\#(number)}"#, headers: headers)
    }

    @Test("All servers accept a ticket that one of them made, until its token is revoked")
    func tickets() throws {
        let controller = ["Authorization": "Bearer secret"]
        let cluster = try ServerCluster(environment: ["BRAID_TOKEN": "secret"]), clients = try cluster.clients()
        let opened = try clients[0].request("POST", "/v1/sessions", #"{"id":"x","rows":[]}"#, headers: controller)
        try #require(opened.status == 201, "\(opened.text)")
        let token = try clients[0].request(
            "POST", "/v1/sessions/x/tokens", #"{"role":"viewer","expiresIn":600}"#, headers: controller)
        let bearer = ["Authorization": "Bearer \(token.object["token"] as? String ?? "")"]
        let tickets = try clients.map {
            try #require(
                try $0.request("POST", "/v1/sessions/x/tickets", headers: bearer).object["ticket"] as? String)
        }
        func statuses() throws -> Set<Int> {
            try Set(
                clients.flatMap { client in
                    try tickets.map { try client.get("/v1/sessions/x?ticket=\($0)").status }
                })
        }
        #expect(try statuses() == [200])
        let id = try #require(token.object["tokenId"] as? String)
        #expect(try clients[1].request("DELETE", "/v1/sessions/x/tokens/\(id)", headers: controller).status == 204)
        #expect(try statuses() == [401])
    }

    @Test("When one server has acknowledged a command, the other servers show its result at once")
    func acknowledgedIsSeen() throws {
        let (_, clients) = try open()
        for round in 1...150 {
            let done = try patch(clients[round % 3], round),
                seen = try clients[(round + 1) % 3].get("/v1/sessions/x/snapshot")
            #expect(
                seen.object["revision"] as? Int == round && seen.header("etag") == done.header("etag"),
                "round \(round): \(done.text), \(seen.text)")
            #expect(
                try clients[(round + 2) % 3].get(
                    "/v1/sessions/x/snapshot", headers: ["If-None-Match": done.header("etag") ?? ""]
                ).status == 304, "round \(round)")
        }
        for resource in ["", "/updates?since=0", "/updates?since=0&coalesce", "/journal?limit=1000"] {
            let answers = try clients.map { try $0.get("/v1/sessions/x\(resource)").text }
            #expect(Set(answers).count == 1, "\(resource)")
        }
    }

    @Test("A server checks each command against the current table, even if another server has changed it")
    func judgedByThePresent() throws {
        let (_, clients) = try open()
        for round in 0..<15 {
            let row = #"{"at":[0,0],"model":{"id":"new\#(round)","taps":0}}"#,
                delete = #"{"delete":{"id":"new\#(round)"}}"#
            #expect(try clients[1].request("POST", "/v1/sessions/x/edits", delete).status == 404)
            #expect(try clients[round % 3].request("POST", "/v1/sessions/x/rows", row).status == 200)
            #expect(
                try clients[(round + 1) % 3].request("POST", "/v1/sessions/x/rows", row).text.contains(
                    "/problems/duplicate-row-id"))
            #expect(try clients[(round + 1) % 3].request("POST", "/v1/sessions/x/edits?dryRun", delete).status == 200)
            #expect(try clients[(round + 2) % 3].request("POST", "/v1/sessions/x/edits", delete).status == 200)
            #expect(try clients[round % 3].request("POST", "/v1/sessions/x/edits", delete).status == 404)
        }
    }

    @Test("A position from one server is valid at the others, as a condition and as a base")
    func positionsHoldEverywhere() throws {
        let (_, clients) = try open()
        for round in 0..<15 {
            let seen = try #require(try patch(clients[round % 3], round).header("etag")),
                other = clients[(round + 1) % 3], third = clients[(round + 2) % 3]
            #expect(try patch(other, 1000 + round, headers: ["If-Match": seen]).status == 200)
            #expect(try patch(third, 2000 + round, headers: ["If-Match": seen]).status == 412)
            let base = seen.dropFirst().dropLast()
            #expect(
                try third.request(
                    "POST", "/v1/sessions/x/moves",
                    #"{"from":{"id":"a0"},"to":{"section":"a","row":\#(round % 2 + 1)}}"#
                ).status == 200)
            let tapped = try other.request("POST", "/v1/sessions/x/taps?base=\(base)", #"{"at":{"id":"a0"}}"#)
            #expect(tapped.object["at"] as? [Int] == [0, round % 2 + 1], "\(tapped.text)")
        }
    }

    @Test("A session is not ended under a condition if another server has acknowledged a change of it")
    func endsUnderAConditionAnywhere() throws {
        try ConditionTests.raceAnEnd(Array(try open().1.prefix(2)))
    }

    @Test("A server whose copy of a session is older than the journal reads the whole session again")
    func oldCopiesAreReadAnew() throws {
        let cluster = try ServerCluster(3, ["--journal-limit", "3"]), clients = try cluster.clients()
        try ConcurrencyTests.open(clients[0], rows: 3)
        for round in 1...20 {
            let client = clients[round % 3], last = clients[(round + 1) % 3]
            for number in 1...5 { #expect(try patch(client, round * 10 + number).status == 200) }
            let answer = try last.request("POST", "/v1/sessions/x/taps", #"{"at":{"id":"a0"}}"#)
            #expect(
                answer.object["revision"] as? Int == 6 * round && answer.text.contains(#""taps":\#(round)}"#),
                "\(answer.text)")
            #expect(try clients[(round + 2) % 3].get("/v1/sessions/x/snapshot").header("etag") == answer.header("etag"))
        }
    }

    @Test("A change that was stored unpublished at one server is published by the next command at another server")
    func unpublishedChange() throws {
        let (_, clients) = try open()
        let shown = try clients[2].get("/v1/sessions/x/snapshot").object["sections"]
        #expect(
            try clients[0].request(
                "POST", "/v1/sessions/x/rows?notify=false", #"{"at":[0,0],"model":{"id":"new","taps":0}}"#
            ).status == 200)
        for client in clients {
            #expect(try client.get("/v1/sessions/x/snapshot").object["sections"] as? NSArray == shown as? NSArray)
        }
        #expect(try clients[1].get("/v1/sessions/x/rows/0/0").text.contains("new"))
        #expect(try patch(clients[1], 1).text.contains(#""insertRows":[{"at":[0,0],"row":{"id":"new""#))
        for client in clients { #expect(try client.get("/v1/sessions/x/snapshot").text.contains("new")) }
    }

    @Test("The newest version of a table that was registered at one server can be opened at the others")
    func tablesAreEverybodys() throws {
        let cluster = try ServerCluster(), clients = try cluster.clients()
        for round in 0..<12 {
            let table =
                #"{"table":"t","sections":["a"],"cells":{"C":{}},"bindings":[{"on":{"section":"a"},"cell":"C","models":[{"id":"r\#(round)"}]}]}"#
            #expect(try clients[round % 3].request("PUT", "/v1/tables/t", table).object["version"] as? Int == round + 1)
            let opened = try clients[(round + 1) % 3].request(
                "POST", "/v1/sessions", #"{"id":"s\#(round)","table":"t"}"#)
            #expect(opened.status == 201 && opened.text.contains("\"r\(round)\""), "\(opened.text)")
            #expect(try clients[(round + 2) % 3].request("DELETE", "/v1/tables/t").status == 409)
            #expect((try clients[(round + 2) % 3].get("/v1/sessions").object["sessions"] as? [Any])?.count == round + 1)
        }
    }

    @Test("A session that ends at one server is gone at the others, and their streams receive `ended`")
    func endedIsEndedEverywhere() throws {
        let (cluster, clients) = try open()
        let streams = try (0..<6).map { try EventStreamClient(port: cluster[$0 % 3].port, "/v1/sessions/x/updates") }
        for stream in streams { _ = try stream.events(through: "caught-up") }
        #expect(try clients[1].request("DELETE", "/v1/sessions/x").status == 204)
        for client in clients {
            #expect(try patch(client, 1).status == 404)
            #expect(try client.get("/v1/sessions/x/snapshot").status == 404)
            #expect(try client.request("DELETE", "/v1/sessions/x").status == 404)
        }
        for stream in streams {
            #expect(try stream.next().name == "ended")
            #expect(throws: EventStreamClient.Ended.self) { try stream.next() }
        }
    }

    @Test("When a session is ended and its id opened again, every server shows the new session at once")
    func openedAnewIsAnother() throws {
        let (cluster, clients) = try open()
        for round in 0..<10 {
            let old = try clients[2].get("/v1/sessions/x/snapshot").object["epoch"] as? String ?? ""
            let stream = try EventStreamClient(port: cluster[(round + 2) % 3].port, "/v1/sessions/x/updates")
            _ = try stream.events(through: "caught-up")
            for client in clients { #expect(try patch(client, round).status == 200) }
            #expect(try clients[round % 3].request("DELETE", "/v1/sessions/x").status == 204)
            try ConcurrencyTests.open(clients[(round + 1) % 3], rows: 1)
            // The first request after the new opening, of any kind, must apply to the new session.
            if round % 2 == 0 {
                for client in clients.reversed() {
                    #expect(try patch(client, 100 + round, query: "?dryRun").status == 200)
                }
            }
            if round % 4 == 1 {
                for client in clients {
                    #expect(try patch(client, round, headers: ["If-Match": "\"\(old).3\""]).status == 412)
                }
            }
            for client in clients {
                let snapshot = try client.get("/v1/sessions/x/snapshot").object
                #expect(
                    snapshot["revision"] as? Int == 0 && snapshot["totalRowCount"] as? Int == 3
                        && snapshot["epoch"] as? String != old)
                #expect(try client.get("/v1/sessions/x/updates?since=\(old).1").object["reset"] as? Bool == true)
                #expect(try patch(client, 1, headers: ["If-Match": "\"\(old).3\""]).status == 412)
            }
            let events = try stream.events(through: "ended").dropLast()
            #expect(events.allSatisfy { $0.name == "update" && $0.id.hasPrefix(old) }, "\(events)")
        }
    }

    @Test("Even under constant requests, each server has a session as soon as it is opened, and not after its end")
    func openedIsThereAtOnce() throws {
        let cluster = try ServerCluster(), clients = try cluster.clients()
        let ports = cluster.indices.map { cluster[$0].port }, isOver = Mutex(false), group = DispatchGroup()
        for number in 0..<6 {
            group.enter()
            Thread.detachNewThread {
                while !isOver.withLock({ $0 }), let client = try? HTTPClient(port: ports[number % 3]) {
                    for _ in 0..<50 { _ = try? client.get("/v1/sessions/x/snapshot") }
                }
                group.leave()
            }
        }
        defer {
            isOver.withLock { $0 = true }
            group.wait()
        }
        for round in 0..<20 {
            try ConcurrencyTests.open(clients[round % 3], rows: 1)
            for client in clients { #expect(try client.get("/v1/sessions/x").status == 200, "round \(round)") }
            #expect(try clients[(round + 1) % 3].request("DELETE", "/v1/sessions/x").status == 204)
            for client in clients { #expect(try client.get("/v1/sessions/x").status == 404, "round \(round)") }
        }
    }

    @Test("Servers that start at the same time with the same fixtures on an empty database all serve them")
    func fixturesAreLoadedOnce() throws {
        let database = try TestDatabase.schema()
        for _ in 0..<2 {
            let group = DispatchGroup(), failures = Mutex<[String]>([])
            for _ in 0..<3 {
                group.enter()
                Thread.detachNewThread {
                    do {
                        let server = try ServerProcess(database: database, ServerProcess.attendees),
                            client = try server.client()
                        let snapshot = try client.get("/v1/sessions/party/snapshot")
                        if snapshot.status != 200 || !snapshot.text.contains("Omar") {
                            failures.withLock { $0.append(snapshot.text) }
                        }
                        if server.stop() != 0 { failures.withLock { $0.append(server.log) } }
                    } catch { failures.withLock { $0.append("\(error)") } }
                    group.leave()
                }
            }
            group.wait()
            #expect(failures.withLock { $0 } == [])
        }
    }

    @Test("Every server accepts a token until one server revokes it, which ends its streams and polls everywhere")
    func tokensAreEverybodys() throws {
        let cluster = try ServerCluster(environment: ["BRAID_TOKEN": "secret-of-the-controller"]),
            clients = try cluster.clients()
        let opened = try clients[0].request(
            "POST", "/v1/sessions", #"{"table":\#(AccessTests.table),"id":"mine"}"#, headers: AccessTests.controller)
        #expect(opened.status == 201)
        for round in 0..<4 {
            let (token, id) = try AccessTests.token("viewer", on: cluster[round % 3]),
                bearer = AccessTests.bearer(token)
            for client in clients { #expect(try client.get("/v1/sessions/mine", headers: bearer).status == 200) }
            let streams = try cluster.indices.map {
                try EventStreamClient(port: cluster[$0].port, "/v1/sessions/mine/updates", headers: bearer)
            }
            for stream in streams { _ = try stream.events(through: "caught-up") }
            let poll = try cluster[(round + 1) % 3].client()
            try poll.send(
                "GET /v1/sessions/mine/updates?since=0&wait=60 HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer \(token)\r\n\r\n"
            )
            #expect(
                try clients[(round + 2) % 3].request(
                    "DELETE", "/v1/sessions/mine/tokens/\(id)", headers: AccessTests.controller
                ).status == 204)
            for client in clients { #expect(try client.get("/v1/sessions/mine", headers: bearer).status == 401) }
            for stream in streams { #expect(throws: EventStreamClient.Ended.self) { try stream.next() } }
            #expect(try poll.receive().status == 401)
        }
    }

    /// Without a notice of the end, a server keeps its copy until the next request.
    @Test("A server that still has an ended session in memory accepts tokens for the new session with its id")
    func tokenOfNewSession() throws {
        let postgres = try PostgresCluster()
        let
            cluster = try ServerCluster(
                database: postgres.address, environment: ["BRAID_TOKEN": "secret-of-the-controller"]),
            clients = try cluster.clients()
        func open() throws {
            let opened = try clients[0].request(
                "POST", "/v1/sessions", #"{"table":\#(AccessTests.table),"id":"mine"}"#, headers: AccessTests.controller
            )
            try #require(opened.status == 201, "\(opened.text)")
        }
        try open()
        for client in clients {
            #expect(try client.get("/v1/sessions/mine/snapshot", headers: AccessTests.controller).status == 200)
        }
        try postgres.cutConnections()
        #expect(try clients[0].request("DELETE", "/v1/sessions/mine", headers: AccessTests.controller).status == 204)
        try open()
        let bearer = AccessTests.bearer(try AccessTests.token("participant", on: cluster[0]).token)
        let deleted = try clients[1].request(
            "POST", "/v1/sessions/mine/edits", #"{"delete":{"id":"1"}}"#, headers: bearer)
        #expect(deleted.status == 200, "\(deleted.text)")
        let updates = try clients[2].get("/v1/sessions/mine/updates?since=0", headers: bearer)
        #expect(updates.object["to"] as? Int == 1, "\(updates.text)")
    }
}
