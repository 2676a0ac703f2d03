import Foundation
import Synchronization
import TestSupport
import Testing

/// Beyond a limit comes the documented answer, and the server goes on.
@Suite(.serialized) struct LimitTests {
    static func table(_ binding: String = #""models":[],"editing":"delete""#, sections: String = #""sections":["a"],"#)
        -> String
    {
        #"{"table":"t",\#(sections)"cells":{"C":{}},"bindings":[{"on":{"section":"a"},"cell":"C",\#(binding)}]}"#
    }

    static func models(_ count: Int, from first: Int = 0) -> String {
        "[" + (first..<first + count).map { #"{"id":"\#($0)"}"# }.joined(separator: ",") + "]"
    }

    static func render(_ body: String) -> String {
        "POST /v1/render HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: \(body.utf8.count)\r\n\r\n\(body)"
    }

    private func expect(
        _ response: HTTPClient.Response, _ status: Int, _ problem: String, retries: Bool = false,
        _ comment: Comment = "", at place: SourceLocation = #_sourceLocation
    ) {
        #expect(
            response.status == status && response.object["type"] as? String == "/problems/\(problem)",
            "\(comment) \(response.status) \(response.text)", sourceLocation: place)
        #expect((Int(response.header("retry-after") ?? "") ?? 0 > 0) == retries, sourceLocation: place)
    }

    @Test("The size of headers, the size of bodies and the depth of JSON have limits")
    func sizes() throws {
        let server = try ServerProcess([
            "--max-header-bytes", "2048", "--max-body-bytes", "4096",
        ])
        #expect(try server.client().get("/healthz", headers: ["X": String(repeating: "x", count: 1_800)]).status == 200)
        expect(
            try server.client().get("/healthz", headers: ["X": String(repeating: "x", count: 2_100)]), 431,
            "headers-too-large")
        expect(
            try server.client().request("POST", "/v1/render", String(repeating: " ", count: 4_097)), 413,
            "content-too-large")
        func nested(_ depth: Int) -> String {
            #"{"template":"# + String(repeating: "[", count: depth - 1) + String(repeating: "]", count: depth - 1) + "}"
        }
        #expect(try server.client().request("POST", "/v1/render", nested(128)).status == 200)
        expect(try server.client().request("POST", "/v1/render", nested(129)), 400, "invalid-json")
    }

    @Test("A command that exceeds the limit of rows or sections is refused, for stored, derived and counted rows")
    func tables() throws {
        let server = try ServerProcess(["--max-rows", "5", "--max-sections", "3"])
        let client = try server.client()
        try client.request("POST", "/v1/sessions", #"{"table":\#(Self.table()),"id":"s"}"#)
        #expect(try client.request("PATCH", "/v1/sessions/s/models", #"{"a":\#(Self.models(5))}"#).status == 200)
        let before = try client.get("/v1/sessions/s/snapshot").text
        expect(try client.request("PATCH", "/v1/sessions/s/models", #"{"a":\#(Self.models(6))}"#), 422, "too-many-rows")
        expect(
            try client.request("POST", "/v1/sessions/s/rows", #"{"at":[0,0],"model":{"id":"x"}}"#), 422, "too-many-rows"
        )
        expect(
            try client.request("POST", "/v1/sessions/s/rows?notify=false", #"{"at":[0,0],"model":{"id":"x"}}"#), 422,
            "too-many-rows")
        #expect(try client.get("/v1/sessions/s/snapshot").text == before)
        expect(
            try client.request(
                "POST", "/v1/sessions", #"{"table":\#(Self.table()),"models":{"a":\#(Self.models(6))}}"#), 422,
            "too-many-rows")
        for binding in [#""numberOfCells":6"#, #""numberOfCells":100000"#, #""modelsFrom":{"$eval":"state.list"}"#] {
            expect(
                try client.request(
                    "POST", "/v1/sessions", #"{"table":\#(Self.table(binding)),"state":{"list":\#(Self.models(6))}}"#),
                422, "too-many-rows", "\(binding)")
        }
        let derived =
            #"{"table":\#(Self.table(#""modelsFrom":{"$eval":"state.list"}"#)),"id":"derived","state":{"list":\#(Self.models(5))}}"#
        #expect(try client.request("POST", "/v1/sessions", derived).status == 201)
        let commands = (0..<3).map { #"{"patchState":{"list":\#(Self.models(5, from: $0))}}"# }.joined(separator: ",")
        #expect(
            try client.request("POST", "/v1/sessions/derived/transactions", #"{"commands":[\#(commands)]}"#).status
                == 200, "each time there are five")
        try client.request("POST", "/v1/sessions", #"{"sections":[{"rows":[]},{"rows":[]},{"rows":[]}],"id":"d"}"#)
        expect(
            try client.request("POST", "/v1/sessions/d/sections", #"{"section":{"rows":[]}}"#), 422, "too-many-sections"
        )
        expect(
            try client.request(
                "POST", "/v1/sessions", #"{"sections":[{"rows":[]},{"rows":[]},{"rows":[]},{"rows":[]}]}"#), 422,
            "too-many-sections")
    }

    @Test("A session that exceeds a lowered limit of rows can be read, and rows can be deleted but not added")
    func loweredLimits() throws {
        let directory = try TemporaryDirectory()
        let first = try ServerProcess(database: directory.path("db"))
        try first.client().request(
            "POST", "/v1/sessions", #"{"table":\#(Self.table()),"id":"s","models":{"a":\#(Self.models(6))}}"#)
        let before = try first.client().get("/v1/sessions/s/snapshot").text
        first.stop()
        let second = try ServerProcess(database: directory.path("db"), ["--max-rows", "3"])
        #expect(try second.client().get("/v1/sessions/s/snapshot").text == before)
        expect(
            try second.client().request("POST", "/v1/sessions/s/rows", #"{"at":[0,0],"model":{"id":"x"}}"#), 422,
            "too-many-rows")
        #expect(try second.client().request("POST", "/v1/sessions/s/edits", #"{"delete":{"id":"0"}}"#).status == 200)
    }

    @Test("A session whose rows needed several commands' worth of template steps can be read after a restart")
    func renderedBitByBit() throws {
        let directory = try TemporaryDirectory()
        let sum = Array(repeating: "1", count: 900).joined(separator: "+")
        let table = Self.table(
            #""models":[],"viewModel":{"$map":{"$eval":"range(0,100)"},"each(i)":{"$eval":"\#(sum)"}}"#)
        let first = try ServerProcess(database: directory.path("db"), ["--command-timeout", "3600"])
        try first.client().request("POST", "/v1/sessions", #"{"table":\#(table),"id":"s"}"#)
        for count in [25, 50, 75] {
            #expect(
                try first.client().request("PATCH", "/v1/sessions/s/models", #"{"a":\#(Self.models(count))}"#).status
                    == 200)
        }
        let before = try first.client().get("/v1/sessions/s/snapshot").text
        first.stop()
        let second = try ServerProcess(database: directory.path("db"), ["--command-timeout", "3600"])
        #expect(try second.client().get("/v1/sessions/s/snapshot").text == before)
        expect(
            try second.client().request("PATCH", "/v1/sessions/s/models", #"{"a":\#(Self.models(75, from: 100))}"#),
            422,
            "template-failed", "it is bounded as before")
    }

    @Test("One command may render only a limited number of bytes and template steps, whatever the table's size")
    func rendering() throws {
        let copies = Self.table(#""models":[],"viewModel":{"all":{"$eval":"state.big"},"id":{"$eval":"model.id"}}"#)
        let server = try ServerProcess(["--max-rendered-bytes", "3000000", "--max-template-steps", "2000"])
        let client = try server.client()
        let opened = try client.request(
            "POST", "/v1/sessions",
            #"{"table":\#(copies),"id":"s","state":{"big":"\#(String(repeating: "x", count: 100_000))"}}"#)
        #expect(opened.status == 201, "\(opened.text)")
        #expect(try client.request("PATCH", "/v1/sessions/s/models", #"{"a":\#(Self.models(5))}"#).status == 200)
        let before = try client.get("/v1/sessions/s/snapshot").text
        expect(
            try client.request("PATCH", "/v1/sessions/s/models", #"{"a":\#(Self.models(100, from: 10))}"#), 422,
            "template-failed")
        #expect(try client.get("/v1/sessions/s/snapshot").text == before)
        let slow = Self.table(#""models":[],"viewModel":{"$map":{"$eval":"range(0,200)"},"each(i)":{"$eval":"i"}}"#)
        try client.request("POST", "/v1/sessions", #"{"table":\#(slow),"id":"slow"}"#)
        expect(
            try client.request("PATCH", "/v1/sessions/slow/models", #"{"a":\#(Self.models(50))}"#), 422,
            "template-failed"
        )
        #expect(try client.request("PATCH", "/v1/sessions/slow/models", #"{"a":\#(Self.models(1))}"#).status == 200)
    }

    @Test("A transaction that renders all rows thousands of times is refused after its time limit, and changes nothing")
    func commandTime() throws {
        let server = try ServerProcess(["--command-timeout", "1"])
        let client = try server.client()
        let table =
            #"{"table":"t","sections":["a"],"cells":{"C":{}},"bindings":[{"on":{"section":"a"},"cell":"C","numberOfCells":"state.n"}]}"#
        #expect(
            try client.request("POST", "/v1/sessions", #"{"table":\#(table),"id":"s","state":{"n":1}}"#).status == 201)
        let before = try client.get("/v1/sessions/s/snapshot").text
        let commands = (0..<20_000).map { #"{"patchState":{"n":\#(50_000 + $0)}}"# }.joined(separator: ",")
        let start = ContinuousClock.now
        expect(
            try client.request("POST", "/v1/sessions/s/transactions", #"{"commands":[\#(commands)]}"#), 503,
            "command-timeout", retries: true)
        // Not kept under the key: the same key may try again.
        for _ in 0..<2 {
            let late = try client.request(
                "POST", "/v1/sessions/s/transactions", #"{"commands":[\#(commands)]}"#,
                headers: ["Idempotency-Key": "k"])
            expect(late, 503, "command-timeout", retries: true)
            #expect(late.header("retry-after") == "10")
            #expect(late.header("idempotent-replayed") == nil)
        }
        // Without the limit, these would take much longer.
        #expect(ContinuousClock.now - start < .seconds(600))
        #expect(try client.get("/v1/sessions/s/snapshot").text == before)
        #expect(try client.request("PATCH", "/v1/sessions/s/state", #"{"n":3}"#).status == 200)
    }

    @Test("The limit of sessions includes sessions from before a restart, and ending a session makes room for another")
    func sessions() throws {
        let directory = try TemporaryDirectory()
        func open(_ server: ServerProcess, _ id: String) throws -> HTTPClient.Response {
            try server.client().request("POST", "/v1/sessions", #"{"table":\#(Self.table()),"id":"\#(id)"}"#)
        }
        let first = try ServerProcess(database: directory.path("db"), ["--max-sessions", "2"])
        #expect(try open(first, "a").status == 201)
        expect(try open(first, "a"), 409, "session-exists")
        #expect(try open(first, "b").status == 201)
        expect(try open(first, "c"), 429, "too-many-sessions", retries: true)
        first.stop()
        let second = try ServerProcess(database: directory.path("db"), ["--max-sessions", "2"])
        func openOnce() throws -> HTTPClient.Response {
            try second.client().request(
                "POST", "/v1/sessions", #"{"id":"d","rows":[]}"#, headers: ["Idempotency-Key": "k"])
        }
        expect(try open(second, "c"), 429, "too-many-sessions", retries: true)
        expect(try openOnce(), 429, "too-many-sessions", retries: true)
        #expect(try second.client().request("DELETE", "/v1/sessions/a").status == 204)
        #expect(try openOnce().status == 201, "this answer was not kept")
        second.stop()
        let third = try ServerProcess(database: directory.path("db"), ["--max-sessions", "2"])
        #expect(try third.client().request("DELETE", "/v1/sessions/b").status == 204)
        expect(try open(third, "d"), 409, "session-exists")
        #expect(try open(third, "e").status == 201, "one that could not be opened takes no room")
    }

    @Test("Beyond the limit of subscribers, streams and long polls get 503 until another one ends")
    func subscribers() throws {
        let server = try ServerProcess(["--max-subscribers", "2"])
        try server.client().request("POST", "/v1/sessions", #"{"table":\#(Self.table()),"id":"s"}"#)
        var stream: EventStreamClient? = try EventStreamClient(port: server.port, "/v1/sessions/s/updates")
        _ = try stream?.events(through: "caught-up")
        let poll = try server.client()
        try poll.send("GET /v1/sessions/s/updates?since=0&wait=60 HTTP/1.1\r\nHost: localhost\r\n\r\n")
        func next() throws -> HTTPClient.Response { try server.client().get("/v1/sessions/s/updates?since=0&wait=1") }
        // The poll must be counted first, or an earlier request could take its place.
        #expect(try server.waitForMetric(#"braid_subscribers{by="poll"} 1"#))
        expect(try next(), 503, "unavailable", retries: true)
        expect(try server.client().get("/v1/fixtures?since=0&wait=1"), 503, "unavailable", retries: true)
        for query in ["", "&wait=0"] {
            for path in ["/v1/sessions/s/updates", "/v1/fixtures"] {
                #expect(
                    try server.client().get("\(path)?since=0\(query)").status == 200,
                    "who does not wait is no subscriber")
            }
        }
        stream = nil
        #expect(try eventually { try next().status == 200 })
    }

    @Test("Requests beyond the limit of concurrent requests get 503 at once, and succeed when others have ended")
    func requests() throws {
        let server = try ServerProcess(["--max-requests", "1"])
        let body = #"{"template":{"$map":{"$eval":"range(0,20000)"},"each(i)":{"$eval":"i*i"}}}"#
        let clients = try (0..<30).map { _ in try server.client() }
        let request = Self.render(body)
        for client in clients { try client.send(request) }
        let answers = try clients.map { try $0.receive() }
        #expect(Set(answers.map(\.status)) == [200, 503], "\(answers.map(\.status))")
        for answer in answers where answer.status == 503 { expect(answer, 503, "unavailable", retries: true) }
        for client in clients {
            #expect(try client.request("POST", "/v1/render", body).status == 200, "the connection goes on")
        }
        for client in clients { try client.send(request) }
        for path in ["/healthz", "/readyz", "/metrics"] {
            #expect(try server.client().get(path).status == 200, "\(path) is not counted")
        }
    }

    @Test(
        "A request for updates with `wait=0` or an invalid `wait` counts as a request, and a long poll does not",
        .enabled(if: TestDatabase.isSQLite && HeldFlush.compiler != nil))
    func requestsThatDoNotWait() throws {
        let flush = try HeldFlush(), directory = try TemporaryDirectory()
        let server = try ServerProcess(
            database: directory.path("braid.sqlite"), ["--max-requests", "1"], environment: flush.environment)
        let client = try server.client(), other = try server.client()
        try #require(try client.request("POST", "/v1/sessions", #"{"id":"s","rows":[]}"#).status == 201)
        flush.close()
        let patch = "PATCH /v1/sessions/s/state HTTP/1.1\r\nHost: localhost\r\nContent-Length: 7"
        try other.send(patch + "\r\n\r\n" + #"{"a":1}"#)
        #expect(try eventually { try client.get("/metrics").text.contains("\nbraid_http_requests_in_progress 1\n") })
        for wait in ["", "&wait=0", "&wait=61", "&wait=x"] {
            expect(
                try client.get("/v1/sessions/s/updates?since=0\(wait)"), 503, "unavailable", retries: true, "\(wait)")
        }
        #expect(try client.get("/v1/sessions/s/updates?since=0&wait=1").status == 200)
        flush.open()
        #expect(try other.receive().status == 200)
    }

    @Test("A slow head gets 408, an idle connection is closed, and a full server closes idle connections first")
    func times() throws {
        let server = try ServerProcess(["--header-timeout", "1", "--idle-timeout", "2", "--max-connections", "4"])
        func slowHead() throws -> HTTPClient.Response {
            let slow = try server.client()
            try slow.send("GET /healthz HTTP/1.1\r\nHost: lo")
            return try slow.receive()
        }
        let idle = try server.client()
        // If the test stands still before the head, the connection counts as idle and is closed.
        var answer = try? slowHead()
        for _ in 0..<3 where answer == nil { answer = try? slowHead() }
        expect(try #require(answer), 408, "request-timeout")
        #expect(idle.isClosed)
        let first = try (0..<4).map { _ in try server.client() }
        // Some may be closed already, as idle while the server was full.
        for client in first {
            if let answer = try? client.get("/healthz") { #expect(answer.status == 200) }
        }
        #expect(eventually { (try? server.client().get("/v1/tables").status) == 200 })
        withExtendedLifetime(first) {}
    }

    @Test("If all connections are in use, the three probes are still answered, and other requests get 503")
    func probes() throws {
        let server = try ServerProcess(["--max-connections", "4"])
        // Stays as one of the four: if it left, it could still be counted when the last comes.
        let opener = try server.client()
        try opener.request("POST", "/v1/sessions", #"{"table":\#(Self.table()),"id":"s"}"#)
        var busy = try (0..<4).map { number in
            let client = try number == 0 ? opener : server.client()
            try client.send(
                "POST /v1/sessions/s/observe HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/x-ndjson\r\nTransfer-Encoding: chunked\r\n\r\n"
            )
            return client
        }
        func value(_ name: String) throws -> Double? {
            try MetricsTests.parse(server.client().get("/metrics").text).first { $0.name == name }?.value
        }
        #expect(try eventually { try value("braid_http_connections") == 4 })
        for path in ["/healthz", "/readyz", "/metrics"] {
            let client = try server.client(), answer = try client.get(path)
            #expect(answer.status == 200 && answer.header("connection") == "close" && client.isClosed, "\(path)")
        }
        let refused: [(String, String, String?)] = [
            ("GET", "/v1/tables", nil), ("POST", "/v1/sessions", "{}"), ("GET", "/", nil), ("POST", "/healthz", "{}"),
            ("POST", "/v1/sessions/s/observe", "{}"),
        ]
        let before = try value("braid_http_connections_refused_total") ?? 0
        for (method, path, body) in refused {
            let client = try server.client(), answer = try client.request(method, path, body)
            expect(answer, 503, "unavailable", retries: true, "\(method) \(path)")
            #expect(client.isClosed)
        }
        #expect(try value("braid_http_connections_refused_total") == before + Double(refused.count))
        // No handler has run, but it is counted.
        let counts = try server.client().get("/metrics").text
        #expect(counts.contains(#"{method="POST",route="/v1/sessions/{id}/observe",status="503"} 1"#), "\(counts)")
        #expect(try value("braid_http_connections") == 4 && value("braid_http_connections_max") == 4)
        busy.removeLast()
        #expect(try eventually { try server.client().get("/v1/tables").status != 503 })
    }

    @Test("A refusal is short, however long the texts of its request are")
    func longTexts() throws {
        let server = try ServerProcess(), client = try server.client()
        try client.request("PUT", "/v1/tables/t", Self.table())
        try client.request("POST", "/v1/sessions", #"{"table":"t","id":"s","models":{"a":\#(Self.models(2))}}"#)
        let long = String(repeating: "x", count: 100_000)
        let paths = try #require(try client.get("/openapi.json").object["paths"] as? [String: [String: Any]])
        var requests = paths.flatMap { path, operations in
            ["PUT", "POST", "PATCH"].filter { operations[$0.lowercased()] != nil }.flatMap { method in
                [#"{"LONG":1}"#, #"{"LONG":{"LONG":[]}}"#, #"[{"LONG":1}]"#, #""LONG""#].map { (method, path, $0) }
            }
        }
        requests += [
            ("POST", "/v1/sessions", #"{"table":"LONG"}"#), ("POST", "/v1/sessions", #"{"from":{"session":"LONG"}}"#),
            ("POST", "/v1/sessions", #"{"table":"t","models":{"LONG":[]}}"#),
            ("PUT", "/v1/tables/t", #"{"table":"LONG"}"#),
            ("PUT", "/v1/tables/t", Self.table(#""viewModel":{"$eval":"LONG"},"onTap":"LONG""#)),
            ("PUT", "/v1/tables/t", Self.table(sections: #""sections":["LONG"],"#)),
            ("POST", "/v1/render", #"{"template":{"$eval":"LONG"}}"#),
            ("POST", "/v1/render", #"{"template":{"LONG":{"$eval":"1/0"}}}"#),
            ("POST", "/v1/render", #"{"template":{"$eval":"o.LONG"},"context":{"o":{}}}"#),
            ("POST", "/v1/render", #"{"template":{"$if":"LONG("}}"#),
            ("PUT", "/v1/sessions/s/displayed-sections", #"{"sections":["LONG"]}"#),
        ]
        for (name, body) in [
            ("edits", #"{"delete":{"section":"LONG","row":0}}"#), ("edits", #"{"delete":{"id":"LONG"}}"#),
            ("moves", #"{"from":{"id":"LONG"},"to":{"section":"LONG","row":0}}"#), ("taps", #"{"at":{"id":"LONG"}}"#),
            ("events", #"{"at":{"id":"0"},"event":{"LONG":{}}}"#), ("patchModels", #"{"LONG":[]}"#),
            ("patchModels", #"{"a":[{"LONG":"LONG"}]}"#),
        ] {
            requests.append(("POST", "/v1/sessions/s/transactions", #"{"commands":[{"\#(name)":\#(body)}]}"#))
        }
        requests.append(("POST", "/v1/sessions/s/transactions", #"{"commands":[{"LONG":{}}]}"#))
        for (method, path, body) in requests {
            let path = path.replacing("{id}", with: "s").replacing("{table}", with: "t").replacing(/{[^}]*}/, with: "a")
            let answer = try server.client().request(method, path, body.replacing("LONG", with: long))
            #expect(answer.status < 500, "\(method) \(path) \(body)")
            #expect(answer.status < 300 || answer.body.count < 30_000, "\(method) \(path) \(body)")
        }
    }

    @Test("A flood of readiness checks does not keep memory for each of them")
    func readinessFlood() throws {
        let server = try ServerProcess(), count = 2_500
        let clients = try (0..<8).map { _ in try server.client() }
        let flood = String(repeating: "GET /readyz HTTP/1.1\r\nHost: localhost\r\n\r\n", count: count / 10)
        func run(_ times: Int) throws {
            for _ in 0..<times {
                for client in clients { try client.send(flood) }
                for client in clients { for _ in 0..<count / 10 { #expect(try client.receive().status == 200) } }
            }
        }
        try run(1)
        let before = try Self.peakMemory(of: server)
        try run(10)
        let after = try Self.peakMemory(of: server)
        #expect(after < before + 8 << 20, "\(8 * count) checks: \((after - before) >> 10) KiB")
    }

    @Test("By default, the other limits fit the limit of connections, which fits the process's limit of open files")
    func fittingDefaults() throws {
        func values(_ options: [String], launcher: [String] = []) throws -> [String: Int] {
            let server = try ServerProcess(options, launcher: launcher)
            let text = try server.client().get("/metrics").text
            server.stop()
            return Dictionary(try MetricsTests.parse(text).map { ($0.name, Int($0.value)) }) { first, _ in first }
        }
        let few = try values(["--max-connections", "136"])
        #expect(few["braid_http_connections_max"] == 136 && few["braid_http_requests_in_progress_max"] == 136)
        #expect(few["braid_subscribers_max"] == 122)
        let files = try values([], launcher: ["/bin/sh", "-c", #"ulimit -n 500; exec "$0" "$@""#])
        let connections = try #require(files["braid_http_connections_max"])
        #expect(connections > 0 && connections < 500 && files["process_max_fds"] == 500)
        #expect(files["braid_subscribers_max"] == connections - (connections + 9) / 10)
    }

    @Test(
        "The server does not start with limits that contradict each other or the process's limit of open files",
        arguments: [
            (["--max-connections", "136", "--max-subscribers", "9000"], "--max-subscribers 9000 does not fit"),
            (["--max-connections", "136", "--max-subscribers", "136"], "--max-subscribers 136 does not fit"),
            (["--max-connections", "136", "--max-requests", "137"], "--max-requests 137 is more than --max-conn"),
            (["--max-connections", "40000000000"], "--max-connections 40000000000 needs "),
            (
                ["--max-body-bytes", "2000000", "--max-buffered-bytes", "1999999"],
                "--max-body-bytes 2000000 is more than --max-buffered-bytes, which is 1999999."
            ),
            (["--participant-command-timeout", "31"], "--participant-command-timeout 31 is more than --command-"),
            (["--max-transaction", "2", "--participant-max-transaction", "3"], "--participant-max-transaction 3 is "),
        ])
    func contradictions(options: [String], message: String) throws {
        let run = try CommandRun(["serve", "--port", "0", "--database", ":memory:"] + options)
        #expect(run.status == 1 && run.output.isEmpty && run.errors.hasPrefix("Error: \(message)"), "\(run)")
    }

    @Test("If the process may open too few files, the error of the start says how many the server needs")
    func tooFewFiles() throws {
        do {
            _ = try ServerProcess(launcher: ["/bin/sh", "-c", #"ulimit -n 60; exec "$0" "$@""#])
            Issue.record("the server has started")
        } catch let failure as ServerProcess.StartFailure {
            #expect(failure.status == 1)
            #expect(failure.errors.contains("The process may open 60 files. The server needs at "), "\(failure)")
        }
    }

    @Test(
        "A flood of large bodies does not exhaust the server's memory, and the server accepts bodies again afterwards"
    )
    func flood() throws {
        // At the lowest rate, the server waits for bodies that stand still.
        let server = try ServerProcess(["--max-buffered-bytes", "33554432", "--min-body-rate", "1"])
        #expect(try server.client().request("POST", "/v1/render", #"{"template":1}"#).status == 200)
        let piece = [UInt8](repeating: UInt8(ascii: " "), count: 1 << 20)
        do {
            let clients = try (0..<40).map { _ in try server.client() }
            for client in clients {
                try client.send(
                    "POST /v1/render HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: 16777216\r\n\r\n"
                )
                // 15 of 16 MiB: no body is complete.
                for _ in 0..<15 { if (try? client.send(piece)) == nil { break } }
            }
            let chunked = try server.client()
            try chunked.send("POST /v1/render HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n")
            for _ in 0..<15 {
                if (try? chunked.send(Array("100000\r\n".utf8) + piece + Array("\r\n".utf8))) == nil { break }
            }
            expect(
                try chunked.receive(), 503, "unavailable", retries: true, "no length is told, and what comes is counted"
            )
            for client in clients[3...] { expect(try client.receive(), 503, "unavailable", retries: true) }
            #expect(try server.client().get("/healthz").status == 200)
            #expect(
                try server.client().request("POST", "/v1/render", #"{"template":1}"#).status == 200,
                "small ones have room")
        }
        let peak = try Self.peakMemory(of: server)
        #expect(peak < 300 << 20, "600 MiB were sent; \(peak >> 20) MiB is what the server had at most")
        // All have left: a large body must pass again.
        let body = #"{"template":""# + String(repeating: "x", count: 15 << 20) + #""}"#
        let isAccepted = try eventually {
            let client = try server.client()
            return [200, 422].contains((try? client.request("POST", "/v1/render", body))?.status)
        }
        #expect(isAccepted)
    }

    @Test("Large answers that nobody reads use bounded memory: reads get 503, and connections of commands are closed")
    func unreadAnswers() throws {
        let server = try ServerProcess(["--max-buffered-bytes", "16777216"])
        let description = Self.table().dropLast() + #","empty":"\#(String(repeating: "x", count: 12 << 20))"}"#
        #expect(try server.client().request("PUT", "/v1/tables/t", String(description)).status == 201)
        // Larger than the kernel's buffers, so the server keeps the rest while nobody reads.
        let template =
            #"{"template":{"$map":{"$eval":"range(0,15)"},"each(i)":{"$eval":"s"}},"context":{"s":"\#(String(repeating: "x", count: 500_000))"}}"#
        func outcome() -> Int? { try? server.client().request("POST", "/v1/render", template).status }
        #expect(outcome() == 200)
        do {
            var silent = try (0..<2).map { _ in try server.client() }
            for client in silent { try client.send(Self.render(template)) }
            var last = outcome()
            for _ in 0..<100 where last != nil {
                // If it overtook a silent client's, that one was refused and uses no memory: add another.
                silent.append(try server.client())
                try? silent[silent.count - 1].send(Self.render(template))
                last = outcome()
            }
            #expect(last == nil)
            expect(try server.client().get("/v1/tables/t"), 503, "unavailable", retries: true)
            #expect(try server.client().request("POST", "/v1/render", #"{"template":1}"#).status == 200)
        }
        #expect(try eventually { try server.client().get("/v1/tables/t").status == 200 })
    }

    @Test("Readers of large snapshots use bounded memory: a reader beyond the session's share gets 429")
    func unreadSnapshots() throws {
        let server = try ServerProcess(["--max-buffered-bytes", "67108864"])
        // Larger than the kernel's buffers for a small receive buffer.
        let models = (0..<2_500).map { #"{"id":\#($0),"text":"\#(String(repeating: "x", count: 6_000))"}"# }.joined(
            separator: ",")
        let table = #"{"table":"t","cells":{"C":{}},"bindings":[{"cell":"C","models":[\#(models)]}]}"#
        // One connection for all that need this memory: another's event loop may not have released it yet, although the
        // answer has arrived.
        let client = try server.client()
        #expect(try client.request("POST", "/v1/sessions", #"{"id":"s","table":\#(table)}"#).status == 201)
        let whole = try client.get("/v1/sessions/s/snapshot")
        #expect(whole.status == 200 && whole.body.count > 15_000_000)
        do {
            // If a silent client came after a reading one, it was refused: add another.
            var silent: [HTTPClient] = []
            var last = whole
            for _ in 0..<100 where last.status == 200 {
                silent.append(try HTTPClient(port: server.port, receiveBuffer: 16_384))
                try silent.last?.send("GET /v1/sessions/s/snapshot HTTP/1.1\r\nHost: localhost\r\n\r\n")
                last = try server.client().get("/v1/sessions/s/snapshot")
            }
            expect(last, 429, "quota-exceeded", retries: true)
            #expect(try server.client().get("/v1/sessions/s/snapshot?section=table&limit=1").status == 200)
        }
        #expect(try eventually { try client.get("/v1/sessions/s/snapshot").status == 200 })
        for _ in 0..<6 {
            #expect(
                try client.get("/v1/sessions/s/snapshot").status == 200,
                "its room is given back when it is sent, not when the connection ends")
        }
    }

    @Test("Many requests for a long history use bounded memory: for updates, combined updates, journals and streams")
    func longHistories() throws {
        let server = try ServerProcess(), client = try server.keptClient()
        try #require(try client.request("POST", "/v1/sessions", #"{"id":"s","rows":[{"id":"0"}]}"#).status == 201)
        for revision in 0..<40 {
            let text = String(repeating: "\(revision % 10)", count: 200_000)
            try #require(
                try client.request("PUT", "/v1/sessions/s/rows/0/0", #"{"model":{"id":"0","text":"\#(text)"}}"#).status
                    == 200)
        }
        let requests = [
            "updates?since=1 HTTP/1.1", "updates?since=1&coalesce HTTP/1.1", "journal?limit=1000 HTTP/1.1",
            "updates?since=1 HTTP/1.1\r\nAccept: text/event-stream",
        ]
        for request in requests {
            let clients = try (0..<24).map { _ in try HTTPClient(port: server.port) }
            for client in clients { try client.send("GET /v1/sessions/s/\(request)\r\nHost: localhost\r\n\r\n") }
            for client in clients {
                #expect([200, 429].contains(try client.receive(isHead: request.contains("stream")).status))
            }
            #expect(try client.get("/healthz").status == 200)
        }
        // 8 MB each, and several times that while it is made: not two dozen at once.
        let peak = try Self.peakMemory(of: server)
        #expect(peak < 250 << 20, "\(peak >> 20) MiB")
        // Pages end by size; `next` is where the next one begins.
        var revisions: [Int] = [], after = 0, pages = 0
        while pages < 50 {
            let page = try client.get("/v1/sessions/s/journal?after=\(after)&limit=1000").object
            revisions += (page["records"] as? [[String: Any]] ?? []).compactMap { $0["revision"] as? Int }
            pages += 1
            guard let next = page["next"] as? Int else { break }
            after = next
        }
        #expect(revisions == Array(1...40) && (5..<40).contains(pages))
    }

    @Test("A journal record that fills a page alone is the last page if no record follows it")
    func largeRecords() throws {
        let client = try ServerProcess().keptClient()
        try #require(try client.request("POST", "/v1/sessions", #"{"id":"s","rows":[{"id":"0"}]}"#).status == 201)
        for character in ["a", "b"] {
            let text = String(repeating: character, count: 1_100_000)
            try #require(
                try client.request("PUT", "/v1/sessions/s/rows/0/0", #"{"model":{"id":"0","text":"\#(text)"}}"#).status
                    == 200)
        }
        func revisions(_ page: [String: Any]) -> [Int?] {
            (page["records"] as? [[String: Any]] ?? []).map { $0["revision"] as? Int }
        }
        let first = try client.get("/v1/sessions/s/journal").object
        #expect(revisions(first) == [1] && first["next"] as? Int == 1)
        let last = try client.get("/v1/sessions/s/journal?after=1").object
        #expect(revisions(last) == [2] && last["next"] == nil)
    }

    @Test("Large events that nobody reads use bounded memory: a stream without room is closed, and can be opened later")
    func unreadEvents() throws {
        let server = try ServerProcess(["--max-buffered-bytes", "16777216"])
        try #require(try server.client().request("POST", "/v1/sessions", #"{"id":"s","rows":[]}"#).status == 201)
        // 6 MB: too much for the socket's buffers, so it is queued.
        let rows = (0..<2_000).map { #"{"id":"\#($0)","text":"\#(String(repeating: "x", count: 3_000))"}"# }.joined(
            separator: ",")
        try #require(
            try server.client().request("PUT", "/v1/sessions/s/sections", #"{"sections":[{"rows":[\#(rows)]}]}"#).status
                == 200)
        func isCutOff(_ stream: EventStreamClient) -> Bool {
            var piece = [UInt8](repeating: 0, count: 1_024), total = 0
            while total < 4_096 {
                let count = recv(stream.descriptor, &piece, piece.count, 0)
                guard count > 0 else { return true }
                total += count
            }
            return false
        }
        do {
            let streams = try (0..<40).map { _ in
                try EventStreamClient(port: server.port, "/v1/sessions/s/updates?since=0", receiveBuffer: 16_384)
            }
            let served = streams.filter { !isCutOff($0) }.count
            #expect((1...4).contains(served), "each has its own 6 MB to wait for")
        }
        var event: EventStreamClient.Event?
        _ = eventually {
            event = try? EventStreamClient(port: server.port, "/v1/sessions/s/updates?since=0").next()
            return event != nil
        }
        #expect(event?.name == "update" && event?.revision == 1)
    }

    @Test("Readers of journals with a large opening use bounded memory: a reader beyond the session's share gets 429")
    func unreadJournals() throws {
        let server = try ServerProcess(["--max-buffered-bytes", "16777216"])
        let rows = (0..<2_000).map { #"{"id":"\#($0)","text":"\#(String(repeating: "x", count: 3_000))"}"# }.joined(
            separator: ",")
        try #require(
            try server.client().request("POST", "/v1/sessions", #"{"id":"s","rows":[\#(rows)]}"#).status == 201)
        let accept = ["Accept": "application/x-ndjson"]
        do {
            let silent = try (0..<40).map { _ in try HTTPClient(port: server.port, receiveBuffer: 16_384) }
            for client in silent {
                try client.send(
                    "GET /v1/sessions/s/journal HTTP/1.1\r\nHost: localhost\r\nAccept: application/x-ndjson\r\n\r\n")
            }
            let served = try silent.filter { try $0.receive(isHead: true).status == 200 }.count
            #expect((1...4).contains(served), "each has its own 6 MB to wait for")
            expect(
                try server.client().get("/v1/sessions/s/journal", headers: accept), 429, "quota-exceeded", retries: true
            )
        }
        // Memory may be released a moment after the answer has arrived.
        for _ in 0..<7 {
            var answer: HTTPClient.Response?
            _ = try eventually {
                answer = try server.client().get("/v1/sessions/s/journal", headers: accept)
                return answer?.status == 200
            }
            #expect(answer?.status == 200 && answer?.body.count ?? 0 > 6_000_000)
        }
    }

    @Test("Reading or writing large JSON does not delay the requests of other clients")
    func largeWork() throws {
        let server = try ServerProcess(), port = server.port
        // Six, so that several event loops serve them.
        let others = try (0..<6).map { _ in try server.client() }
        let rows = (0..<30).map { #"{"id":"\#($0)","a":[\#((0..<10_000).map { "\($0)" }.joined(separator: ","))]}"# }
            .joined(separator: ",")
        let list = (0..<250_000).map { "\($0)" }.joined(separator: ",")
        try #require(
            try server.client().request("POST", "/v1/sessions", #"{"id":"s","rows":[\#(rows)]}"#).status == 201)
        let requests: [(method: String, target: String, body: String?)] = [
            ("GET", "/v1/sessions/s/snapshot?pretty", nil),
            ("POST", "/v1/sessions/s/displayed-rows", #"{"x":[\#(list)]}"#),
        ]
        for (method, target, body) in requests {
            var rounds = 0
            // Again, if the test stood still and sent little during the large work.
            for _ in 0..<10 where rounds <= 40 {
                let isOver = Mutex(false), group = DispatchGroup()
                group.enter()
                Thread.detachNewThread {
                    for _ in 0..<3 { _ = try? HTTPClient(port: port).request(method, target, body) }
                    isOver.withLock { $0 = true }
                    group.leave()
                }
                rounds = 0
                while !isOver.withLock({ $0 }) {
                    for client in others { #expect(try client.get("/healthz").status == 200) }
                    rounds += 1
                }
                group.wait()
            }
            // Far lower if an event loop did the large work.
            #expect(rounds > 40, "\(method): \(rounds)")
        }
    }

    /// `VmHWM`, the largest resident memory so far.
    static func peakMemory(of server: ServerProcess) throws -> Int {
        let facts = try String(contentsOfFile: "/proc/\(server.processIdentifier)/status", encoding: .utf8)
        let line = try #require(facts.split(separator: "\n").first { $0.hasPrefix("VmHWM:") })
        return 1024 * (try #require(Int(line.filter(\.isNumber))))
    }

    @Test("If the system does not start the server's threads, the error of the start says so", arguments: [1, 4, 8])
    func tooFewThreads(count: Int) throws {
        // The superuser's threads are not limited; another user may not reach the binary.
        let read = ["--inh-caps=+dac_read_search", "--ambient-caps=+dac_read_search"]
        let other = geteuid() == 0 ? ["setpriv", "--reuid=65534", "--clear-groups"] + read : []
        let launcher = ["/usr/bin/timeout", "60"] + other + ["prlimit", "--nproc=\(count)"]
        do {
            _ = try ServerProcess(launcher: launcher)
            Issue.record("the server has started")
        } catch let failure as ServerProcess.StartFailure {
            #expect(failure.status == 1)
            #expect(failure.errors.hasPrefix("Error: The system does not start the threads"), "\(failure)")
        }
    }

    @Test("The server does not start with a limit outside of the option's range")
    func options() throws {
        for options in [
            ["--max-rows", "0"], ["--max-body-bytes", "1000"],
            ["--max-buffered-bytes", "2000"], ["--idle-timeout", "0"], ["--command-timeout", "0"],
        ] {
            #expect(throws: ServerProcess.StartFailure.self) { try ServerProcess(options) }
        }
    }
}
