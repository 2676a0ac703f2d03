import Foundation
import TestSupport
import Testing

/// Log lines about administrative acts, who asked for them, and the server's state.
@Suite(.serialized) struct AuditTests {
    private static let controller = ["Authorization": "Bearer swordfish"]

    private static func server(_ options: [String] = [], database: String = ":memory:") throws -> ServerProcess {
        try ServerProcess(
            database: database, ["--log-level", "info", "--log-format", "json"] + options,
            environment: ["BRAID_TOKEN": "swordfish"])
    }

    private static func lines(_ log: String) throws -> [[String: Any]] {
        try log.split(separator: "\n").map {
            try #require(try JSONSerialization.jsonObject(with: Data($0.utf8)) as? [String: Any], "\($0)")
        }
    }

    private static func description(_ title: String) -> String {
        #"{"table":"t","cells":{"C":{}},"bindings":[{"cell":"C","header":"\#(title)","models":[{"id":"1"}]}]}"#
    }

    // MARK: Acts

    @Test("The log contains one line for each administrative act, with its object and the client that requested it")
    func acts() throws {
        let server = try Self.server(), client = try server.keptClient()
        func send(_ method: String, _ path: String, _ body: String? = nil, key: String? = nil, is status: Int) throws
            -> [String: Any]
        {
            var headers = Self.controller
            headers["Idempotency-Key"] = key
            let answer = try client.request(method, path, body, headers: headers)
            #expect(answer.status == status, "\(method) \(path): \(answer.text)")
            return answer.object
        }
        _ = try send("PUT", "/v1/tables/t", Self.description("a"), is: 201)
        _ = try send("PUT", "/v1/tables/t", Self.description("a"), is: 200)  // the same
        _ = try send("PUT", "/v1/tables/t", #"{"table":"t"}"#, is: 422)
        _ = try send("POST", "/v1/sessions", #"{"id":"s","table":"t"}"#, is: 201)
        _ = try send("POST", "/v1/sessions", #"{"id":"s","table":"t"}"#, is: 409)
        for _ in 0..<2 { _ = try send("POST", "/v1/sessions", #"{"id":"bare","rows":[]}"#, key: "k1", is: 201) }
        _ = try send("POST", "/v1/sessions", #"{"id":"fork","from":{"session":"bare"}}"#, is: 201)
        _ = try send("PUT", "/v1/tables/t", Self.description("b"), is: 200)
        _ = try send("PUT", "/v1/sessions/s/table?dryRun", #"{"version":2}"#, is: 200)
        _ = try send("PUT", "/v1/sessions/s/table", #"{"version":2}"#, is: 200)
        _ = try send("PATCH", "/v1/sessions/s/models", #"{"table":[{"id":"2"}]}"#, is: 200)
        _ = try send("POST", "/v1/sessions/s/reset?dryRun", is: 200)
        for _ in 0..<2 { _ = try send("POST", "/v1/sessions/s/reset", key: "k2", is: 200) }
        let token = try send("POST", "/v1/sessions/s/tokens", #"{"role":"viewer","expiresIn":60}"#, is: 201)
        let tokenID = try #require(token["tokenId"] as? String), expires = try #require(token["expires"] as? String)
        _ = try send("DELETE", "/v1/tables/t", is: 409)
        _ = try send("DELETE", "/v1/sessions/s/tokens/\(tokenID)", is: 204)
        _ = try send("DELETE", "/v1/sessions/s/tokens/\(tokenID)", is: 404)
        _ = try send("DELETE", "/v1/sessions/s", is: 204)
        _ = try send("DELETE", "/v1/sessions/s", is: 404)
        _ = try send("DELETE", "/v1/tables/t", is: 204)
        server.stop()
        let acts = try Self.lines(server.log).filter {
            $0["level"] as? String == "notice" && $0["requestId"] != nil
        }
        let common = ["time", "level", "message", "requestId", "client", "role"]
        #expect(acts.allSatisfy { $0["client"] as? String == "127.0.0.1" && $0["role"] as? String == "controller" })
        let found = acts.map { act in
            let facts = act.filter { !common.contains($0.key) }.sorted { $0.key < $1.key }
            return ([act["message"] ?? ""] + facts.map { "\($0.key)=\($0.value)" }).map { "\($0)" }
                .joined(separator: " ")
        }
        #expect(
            found == [
                "table registered table=t version=1", "session opened session=s table=t version=1",
                "session opened session=bare", "session opened from=bare session=fork",
                "table registered table=t version=2",
                "session rebound revision=1 session=s table=t version=2", "session reset revision=3 session=s",
                "token created expires=\(expires) grants=viewer session=s token=\(tokenID)",
                "token revoked session=s token=\(tokenID)", "session ended session=s", "table deleted table=t",
            ])
        let secret = try #require((token["token"] as? String)?.split(separator: ".").last)
        #expect(!server.log.contains(secret) && !server.log.contains("swordfish"))
    }

    @Test("--log-level notice logs administrative acts, but no other requests")
    func notice() throws {
        let server = try ServerProcess(["--log-level", "notice"]), client = try server.client()
        try client.request("POST", "/v1/sessions", #"{"id":"s","rows":[]}"#)
        #expect(try client.get("/v1/sessions/s").status == 200)
        server.stop()
        #expect(server.log.contains(" notice session opened session=s requestId="), "\(server.log)")
        #expect(!server.log.contains(" request "), "\(server.log)")
    }

    @Test("Loading a fixture is logged as an administrative act, with the file instead of a client")
    func fixtures() throws {
        let server = try ServerProcess(["--log-level", "notice"] + ServerProcess.attendees)
        server.stop()
        #expect(server.log.contains(/notice table registered table=\S+ version=1 file=\S+\.table\.json\n/))
        #expect(server.log.contains(/notice session opened session=\S+ file=\S+\.session\.json\n/))
    }

    @Test(
        "Only the first start from a restored backup logs that it began new epochs",
        .enabled(if: TestDatabase.isSQLite))
    func restored() throws {
        let directory = try TemporaryDirectory(), backup = directory.path("backup.sqlite")
        do {
            let server = try ServerProcess(database: directory.path("braid.sqlite"))
            #expect(try CommandRun(["backup", directory.path("braid.sqlite"), backup]).status == 0)
            #expect(server.stop() == 0 && !server.log.contains("new epochs"))
        }
        for isFirst in [true, false] {
            let server = try ServerProcess(database: backup)
            server.stop()
            #expect(server.log.contains(" warning all sessions have new epochs: the database was restored") == isFirst)
        }
    }

    // MARK: Requests

    @Test("A request's log line contains the role and the token's id, if the request needed a role")
    func actors() throws {
        let server = try Self.server(), client = try server.keptClient()
        try client.request("POST", "/v1/sessions", #"{"id":"s","rows":[]}"#, headers: Self.controller)
        let token = try client.request(
            "POST", "/v1/sessions/s/tokens", #"{"role":"participant","expiresIn":60}"#, headers: Self.controller
        ).object
        let text = try #require(token["token"] as? String), participant = ["Authorization": "Bearer \(text)"]
        let cases: [(path: String, headers: [String: String], status: Int, role: String?, token: String?)] = [
            ("/v1/sessions/s/snapshot", participant, 200, "participant", token["tokenId"] as? String),
            ("/v1/sessions/other/snapshot", participant, 404, "participant", token["tokenId"] as? String),
            ("/v1/sessions/s/table", participant, 403, "participant", token["tokenId"] as? String),
            ("/v1/sessions/s/snapshot", Self.controller, 200, "controller", nil),
            ("/v1/sessions/s/snapshot", ["Authorization": "Bearer \(text)x"], 401, nil, nil),
            ("/v1/sessions/s/snapshot", [:], 401, nil, nil), ("/problems/role", Self.controller, 200, nil, nil),
            ("/nothing", Self.controller, 404, nil, nil),
        ]
        for (number, test) in cases.enumerated() {
            let answer = try client.get(
                test.path, headers: test.headers.merging(["X-Request-Id": "case-\(number)"]) { $1 })
            #expect(answer.status == test.status && answer.header("x-request-id") == "case-\(number)")
            if answer.status >= 400 { #expect(answer.object["requestId"] as? String == "case-\(number)") }
        }
        server.stop()
        let lines = try Self.lines(server.log)
        for (number, test) in cases.enumerated() {
            let line = try #require(lines.first { $0["requestId"] as? String == "case-\(number)" })
            #expect(line["status"] as? Int == test.status && line["path"] as? String == test.path)
            #expect(line["role"] as? String == test.role && line["tokenId"] as? String == test.token, "\(line)")
        }
        #expect(!server.log.contains(text.split(separator: ".")[1]))
    }

    @Test("A well-formed traceparent sets the trace id in the request's log lines, and a malformed one is ignored")
    func traces() throws {
        let server = try Self.server(), client = try server.keptClient(), id = "0af7651916cd43dd8448eb211c80319c"
        for (session, parent) in [("a", "00-\(id)-b7ad6b7169203331-01"), ("b", "00-\(id)-b7ad6b7169203331")] {
            let headers = Self.controller.merging(["Traceparent": parent]) { $1 }
            let body = #"{"id":"\#(session)","rows":[]}"#
            #expect(try client.request("POST", "/v1/sessions", body, headers: headers).status == 201)
        }
        server.stop()
        let traces = try Self.lines(server.log).filter { $0["requestId"] != nil }.map { $0["traceId"] as? String }
        #expect(traces == [id, id, nil, nil])
    }

    @Test("The server uses a well-formed X-Request-Id, and creates an id otherwise")
    func requestIDs() throws {
        let server = try Self.server(), client = try server.keptClient()
        for (given, isTaken) in [
            ("a", true), (String(repeating: "x", count: 128), true), (String(repeating: "x", count: 129), false),
            ("a b", false), ("a\tb", false), ("é", false), ("", false),
        ] {
            let answer = try client.get("/nothing", headers: ["X-Request-Id": given])
            let id = try #require(answer.header("x-request-id"))
            #expect(!id.isEmpty && (id == given) == isTaken && answer.object["requestId"] as? String == id)
            #expect(server.waitForLog { $0.contains("\"requestId\":\"\(id)\"") })
        }
    }

    @Test(
        "The logged address of a client comes from X-Forwarded-For only behind a trusted proxy",
        arguments: [false, true])
    func clients(isTrusted: Bool) throws {
        let server = try Self.server(isTrusted ? ["--trusted-proxy", "127.0.0.0/8", "--trusted-proxy", "::1"] : [])
        let client = try server.keptClient()
        for list in ["192.0.2.7", "203.0.113.9, 192.0.2.8, 127.0.0.1", "\" role=controller"] {
            _ = try client.get("/nothing", headers: ["X-Forwarded-For": list])
        }
        try client.client.send("hello there\r\n\r\n")  // not HTTP
        _ = try client.client.receive()
        server.stop()
        let addresses = try Self.lines(server.log).filter { $0["message"] as? String == "request" }
            .map { $0["client"] as? String }
        let peer = "127.0.0.1"
        #expect(addresses == (isTrusted ? ["192.0.2.7", "192.0.2.8", peer, peer] : [peer, peer, peer, peer]))
    }

    @Test("Clients of a Unix socket are logged with the address unix, or with the one that a trusted proxy sends")
    func unixSocket() throws {
        let directory = try TemporaryDirectory(), socket = directory.path("s")
        let run = Process(), errors = Pipe(), output = Pipe()
        run.executableURL = ServerProcess.binary
        run.arguments = ["serve", "--socket", socket, "--database", ":memory:", "--trusted-proxy", "unix"]
        run.environment = ServerProcess.environment()
        (run.standardError, run.standardOutput) = (errors, output)
        try run.run()
        #expect(try output.line() == "listening on unix:\(socket)")
        for field in ["X-Forwarded-For: 2001:db8::7\r\n", ""] {
            let descriptor = try #require(connectedSocket(path: socket))
            defer { close(descriptor) }
            let request = "GET /nothing HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\(field)\r\n"
            #expect(write(descriptor, request, request.utf8.count) == request.utf8.count)
            // The whole answer, because the server must not stop before it has the request.
            var piece = [UInt8](repeating: 0, count: 1_024)
            #expect(read(descriptor, &piece, piece.count) > 0)
            while read(descriptor, &piece, piece.count) > 0 {}
        }
        run.terminate()
        run.waitUntilExit()
        let log = String(decoding: errors.fileHandleForReading.readDataToEndOfFile(), as: UTF8.self)
        #expect(log.contains(" client=2001:db8::7 ") && log.contains(" client=unix "), "\(log)")
    }

    // MARK: Limits

    @Test("A limit that is reached is logged once a minute, however many requests reach it")
    func limits() throws {
        let start = ContinuousClock.now
        let server = try ServerProcess(["--max-subscribers", "1", "--max-sessions", "1", "--log-format", "json"])
        let client = try server.client()
        try client.request("POST", "/v1/sessions", #"{"id":"s","rows":[]}"#)
        let stream = try EventStreamClient(port: server.port, "/v1/sessions/s/updates")
        _ = try stream.events(through: "caught-up")
        for number in 0..<50 {
            #expect(try client.get("/v1/sessions/s/updates?since=0&wait=1").status == 503)
            #expect(try client.request("POST", "/v1/sessions", #"{"id":"s\#(number)","rows":[]}"#).status == 429)
        }
        server.stop()
        let minutes = Int((ContinuousClock.now - start) / .seconds(60))
        for limit in ["max-subscribers", "max-sessions"] {
            let lines = try Self.lines(server.log).filter { $0["limit"] as? String == limit }
            #expect((1...1 + minutes).contains(lines.count), "\(server.log)")
            let first = try #require(lines.first)
            #expect(first["level"] as? String == "warning" && first["message"] as? String == "limit reached")
            #expect(first["scope"] as? String == "server" && first["times"] as? Int == 1 && first["client"] != nil)
        }
    }

    @Test("The log says that the limit of connections is reached when a connection has to wait")
    func connections() throws {
        let server = try ServerProcess(["--max-connections", "2"])
        var clients: [HTTPClient] = []
        // When full, the server closes what is idle for two seconds; on a busy machine, it may take several attempts.
        #expect(
            server.waitForLog { log in
                if log.contains(" warning limit reached limit=max-connections scope=server times=1\n") { return true }
                clients = (0..<3).compactMap { _ in try? server.client() }
                return false
            })
        #expect(!clients.isEmpty)
        clients = []
        #expect(try server.client().get("/healthz").status == 200)
    }

    // MARK: A standard error that nobody reads

    /// Requests with long log lines. Returns the number of dropped lines.
    private static func fill(_ server: ServerProcess, _ count: Int) throws -> Int {
        let client = try server.keptClient(), path = "/" + String(repeating: "x", count: 4_000)
        for _ in 0..<count { #expect(try client.get(path).status == 404) }
        return try dropped(server)
    }

    private static func dropped(_ server: ServerProcess) throws -> Int {
        let metrics = try server.client().get("/metrics").text
        let line = try #require(metrics.split(separator: "\n").first { $0.hasPrefix("braid_log_lines_dropped_total ") })
        return try #require(Int(line.split(separator: " ")[1]))
    }

    @Test(
        "If nobody reads standard error, requests are still answered, and SIGTERM still ends the server",
        .timeLimit(.minutes(10)))
    func unreadPipe() throws {
        let pipe = Pipe()
        let server = try ServerProcess(["--log-level", "info"], stderr: pipe)
        #expect(try Self.fill(server, 1_500) > 0)
        #expect(server.stop() == 0)
        withExtendedLifetime(pipe) {}
    }

    @Test("When standard error is read again, a log line says how many lines were dropped", .timeLimit(.minutes(10)))
    func readAgain() throws {
        let pipe = Pipe()
        let server = try ServerProcess(["--log-level", "info", "--log-format", "json"], stderr: pipe)
        let dropped = try Self.fill(server, 1_500)
        var read = Data(), lines: [[String: Any]] = [], requests = 0, total = 0
        // Usually one note for all dropped lines; several if the log's thread stood still before the pipe was full.
        while requests + total < 1_500 {
            read += pipe.fileHandleForReading.availableData
            guard read.last == UInt8(ascii: "\n") else { continue }
            lines = try Self.lines(String(decoding: read, as: UTF8.self))
            requests = lines.count { $0["message"] as? String == "request" }
            total = lines.reduce(0) { $0 + ($1["dropped"] as? Int ?? 0) }
        }
        for note in lines where note["dropped"] != nil {
            let count = try #require(note["dropped"] as? Int)
            #expect(note["level"] as? String == "warning")
            #expect(note["message"] as? String == "\(count) log lines were dropped")
        }
        #expect(total == dropped)
        #expect(requests + total == 1_500, "every request is a line, or counted")
        server.kill()
    }

    @Test("If standard error is a file on a full disk, the server continues and counts the dropped lines")
    func fullDisk() throws {
        let server = try ServerProcess(
            ["--log-level", "info"], stderr: FileHandle(forWritingAtPath: "/dev/full"))
        let client = try server.client()
        for _ in 0..<100 { #expect(try client.get("/v1/sessions").status == 200) }
        #expect(try eventually { try Self.dropped(server) >= 100 })
        #expect(server.stop() == 0)
    }

    @Test(
        "A log on a full disk continues when there is space, and each request is a complete line or counted as dropped",
        .enabled(if: SmallDisk.isAvailable, "only root can mount a small disk"))
    func roomAgain() throws {
        let disk = try SmallDisk(megabytes: 1), file = disk.path + "/log"
        _ = FileManager.default.createFile(atPath: file, contents: nil)
        let server = try ServerProcess(
            ["--log-level", "info", "--log-format", "json"],
            stderr: try FileHandle(forWritingTo: URL(fileURLWithPath: file)))
        disk.fill()
        let client = try server.keptClient(), path = "/" + String(repeating: "x", count: 3_000)
        var requests = 0
        while try Self.dropped(server) == 0 {
            #expect(try client.get(path).status == 404)
            requests += 1
        }
        disk.clear()
        func text() -> String { (try? String(contentsOfFile: file, encoding: .utf8)) ?? "" }
        #expect(eventually { text().contains("log lines were dropped") })
        #expect(try client.get("/after").status == 404)
        #expect(server.stop() == 0)
        // A line written in part counts as dropped, and the next one starts a new line.
        let lines = text().split(separator: "\n").compactMap {
            try? JSONSerialization.jsonObject(with: Data($0.utf8)) as? [String: Any]
        }
        let whole = lines.filter { ($0["path"] as? String) == path }.count
        let dropped = lines.compactMap { $0["dropped"] as? Int }.reduce(0, +)
        #expect(whole < requests && whole + dropped >= requests && dropped > 0)
        #expect(lines.contains { $0["path"] as? String == "/after" } && lines.last?["message"] as? String == "stopped")
    }

    // MARK: The start

    @Test("At its start the server logs the version and the settings, but no secrets")
    func start() throws {
        let directory = try TemporaryDirectory(), file = directory.path("token")
        try "swordfish".write(toFile: file, atomically: true, encoding: .utf8)
        let server = try ServerProcess(
            ["--log-level", "info", "--log-format", "json", "--token-file", file, "--max-rows", "77", "--watch"]
                + ServerProcess.attendees)
        server.stop()
        let line = try #require(try Self.lines(server.log).first)
        #expect(line["level"] as? String == "notice" && line["message"] as? String == "starting")
        let version = try CommandRun(["--version"]).output.trimmingCharacters(in: .newlines)
        #expect(line["version"] as? String == version)
        let settings = ["max-rows": "77", "port": "0", "watch": "true", "access": "token", "max-sessions": "100000"]
        for (name, value) in settings { #expect(line[name] as? String == value, "\(name)") }
        #expect(line["token-file"] as? String == file && line["fixtures"] as? String == ServerProcess.attendees[1])
        #expect(!server.log.contains("swordfish"))
    }

    private static let wrongStarts: [(arguments: [String], status: Int32)] = [
        (["--port", "x"], 64), (["--log-level", "nothing"], 64), (["--prt", "1"], 64),
        (["postgres://me:secret@db/x"], 64), (["--port", "postgres://me:secret@db/x"], 64),
        (["--database", "postgres://me:secret@x:y/x?%zz&password=secret"], 1),
        (["--database", "/no/such/postgress://me:secret@db/x"], 1), (["--watch"], 1),
        (["--fixtures", "/no/a", "--fixtures", "/no/b"], 1), (["--hostname", "256.1.1.1"], 1),
    ]

    @Test(
        "With --log-format json, errors at the start are JSON objects, and contain no secrets from wrong values",
        arguments: wrongStarts)
    func fatalErrors(arguments: [String], status: Int32) throws {
        let rest = arguments.contains("--database") ? arguments : arguments + ["--database", ":memory:"]
        for run in [
            try CommandRun(["serve", "--log-format", "json"] + rest),
            try CommandRun(["serve", "--log-format", "text", "--log-format=json"] + rest),
            try CommandRun(["serve"] + rest, environment: ["BRAID_LOG_FORMAT": "json"]),
        ] {
            #expect(run.status == status, "\(run)")
            #expect(try Self.lines(run.errors).last?["level"] as? String == "critical", "\(run)")
            #expect(!run.errors.contains("secret") && run.output.isEmpty, "\(run)")
        }
        let run = try CommandRun(["serve", "--log-format=text"] + rest, environment: ["BRAID_LOG_FORMAT": "json"])
        #expect(run.status == status && run.errors.contains("Error: ") && !run.errors.contains("secret"), "\(run)")
    }

    @Test(
        "If a write to the disk is lost, the server ends with a last line in the log's format",
        .enabled(if: HeldFlush.compiler != nil, "needs a C compiler"), .enabled(if: TestDatabase.isSQLite),
        arguments: ["json", "text"])
    func lostWrite(format: String) throws {
        let disk = try HeldFlush(), directory = try TemporaryDirectory()
        let server = try ServerProcess(
            database: directory.path("braid.sqlite"), ["--log-format", format], environment: disk.environment)
        // The first write waits for the reserve file, without whose flush the disk would count as full.
        #expect(try server.client().request("POST", "/v1/sessions", #"{"id":"r","rows":[]}"#).status == 201)
        disk.fail()
        _ = try? server.client().request("POST", "/v1/sessions", #"{"id":"s","rows":[]}"#)
        #expect(server.waitForEnd() == 74)
        let line = try #require(server.log.split(separator: "\n").last)
        let message = "writing the database \(directory.path("braid.sqlite")) to disk failed: "
        if format == "json" {
            let last = try #require(try Self.lines(String(line)).first)
            #expect(last["level"] as? String == "critical")
            #expect((last["message"] as? String)?.hasPrefix(message) == true)
        } else {
            #expect(line.contains(" critical \(message)"), "\(line)")
        }
    }

    // MARK: Injection

    @Test("No text from a client can break a log line, add a value to it, or control a terminal")
    func injection() throws {
        for format in ["text", "json"] {
            let server = try ServerProcess(["--log-level", "info", "--log-format", format])
            for bytes in ["\u{9B}31m", "\u{7F}", "\u{202E}x", "\u{2028}"] {
                let encoded = bytes.utf8.map { "%" + String($0, radix: 16, uppercase: true) }.joined()
                _ = try server.client().get("/v1/sessions/\(encoded)", headers: ["X-Forwarded-For": bytes])
                _ = try server.client().request("POST", "/v1/sessions", #"{"id":"\#(bytes)","rows":[]}"#)
            }
            server.stop()
            let controls = server.log.unicodeScalars.filter {
                $0 != "\n"
                    && ($0.value < 0x20 || (0x7F...0x9F).contains($0.value)
                        || "\u{202E}\u{2028}".unicodeScalars.contains($0))
            }
            #expect(controls.isEmpty, "\(server.log.debugDescription)")
        }
    }
}
