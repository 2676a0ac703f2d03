import Foundation
import TestSupport
import Testing

/// On databases that release 0.1.0 has created (Tests/Upgrades, as SQL).
@Suite(.serialized) struct UpgradeTests {
    private let directory: TemporaryDirectory

    init() throws { directory = try TemporaryDirectory() }

    private static let options = ["--deterministic", "--journal-limit", "8"]
    private static let environment = ["BRAID_TOKEN": "controller-of-the-tests"]
    private static let authorization = ["Authorization": "Bearer controller-of-the-tests"]

    /// To the earlier release, with its answer.
    private struct Recorded: Decodable {
        var method: String
        var path: String
        var headers: [String: String]
        var body: String?
        var status: Int
        var answer: String
    }

    private static var folder: URL { ServerProcess.package.appendingPathComponent("Tests/Upgrades/0.1.0") }

    /// As 0.1.0 left it; the path or address.
    private func released() throws -> String {
        let name = TestDatabase.isSQLite ? "sqlite" : "postgres"
        let sql = try String(contentsOf: Self.folder.appendingPathComponent(name + ".sql"), encoding: .utf8)
        if TestDatabase.isSQLite {
            let path = directory.path("\(UUID().uuidString).sqlite")
            try Shell.sqlite(path, sql)
            return path
        }
        let address = try TestDatabase.schema()
        try TestDatabase.run(sql, in: address)
        return address
    }

    private func start(_ database: String, _ options: [String] = [], launcher: [String] = []) throws -> ServerProcess {
        try ServerProcess(
            database: database, Self.options + options, environment: Self.environment, launcher: launcher)
    }

    /// Each must have all that the recorded answer has, except problem texts and request id.
    private func expectAnswers(of server: ServerProcess) throws {
        let name = TestDatabase.isSQLite ? "sqlite" : "postgres"
        let recorded = try JSONDecoder().decode(
            [Recorded].self, from: Data(contentsOf: Self.folder.appendingPathComponent(name + ".json")))
        try #require(recorded.count > 40)
        let client = try server.client()
        for request in recorded {
            let answer = try client.request(
                request.method, request.path, request.body, headers: request.headers)
            let lines = answer.text.split(separator: "\n"), expected = request.answer.split(separator: "\n")
            #expect(
                answer.status == request.status && lines.count == expected.count
                    && zip(lines, expected).allSatisfy { Self.json($0, contains: $1) },
                "\(request.method) \(request.path): \(request.answer) became \(answer.text)")
        }
    }

    private static func json(_ text: Substring, contains other: Substring) -> Bool {
        guard let value = Self.value(text), let other = Self.value(other) else { return false }
        return contains(value, other)
    }

    private static func value(_ text: Substring) -> Any? {
        try? JSONSerialization.jsonObject(with: Data(text.utf8), options: [.fragmentsAllowed])
    }

    /// All that `other` has, except `title`, `detail` and `requestId`: a later release may add members, and change a
    /// problem's texts.
    private static func contains(_ value: Any, _ other: Any) -> Bool {
        switch (value, other) {
        case (let value as [String: Any], let other as [String: Any]):
            other.allSatisfy { name, other in
                ["title", "detail", "requestId"].contains(name) || value[name].map { contains($0, other) } ?? false
            }
        case (let value as [Any], let other as [Any]):
            value.count == other.count && zip(value, other).allSatisfy { contains($0, $1) }
        default: (value as? NSObject) == (other as? NSObject)
        }
    }

    /// Every session takes commands, and its journal still leads to its snapshot.
    private func expectLife(of server: ServerProcess, adding name: String = "Nora") throws {
        let client = try server.client()
        for session in ["party", "old", "plain", "list"] {
            let model = ["party", "old"].contains(session) ? #"{"name":"\#(name)"}"# : #"{"id":"\#(name)"}"#
            let path = "/v1/sessions/\(session)"
            let added = try client.request(
                "POST", path + "/rows", #"{"at":[0,0],"model":\#(model)}"#, headers: Self.authorization)
            #expect(added.status == 200, "\(session): \(added.text)")
            let journal = directory.path("\(session).ndjson")
            try client.get(
                path + "/journal", headers: Self.authorization.merging(["Accept": "application/x-ndjson"]) { $1 }
            ).text.write(toFile: journal, atomically: true, encoding: .utf8)
            let replayed = try CommandRun(["replay", journal])
            let snapshot = try client.get(path + "/snapshot", headers: Self.authorization)
            #expect(
                replayed.output.trimmingCharacters(in: .newlines) == snapshot.text, "\(session): \(replayed.errors)")
        }
    }

    @Test("The start upgrades a database of release 0.1.0, and all of its sessions continue")
    func upgrade() throws {
        let database = try released()
        var server = try start(database)
        #expect(server.log == "", "an upgrade is a notice, not a warning")
        try expectAnswers(of: server)
        try expectLife(of: server)
        #expect(server.stop() == 0)
        server = try start(database, ["--log-level", "notice"])
        #expect(!server.log.contains("schema version"), "\(server.log)")
        try expectLife(of: server, adding: "Nils")
    }

    @Test("The log says that the start has upgraded the database")
    func notice() throws {
        let server = try start(try released(), ["--log-level", "notice"])
        #expect(
            server.waitForLog { $0.contains("notice upgraded the database from schema version 1 to 2") },
            "\(server.log)")
    }

    @Test(
        "A server that waited for its database at the start upgrades it later, and logs that",
        .enabled(if: PostgresCluster.isPossible, PostgresCluster.needs))
    func upgradeAfterWaiting() throws {
        let cluster = try PostgresCluster(), file = Self.folder.appendingPathComponent("postgres.sql")
        try TestDatabase.run(String(contentsOf: file, encoding: .utf8), in: cluster.address)
        try cluster.control("stop")
        let server = try ServerProcess(
            database: cluster.address, ["--log-level", "notice"], environment: Self.environment)
        #expect(try server.client().get("/readyz").status == 503 && !server.log.contains("schema version"))
        try cluster.control("start")
        #expect(server.waitForLog { $0.contains(" notice serving ") }, "\(server.log)")
        let messages = [
            " is available\n", " notice upgraded the database from schema version 1 to 2", " notice serving ",
        ]
        let places = messages.map { server.log.range(of: $0)?.lowerBound }
        #expect(!places.contains(nil) && places.compactMap { $0 } == places.compactMap { $0 }.sorted(), "\(server.log)")
        try expectLife(of: server)
    }

    @Test("If a server is killed at any moment of an upgrade, the next start upgrades the database")
    func killed() throws {
        // 2 to 46 ms after the start: before, during or after the upgrade.
        for delay in stride(from: 2_000, through: 46_000, by: 4_000) {
            let database = try released(), process = Process()
            process.executableURL = ServerProcess.binary
            process.arguments = ["serve", "--port", "0", "--database", database, "--deterministic"]
            process.environment = ServerProcess.environment()
            process.standardOutput = FileHandle.nullDevice
            process.standardError = FileHandle.nullDevice
            try process.run()
            usleep(UInt32(delay))
            kill(process.processIdentifier, SIGKILL)
            process.waitUntilExit()
            try expectAnswers(of: start(database))
        }
    }

    @Test("A backup of an old database keeps its old schema version", .enabled(if: TestDatabase.isSQLite))
    func backup() throws {
        let database = try released(), copy = directory.path("copy.sqlite")
        #expect(try CommandRun(["backup", database, copy]).status == 0)
        let server = try start(copy, ["--log-level", "notice"])
        #expect(server.waitForLog { $0.contains("from schema version 1 to 2") }, "\(server.log)")
        try expectLife(of: server)
    }

    @Test(
        "The command compact accepts a database with an old schema version, and keeps that version",
        .enabled(if: TestDatabase.isSQLite))
    func compact() throws {
        let database = try released()
        let run = try CommandRun(["compact", database])
        #expect(run.status == 0 && run.output.contains("bytes after"), "\(run)")
        let server = try start(database, ["--log-level", "notice"])
        #expect(server.waitForLog { $0.contains("from schema version 1 to 2") }, "\(server.log)")
        try expectAnswers(of: server)
    }

    /// `verify` and `export` refuse, and create no file.
    private func expectRefusal(of database: String, because reason: String) throws {
        let address = try TestDatabase.address(of: database), archive = directory.path("refused.jsonl")
        for arguments in [["verify", address], ["export", address, archive], ["export", address, "-"]] {
            let run = try CommandRun(arguments)
            #expect(run.status == 1 && run.output == "" && run.errors.contains(reason), "\(arguments): \(run)")
        }
        #expect(!FileManager.default.fileExists(atPath: archive))
    }

    @Test("The commands verify and export refuse an old database until a server has upgraded it")
    func dataTools() throws {
        let database = try released()
        try expectRefusal(
            of: database,
            because:
                "schema version 1, and this command needs version 2. Start the server on it once: the start upgrades it."
        )
        var server = try start(database)
        try expectAnswers(of: server)
        #expect(server.stop() == 0)
        let verified = try CommandRun(["verify", database])
        #expect(verified == CommandRun(status: 0, output: "4 sessions checked, 0 faults\n", errors: ""), "\(verified)")
        let archive = directory.path("archive.jsonl"), copy = directory.path("copy.sqlite")
        #expect(try CommandRun(["export", database, archive]).status == 0)
        if !TestDatabase.isSQLite {
            let run = try CommandRun(["import", archive, try released()])
            #expect(run.status == 1 && run.errors.contains("schema version 1, and this command needs"), "\(run)")
        }
        #expect(try CommandRun(["import", archive, copy]).status == 0)
        #expect(try CommandRun(["export", copy, "-"]).output == String(contentsOfFile: archive, encoding: .utf8))
        guard TestDatabase.isSQLite else { return }
        server = try start(copy)
        try expectLife(of: server)
    }

    @Test(
        "If several servers start together on an old database, one upgrades it, and all serve it",
        .enabled(if: !TestDatabase.isSQLite))
    func together() async throws {
        let database = try released()
        let servers = try await withThrowingTaskGroup(of: Started.self) { group in
            for _ in 1...3 {
                group.addTask {
                    Started(
                        try ServerProcess(
                            database: database, Self.options + ["--log-level", "notice"],
                            environment: Self.environment))
                }
            }
            return try await group.reduce(into: []) { $0.append($1) }
        }
        // `serving` comes after the line about an upgrade.
        for server in servers { #expect(server.server.waitForLog { $0.contains(" notice serving ") }) }
        let logs = servers.map(\.server.log)
        #expect(logs.filter { $0.contains("upgraded the database") }.count == 1, "\(logs)")
        for (index, server) in servers.enumerated() { try expectLife(of: server.server, adding: "\(index)") }
    }

    private struct Started: @unchecked Sendable {
        var server: ServerProcess
        init(_ server: ServerProcess) { self.server = server }
    }

    /// With sqlite3, or on a connection to PostgreSQL.
    private func change(_ database: String, sqlite: String, postgres: String) throws {
        if TestDatabase.isSQLite {
            try Shell.sqlite(database, sqlite)
        } else {
            try TestDatabase.run(postgres, in: TestDatabase.address(of: database))
        }
    }

    private func refusal(of database: String) throws -> String {
        let refused = try CommandRun(["serve", "--port", "0", "--database", TestDatabase.address(of: database)])
        #expect(refused.status == 1 && refused.output == "")
        return refused.errors
    }

    @Test("A database of a newer version is used if its minimum version allows this server, and refused otherwise")
    func newer() throws {
        let database = directory.path("braid.sqlite")
        var server = try start(database)
        #expect(server.stop() == 0)
        try change(
            database, sqlite: "PRAGMA user_version = 9; ALTER TABLE session ADD COLUMN note TEXT",
            postgres: "UPDATE braid_server SET version = 9; ALTER TABLE session ADD COLUMN note TEXT")
        server = try start(database, ["--log-level", "notice"])
        #expect(server.waitForLog { $0.contains("schema version 9, made by a newer Braid Server") }, "\(server.log)")
        let client = try server.client()
        func open() throws -> HTTPClient.Response {
            try client.request("POST", "/v1/sessions", #"{"rows":[]}"#, headers: Self.authorization)
        }
        #expect(try open().status == 201)
        try expectRefusal(
            of: database,
            because: "schema version 9, and this command needs version 2. Use the braid-server that upgraded it.")
        if TestDatabase.isSQLite { #expect(server.stop() == 0) }
        try change(
            database, sqlite: "UPDATE compatibility SET minimum_version = 9",
            postgres: "UPDATE braid_server SET minimum_version = 9")
        #expect(try refusal(of: database).contains("schema version 9, made by a newer Braid Server"))
        try expectRefusal(of: database, because: "schema version 9, made by a newer Braid Server")
        guard !TestDatabase.isSQLite else { return }
        // A running server must notice the newer minimum version, and leave the database.
        #expect(try eventually { try client.get("/readyz").status != 200 })
        let refused = try open()
        #expect(refused.status == 503 && refused.text.contains("A newer server has upgraded"), "\(refused.text)")
    }

    @Test("If an index is missing, the error at the start names the statement that creates it")
    func missingIndex() throws {
        let database = directory.path("braid.sqlite")
        #expect(try start(database).stop() == 0)
        try change(database, sqlite: "DROP INDEX session_by_table", postgres: "DROP INDEX session_by_table")
        let refusal = try refusal(of: database)
        let statement = "CREATE INDEX session_by_table ON session (table_name, id)"
        #expect(
            refusal.contains(
                "schema version 2 has to be: the table session has no index on (table_name, id) (\(statement)). "),
            "\(refusal)")
        try expectRefusal(of: database, because: statement)
        try change(database, sqlite: statement, postgres: statement)
        #expect(try start(database).stop() == 0)
    }

    /// The binary of 0.1.0 with PostgreSQL, from `BRAID_PREVIOUS_SERVER`.
    private static let previous = ProcessInfo.processInfo.environment["BRAID_PREVIOUS_SERVER"]

    @Test(
        "While an operator replaces old servers by new ones, all of them serve the same sessions",
        .enabled(if: !TestDatabase.isSQLite && previous != nil, "needs BRAID_PREVIOUS_SERVER and PostgreSQL"))
    func rolling() throws {
        let database = try released(), old = try #require(Self.previous)
        // Starts the old binary in place of the new one, its first argument.
        let launcher = ["/bin/sh", "-c", "shift; exec \"$OLD\" \"$@\"", "sh"]
        func startOld() throws -> ServerProcess {
            try ServerProcess(
                database: database, ["--journal-limit", "8"],
                environment: Self.environment.merging(["OLD": old]) { $1 }, launcher: launcher)
        }
        let before = [try startOld(), try startOld()]
        let after = [try ServerProcess(database: database, ["--journal-limit", "8"], environment: Self.environment)]
        let servers = before + after, clients = try servers.map { try $0.client() }
        var revision = 12
        for round in 0..<30 {
            let body = #"{"model":{"id":"a","n":\#(round)}}"#
            let headers = Self.authorization.merging(["Idempotency-Key": "rolling-\(round)"]) { $1 }
            // The same key at another server: the first one's answer.
            let answers = try [round % 3, (round + 1) % 3].map {
                try clients[$0].request("PUT", "/v1/sessions/plain/rows/0/0", body, headers: headers)
            }
            revision += 1
            #expect(
                answers.allSatisfy { $0.status == 200 } && answers[0].text == answers[1].text, "\(answers.map(\.text))")
            #expect(answers[0].object["revision"] as? Int == revision, "\(answers[0].text)")
            let snapshots = try clients.map {
                try $0.get("/v1/sessions/plain/snapshot", headers: Self.authorization).text
            }
            #expect(Set(snapshots).count == 1)
        }
        // Once stopped, an old server cannot start again: it refuses the upgraded database.
        #expect(before[0].stop() == 0)
        #expect { try startOld() } throws: {
            ($0 as? ServerProcess.StartFailure)?.errors.contains("schema version 2, made by a newer") ?? false
        }
        #expect(try clients[1].get("/readyz").status == 200)
    }
}

/// With sqlite3.
enum Shell {
    static func sqlite(_ path: String, _ sql: String) throws {
        let process = Process(), input = Pipe()
        process.executableURL = URL(fileURLWithPath: "/usr/bin/env")
        process.arguments = ["sqlite3", "-bail", path]
        process.standardInput = input
        process.standardOutput = FileHandle.nullDevice
        try process.run()
        try input.fileHandleForWriting.write(contentsOf: Data(sql.utf8))
        try input.fileHandleForWriting.close()
        process.waitUntilExit()
        #expect(process.terminationStatus == 0, "\(sql.prefix(200))")
    }
}
