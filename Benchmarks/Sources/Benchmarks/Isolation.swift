import Foundation
import Synchronization

/// Measures how an attack, with or without a valid token, affects other clients.
///
/// The other clients send small commands to the session `light`, read its snapshot, open sessions, and call the routes
/// for operators.
func isolationBenchmark() throws {
    print(
        "\nisolation: ms, p50 / p99 / max, and answers that were not 200 or 201, of others during an attack of 8 s (synchronous=FULL; the load runs on the same cores)"
    )
    let only = ProcessInfo.processInfo.environment["ISOLATION"]
    for attack in attacks where only == nil || attack.name.contains(only ?? "") {
        let directory = try scratchDirectory()
        defer { try? FileManager.default.removeItem(atPath: directory) }
        let server = try Server(
            database: directory + "/braid.sqlite", arguments: attack.options, environment: ["BRAID_TOKEN": "secret"])
        defer { server.stop() }
        let target = AttackedServer(port: server.port)
        try target.open(
            "light",
            #"{"table":"light","sections":["a"],"cells":{"C":{}},"bindings":[{"on":{"section":"a"},"cell":"C","models":[{"id":"first"}],"editing":"insert"}]}"#
        )
        try attack.prepare(target)
        let isOver = Atomic(false), peak = Atomic(0)
        let running = DispatchGroup()
        for attacker in 0..<attack.attackers {
            running.enter()
            Thread.detachNewThread {
                defer { running.leave() }
                var round = 0
                while !isOver.load(ordering: .relaxed) {
                    if (try? attack.body(target, attacker, round)) == nil { usleep(20_000) }
                    round += 1
                }
            }
        }
        usleep(500_000)
        var times: [String: [Double]] = [:], failures: [String: Int] = [:]
        let start = monotonicNanoseconds()
        var round = 0
        while monotonicNanoseconds() - start < Int(Size.seconds(8) * 1e9) {
            round += 1
            for (name, request, statuses) in target.probes(round) {
                let begin = monotonicNanoseconds()
                let status = (try? target.exchange(request)) ?? 0
                times[name, default: []].append(Double(monotonicNanoseconds() - begin) / 1e6)
                if !statuses.contains(status) { failures[name, default: 0] += 1 }
            }
            peak.max(residentKilobytes(server.processIdentifier), ordering: .relaxed)
            usleep(5_000)
        }
        isOver.store(true, ordering: .relaxed)
        let figures = times.sorted { $0.key < $1.key }.map { name, times in
            let sorted = times.sorted()
            return String(
                format: "\(name) %.1f / %.1f / %.0f", sorted[sorted.count / 2], sorted[sorted.count * 99 / 100],
                sorted[sorted.count - 1])
                + (failures[name].map { " (\($0) of \(times.count) refused)" } ?? "")
        }
        print(
            "  \(attack.name), \(round) rounds, at most \(peak.load(ordering: .relaxed) >> 10) MiB:\n    \(figures.joined(separator: ", "))"
        )
        server.stop()
        running.wait()
    }
}

/// A server with a controller's token, and the requests of the attackers and of the other clients.
///
/// Each request has its own connection, because the server may close the connection of an attacker.
private struct AttackedServer: Sendable {
    let port: Int

    func request(_ method: String, _ target: String, _ body: String = "", token: String = "secret") -> [UInt8] {
        Connection.request(method, target, body, fields: ["Authorization: Bearer \(token)", "Connection: close"])
    }

    func exchange(_ request: [UInt8]) throws -> Int {
        let connection = try Connection(port: port)
        try connection.send(request)
        return try connection.receive().status
    }

    func open(_ id: String, _ table: String, _ members: String = "") throws {
        let answer = try Connection(port: port).post(
            "/v1/sessions", #"{"id":"\#(id)","table":\#(table)\#(members)}"#, token: "secret")
        guard answer.head.hasPrefix("HTTP/1.1 201") else {
            throw Fault("\(id) was not opened: \(String(decoding: answer.body.prefix(500), as: UTF8.self))")
        }
    }

    func openLong() throws {
        let fields = ["Authorization: Bearer secret", "Connection: close", "Prefer: return=minimal"]
        guard try exchange(Connection.request("POST", "/v1/sessions", longOpening, fields: fields)) == 201 else {
            throw Fault("the long session was not opened")
        }
    }

    func token(_ role: String, of session: String) throws -> String {
        try Connection(port: port).token(role, of: session)
    }

    func probes(_ round: Int) -> [(String, [UInt8], Set<Int>)] {
        [
            (
                "command",
                request(
                    "POST", "/v1/sessions/light/edits", #"{"insert":{"section":0,"row":0},"model":{"id":"\#(round)"}}"#),
                [200]
            ),
            ("snapshot", request("GET", "/v1/sessions/light/snapshot"), [200]),
            ("opening", request("POST", "/v1/sessions", #"{"rows":[]}"#), [201]),
            ("healthz", Connection.request("GET", "/healthz", fields: ["Connection: close"]), [200]),
            ("readyz", Connection.request("GET", "/readyz", fields: ["Connection: close"]), [200]),
            ("metrics", Connection.request("GET", "/metrics", fields: ["Connection: close"]), [200]),
        ]
    }
}

private struct Attack: Sendable {
    var name: String
    var options: [String] = []
    var attackers = 1
    var prepare: @Sendable (AttackedServer) throws -> Void
    var body: @Sendable (_ server: AttackedServer, _ attacker: Int, _ round: Int) throws -> Void
}

/// Returns a table description in which the templates of all rows read the state.
private func readingTable(_ rows: Int) -> String {
    #"{"table":"t","cells":{"C":{}},"bindings":[{"cell":"C","models":[\#((0..<Size.count(rows, small: 1_000)).map { #"{"id":"\#($0)"}"# }.joined(separator: ","))],"viewModel":{"title":"${model.id} of ${state.n}"},"editing":"insert","onTap":[{"setState":{"n":{"$eval":"state.n + 1"}}}]}]}"#
}

private let longOpening = LongTable.opening("long", rows: Size.count(1_000_000, small: 1_000))

/// The tokens of participants or viewers, which an attack's `prepare` creates.
private let tokens = Mutex<[String]>([])

private let attacks: [Attack] = [
    Attack(
        name: "a participant's transaction of 550 deletes by id in 10,000 sections, the last one refused", attackers: 2,
        prepare: { server in
            let names = (0..<10_000).map { "s\($0)" }
            let models = names.map { #""\#($0)":[{"id":"\#($0)"}]"# }.joined(separator: ",")
            try server.open(
                "many",
                #"{"table":"many","cells":{"C":{}},"bindings":[{"on":"allOtherSections","cell":"C","models":{},"editing":"delete"}],"sections":[\#(names.map { "\"\($0)\"" }.joined(separator: ","))]}"#,
                #","models":{\#(models)}"#)
            let token = try server.token("participant", of: "many")
            tokens.withLock { $0 = [token] }
        },
        body: { server, _, _ in
            let deletes =
                (0..<550).map { #"{"edits":{"delete":{"id":"s\#(9_999 - $0)"}}}"# } + [
                    #"{"edits":{"delete":{"id":"none"}}}"#
                ]
            _ = try server.exchange(
                server.request(
                    "POST", "/v1/sessions/many/transactions", #"{"commands":[\#(deletes.joined(separator: ","))]}"#,
                    token: tokens.withLock { $0[0] }))
        }),
    Attack(
        name: "four sessions of 100,000 rows that read the state, patched and dry-run", attackers: 8,
        prepare: { server in
            for number in 0..<4 { try server.open("heavy\(number)", readingTable(100_000), #","state":{"n":0}"#) }
        },
        body: { server, attacker, round in
            _ = try server.exchange(
                server.request(
                    "PATCH", "/v1/sessions/heavy\(attacker % 4)/state\(attacker < 4 ? "?dryRun" : "")",
                    #"{"n":\#(round + attacker * 1_000_000)}"#))
        }),
    Attack(
        name: "200 viewers' indented snapshot of 100,000 rows", attackers: 50,
        prepare: { server in
            try server.open("large", readingTable(100_000), #","state":{"n":0}"#)
            tokens.withLock { $0 = [] }
            for _ in 0..<10 {
                let token = try server.token("viewer", of: "large")
                tokens.withLock { $0.append(token) }
            }
        },
        body: { server, attacker, _ in
            _ = try server.exchange(
                server.request(
                    "GET", "/v1/sessions/large/snapshot?pretty", token: tokens.withLock { $0[attacker % 10] }))
        }),
    Attack(
        name: "bodies of 16 MiB, each a byte short, with a token that is unknown", attackers: 16, prepare: { _ in },
        body: { server, attacker, _ in
            let connection = try Connection(port: server.port)
            try connection.send(
                Array(
                    "PUT /v1/sessions/light/models HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer braid_abcdefghijkl.unknown\(attacker)\r\nContent-Type: application/json\r\nContent-Length: 16777216\r\n\r\n"
                        .utf8))
            let piece = [UInt8](repeating: 32, count: 1 << 20)
            for _ in 0..<15 { try connection.send(piece) }
            usleep(1_000_000)
        }),
    Attack(
        name: "1,000 connections of 64 KiB without a token", attackers: 8, prepare: { _ in },
        body: { server, _, _ in
            let piece = [UInt8](repeating: 32, count: 64 * 1024 - 1)
            let connections = try (0..<125).map { _ in
                let connection = try Connection(port: server.port)
                try connection.send(
                    Array(
                        "PUT /v1/sessions/light/models HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: 65536\r\n\r\n"
                            .utf8))
                try? connection.send(piece)
                return connection
            }
            usleep(500_000)
            withExtendedLifetime(connections) {}
        }),
    Attack(
        name: "64 slow readers of a snapshot of 12 MB, with large writes", attackers: 65,
        prepare: { server in
            let rows = (0..<20_000).map { #"{"id":"\#($0)","text":"\#(String(repeating: "x", count: 600))"}"# }.joined(
                separator: ",")
            try server.open(
                "large", #"{"table":"t","cells":{"C":{}},"bindings":[{"cell":"C","models":[\#(rows)]}]}"#)
        },
        body: { server, attacker, round in
            if attacker == 64 {
                // Even during the attack, the server must admit a write of 2 MB to another session.
                let status = try server.exchange(
                    server.request(
                        "PATCH", "/v1/sessions/light/models",
                        #"{"a":[{"id":"first","text":"\#(String(repeating: "y", count: 2 << 20))"}]}"#))
                if status != 200 { print("    a write of 2 MB was answered \(status)") }
                usleep(500_000)
                return
            }
            let connection = try Connection(port: server.port)
            try connection.send(server.request("GET", "/v1/sessions/large/snapshot"))
            usleep(4_000_000)
        }),
    Attack(
        name: "a viewer's lists of a long history, the clients gone, and commands with a base",
        options: ["--journal-limit", "100000"], attackers: 32,
        prepare: { server in
            try server.open(
                "long",
                #"{"table":"t","cells":{"C":{}},"bindings":[{"cell":"C","models":[{"id":"0"}],"editing":"insert"}]}"#
            )
            for number in 0..<400 {
                let text = String(repeating: "\(number % 10)", count: 100_000)
                _ = try server.exchange(
                    server.request("PATCH", "/v1/sessions/long/models", #"{"table":[{"id":"0","text":"\#(text)"}]}"#))
            }
            let token = try server.token("viewer", of: "long")
            tokens.withLock { $0 = [token] }
        },
        body: { server, attacker, round in
            if attacker == 0 {
                _ = try server.exchange(
                    server.request(
                        "POST", "/v1/sessions/long/edits?base=1",
                        #"{"insert":{"section":0,"row":0},"model":{"id":"b\#(round)"}}"#))
                return
            }
            for _ in 0..<10 {
                let connection = try Connection(port: server.port)
                try connection.send(
                    server.request("GET", "/v1/sessions/long/updates?since=0", token: tokens.withLock { $0[0] }))
                usleep(2_000)
            }
        }),
    Attack(
        name: "a slow command and 2,100 taps behind it", attackers: 10,
        prepare: { server in
            try server.open("heavy", readingTable(100_000), #","state":{"n":0}"#)
            tokens.withLock { $0 = [] }
            for _ in 0..<10 {
                let token = try server.token("participant", of: "heavy")
                tokens.withLock { $0.append(token) }
            }
        },
        body: { server, attacker, _ in
            let tap = server.request(
                "POST", "/v1/sessions/heavy/taps", #"{"at":{"section":0,"row":\#(attacker)}}"#,
                token: tokens.withLock { $0[attacker] })
            let connections = try (0..<210).map { _ in
                let connection = try Connection(port: server.port)
                try connection.send(tap)
                return connection
            }
            for connection in connections { _ = try? connection.receive() }
        }),
    Attack(
        name: "a session of 1,000,000 rows, opened and ended again and again", options: LargeSession.arguments,
        prepare: { _ in _ = longOpening.count },
        body: { server, _, _ in
            try server.openLong()
            _ = try server.exchange(server.request("DELETE", "/v1/sessions/long"))
        }),
    Attack(
        name: "a session of 1,000,000 rows, read again and again after it has left memory",
        options: LargeSession.arguments + ["--session-idle-time", "1"],
        prepare: { try $0.openLong() },
        body: { server, _, _ in
            usleep(1_200_000)
            _ = try server.exchange(server.request("GET", "/v1/sessions/long/snapshot?limit=50"))
        }),
]
