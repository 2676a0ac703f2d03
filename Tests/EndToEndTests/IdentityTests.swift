import Foundation
import TestSupport
import Testing

/// Tokens that say whose they are: who acts is known to handlers, the journal, controllers and the log.
@Suite(.serialized) struct IdentityTests {
    private static let controller = ["Authorization": "Bearer secret"]
    private static let environment = ["BRAID_TOKEN": "secret"]
    private static let table =
        #"{"table":"t","authors":true,"cells":{"C":{}},"bindings":[{"cell":"C","models":[{"id":"1","owner":"kim"},{"id":"2","owner":"lee"}],"editing":"delete","onTap":[{"if":"user.id != model.owner","do":[{"reject":"Only ${model.owner} may tap this."}]},{"setState":{"last":{"$eval":"user"}}},{"emit":{"name":"tapped"}}]}]}"#
    private static func plain(_ name: String) -> String { #"{"table":"\#(name)","bindings":[{"cell":"C"}]}"# }
    private static let kim = #"{"id":"kim","name":"Kim","role":"participant","claims":{"team":"red"}}"#
    private static let author = #""by":{"id":"kim","name":"Kim"}"#
    private static let actor = #""by":{"id":"kim","name":"Kim","role":"participant"}"#

    /// With the session `x`.
    private static func server(_ database: String = ":memory:", _ options: [String] = []) throws -> ServerProcess {
        let server = try ServerProcess(database: database, options, environment: environment)
        let opened = try server.client().request(
            "POST", "/v1/sessions", #"{"id":"x","table":\#(table)}"#, headers: controller)
        try #require(opened.status == 201, "\(opened.text)")
        return server
    }

    private static func token(
        _ client: HTTPClient, _ body: String, at path: String = "/v1/sessions/x/tokens"
    ) throws -> [String: String] {
        let made = try client.request("POST", path, body, headers: controller)
        try #require(made.status == 201, "\(made.text)")
        return ["Authorization": "Bearer \(made.object["token"] as? String ?? "")"]
    }

    private static let kimsToken =
        #"{"role":"participant","expiresIn":600,"user":"kim","name":"Kim","claims":{"team":"red"}}"#

    @Test("Handlers, answers, streams, the journal and its replay, and the log know who acts, also after a restart")
    func everywhere() throws {
        let directory = try TemporaryDirectory(), database = directory.path("braid.sqlite")
        var server = try Self.server(database, ["--log-level", "info"]), client = try server.client()
        let kim = try Self.token(client, Self.kimsToken)
        let viewer = try Self.token(client, #"{"role":"viewer","expiresIn":600}"#)
        let controllers = try EventStreamClient(
            port: server.port, "/v1/sessions/x/updates", headers: Self.controller)
        let viewers = try EventStreamClient(port: server.port, "/v1/sessions/x/updates", headers: viewer)
        let windows = try EventStreamClient(
            port: server.port, "/v1/sessions/x/updates?offset=0&limit=1", headers: viewer)
        for stream in [controllers, viewers, windows] { _ = try stream.events(through: "caught-up") }

        let tap = try client.request("POST", "/v1/sessions/x/taps", #"{"at":{"id":"1"}}"#, headers: kim)
        #expect(tap.status == 200 && tap.text.contains(Self.author), "\(tap.text)")
        let other = try client.request("POST", "/v1/sessions/x/taps", #"{"at":{"id":"2"}}"#, headers: kim)
        #expect(other.status == 409 && other.object["detail"] as? String == "Only lee may tap this.")
        let anonymous = try client.request(
            "PATCH", "/v1/sessions/x/state", #"{"x":1}"#, headers: Self.controller)
        #expect(anonymous.status == 200 && !anonymous.text.contains(#""by""#), "\(anonymous.text)")

        let told = try (0..<3).map { _ in try controllers.next() }
        #expect(told.map(\.name) == ["tap", "emitted", "update"])
        #expect(told[0].data.hasSuffix("\(Self.actor)}") && told[1].data.hasSuffix("\(Self.actor)}"))
        for update in [told[2], try viewers.next(), try windows.next()] {
            #expect(update.name == "update" && update.data.contains(Self.author), "\(update.data)")
        }
        #expect(try client.get("/v1/sessions/x/snapshot", headers: kim).text.contains(#""last":\#(Self.kim)"#))

        let paths = [
            "updates?since=0", "updates?since=0&coalesce", "updates?since=0&form=sequential", "journal", "snapshot",
        ]
        func answers() throws -> [String] {
            try paths.map { try client.get("/v1/sessions/x/\($0)", headers: Self.controller).text }
        }
        let before = try answers()
        #expect(before[0].contains(Self.author) && before[2].contains(Self.author) && !before[1].contains(#""by""#))
        #expect(before[3].contains(#""by":{"id":"kim","name":"Kim","role":"participant","claims":{"team":"red"}}"#))
        let journal = try client.get(
            "/v1/sessions/x/journal", headers: Self.controller.merging(["Accept": "application/x-ndjson"]) { $1 })
        let file = directory.path("journal.ndjson")
        try journal.text.write(toFile: file, atomically: true, encoding: .utf8)
        let replay = try CommandRun(["replay", file])
        #expect(replay.status == 0 && replay.output == before[4] + "\n", "\(replay)")
        // Somebody else's tap would be rejected.
        try journal.text.replacing(#""id":"kim""#, with: #""id":"lee""#).write(
            toFile: file, atomically: true, encoding: .utf8)
        #expect(try CommandRun(["replay", file]).status != 0)

        server.stop()
        let lines = server.log.split(separator: "\n").filter { $0.contains("path=/v1/sessions/x/taps") }
        #expect(lines.count == 2 && lines.allSatisfy { $0.contains(" user=kim ") }, "\(server.log)")
        #expect(server.log.contains(" grantee=kim "))
        server = try ServerProcess(database: database, environment: Self.environment)
        client = try server.client()
        #expect(try answers() == before)
        #expect(
            try client.request("POST", "/v1/sessions/x/edits", #"{"delete":{"id":"1"}}"#, headers: kim).text.contains(
                Self.author))
        // A reset keeps the journal, and nobody's tap.
        #expect(try client.request("POST", "/v1/sessions/x/reset", headers: Self.controller).status == 200)
        #expect(try client.get("/v1/sessions/x/journal", headers: Self.controller).text.contains(Self.actor))
        let fork = try client.request(
            "POST", "/v1/sessions", #"{"id":"y","from":{"session":"x","revision":1}}"#, headers: Self.controller)
        #expect(fork.status == 201 && fork.text.contains(#""last":\#(Self.kim)"#))
    }

    @Test(
        "An archive keeps who acted and whose tokens there are, and imported tokens are valid",
        .enabled(if: TestDatabase.isSQLite))
    func archives() throws {
        let directory = try TemporaryDirectory(), database = directory.path("braid.sqlite")
        let server = try Self.server(database), client = try server.client()
        let kim = try Self.token(client, Self.kimsToken)
        let team = try Self.token(
            client, #"{"role":"controller","expiresIn":600,"user":"boss","sessions":["x*"],"tables":["t"]}"#,
            at: "/v1/tokens")
        try client.request("POST", "/v1/sessions/x/taps", #"{"at":{"id":"1"}}"#, headers: kim)
        let paths = ["/v1/tokens", "/v1/sessions/x/tokens", "/v1/sessions/x/journal"]
        let before = try paths.map { try client.get($0, headers: Self.controller).text }
        #expect(before[0].contains(#""user":"boss","sessions":["x*"],"tables":["t"]"#))
        server.stop()
        let archive = directory.path("archive.jsonl"), copy = directory.path("copy.sqlite")
        #expect(try CommandRun(["export", database, archive]).status == 0)
        #expect(try CommandRun(["import", archive, copy]).status == 0)
        #expect(try CommandRun(["verify", copy]).status == 0)
        let imported = try ServerProcess(database: copy, environment: Self.environment)
        let other = try imported.client()
        #expect(try paths.map { try other.get($0, headers: Self.controller).text } == before)
        #expect(try other.get("/v1/sessions/x/journal", headers: team).status == 200)
        #expect(try other.request("POST", "/v1/sessions/x/taps", #"{"at":{"id":"1"}}"#, headers: kim).status == 200)
    }

    @Test(
        "Servers on one database know each other's tokens, who acted, and what is revoked",
        .enabled(if: PostgresCluster.isPossible, PostgresCluster.needs))
    func cluster() throws {
        let cluster = try ServerCluster(environment: Self.environment)
        let clients = try cluster.indices.map { try cluster[$0].client() }
        let opened = try clients[0].request(
            "POST", "/v1/sessions", #"{"id":"x","table":\#(Self.table)}"#, headers: Self.controller)
        try #require(opened.status == 201)
        let stream = try EventStreamClient(
            port: cluster[2].port, "/v1/sessions/x/updates", headers: Self.controller)
        _ = try stream.events(through: "caught-up")
        let kim = try Self.token(clients[0], Self.kimsToken, at: "/v1/tokens")
        #expect(
            try clients[1].request("POST", "/v1/sessions/x/taps", #"{"at":{"id":"1"}}"#, headers: kim).status == 200)
        let told = try (0..<3).map { _ in try stream.next() }
        #expect(told.map(\.name) == ["tap", "emitted", "update"] && told[0].data.hasSuffix("\(Self.actor)}"))
        #expect(told[2].data.contains(Self.author))
        for path in ["snapshot", "journal", "updates?since=0"] {
            let answers = try clients.map { try $0.get("/v1/sessions/x/\(path)", headers: Self.controller).text }
            #expect(Set(answers).count == 1 && answers[0].contains(#""id":"kim","name":"Kim""#), "\(answers)")
        }
        // The server followed the command; it did not load the session anew.
        #expect(try clients[2].get("/metrics").text.contains("braid_revisions_of_others_total 1"))
        let list = try clients[2].get("/v1/tokens", headers: Self.controller).object["tokens"] as? [[String: Any]]
        let id = try #require(list?.first?["tokenId"] as? String)
        #expect(try clients[2].request("DELETE", "/v1/tokens/\(id)", headers: Self.controller).status == 204)
        #expect(try clients[1].get("/v1/sessions/x", headers: kim).status == 401)
    }

    @Test(
        "A malformed member of a token is refused with its pointer",
        arguments: [
            (#""user":"""#, "/user"), (#""user":7"#, "/user"), (#""name":"""#, "/name"), (#""claims":[]"#, "/claims"),
            (#""sessions":"x""#, "/sessions"), (#""sessions":["a b"]"#, "/sessions"),
            (#""sessions":["*"]"#, "/sessions"),
            (#""sessions":["a*b"]"#, "/sessions"), (#""tables":["t*"]"#, "/tables"), (#""tables":[7]"#, "/tables"),
        ])
    func malformed(member: String, pointer: String) throws {
        let server = try ServerProcess(), client = try server.client()
        let answer = try client.request(
            "POST", "/v1/tokens", #"{"role":"viewer","expiresIn":60,\#(member)}"#)
        let faults = answer.object["errors"] as? [[String: Any]] ?? []
        #expect(answer.status == 400 && faults.first?["pointer"] as? String == pointer, "\(answer.text)")
    }

    @Test("A user has at most 128 characters, claims 4 KiB, and a scope 32 names")
    func bounds() throws {
        let server = try ServerProcess(), client = try server.client()
        func status(_ member: String) throws -> Int {
            try client.request("POST", "/v1/tokens", #"{"role":"viewer","expiresIn":60,\#(member)}"#).status
        }
        func text(_ count: Int) -> String { String(repeating: "é", count: count) }
        func names(_ count: Int) -> String { "[" + (0..<count).map { #""n\#($0)""# }.joined(separator: ",") + "]" }
        // `{"a":""}` has eight bytes.
        for (fits, exceeds) in [
            (#""user":"\#(text(128))""#, #""user":"\#(text(129))""#),
            (#""name":"\#(text(128))""#, #""name":"\#(text(129))""#),
            (#""claims":{"a":"\#(text(2044))"}"#, #""claims":{"a":"\#(text(2045))"}"#),
            (#""sessions":\#(names(32))"#, #""sessions":\#(names(33))"#),
            (#""tables":\#(names(32))"#, #""tables":\#(names(33))"#),
        ] {
            #expect(try status(fits) == 201 && status(exceeds) == 400, "\(fits.prefix(20))")
        }
    }

    @Test("A limited controller opens, sees and ends only what its token covers")
    func limitedControllers() throws {
        let server = try Self.server(), client = try server.client()
        let team = try Self.token(
            client, #"{"role":"controller","expiresIn":600,"sessions":["team-*"],"tables":["t","own"]}"#,
            at: "/v1/tokens")
        func send(_ method: String, _ path: String, _ body: String? = nil) throws -> (status: Int, text: String) {
            let answer = try client.request(method, path, body, headers: team)
            return (answer.status, answer.text)
        }
        #expect(try send("PUT", "/v1/tables/own", Self.plain("own")).status == 201)
        #expect(try send("PUT", "/v1/tables/other", Self.plain("other")).status == 404)
        try client.request("PUT", "/v1/tables/other", Self.plain("other"), headers: Self.controller)
        for (body, status) in [
            (#"{"id":"team-1","table":"own"}"#, 201), (#"{"id":"team-2","table":\#(Self.table)}"#, 201),
            (#"{"id":"team-3","from":{"session":"team-1"}}"#, 201), (#"{"id":"team-4","table":"other"}"#, 404),
            (#"{"id":"team-4","table":\#(Self.plain("other"))}"#, 403), (#"{"id":"team-4","rows":[]}"#, 403),
            (#"{"id":"team-4","from":{"session":"x"}}"#, 404), (#"{"id":"y","table":"own"}"#, 403),
            (#"{"table":"own"}"#, 403),
        ] {
            let answer = try send("POST", "/v1/sessions", body)
            #expect(answer.status == status, "\(body): \(answer)")
        }
        let hidden = try send("GET", "/v1/sessions/x/snapshot"), never = try send("GET", "/v1/sessions/never/snapshot")
        func shape(_ answer: (status: Int, text: String), _ id: String) -> String {
            answer.text.replacing(#"\"\#(id)\""#, with: "").replacing("/\(id)/", with: "")
                .replacing(/"requestId":"[^"]*"/, with: "")
        }
        #expect(hidden.status == 404 && shape(hidden, "x") == shape(never, "never"))
        #expect(hidden.text.contains("it was ended, or this token is for another session"))
        let list = try send("GET", "/v1/sessions?limit=2")
        #expect(list.text.contains("team-1") && list.text.contains("team-2") && list.text.contains(#""next":"team-2""#))
        #expect(try !send("GET", "/v1/sessions").text.contains(#""id":"x""#))
        #expect(try !send("GET", "/v1/tables").text.contains("other"))
        for (method, path) in [
            ("DELETE", "/v1/sessions/x"), ("GET", "/v1/tables/other"), ("DELETE", "/v1/tables/other"),
        ] {
            #expect(try send(method, path).status == 404, "\(method) \(path)")
        }
        #expect(try send("DELETE", "/v1/sessions/team-3").status == 204)
        #expect(try send("GET", "/v1/tokens").status == 403)
        let id = try #require(
            (try client.get("/v1/tokens", headers: Self.controller).object["tokens"] as? [[String: Any]])?.first?[
                "tokenId"]
                as? String)
        #expect(try client.request("DELETE", "/v1/tokens/\(id)", headers: Self.controller).status == 204)
        #expect(try send("GET", "/v1/sessions").status == 401)
    }

    @Test("What sends no header fields follows a session with a ticket, and no log line or record has it")
    func tickets() throws {
        let server = try Self.server(":memory:", ["--log-level", "debug", "--test-mode"]), client = try server.client()
        let kim = try Self.token(client, Self.kimsToken)
        let made = try client.request("POST", "/v1/sessions/x/tickets", headers: kim)
        let ticket = try #require(made.object["ticket"] as? String, "\(made.text)")
        let stream = try EventStreamClient(port: server.port, "/v1/sessions/x/updates?ticket=\(ticket)")
        _ = try stream.events(through: "caught-up")
        let image = try client.get("/v1/sessions/x/snapshot?ticket=\(ticket)")
        #expect(image.status == 200 && image.header("cache-control") == "private, no-cache")
        let tap = try client.request("POST", "/v1/sessions/x/taps?ticket=\(ticket)", #"{"at":{"id":"1"}}"#)
        #expect(tap.status == 401 && !tap.text.contains(ticket), "\(tap.text)")
        #expect(try client.request("POST", "/v1/sessions/x/taps", #"{"at":{"id":"1"}}"#, headers: kim).status == 200)
        #expect(try stream.next().data.contains(Self.author))
        let token = try #require(kim["Authorization"]?.dropFirst("Bearer ".count))
        #expect(try client.get("/v1/sessions/x/snapshot?ticket=\(token)").status == 401)
        #expect(try client.get("/v1/sessions/x/snapshot?access_token=\(token)").status == 401)
        let records = try client.get("/v1/test/requests", headers: Self.controller)
        #expect(records.status == 200 && records.text.contains("/snapshot"))
        #expect(eventually { server.log.contains("/v1/sessions/x/snapshot") })
        // The answer to who asks for one is recorded.
        let answers = records.text.components(separatedBy: ticket).count - 1
        #expect(answers == 1 && !server.log.contains(ticket))
    }
}
