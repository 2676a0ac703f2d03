import Foundation
import Testing

/// `/v1/test/clock`: the time for templates, tokens, kept answers, idle sessions.
@Suite(.serialized, .enabled(if: TestDatabase.isSQLite)) struct TestClockTests {
    private static let options = ["--test-mode"] + ServerProcess.attendees

    private static func set(_ client: KeptClient, _ body: String, headers: [String: String] = [:]) throws -> String {
        let answer = try client.request("PUT", "/v1/test/clock", body, headers: headers)
        #expect(answer.status == 200, "\(answer.text)")
        return answer.object["time"] as? String ?? ""
    }

    private static func now(_ client: KeptClient) throws -> String {
        try client.request("POST", "/v1/render", #"{"template":"${now}"}"#).object["result"] as? String ?? ""
    }

    @Test("Templates use the time that was set with the test clock, and this time advances")
    func templates() throws {
        let client = try ServerProcess(Self.options).keptClient()
        #expect(try Self.set(client, #"{"time":"2026-12-24T18:00:00Z"}"#).hasPrefix("2026-12-24T18:00"))
        #expect(try Self.now(client).hasPrefix("2026-12-24T18:00"))
        let later = try client.request("POST", "/v1/render", #"{"template":{"$fromNow":"1 day"}}"#).text
        #expect(later.contains("2026-12-25T18:00"))
        #expect(try Self.set(client, #"{"advance":86400.5}"#).hasPrefix("2026-12-25T18:00"))
        let first = try Self.now(client)
        while try Self.now(client) == first {}
        #expect(try Self.set(client, #"{"time":"1999-01-01T00:00:00+01:00"}"#).hasPrefix("1998-12-31T23:00"))
        try client.request("PATCH", "/v1/sessions/party/state", #"{"x":1}"#)
        #expect(try client.get("/v1/sessions/party").text.contains(#""updated":"1998-12-31T23:0"#))
    }

    @Test("With --deterministic, the test clock counts from the time that was set, and a change adds 1 ms")
    func counting() throws {
        let client = try ServerProcess(Self.options + ["--deterministic"]).keptClient()
        #expect(try Self.set(client, #"{"time":"2030-01-01T00:00:00Z"}"#) == "2030-01-01T00:00:00.000Z")
        try client.request("PATCH", "/v1/sessions/party/state", #"{"x":1}"#)
        #expect(try client.get("/v1/test/clock").object["time"] as? String == "2030-01-01T00:00:00.001Z")
        #expect(try Self.set(client, #"{"advance":0.25}"#) == "2030-01-01T00:00:00.251Z")
        #expect(try Self.set(client, #"{"advance":0}"#) == "2030-01-01T00:00:00.251Z")
    }

    @Test("When the test clock passes the end of a token, the token and its streams end")
    func tokens() throws {
        let server = try ServerProcess(Self.options, environment: ["BRAID_TOKEN": "secret"]),
            client = try server.keptClient()
        let controller = ["Authorization": "Bearer secret"]
        let made = try client.request(
            "POST", "/v1/sessions/party/tokens", #"{"role":"viewer","expiresIn":3600}"#, headers: controller)
        let bearer = ["Authorization": "Bearer \(made.object["token"] ?? "")"]
        let stream = try EventStreamClient(port: server.port, "/v1/sessions/party/updates", headers: bearer)
        _ = try stream.events(through: "caught-up")
        _ = try Self.set(client, #"{"advance":3500}"#, headers: controller)
        #expect(try client.get("/v1/sessions/party", headers: bearer).status == 200)
        _ = try Self.set(client, #"{"advance":101}"#, headers: controller)
        #expect(try client.get("/v1/sessions/party", headers: bearer).status == 401)
        #expect(throws: EventStreamClient.Ended.self) { try stream.next() }
        // Back before its end, the token is valid again.
        _ = try Self.set(client, #"{"time":"2001-01-01T00:00:00Z"}"#, headers: controller)
        #expect(try client.get("/v1/sessions/party", headers: bearer).status == 200)
    }

    @Test("A day later by the test clock, the answer for an idempotency key is no longer kept")
    func keptAnswers() throws {
        let client = try ServerProcess(Self.options).keptClient()
        func send() throws -> String? {
            try client.request(
                "PATCH", "/v1/sessions/party/state", #"{"x":1}"#, headers: ["Idempotency-Key": "k"]
            ).header("idempotent-replayed")
        }
        #expect(try send() == nil)
        #expect(try send() == "true")
        _ = try Self.set(client, #"{"advance":86300}"#)
        #expect(try send() == "true")
        _ = try Self.set(client, #"{"advance":101}"#)
        #expect(try send() == nil)
    }

    /// After its time and a quarter.
    @Test("When the test clock passes the time of endIfUnused, an unused session ends, and a used one stays")
    func unusedSessions() throws {
        let client = try ServerProcess(Self.options + ["--deterministic", "--session-idle-time", "1"]).keptClient()
        for opening in [
            #""id":"unused","table":"attendees""#, #""id":"read","table":"attendees""#,
            #""id":"changed","rows":[1]"#, #""id":"followed","from":{"session":"party"}"#,
        ] {
            #expect(try client.request("POST", "/v1/sessions", #"{\#(opening),"endIfUnused":60}"#).status == 201)
        }
        func left() throws -> [String] {
            let sessions = try client.get("/v1/sessions").object["sessions"] as? [[String: Any]] ?? []
            return sessions.compactMap { $0["id"] as? String }
        }
        func advance(_ seconds: Int) throws { _ = try Self.set(client, #"{"advance":\#(seconds)}"#) }
        var stream: EventStreamClient? = try .init(port: client.server.port, "/v1/sessions/followed/updates")
        _ = try stream?.events(through: "caught-up")
        try advance(50)
        _ = try client.get("/v1/sessions/read/snapshot")
        try client.request("PATCH", "/v1/sessions/changed/state", #"{"x":1}"#)
        try advance(20)
        #expect(try left() == ["changed", "followed", "party", "read", "unused"])
        try advance(10)
        #expect(try left() == ["changed", "followed", "party", "read"])
        #expect(try client.get("/v1/sessions/unused/snapshot").status == 404)
        try advance(90)
        #expect(try left() == ["followed", "party"])
        try advance(1_000_000)
        #expect(try left() == ["followed", "party"])
        stream = nil
        #expect(try client.server.waitForMetric(#"braid_subscribers{by="stream"} 0"#))
        try advance(76)
        #expect(try left() == ["party"])
    }

    @Test(
        "endIfUnused is a whole number of seconds from 60 to a year",
        arguments: [
            ("59", 400), ("60", 201), ("31536000", 201), ("31536001", 400), ("60.5", 400), ("\"60\"", 400),
            ("null", 400),
        ])
    func unusedTimes(seconds: String, status: Int) throws {
        let client = try ServerProcess().keptClient()
        let answer = try client.request("POST", "/v1/sessions", #"{"rows":[],"endIfUnused":\#(seconds)}"#)
        #expect(answer.status == status, "\(answer.text)")
    }

    @Test("A restart of the server neither ends a session early that was used, nor keeps an unused one")
    func unusedSessionsAfterARestart() throws {
        let directory = try TemporaryDirectory(), path = directory.path("braid.sqlite")
        let first = try ServerProcess(database: path, ["--test-mode"]), before = try first.keptClient()
        for id in ["unused", "used"] {
            let opening = #"{"id":"\#(id)","rows":[],"endIfUnused":1000}"#
            #expect(try before.request("POST", "/v1/sessions", opening).status == 201)
        }
        _ = try Self.set(before, #"{"advance":500}"#)
        _ = try before.get("/v1/sessions/used/snapshot")
        _ = try Self.set(before, #"{"advance":1}"#)
        #expect(first.stop() == 0)
        // The new server's clock is not set.
        let client = try ServerProcess(database: path, ["--test-mode"]).keptClient()
        func isThere(_ id: String) throws -> Bool { try client.get("/v1/sessions").text.contains(#""\#(id)""#) }
        _ = try Self.set(client, #"{"advance":1260}"#)
        #expect(try !isThere("unused"))
        #expect(try isThere("used"))
        _ = try Self.set(client, #"{"advance":500}"#)
        #expect(try !isThere("used"))
    }

    @Test("When the test clock passes the idle time, unused sessions are removed from memory")
    func idleSessions() throws {
        let client = try ServerProcess(Self.options + ["--session-idle-time", "1000"]).keptClient()
        func inMemory() throws -> Bool { try client.get("/metrics").text.contains("braid_sessions_in_memory 1") }
        _ = try client.get("/v1/sessions/party/snapshot")
        #expect(try inMemory())
        _ = try Self.set(client, #"{"advance":300}"#)
        #expect(try inMemory())
        _ = try Self.set(client, #"{"advance":1000}"#)
        #expect(try !inMemory())
        #expect(try client.get("/v1/sessions/party/snapshot").status == 200)
        let stream = try EventStreamClient(port: client.server.port, "/v1/sessions/party/updates")
        _ = try stream.events(through: "caught-up")
        _ = try Self.set(client, #"{"advance":100000}"#)
        #expect(try inMemory(), "a session that somebody follows is in use")
    }

    @Test(
        "A faulty time for the test clock is refused with the place of its fault, and changes nothing",
        arguments: [
            ("{}", "", "missing-member"), (#"{"time":1}"#, "/time", "wrong-type"),
            (#"{"time":"tomorrow"}"#, "/time", "invalid-value"), (#"{"advance":"1"}"#, "/advance", "wrong-type"),
            (#"{"advance":-1}"#, "/advance", "out-of-range"), (#"{"advance":1e300}"#, "/advance", "out-of-range"),
            (#"{"advance":1,"time":"2026-12-24T18:00:00Z"}"#, "", "conflict"),
            (#"{"date":"2026-12-24T18:00:00Z"}"#, "/date", "unknown-member"), ("[]", "", "wrong-type"),
        ])
    func faults(body: String, pointer: String, code: String) throws {
        let client = try ServerProcess(Self.options + ["--deterministic"]).keptClient()
        let before = try client.get("/v1/test/clock").text
        let answer = try client.request("PUT", "/v1/test/clock", body)
        let fault = (answer.object["errors"] as? [[String: Any]])?.first
        #expect(answer.status == 400 && fault?["code"] as? String == code, "\(answer.text)")
        #expect(fault?["pointer"] as? String == pointer)
        #expect(try client.get("/v1/test/clock").text == before)
    }

    @Test("The year of the test clock never has more than four digits, however often it is advanced")
    func end() throws {
        let client = try ServerProcess(Self.options).keptClient()
        for _ in 0..<12 { _ = try Self.set(client, #"{"advance":31556952000}"#) }
        #expect(try Self.now(client).hasPrefix("9999-12-31T23:59:59"))
        #expect(try client.request("PATCH", "/v1/sessions/party/state", #"{"x":1}"#).status == 200)
        #expect(
            try client.request("POST", "/v1/sessions/party/tokens", #"{"role":"viewer","expiresIn":60}"#).status == 201)
    }
}
