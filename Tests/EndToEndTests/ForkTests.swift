import Foundation
import Synchronization
import Testing

@Suite("Forks, and snapshots of earlier revisions", .serialized) struct ForkTests {
    private static func fork(
        _ client: KeptClient, _ body: String, headers: [String: String] = [:]
    ) throws -> HTTPClient.Response { try client.request("POST", "/v1/sessions", body, headers: headers) }

    private static func delete(_ client: KeptClient, _ id: String, of session: String) throws {
        let answer = try client.request("POST", "/v1/sessions/\(session)/edits", #"{"delete":{"id":"\#(id)"}}"#)
        #expect(answer.status == 200, "\(answer.text)")
    }

    /// Without session, epoch and revision, to compare sessions.
    private static func content(_ text: String) -> String {
        text.replacing(/"(session|epoch)":"[^"]*",|"revision":[0-9]*,/, with: "")
    }

    private static func snapshot(_ client: KeptClient, _ session: String, _ query: String = "") throws -> String {
        content(try client.get("/v1/sessions/\(session)/snapshot\(query)").text)
    }

    private static func ids(_ snapshot: [String: Any]) -> [String] {
        (snapshot["sections"] as? [[String: Any]] ?? []).flatMap { section in
            (section["rows"] as? [[String: Any]] ?? []).compactMap { $0["id"] as? String }
        }
    }

    // MARK: Opening

    @Test("A fork has the table of its original but its own epoch, revision and journal, and each changes separately")
    func fork() throws {
        let client = try ServerProcess().keptClient()
        try ConcurrencyTests.open(client)
        try Self.delete(client, "a0", of: "x")
        let before = try client.get("/v1/sessions/x/snapshot")
        let opened = try Self.fork(client, #"{"id":"f","from":{"session":"x"}}"#)
        #expect(opened.status == 201 && opened.header("location") == "/v1/sessions/f", "\(opened.text)")
        #expect(Self.content(opened.text) == Self.content(before.text))
        #expect(opened.object["session"] as? String == "f" && opened.object["revision"] as? Int == 0)
        #expect(opened.object["epoch"] as? String != before.object["epoch"] as? String)
        #expect(opened.header("etag") == "\"\(opened.object["epoch"] as? String ?? "").0\"")

        try Self.delete(client, "a1", of: "x")
        try Self.delete(client, "b0", of: "f")
        #expect(try !Self.ids(client.get("/v1/sessions/x/snapshot").object).contains("a1"))
        #expect(try Self.ids(client.get("/v1/sessions/x/snapshot").object).contains("b0"))
        #expect(try Self.ids(client.get("/v1/sessions/f/snapshot").object).contains("a1"))
        #expect(try !Self.ids(client.get("/v1/sessions/f/snapshot").object).contains("b0"))
        let journal = try client.get("/v1/sessions/f/journal").object["records"] as? [[String: Any]]
        #expect(journal?.map { $0["revision"] as? Int } == [1])

        // It needs its original no more. A reset restores the table of the fork's opening.
        #expect(try client.request("DELETE", "/v1/sessions/x").status == 204)
        #expect(try client.request("POST", "/v1/sessions/f/reset").status == 200)
        #expect(try Self.snapshot(client, "f") == Self.content(before.text))
        // The server chooses an id. A fork can be forked.
        let second = try Self.fork(client, #"{"from":{"session":"f","revision":1}}"#)
        #expect(second.status == 201 && second.object["totalRowCount"] as? Int == 16, "\(second.text)")
    }

    @Test("A fork from an earlier revision starts with the table of that revision")
    func earlier() throws {
        let client = try ServerProcess().keptClient()
        try ConcurrencyTests.open(client)
        var seen = [try Self.snapshot(client, "x")]
        for number in 0..<6 {
            try Self.delete(client, "a\(number)", of: "x")
            seen.append(try Self.snapshot(client, "x"))
        }
        for (revision, snapshot) in seen.enumerated() {
            let opened = try Self.fork(client, #"{"from":{"session":"x","revision":\#(revision)}}"#)
            #expect(opened.status == 201 && Self.content(opened.text) == snapshot, "\(revision): \(opened.text)")
        }
    }

    @Test("A fork does not contain the unpublished changes of its original")
    func unpublished() throws {
        let client = try ServerProcess().keptClient()
        try ConcurrencyTests.open(client)
        let before = try Self.snapshot(client, "x")
        let row = #"{"at":[0,0],"model":{"id":"new","taps":0}}"#
        #expect(try client.request("POST", "/v1/sessions/x/rows?notify=false", row).status == 200)
        #expect(Self.content(try Self.fork(client, #"{"id":"f","from":{"session":"x"}}"#).text) == before)
        // A fork can have unpublished changes, too.
        #expect(try client.request("POST", "/v1/sessions/f/rows?notify=false", row).status == 200)
        #expect(try Self.snapshot(client, "f") == before)
        try Self.delete(client, "b0", of: "f")
        #expect(try Self.ids(client.get("/v1/sessions/f/snapshot").object).first == "new")
        #expect(try Self.snapshot(client, "x") == before)
        #expect(try Self.snapshot(client, "f", "?at=1") == before)
        #expect(Self.content(try Self.fork(client, #"{"from":{"session":"f","revision":1}}"#).text) == before)
    }

    @Test("A repeated request with an Idempotency-Key opens one fork, and Prefer: return=minimal omits its snapshot")
    func keysAndPreferences() throws {
        let client = try ServerProcess().keptClient()
        try ConcurrencyTests.open(client)
        let body = #"{"from":{"session":"x"}}"#
        for preference in ["return=representation", "return=minimal"] {
            let headers = ["Idempotency-Key": "\"\(preference)\"", "Prefer": preference]
            let first = try Self.fork(client, body, headers: headers)
            try Self.delete(client, "a0", of: "x")
            let again = try Self.fork(client, body, headers: headers)
            #expect(first.status == 201 && again.header("idempotent-replayed") == "true")
            #expect(first.header("location") == again.header("location") && first.body == again.body)
            #expect(first.header("etag") == again.header("etag"))
            #expect(first.body.isEmpty == (preference == "return=minimal"))
            _ = try client.request("POST", "/v1/sessions/x/reset")
        }
        #expect((try client.get("/v1/sessions").object["sessions"] as? [Any])?.count == 3)
        // `Prefer: return=minimal` omits every new session's snapshot; here an ordinary one's.
        let opened = try Self.fork(client, #"{"id":"r","rows":[]}"#, headers: ["Prefer": "return=minimal"])
        #expect(opened.status == 201 && opened.body.isEmpty && opened.header("preference-applied") == "return=minimal")
        #expect(
            try client.get("/v1/sessions/r/snapshot", headers: ["If-None-Match": opened.header("etag")!]).status == 304)
    }

    // MARK: Refusals

    @Test("A faulty request for a fork is refused with the place of its fault, and opens no session")
    func refusals() throws {
        let client = try ServerProcess(["--journal-limit", "2"]).keptClient()
        try ConcurrencyTests.open(client)
        for number in 0..<5 { try Self.delete(client, "a\(number)", of: "x") }
        for (body, status, problem, pointer, code) in [
            (#"{"from":"x"}"#, 400, "bad-request", "/from", "wrong-type"),
            (#"{"from":{}}"#, 400, "bad-request", "/from", "missing-member"),
            (#"{"from":{"session":1}}"#, 400, "bad-request", "/from/session", "wrong-type"),
            (#"{"from":{"session":"x","revision":"1"}}"#, 400, "bad-request", "/from/revision", "wrong-type"),
            (#"{"from":{"session":"x","revision":-1}}"#, 400, "bad-request", "/from/revision", "out-of-range"),
            (#"{"from":{"session":"x","revision":1.5}}"#, 400, "bad-request", "/from/revision", "out-of-range"),
            (#"{"from":{"session":"x","at":1}}"#, 400, "bad-request", "/from/at", "unknown-member"),
            (#"{"from":{"session":"x"},"table":"t"}"#, 400, "bad-request", "", "conflict"),
            (#"{"from":{"session":"x"},"state":{}}"#, 400, "bad-request", "/state", "conflict"),
            (#"{"from":{"session":"x"},"empty":1}"#, 400, "bad-request", "/empty", "conflict"),
            (#"{"from":{"session":"x"},"checkpoint":{}}"#, 400, "bad-request", "/checkpoint", "unknown-member"),
            (#"{"from":{"session":"x"},"id":""}"#, 400, "bad-request", "/id", "invalid-value"),
            (#"{"from":{"session":"x","revision":6}}"#, 400, "bad-request", nil, nil),
            (#"{"from":{"session":"x","revision":2}}"#, 410, "revision-not-available", nil, nil),
            (#"{"from":{"session":"none"}}"#, 404, "session-not-found", nil, nil),
            (#"{"from":{"session":"x"},"id":"x"}"#, 409, "session-exists", nil, nil),
        ] as [(String, Int, String, String?, String?)] {
            let answer = try Self.fork(client, body)
            #expect(answer.status == status, "\(body): \(answer.text)")
            #expect(answer.object["type"] as? String == "/problems/\(problem)", "\(body): \(answer.text)")
            let fault = (answer.object["errors"] as? [[String: Any]])?.first
            #expect(fault?["pointer"] as? String == pointer && fault?["code"] as? String == code, "\(answer.text)")
        }
        #expect((try client.get("/v1/sessions").object["sessions"] as? [Any])?.count == 1)
    }

    @Test("Only a controller may open a fork, and a fork counts towards the limit of sessions")
    func rolesAndLimits() throws {
        let server = try IsolationTests.server(["--max-sessions", "2"])
        let client = try server.keptClient()
        let body = #"{"from":{"session":"light"}}"#
        for role in ["viewer", "participant"] {
            let token = try IsolationTests.token(role, of: "light", on: server)
            #expect(try Self.fork(client, body, headers: IsolationTests.bearer(token)).status == 403)
        }
        #expect(try Self.fork(client, body).status == 401)
        #expect(try Self.fork(client, body, headers: IsolationTests.controller).status == 201)
        let third = try Self.fork(client, body, headers: IsolationTests.controller)
        #expect(third.status == 429 && third.text.contains("/problems/too-many-sessions"))
    }

    // MARK: Earlier snapshots

    @Test("A request for an earlier snapshot gets the same answer as at that time, whole and in windows")
    func earlierSnapshots() throws {
        let client = try ServerProcess().keptClient()
        try ConcurrencyTests.open(client)
        let queries = ["", "section=b&offset=1&limit=2", "around=b3&before=2&after=1", "offset=-3&limit=2", "pretty"]
        var seen: [(position: String, answers: [HTTPClient.Response])] = []
        for number in 0..<4 {
            let answers = try queries.map { try client.get("/v1/sessions/x/snapshot?\($0)") }
            seen.append(("\(answers[0].object["epoch"] as? String ?? "").\(number)", answers))
            try Self.delete(client, "b\(number)", of: "x")
        }
        for (revision, (position, answers)) in seen.enumerated() {
            for (query, answer) in zip(queries, answers) {
                for at in ["\(revision)", position] {
                    let path = "/v1/sessions/x/snapshot?\(query)&at=\(at)".replacingOccurrences(of: "?&", with: "?")
                    let past = try client.get(path)
                    #expect(past.status == answer.status && past.body == answer.body, "\(path): \(past.text)")
                    #expect(past.header("etag") == answer.header("etag"), "\(path)")
                    guard let etag = answer.header("etag"), answer.status == 200 else { continue }
                    #expect(try client.get(path, headers: ["If-None-Match": etag]).status == 304, "\(path)")
                }
            }
        }
        for (at, status, problem) in [
            ("5", 400, "bad-request"), ("-1", 400, "bad-request"), ("", 400, "bad-request"), ("x", 400, "bad-request"),
            ("other.1", 410, "revision-not-available"),
        ] {
            let answer = try client.get("/v1/sessions/x/snapshot?at=\(at)")
            #expect(answer.status == status && answer.text.contains("/problems/\(problem)"), "\(at): \(answer.text)")
        }
        #expect(try client.get("/v1/sessions/none/snapshot?at=1").status == 404)
    }

    @Test("A viewer may read earlier snapshots of its own session, but not of another session")
    func viewers() throws {
        let server = try IsolationTests.server()
        let client = try server.keptClient()
        try IsolationTests.open(
            "other", #"{"table":"o","cells":{"C":{}},"bindings":[{"cell":"C","models":[]}]}"#, on: server)
        let insert = #"{"insert":{"section":0,"row":0},"model":{"id":"1"}}"#
        #expect(
            try client.request("POST", "/v1/sessions/light/edits", insert, headers: IsolationTests.controller).status
                == 200)
        let viewer = IsolationTests.bearer(try IsolationTests.token("viewer", of: "light", on: server))
        let past = try client.get("/v1/sessions/light/snapshot?at=0", headers: viewer)
        #expect(past.status == 200 && past.object["totalRowCount"] as? Int == 0, "\(past.text)")
        let other = try client.get("/v1/sessions/other/snapshot?at=0", headers: viewer)
        #expect(other.status == (try client.get("/v1/sessions/other/snapshot", headers: viewer).status))
        #expect(other.status == 404 || other.status == 403, "\(other.text)")
    }

    @Test("A fork of a large table, and its snapshot at an earlier revision, are equal byte for byte")
    func large() throws {
        let server = try ServerProcess(["--max-body-bytes", "100000000"]), client = try server.keptClient()
        let rows = (0..<20_000).map { #"{"id":"\#($0)","text":"\#(String(repeating: "x", count: 60))"}"# }
        let body = #"{"id":"l","rows":[\#(rows.joined(separator: ","))]}"#
        let opened = try client.request("POST", "/v1/sessions", body)
        #expect(opened.status == 201)
        #expect(opened.body == (try client.get("/v1/sessions/l/snapshot").body))
        for number in [0, 5_000, 19_999] {
            let row = #"{"model":{"id":"\#(number)","text":"changed"}}"#
            #expect(try client.request("PUT", "/v1/sessions/l/rows/0/\(number)", row).status == 200)
        }
        #expect(try client.get("/v1/sessions/l/snapshot?at=0").body == opened.body)
        #expect(try client.get("/v1/sessions/l/snapshot?at=0&pretty").object["totalRowCount"] as? Int == 20_000)
        let fork = try Self.fork(client, #"{"id":"f","from":{"session":"l"}}"#)
        #expect(Self.content(fork.text) == (try Self.snapshot(client, "l")))
    }

    // MARK: Many, and after a restart

    @Test("1,000 forks of one session that are edited at the same time do not affect each other")
    func thousandForks() throws {
        let server = try ServerProcess(), client = try server.keptClient()
        try ConcurrencyTests.open(client, rows: 20)
        try Self.delete(client, "c19", of: "x")
        let original = Self.ids(try client.get("/v1/sessions/x/snapshot").object)
        let next = Mutex(0), faults = Mutex<[String]>([]), port = server.port
        let working = DispatchGroup()
        for _ in 0..<16 {
            working.enter()
            Thread.detachNewThread {
                defer { working.leave() }
                do {
                    let client = try HTTPClient(port: port)
                    while case let number = next.withLock({
                        $0 += 1; return $0
                    }), number <= 1_000 {
                        try Self.work(on: number, client, original) { fault in faults.withLock { $0.append(fault) } }
                    }
                } catch {
                    faults.withLock { $0.append("\(error)") }
                }
            }
        }
        working.wait()
        #expect(faults.withLock { $0 } == [])
        // Each fork has exactly its own rows.
        for number in 1...1_000 {
            let ids = Self.ids(try client.get("/v1/sessions/f\(number)/snapshot").object)
            #expect(ids == Self.expected(number, original), "f\(number)")
        }
        #expect(Self.ids(try client.get("/v1/sessions/x/snapshot").object) == original)
    }

    /// Each fork gets edits of its own.
    private static func work(
        on number: Int, _ client: HTTPClient, _ original: [String], fault: (String) -> Void
    ) throws {
        let opened = try client.request("POST", "/v1/sessions", #"{"id":"f\#(number)","from":{"session":"x"}}"#)
        if opened.status != 201 || ids(opened.object) != original { fault(opened.text) }
        let first = original[number % original.count]
        for (resource, body) in [
            ("edits", #"{"delete":{"id":"\#(first)"}}"#),
            ("rows", #"{"at":[0,0],"model":{"id":"own\#(number)","taps":0}}"#),
            ("moves", #"{"from":{"section":0,"row":0},"to":{"section":2,"row":0}}"#),
        ] {
            let answer = try client.request("POST", "/v1/sessions/f\(number)/\(resource)", body)
            if !(200..<300).contains(answer.status) { fault(answer.text) }
        }
        let now = ids(try client.get("/v1/sessions/f\(number)/snapshot").object)
        if now != expected(number, original) { fault("f\(number) has \(now)") }
    }

    private static func expected(_ number: Int, _ original: [String]) -> [String] {
        var ids = original
        ids.removeAll { $0 == original[number % original.count] }
        ids.insert("own\(number)", at: ids.firstIndex { $0.hasPrefix("c") } ?? ids.count)
        return ids
    }

    @Test(
        "A fork and its edits survive a kill, and replay, verify, export, import and backup support forks",
        .enabled(if: TestDatabase.isSQLite))
    func restart() throws {
        let directory = try TemporaryDirectory(), database = directory.path("braid.sqlite")
        var server = try ServerProcess(database: database), client = try server.keptClient()
        try ConcurrencyTests.open(client)
        try Self.delete(client, "a0", of: "x")
        let start = Self.content(try Self.fork(client, #"{"id":"f","from":{"session":"x"}}"#).text)
        #expect(try Self.fork(client, #"{"id":"data","rows":["a"],"empty":{"no":"rows"}}"#).status == 201)
        #expect(try Self.fork(client, #"{"id":"g","from":{"session":"data"}}"#).status == 201)
        try Self.delete(client, "a1", of: "f")
        #expect(try client.request("PATCH", "/v1/sessions/f/state", #"{"n":1}"#).status == 200)
        #expect(try client.request("POST", "/v1/sessions/g/edits", #"{"delete":{"section":0,"row":0}}"#).status == 403)
        #expect(try client.request("DELETE", "/v1/sessions/g/rows/0/0").status == 200)
        let before = try client.get("/v1/sessions/f/snapshot").text, g = try client.get("/v1/sessions/g/snapshot").text
        #expect(g.contains(#""empty":{"no":"rows"}"#))
        server.kill()

        let archive = directory.path("archive.jsonl"), copy = directory.path("copy.sqlite")
        #expect(try CommandRun(["verify", database]).status == 0)
        #expect(try CommandRun(["export", database, archive]).status == 0)
        #expect(try CommandRun(["import", archive, copy]).status == 0)
        #expect(try CommandRun(["verify", copy]).status == 0)
        #expect(try CommandRun(["backup", database, directory.path("backup.sqlite")]).status == 0)
        for (place, isSame) in [(database, true), (copy, false), (directory.path("backup.sqlite"), false)] {
            server = try ServerProcess(database: place)
            client = try server.keptClient()
            let after = try client.get("/v1/sessions/f/snapshot").text
            #expect(isSame ? after == before : Self.content(after) == Self.content(before))
            for session in ["f", "g"] {
                let snapshot = try client.get("/v1/sessions/\(session)/snapshot").text
                let journal = try client.get(
                    "/v1/sessions/\(session)/journal", headers: ["Accept": "application/x-ndjson"])
                let path = directory.path("journal.ndjson")
                try journal.text.write(toFile: path, atomically: true, encoding: .utf8)
                let run = try CommandRun(["replay", path])
                #expect(run.status == 0 && run.output == snapshot + "\n", "\(run)")
            }
            #expect(try Self.snapshot(client, "f", "?at=0") == start)
            #expect(try client.request("POST", "/v1/sessions/f/reset").status == 200)
            #expect(try Self.snapshot(client, "f") == start)
            server.stop()
        }
    }

    @Test(
        "A fork that is opened at a second server contains what the first one acknowledged, and is at the third",
        .enabled(if: PostgresCluster.isPossible, PostgresCluster.needs))
    func cluster() throws {
        let clients = try ServerCluster().clients()
        try ConcurrencyTests.open(clients[0])
        for round in 0..<5 {
            try Self.delete(clients[round % 3], "a\(round)", of: "x")
            let opened = try Self.fork(clients[(round + 1) % 3], #"{"id":"f\#(round)","from":{"session":"x"}}"#)
            let now = try Self.snapshot(clients[round % 3], "x")
            #expect(opened.status == 201 && Self.content(opened.text) == now, "\(opened.text)")
            let third = clients[(round + 2) % 3]
            #expect(try Self.snapshot(third, "f\(round)") == now)
            try Self.delete(third, "b\(round)", of: "f\(round)")
            #expect(try clients[round % 3].request("POST", "/v1/sessions/f\(round)/reset").status == 200)
            #expect(try Self.snapshot(third, "f\(round)") == now)
            for client in clients {
                #expect(try Self.snapshot(client, "f\(round)", "?at=0") == now)
                #expect(try Self.snapshot(client, "x", "?at=\(round + 1)") == now)
            }
        }
    }
}
