import Foundation
import TestSupport
import Testing

/// The machine's time jumps by days while the server runs; one test also restarts it then.
@Suite(.serialized, .enabled(if: HeldFlush.compiler != nil, "needs a C compiler")) struct ClockJumpTests {
    private let directory: TemporaryDirectory
    private let database: String
    private let time: JumpingClock

    init() throws {
        directory = try TemporaryDirectory()
        database = directory.path("braid.sqlite")
        time = try JumpingClock()
    }

    private func start(_ options: [String] = []) throws -> ServerProcess {
        try ServerProcess(
            database: database, ["--journal-limit", "100"] + options,
            environment: time.environment.merging(["BRAID_TOKEN": "controller"]) { $1 })
    }

    private static let controller = ["Authorization": "Bearer controller"]

    private func open(_ client: HTTPClient) throws {
        let opened = try client.request(
            "POST", "/v1/sessions", #"{"id":"s","rows":[{"id":"a"}]}"#, headers: Self.controller)
        try #require(opened.status == 201, "\(opened.text)")
    }

    private func change(_ client: HTTPClient, _ number: Int, key: String) throws -> HTTPClient.Response {
        try client.request(
            "PATCH", "/v1/sessions/s/state", #"{"n":\#(number)}"#,
            headers: Self.controller.merging(["Idempotency-Key": key]) { $1 })
    }

    /// Days after the real date, by the `Date` of an answer.
    private func day(_ answer: HTTPClient.Response) throws -> Int {
        let format = DateFormatter()
        format.locale = Locale(identifier: "en_US_POSIX")
        format.dateFormat = "EEE, dd MMM yyyy HH:mm:ss zzz"
        let date = try #require(format.date(from: answer.header("date") ?? ""))
        return Int((date.timeIntervalSinceNow / 86_400).rounded())
    }

    @Test("A kept answer survives jumps of the machine's time, in the running server and in the next one")
    func keptAnswers() throws {
        var server = try start(), client = try server.client()
        try open(client)
        let first = try change(client, 1, key: "first")
        var revision = 1
        for days in [3, -3, 400, 0] {
            try time.jump(days: days)
            for _ in 1...2 {
                let retry = try change(client, 1, key: "first")
                #expect(try day(retry) == days)
                #expect(retry.status == 200 && retry.text == first.text, "\(days) days: \(retry.text)")
                // Another answer to keep, at which up to four outdated ones may be deleted.
                let other = try change(client, revision + 1, key: "\(revision)")
                revision += 1
                #expect(other.object["revision"] as? Int == revision, "\(other.text)")
                #expect(server.stop() == 0)
                server = try start()
                client = try server.client()
            }
        }
        #expect(try change(client, 1, key: "first").text == first.text)
    }

    @Test(
        "Long polls and idle sessions end after the right time, even if the machine's time jumps while they wait",
        arguments: [-3, 3])
    func waiting(days: Int) throws {
        let server = try start(["--session-idle-time", "1"]), client = try server.client()
        try open(client)
        let asked = ContinuousClock.now
        try client.send(
            "GET /v1/sessions/s/updates?since=0&wait=2 HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer controller\r\n\r\n"
        )
        let other = try server.client()
        func gauge(_ name: String) throws -> String? {
            try other.get("/metrics").text.split(separator: "\n").first { $0.hasPrefix(name + " ") }?
                .split(separator: " ").last.map(String.init)
        }
        _ = try eventually { try gauge("braid_subscribers{by=\"poll\"}") == "1" || client.hasAnswer }
        try time.jump(days: days)
        #expect(try client.receive().status == 200)
        #expect(.now - asked > .seconds(1.9))
        // A wait that begins after the jump must end, too.
        #expect(try client.get("/v1/sessions/s/updates?since=0&wait=1", headers: Self.controller).status == 200)
        #expect(try eventually { try gauge("braid_sessions_in_memory") == "0" })
        #expect(try day(other.get("/metrics")) == days)
    }

    @Test("Streams continue through jumps of the machine's time, and the journal keeps the order of revisions")
    func streams() throws {
        let server = try start(), client = try server.client()
        try open(client)
        let stream = try EventStreamClient(
            port: server.port, "/v1/sessions/s/updates", headers: Self.controller)
        _ = try stream.events(through: "caught-up")
        for (index, days) in [3, -3, 400, -400, 0].enumerated() {
            try time.jump(days: days)
            let changed = try change(client, index, key: "\(index)")
            #expect(try day(changed) == days)
            let event = try #require(try stream.events(through: "update").last)
            #expect(event.revision == index + 1, "\(event)")
        }
        let journal =
            try client.get("/v1/sessions/s/journal", headers: Self.controller).object["records"] as? [[String: Any]]
        #expect(journal?.compactMap { $0["revision"] as? Int } == Array(1...5))
        let times = journal?.compactMap { $0["at"] as? String } ?? []
        #expect(
            times.count == 5 && times[1] < times[0] && times[3] < times[1],
            "each record has the time of its commit: \(times)")
    }

    @Test("A token and its streams end when the time jumps past its end, and it is valid again after a jump back")
    func tokens() throws {
        let server = try start(), client = try server.client()
        try open(client)
        let made = try client.request(
            "POST", "/v1/sessions/s/tokens", #"{"role":"viewer","expiresIn":86400}"#, headers: Self.controller)
        let token = ["Authorization": "Bearer \(try #require(made.object["token"] as? String))"]
        func read() throws -> Int { try client.get("/v1/sessions/s/snapshot", headers: token).status }
        let stream = try EventStreamClient(port: server.port, "/v1/sessions/s/updates", headers: token)
        _ = try stream.events(through: "caught-up")
        #expect(try read() == 200)
        try time.jump(days: 3)
        #expect(try read() == 401)
        #expect(throws: EventStreamClient.Ended.self) { _ = try stream.events(through: "never") }
        try time.jump(days: 0)
        #expect(try read() == 200)
        try time.jump(days: -3)
        #expect(try read() == 200)
    }
}
