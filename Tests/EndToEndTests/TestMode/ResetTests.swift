import Foundation
import TestSupport
import Testing

/// `POST /v1/test/reset`: back to the state after the start.
@Suite(.serialized, .enabled(if: TestDatabase.isSQLite)) struct ResetTests {
    static let examples = ["--test-mode", "--fixtures", "\(ServerProcess.package.path)/Examples"]

    private static func reset(_ client: KeptClient) throws {
        let answer = try client.request("POST", "/v1/test/reset")
        #expect(answer.status == 204 && answer.body.isEmpty, "\(answer.text)")
    }

    // MARK: Equal answers

    /// Requests of many kinds, whose answers a faulty reset could change.
    private static let script: [(method: String, target: String, body: String?, headers: [String: String])] = [
        ("GET", "/v1/sessions", nil, [:]),
        ("GET", "/v1/tables", nil, [:]),
        ("GET", "/v1/test/faults", nil, [:]),
        ("GET", "/v1/test/clock", nil, [:]),
        ("GET", "/v1/sessions/party/updates?since=0", nil, [:]),
        ("POST", "/v1/sessions", #"{"table":"attendees"}"#, ["Idempotency-Key": "open"]),
        ("POST", "/v1/sessions", #"{"table":"attendees"}"#, ["Idempotency-Key": "open"]),
        ("POST", "/v1/sessions/party/edits", #"{"delete":{"id":"Sara"}}"#, ["Idempotency-Key": "1"]),
        ("POST", "/v1/sessions/party/edits", #"{"delete":{"id":"Sara"}}"#, ["Idempotency-Key": "1"]),
        ("POST", "/v1/sessions/party/edits", #"{"delete":{"section":"invited","row":0}}"#, [:]),
        ("POST", "/v1/sessions/party/tokens", #"{"role":"viewer","expiresIn":60}"#, [:]),
        ("POST", "/v1/sessions/session-1/tokens", #"{"role":"participant","expiresIn":60}"#, [:]),
        ("GET", "/v1/sessions/party/tokens", nil, [:]),
        ("GET", "/v1/sessions/party", nil, ["Authorization": "Bearer braid_token-1.secret-1"]),
        ("PATCH", "/v1/sessions/bank/state", #"{"x":1}"#, [:]),
        ("PUT", "/v1/tables/new", #"{"table":"new","cells":{"C":{}},"bindings":[{"cell":"C"}]}"#, [:]),
        ("PUT", "/v1/tables/list", #"{"table":"list","cells":{"C":{}},"bindings":[{"cell":"C"}]}"#, [:]),
        ("GET", "/v1/tables/list/versions", nil, [:]),
        ("DELETE", "/v1/sessions/contacts", nil, [:]),
        ("GET", "/v1/sessions/contacts", nil, [:]),
        ("POST", "/v1/sessions/party/reset", nil, [:]),
        ("GET", "/v1/sessions/party/journal", nil, [:]),
        ("POST", "/v1/render", #"{"template":"${now}"}"#, [:]),
        ("GET", "/v1/sessions/party/snapshot", nil, [:]),
        ("POST", "/v1/sessions/feed/taps", #"{"row":{"section":0,"row":0}}"#, [:]),
        (
            "POST", "/v1/sessions",
            #"{"table":{"table":"t","cells":{"C":{}},"bindings":[{"cell":"C","models":[{"id":"${uuid()}"}]}]}}"#, [:]
        ),
        ("GET", "/v1/sessions", nil, [:]),
        ("GET", "/v1/test/clock", nil, [:]),
    ]

    /// Of `script`'s requests and a stream, without `Date`.
    private static func transcript(_ client: KeptClient) throws -> String {
        let answers = try script.map { method, target, body, headers in
            let answer = try client.request(method, target, body, headers: headers)
            let fields = answer.headers.filter { $0.key != "date" }.sorted { $0.key < $1.key }
            return "> \(method) \(target)\n\(answer.status) \(fields)\n\(answer.text)\n"
        }
        let stream = try EventStreamClient(port: client.server.port, "/v1/sessions/party/updates?since=0")
        return answers.joined() + "\(stream.head.split(separator: "\r\n").filter { !$0.hasPrefix("Date") })"
            + "\(try stream.events(through: "caught-up"))"
    }

    /// Random requests of `script`, some refused, and steps of the clock.
    private static func disturb(_ client: KeptClient, seed: Int) throws {
        var random = SeededGenerator(seed: UInt64(seed))
        for _ in 0..<40 {
            let (method, target, body, headers) = script[Int.random(in: 0..<script.count, using: &random)]
            try client.request(method, target, body, headers: headers)
            if Int.random(in: 0..<8, using: &random) == 0 {
                try client.request(
                    "PUT", "/v1/test/clock", #"{"advance":\#(Int.random(in: 0...9_999_999, using: &random))}"#)
            }
        }
    }

    @Test(
        "After a reset, a server with --deterministic gives the same answers as after its start, byte for byte",
        arguments: [true, false])
    func sameAnswers(inMemory: Bool) throws {
        let directory = try TemporaryDirectory()
        func start(_ name: String) throws -> KeptClient {
            try ServerProcess(
                database: inMemory ? ":memory:" : directory.path(name), Self.examples + ["--deterministic"]
            ).keptClient()
        }
        let fresh = try Self.transcript(start("fresh"))
        #expect(fresh.contains("idempotent-replayed") && fresh.contains("braid_token-2.secret-2"))
        let client = try start("reset")
        for seed in 1...6 {
            try Self.disturb(client, seed: seed)
            try Self.reset(client)
            let transcript = try Self.transcript(client)
            guard transcript != fresh else { continue }
            let lines = zip(fresh.split(separator: "\n"), transcript.split(separator: "\n")).first { $0 != $1 }
            Issue.record("\(lines.map { "\($0)\n\($1)" } ?? "one of the transcripts is longer")")
        }
    }

    @Test("A reset restores the data that the database had at the start, also on the disk")
    func earlierData() throws {
        let directory = try TemporaryDirectory(), database = directory.path("braid.sqlite")
        do {
            let client = try ServerProcess(database: database).keptClient()
            try client.request("POST", "/v1/sessions", #"{"id":"earlier","rows":[1]}"#)
            #expect(client.server.stop() == 0)
        }
        let client = try ServerProcess(database: database, Self.examples).keptClient()
        try client.request("DELETE", "/v1/sessions/earlier")
        try client.request("POST", "/v1/sessions", #"{"id":"later","rows":[]}"#)
        try Self.reset(client)
        #expect(try client.get("/v1/sessions/earlier/snapshot").object["totalRowCount"] as? Int == 1)
        #expect(try client.get("/v1/sessions/later").status == 404)
        client.server.kill()
        let again = try ServerProcess(database: database).keptClient()
        #expect(try again.get("/v1/sessions/earlier").status == 200)
        #expect(try again.get("/v1/sessions/party").status == 200)
        #expect(try again.get("/v1/sessions/later").status == 404)
    }

    @Test("Without --deterministic, a reset gives all sessions new epochs, so that clients start with a snapshot")
    func newEpochs() throws {
        let client = try ServerProcess(Self.examples).keptClient()
        var epochs: Set<String> = []
        for _ in 0..<3 {
            let tag = try #require(try client.get("/v1/sessions/party/snapshot").header("etag"))
            epochs.insert(tag)
            try client.request("POST", "/v1/sessions/party/edits", #"{"delete":{"id":"Sara"}}"#)
            try Self.reset(client)
            let position = tag.filter { $0 != "\"" }
            let updates = try client.get("/v1/sessions/party/updates?since=\(position)")
            #expect(updates.object["reset"] as? Bool == true, "\(updates.text)")
        }
        #expect(epochs.count == 3)
    }

    // MARK: What is under way

    @Test("A reset ends every stream with `ended`, also one that a token opened")
    func streams() throws {
        let server = try ServerProcess(Self.examples), client = try server.keptClient()
        let bearer = try client.request("POST", "/v1/sessions/bank/tokens", #"{"role":"viewer","expiresIn":60}"#)
            .object["token"]
        let streams = try [
            EventStreamClient(port: server.port, "/v1/sessions/party/updates"),
            EventStreamClient(port: server.port, "/v1/sessions/party/updates?offset=0&limit=2"),
            EventStreamClient(
                port: server.port, "/v1/sessions/bank/updates", headers: ["Authorization": "Bearer \(bearer ?? "")"]),
        ]
        for stream in streams { _ = try stream.events(through: "caught-up") }
        try Self.reset(client)
        for stream in streams {
            #expect(try stream.events(through: "ended").map(\.name) == ["ended"])
            #expect(throws: EventStreamClient.Ended.self) { try stream.next() }
        }
    }

    @Test("A reset answers waiting long polls without an update")
    func polls() throws {
        let server = try ServerProcess(Self.examples), client = try server.keptClient()
        let poll = try server.client()
        try poll.send("GET /v1/sessions/party/updates?since=0&wait=60 HTTP/1.1\r\nHost: localhost\r\n\r\n")
        while try !client.get("/metrics").text.contains(#"braid_subscribers{by="poll"} 1"#) {}
        try Self.reset(client)
        let answer = try poll.receive()
        #expect(answer.status == 200 && answer.text == #"{"from":0,"to":0,"updates":[]}"#, "\(answer.text)")
    }

    @Test("A reset ends a request whose body is still arriving")
    func observations() throws {
        let server = try ServerProcess(Self.examples), client = try server.keptClient()
        let observer = try server.client()
        try observer.send(
            "POST /v1/sessions/party/observe HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/x-ndjson\r\nTransfer-Encoding: chunked\r\n\r\n"
        )
        let line = #"{"invited":[]}"# + "\n"
        try observer.send("\(String(line.utf8.count, radix: 16))\r\n\(line)\r\n")
        while try client.get("/v1/sessions/party").object["revision"] as? Int != 1 {}
        try Self.reset(client)
        let answer = try observer.receive()
        #expect(answer.status == 503 && answer.text.contains("reset"), "\(answer.text)")
    }

    @Test("A reset closes the connection of a delayed request, which is neither carried out nor recorded")
    func delayedRequests() throws {
        let server = try ServerProcess(Self.examples), client = try server.keptClient()
        let rule = #"{"delay":{"milliseconds":3600000}}"#
        try #require(try client.request("PUT", "/v1/test/faults", #"{"faults":[\#(rule)]}"#).status == 200)
        let delayed = try server.client()
        try delayed.send("DELETE /v1/sessions/party HTTP/1.1\r\nHost: localhost\r\n\r\n")
        while try !client.get("/v1/test/faults").text.contains(#""applied":1"#) {}
        try Self.reset(client)
        #expect(delayed.isClosed)
        #expect(try client.get("/v1/test/requests").text == #"{"requests":[],"dropped":0}"#)
        #expect(try client.get("/v1/sessions/party").status == 200)
    }

    private static func sendCommands(_ sender: Int, to port: Int) throws {
        let client = try HTTPClient(port: port)
        for count in 0..<150 {
            let answer = try client.request("PATCH", "/v1/sessions/party/state", #"{"s\#(sender)":\#(count)}"#)
            #expect(answer.status == 200, "\(answer.text)")
        }
    }

    @Test("Each command during a reset is carried out completely before the reset or completely after it")
    func commandsUnderWay() async throws {
        let directory = try TemporaryDirectory()
        let server = try ServerProcess(database: directory.path("braid.sqlite"), Self.examples)
        let client = try server.keptClient(), port = server.port
        let before = try client.get("/v1/sessions/party/snapshot").object["sections"] as? NSArray
        let isDone = Flag()
        let senders = Task {
            defer { isDone.set() }
            try await withThrowingTaskGroup(of: Void.self) { group in
                for sender in 0..<4 { group.addTask { try Self.sendCommands(sender, to: port) } }
                try await group.waitForAll()
            }
        }
        while !isDone.isSet {
            try Self.reset(client)
            #expect(try client.get("/v1/sessions/party").status == 200)
        }
        try await senders.value
        let journal = try client.get("/v1/sessions/party/journal")
        let revisions = (journal.object["records"] as? [[String: Any]])?.compactMap { $0["revision"] as? Int } ?? []
        #expect(revisions == Array(1..<revisions.count + 1), "a reset begins at revision 0")
        try Self.reset(client)
        #expect(try client.get("/v1/sessions/party/snapshot").object["sections"] as? NSArray == before)
        #expect(try client.get("/v1/sessions/party").object["revision"] as? Int == 0)
    }

    // MARK: Who may reset

    @Test("Only a controller may reset a server, and only in test mode")
    func access() throws {
        let server = try ServerProcess(Self.examples, environment: ["BRAID_TOKEN": "secret"]),
            client = try server.keptClient()
        let controller = ["Authorization": "Bearer secret"]
        let token = try client.request(
            "POST", "/v1/sessions/party/tokens", #"{"role":"participant","expiresIn":60}"#, headers: controller
        ).object["token"]
        let participant = ["Authorization": "Bearer \(token ?? "")"]
        let paths = [("POST", "reset"), ("GET", "clock"), ("GET", "requests")]
        for (method, path) in paths {
            #expect(try client.request(method, "/v1/test/\(path)").status == 401)
            #expect(try client.request(method, "/v1/test/\(path)", headers: participant).status == 403)
        }
        for (method, path) in paths {
            #expect(try client.request(method, "/v1/test/\(path)", headers: controller).status / 100 == 2)
        }
        // Made after the start, so the reset has deleted it.
        #expect(try client.get("/v1/sessions/party", headers: participant).status == 401)
        let ordinary = try ServerProcess().keptClient()
        for path in ["reset", "clock", "requests", "requests/verify"] {
            #expect(try ordinary.request("POST", "/v1/test/\(path)", "{}").status == 404)
        }
    }

    @Test("A server does not start with both --watch and --test-mode")
    func watch() throws {
        let failure = #expect(throws: ServerProcess.StartFailure.self) {
            _ = try ServerProcess(Self.examples + ["--watch"])
        }
        #expect(failure?.errors.contains("--watch") == true && failure?.status == 1, "\(failure?.errors ?? "")")
    }
}
