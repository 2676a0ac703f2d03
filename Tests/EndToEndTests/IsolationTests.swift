import Foundation
import Synchronization
import TestSupport
import Testing

/// No client, with or without a token, can block the others: during an attack, small commands and the operators' routes
/// are answered.
///
/// No times here: tests compare the order of answers, or what is refused. `Benchmarks/run isolation` measures.
@Suite(.serialized) struct IsolationTests {
    static let controller = ["Authorization": "Bearer secret"]

    static func bearer(_ token: String) -> [String: String] { ["Authorization": "Bearer \(token)"] }

    static func server(_ options: [String] = []) throws -> ServerProcess {
        // Long time limits: on a busy machine, the threads for large commands can stand still.
        let times = ["--command-timeout", "3600", "--participant-command-timeout", "3600"]
        let server = try ServerProcess(times + options, environment: ["BRAID_TOKEN": "secret"])
        try open(
            "light",
            #"{"table":"light","cells":{"C":{}},"bindings":[{"cell":"C","models":[],"editing":"insert"}]}"#,
            on: server)
        return server
    }

    static func open(_ id: String, _ table: String, _ members: String = "", on server: ServerProcess) throws {
        try #require(
            try server.client().request(
                "POST", "/v1/sessions", #"{"id":"\#(id)","table":\#(table)\#(members)}"#, headers: controller
            ).status == 201)
    }

    static func token(_ role: String, of session: String, on server: ServerProcess) throws -> String {
        let answer = try server.client().request(
            "POST", "/v1/sessions/\(session)/tokens", #"{"role":"\#(role)","expiresIn":3600}"#, headers: controller)
        return try #require(answer.object["token"] as? String)
    }

    /// All rows read the state, so a change of it renders them all.
    static func readingTable(_ rows: Int) -> String {
        let models = (0..<rows).map { #"{"id":"\#($0)"}"# }.joined(separator: ",")
        return
            #"{"table":"t","cells":{"C":{}},"bindings":[{"cell":"C","models":[\#(models)],"viewModel":{"title":"${model.id} of ${state.n}"},"editing":"insert"}]}"#
    }

    static func text(_ method: String, _ target: String, _ body: String = "", token: String = "secret") -> String {
        let content = body.isEmpty ? "" : "Content-Type: application/json\r\nContent-Length: \(body.utf8.count)\r\n"
        return
            "\(method) \(target) HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer \(token)\r\n\(content)\r\n\(body)"
    }

    /// Small requests to `light`, and the operators' routes.
    func expectOthersAreServed(_ server: ServerProcess, _ round: Int, at place: SourceLocation = #_sourceLocation)
        throws
    {
        let insert = #"{"insert":{"section":0,"row":0},"model":{"id":"\#(round)"}}"#
        #expect(
            try server.client().request("POST", "/v1/sessions/light/edits", insert, headers: Self.controller).status
                == 200, sourceLocation: place)
        #expect(
            try server.client().get("/v1/sessions/light/snapshot", headers: Self.controller).status == 200,
            sourceLocation: place)
        for route in ["/healthz", "/readyz", "/metrics"] {
            #expect(try server.client().get(route).status == 200, "\(route)", sourceLocation: place)
        }
    }

    @Test("Slow commands, refused commands and dry runs of some sessions do not delay other sessions")
    func slowCommands() throws {
        let server = try Self.server()
        let table = Self.readingTable(20_000)
        for number in 0..<4 { try Self.open("heavy\(number)", table, #","state":{"n":0}"#, on: server) }
        // Renders all rows twice, and is then refused: no success tells the server what it costs.
        let slow = #"{"commands":[{"patchState":{"n":1}},{"patchState":{"n":2}},{"edits":{"delete":{"id":"none"}}}]}"#
        let dryRun = #"{"n":3}"#
        var isOvertaken = false
        // Again, if the test stood still and all heavy requests were answered.
        for attempt in 0..<10 where !isOvertaken {
            let heavy = try (0..<16).map { number in
                let client = try server.client()
                let session = "/v1/sessions/heavy\(number % 4)"
                try client.send(
                    number < 8
                        ? Self.text("POST", "\(session)/transactions", slow)
                        : Self.text("PATCH", "\(session)/state?dryRun", dryRun))
                return client
            }
            for round in 0..<5 { try expectOthersAreServed(server, 5 * attempt + round) }
            isOvertaken = heavy.contains { !$0.hasAnswer }
            for (number, client) in heavy.enumerated() {
                #expect(try client.receive().status == (number < 8 ? 404 : 200))
            }
        }
        #expect(isOvertaken, "the others did not wait for all of it")
    }

    @Test("A request with an unknown token is refused before its body is read, however many such requests arrive")
    func unknownTokens() throws {
        let server = try Self.server(["--max-buffered-bytes", "33554432"])
        for token in ["braid_abcdefghijkl.unknown", "wrong"] {
            let clients = try (0..<16).map { _ in
                let client = try server.client()
                try client.send(
                    "PUT /v1/sessions/light/models HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer \(token)\r\nContent-Type: application/json\r\nContent-Length: 16777216\r\n\r\n"
                )
                return client
            }
            // Refused although not a byte of the body was sent.
            for client in clients {
                let refused = try client.receive()
                #expect(refused.status == 401 && refused.header("connection") == "close")
            }
        }
        try expectOthersAreServed(server, 0)
    }

    @Test("Unfinished bodies of one token use only this token's share of the memory for bodies")
    func unfinishedBodies() throws {
        // At the lowest rate, the server waits for bodies that stand still.
        let server = try Self.server(["--max-buffered-bytes", "33554432", "--min-body-rate", "1"])
        let table =
            #"{"table":"t","cells":{"C":{}},"bindings":[{"cell":"C","models":[],"editing":"insert"}]}"#
        try Self.open("other", table, on: server)
        let token = try Self.token("participant", of: "other", on: server)
        let piece = [UInt8](repeating: UInt8(ascii: " "), count: 1 << 20)
        let clients = try (0..<8).map { _ in
            let client = try server.client()
            try client.send(
                "POST /v1/sessions/other/edits HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer \(token)\r\nContent-Type: application/json\r\nContent-Length: 16777216\r\n\r\n"
            )
            for _ in 0..<5 where (try? client.send(piece)) != nil {}
            return client
        }
        // At most one has room for all that it sends; the others are refused.
        #expect(eventually { clients.count(where: \.hasAnswer) >= clients.count - 1 })
        let refused = clients.filter(\.hasAnswer)
        for client in refused {
            let answer = try client.receive()
            #expect(
                answer.status == 429 && answer.object["type"] as? String == "/problems/quota-exceeded"
                    && answer.header("retry-after") == "1")
        }
        let large =
            #"{"insert":{"section":0,"row":0},"model":{"id":"large","text":"\#(String(repeating: "x", count: 4 << 20))"}}"#
        #expect(
            try server.client().request("POST", "/v1/sessions/light/edits", large, headers: Self.controller).status
                == 200, "another session's large body has room")
        try expectOthersAreServed(server, 0)
        withExtendedLifetime(clients) {}
    }

    @Test("A body that is longer than all the memory for bodies gets 413 at once, and not 503")
    func hopelessBody() throws {
        let server = try Self.server(["--max-buffered-bytes", "2097152"])
        let client = try server.client()
        try client.send(
            "PUT /v1/sessions/light/models HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer secret\r\nContent-Type: application/json\r\nContent-Length: 3000000\r\n\r\n"
        )
        let refused = try client.receive()
        #expect(refused.status == 413 && refused.header("retry-after") == nil)
    }

    @Test("Slow readers of a large snapshot do not use the memory that writes need")
    func slowReaders() throws {
        let server = try Self.server(["--max-buffered-bytes", "16777216"])
        let models = (0..<2_500).map { #"{"id":\#($0),"text":"\#(String(repeating: "x", count: 5_000))"}"# }.joined(
            separator: ",")
        try Self.open(
            "large", #"{"table":"t","cells":{"C":{}},"bindings":[{"cell":"C","models":[\#(models)]}]}"#,
            on: server)
        let readers = try (0..<64).map { _ in
            let client = try HTTPClient(port: server.port, receiveBuffer: 16_384)
            try client.send(Self.text("GET", "/v1/sessions/large/snapshot"))
            return client
        }
        let statuses = try readers.map { try $0.receive(isHead: true).status }
        #expect(Set(statuses).isSubset(of: [200, 429]) && statuses.contains(200) && statuses.contains(429))
        let large =
            #"{"insert":{"section":0,"row":0},"model":{"id":"large","text":"\#(String(repeating: "x", count: 4 << 20))"}}"#
        #expect(
            try server.client().request("POST", "/v1/sessions/light/edits", large, headers: Self.controller).status
                == 200)
        try expectOthersAreServed(server, 0)
        withExtendedLifetime(readers) {}
    }

    @Test("Requests for long histories from clients that have left delay neither rebased commands nor other sessions")
    func longHistories() throws {
        let server = try Self.server()
        try Self.open(
            "long",
            #"{"table":"t","cells":{"C":{}},"bindings":[{"cell":"C","models":[{"id":"0"}],"editing":"insert"}]}"#,
            on: server)
        for revision in 0..<40 {
            let text = String(repeating: "\(revision % 10)", count: 100_000)
            try #require(
                try server.client().request(
                    "PATCH", "/v1/sessions/long/models", #"{"table":[{"id":"0","text":"\#(text)"}]}"#,
                    headers: Self.controller
                ).status == 200)
        }
        let viewer = try Self.token("viewer", of: "long", on: server)
        for _ in 0..<100 {
            try server.client().send(Self.text("GET", "/v1/sessions/long/updates?since=0", token: viewer))
        }
        let insert = #"{"insert":{"section":0,"row":0},"model":{"id":"new"}}"#
        #expect(
            try server.client().request("POST", "/v1/sessions/long/edits?base=1", insert, headers: Self.controller)
                .status == 200)
        for round in 0..<5 { try expectOthersAreServed(server, round) }
    }

    @Test("A token may have only some requests waiting for a slow command. The others get 429")
    func waitingCommands() throws {
        let server = try Self.server(["--max-requests", "160"])
        try Self.open("heavy", Self.readingTable(20_000), #","state":{"n":0}"#, on: server)
        let token = try Self.token("participant", of: "heavy", on: server)
        var isLimited = false
        // Again, if the test stood still and the slow command ended before the taps came.
        for attempt in 0..<10 where !isLimited {
            let slow = try server.client()
            try slow.send(Self.text("PATCH", "/v1/sessions/heavy/state", #"{"n":\#(attempt + 1)}"#))
            let taps = try (0..<200).map { _ in
                let client = try server.client()
                try client.send(
                    Self.text("POST", "/v1/sessions/heavy/taps", #"{"at":{"section":0,"row":0}}"#, token: token))
                return client
            }
            for round in 0..<3 { try expectOthersAreServed(server, 3 * attempt + round) }
            let statuses = try taps.map { try $0.receive().status }
            #expect(Set(statuses).isSubset(of: [200, 429]))
            isLimited = statuses.contains(429)
            #expect(try slow.receive().status == 200)
        }
        #expect(isLimited)
    }

    @Test("A waiting command is dropped if its connection is lost before its turn")
    func clientsThatLeave() throws {
        let server = try Self.server()
        try Self.open("heavy", Self.readingTable(30_000), #","state":{"n":0}"#, on: server)
        var before = 0, dropped = 0
        // Again, if the test stood still and the slow command ended before the others came.
        for attempt in 0..<10 where dropped == 0 {
            let slow = try server.client()
            try slow.send(Self.text("PATCH", "/v1/sessions/heavy/state", #"{"n":\#(attempt + 1)}"#))
            for number in 0..<20 {
                let client = try server.client()
                try client.send(
                    Self.text(
                        "POST", "/v1/sessions/heavy/edits",
                        #"{"insert":{"section":0,"row":0},"model":{"id":"left-\#(attempt)-\#(number)"}}"#))
                client.vanish()
            }
            #expect(try slow.receive().status == 200)
            // After those of the clients that left, of which some may have been carried out.
            let last = try server.client().request(
                "POST", "/v1/sessions/heavy/edits",
                #"{"insert":{"section":0,"row":0},"model":{"id":"last-\#(attempt)"}}"#, headers: Self.controller)
            #expect(last.status == 200)
            let revision = try #require(last.object["revision"] as? Int)
            dropped = before + 22 - revision
            before = revision
        }
        #expect(dropped > 0)
    }

    @Test(
        "While the disk delays a flush, every session can be read, and the operators' routes are answered",
        .enabled(if: TestDatabase.isSQLite), .enabled(if: HeldFlush.compiler != nil, "there is no C compiler"))
    func heldFlush() throws {
        let flush = try HeldFlush(), directory = try TemporaryDirectory()
        let server = try ServerProcess(
            database: directory.path("braid.sqlite"),
            environment: ["BRAID_TOKEN": "secret"].merging(flush.environment) { $1 })
        try Self.open("read", Self.readingTable(10), #","state":{"n":0}"#, on: server)
        for number in 0..<8 {
            try Self.open("written\(number)", Self.readingTable(10), #","state":{"n":0}"#, on: server)
        }
        let start = ContinuousClock.now
        flush.close()
        let writers = try (0..<8).map { number in
            let client = try server.client()
            try client.send(Self.text("PATCH", "/v1/sessions/written\(number)/state", #"{"n":1}"#))
            return client
        }
        try flush.waitUntilHeld()
        // More than event loops, so that a blocked one is noticed.
        for _ in 0..<16 {
            for target in [
                "/v1/sessions/read/snapshot", "/v1/sessions/written0/snapshot", "/v1/sessions/read/updates?since=0",
                "/healthz", "/readyz", "/metrics",
            ] {
                let status = try server.client().get(target, headers: Self.controller).status
                // Not ready if a flush takes more than ten seconds.
                let isLate = target == "/readyz" && ContinuousClock.now - start > .seconds(10)
                #expect(status == 200 || isLate, "\(target)")
            }
        }
        #expect(!writers.contains { $0.hasAnswer }, "nothing is acknowledged before it is on disk")
        flush.open()
        for client in writers { #expect(try client.receive().status == 200) }
    }

    @Test("A participant's transaction may have fewer commands than a controller's, and its commands have less time")
    func participants() throws {
        let server = try Self.server(["--participant-max-transaction", "2", "--max-transaction", "3"])
        try Self.open("s", Self.readingTable(10), #","state":{"n":0}"#, on: server)
        let token = try Self.token("participant", of: "s", on: server)
        func send(_ count: Int, _ query: String, _ headers: [String: String]) throws -> HTTPClient.Response {
            let commands = Array(repeating: #"{"displayedRows":{"rows":[]}}"#, count: count).joined(separator: ",")
            return try server.client().request(
                "POST", "/v1/sessions/s/transactions\(query)", #"{"commands":[\#(commands)]}"#, headers: headers)
        }
        for query in ["", "?dryRun"] {
            #expect(try send(2, query, Self.bearer(token)).status == 200)
            #expect(try send(3, query, Self.controller).status == 200)
            for refused in [try send(3, query, Self.bearer(token)), try send(4, query, Self.controller)] {
                #expect(refused.status == 422 && refused.object["type"] as? String == "/problems/transaction-too-long")
            }
        }
    }
}
