import Foundation
import Testing

/// `--watch`
@Suite struct WatchTests {
    private let directory: TemporaryDirectory
    private var file: String { directory.path("fixtures/deep/t.table.json") }

    init() throws {
        directory = try TemporaryDirectory()
        try FileManager.default.createDirectory(
            atPath: directory.path("fixtures/deep"), withIntermediateDirectories: true)
        try RebindingTests.first.write(toFile: file, atomically: true, encoding: .utf8)
        try #"{"id":"s","table":"t"}"#.write(
            toFile: directory.path("fixtures/s.session.json"), atomically: true, encoding: .utf8)
    }

    private func start(_ database: String = ":memory:") throws -> KeptClient {
        try ServerProcess(database: database, ["--fixtures", directory.path("fixtures"), "--watch"]).keptClient()
    }

    /// The next news about the file of `t`, within a minute.
    private func next(_ client: KeptClient, after revision: inout Int) throws -> [String: Any] {
        let answer = try client.get("/v1/fixtures?since=\(revision)&wait=60").object
        revision = answer["revision"] as? Int ?? -1
        let files = answer["files"] as? [[String: Any]] ?? []
        return files.first { ($0["file"] as? String)?.hasSuffix("t.table.json") == true } ?? [:]
    }

    /// Registered from the file of `t`.
    @discardableResult
    private func wait(for version: Int, _ client: KeptClient, after revision: inout Int) throws -> [String: Any] {
        while true {
            let file = try next(client, after: &revision)
            if file["version"] as? Int == version, (file["faults"] as? [String])?.isEmpty == true { return file }
        }
    }

    @Test("With --watch, sessions follow a description whose file is replaced or rewritten, and new files are read")
    func followsFiles() throws {
        let client = try start()
        var revision = 0
        try wait(for: 1, client, after: &revision)
        let stream = try EventStreamClient(port: client.server.port, "/v1/sessions/s/updates?since=0")
        // By renaming another file to it, as editors do.
        try RebindingTests.second.write(toFile: file, atomically: true, encoding: .utf8)
        #expect(try stream.events(throughRevision: 1).last?.data.contains("two 1") == true)
        // In place.
        try RebindingTests.first.write(toFile: file, atomically: false, encoding: .utf8)
        #expect(try stream.events(throughRevision: 2).last?.data.contains("one 1") == true)
        #expect(try client.get("/v1/sessions/s").object["tableVersion"] as? Int == 3)
        // In a new directory.
        let other = directory.path("fixtures/new/deep/u.table.json")
        try FileManager.default.createDirectory(
            atPath: directory.path("fixtures/new/deep"), withIntermediateDirectories: true)
        try RebindingTests.first.replacingOccurrences(of: #""table":"t""#, with: #""table":"u""#).write(
            toFile: other, atomically: true, encoding: .utf8)
        while try client.get("/v1/tables/u").status != 200 { _ = try next(client, after: &revision) }
        // Without its file, the table stays.
        try FileManager.default.removeItem(atPath: other)
        repeat {
            _ = try next(client, after: &revision)
        } while try client.get("/v1/fixtures").text.contains("u.table.json")
        #expect(try client.get("/v1/tables/u").status == 200)
    }

    @Test("With --watch, a faulty file changes nothing, and its faults are reported until the file is corrected")
    func faultyFile() throws {
        let client = try start()
        var revision = 0
        try wait(for: 1, client, after: &revision)
        let before = try client.get("/v1/sessions/s/snapshot").text
        for (text, fault) in [
            ("{\n  oops", ":2:3: "),
            (RebindingTests.first.replacingOccurrences(of: #""cell":"C""#, with: #""cell":"D""#), "/bindings/0/cell"),
        ] {
            try text.write(toFile: file, atomically: true, encoding: .utf8)
            var known: [String: Any] = [:]
            repeat {
                known = try next(client, after: &revision)
            } while (known["faults"] as? [String])?.first?
                .contains(fault) != true
            #expect(known["version"] as? Int == 1)
            #expect(try client.get("/v1/sessions/s/snapshot").text == before)
            #expect(client.server.waitForLog { $0.contains(fault) })
        }
        try RebindingTests.second.write(toFile: file, atomically: true, encoding: .utf8)
        try wait(for: 2, client, after: &revision)
        #expect(try client.get("/v1/sessions/s").object["tableVersion"] as? Int == 2)
    }

    /// Until the report is as wanted.
    private func wait(
        _ client: KeptClient, after revision: inout Int, until isMet: ([[String: Any]]) -> Bool
    ) throws {
        while true {
            let answer = try client.get("/v1/fixtures?since=\(revision)&wait=60").object
            revision = answer["revision"] as? Int ?? -1
            if isMet(answer["files"] as? [[String: Any]] ?? []) { return }
        }
    }

    private func write(_ name: String, _ text: String) throws {
        try text.write(toFile: directory.path("fixtures/\(name)"), atomically: true, encoding: .utf8)
    }

    /// Exactly these, without faults.
    private func are(_ files: [[String: Any]], _ names: String...) -> Bool {
        files.compactMap { $0["file"] as? String } == names.map { directory.path("fixtures/\($0)") }
            && files.allSatisfy { ($0["faults"] as? [String])?.isEmpty == true }
    }

    private func title(_ client: KeptClient) throws -> String {
        try client.get("/v1/sessions/s/snapshot").text.contains("two 1") ? "two" : "one"
    }

    @Test("With --watch, a table follows its file to another name, another folder and another file")
    func renamedFiles() throws {
        let client = try start(), first = RebindingTests.first, second = RebindingTests.second
        var revision = 0
        try wait(for: 1, client, after: &revision)
        try FileManager.default.moveItem(atPath: file, toPath: directory.path("fixtures/a.table.json"))
        try wait(client, after: &revision) { are($0, "a.table.json") }
        try write("b.table.json", second)
        try FileManager.default.removeItem(atPath: directory.path("fixtures/a.table.json"))
        try wait(client, after: &revision) { are($0, "b.table.json") }
        #expect(try title(client) == "two")
        // When the first file is gone, the second counts.
        try write("c.table.json", first)
        try wait(client, after: &revision) { $0.count == 2 && !are($0, "b.table.json", "c.table.json") }
        #expect(try title(client) == "two")
        #expect(client.server.waitForLog { $0.contains("c.table.json: describes \"t\", as ") })
        try FileManager.default.removeItem(atPath: directory.path("fixtures/b.table.json"))
        try wait(client, after: &revision) { are($0, "c.table.json") }
        #expect(try title(client) == "one")
    }

    @Test("With --watch, two files may exchange their tables, in one step or in two")
    func exchangedTables() throws {
        let other = RebindingTests.first.replacingOccurrences(of: #""table":"t""#, with: #""table":"u""#)
        try write("u.table.json", other)
        let client = try start()
        var revision = 0
        try wait(client, after: &revision) { are($0, "deep/t.table.json", "u.table.json") }
        try other.write(toFile: file, atomically: true, encoding: .utf8)
        try wait(client, after: &revision) { $0.contains { ($0["faults"] as? [String])?.isEmpty == false } }
        try write("u.table.json", RebindingTests.second)
        // The other file is loaded first.
        try wait(client, after: &revision) {
            are($0, "deep/t.table.json", "u.table.json") && $0.last?["table"] as? String == "t"
        }
        #expect(try title(client) == "two")
    }

    @Test("With --watch, a file that is being edited keeps its table from a second file")
    func faultyOwner() throws {
        let client = try start()
        var revision = 0
        try wait(for: 1, client, after: &revision)
        try write("u.table.json", RebindingTests.second)
        try wait(client, after: &revision) { $0.count == 2 }
        try "{".write(toFile: file, atomically: true, encoding: .utf8)
        try wait(client, after: &revision) { $0.allSatisfy { ($0["faults"] as? [String])?.isEmpty == false } }
        #expect(try title(client) == "one")
    }

    @Test("With --watch, a Kubernetes volume is read through its links, when it is updated and when it gets a file")
    func kubernetesVolume() throws {
        let files = FileManager.default, volume = directory.path("fixtures")
        try files.removeItem(atPath: directory.path("fixtures/deep"))
        func update(_ name: String, _ text: String) throws {
            try files.createDirectory(atPath: "\(volume)/\(name)/deep", withIntermediateDirectories: true)
            try text.write(toFile: "\(volume)/\(name)/deep/t.table.json", atomically: true, encoding: .utf8)
            try files.createSymbolicLink(atPath: "\(volume)/..data_tmp", withDestinationPath: name)
            #expect(rename("\(volume)/..data_tmp", "\(volume)/..data") == 0)
        }
        try update("..1", RebindingTests.first)
        try files.createSymbolicLink(atPath: "\(volume)/deep", withDestinationPath: "..data/deep")
        let client = try start()
        var revision = 0
        try wait(client, after: &revision) { are($0, "deep/t.table.json") }
        try update("..2", RebindingTests.second)
        try wait(for: 2, client, after: &revision)
        #expect(try title(client) == "two")
        try RebindingTests.first.replacingOccurrences(of: #""table":"t""#, with: #""table":"u""#).write(
            toFile: "\(volume)/.u", atomically: true, encoding: .utf8)
        try files.createSymbolicLink(atPath: "\(volume)/u.table.json", withDestinationPath: ".u")
        try wait(client, after: &revision) { are($0, "deep/t.table.json", "u.table.json") }
    }

    @Test("With --watch, a session that would lose data keeps its version, and the log says so")
    func behind() throws {
        let client = try start()
        var revision = 0
        try wait(for: 1, client, after: &revision)
        try client.request("POST", "/v1/sessions", #"{"id":"fits","table":"t","models":{"b":[]}}"#)
        try RebindingTests.narrow.write(toFile: file, atomically: true, encoding: .utf8)
        let known = try wait(for: 2, client, after: &revision)
        let behind = known["behind"] as? [[String: String]] ?? []
        #expect(behind.map { $0["session"] } == ["s"] && behind[0]["detail"]?.contains("/b: ") == true)
        #expect(client.server.waitForLog { $0.contains("the session \"s\" keeps its version") })
        #expect(try client.get("/v1/sessions/s").object["tableVersion"] as? Int == 1)
        #expect(try client.get("/v1/sessions/fits").object["tableVersion"] as? Int == 2)
    }

    @Test("With --watch, a description that was changed while the server was stopped is applied at the start")
    func changedBeforeTheStart() throws {
        let database = directory.path("braid.sqlite")
        do { #expect(try start(database).server.stop() == 0) }
        try RebindingTests.second.write(toFile: file, atomically: true, encoding: .utf8)
        let client = try start(database)
        var revision = 0
        try wait(for: 2, client, after: &revision)
        #expect(try client.get("/v1/sessions/s").object["tableVersion"] as? Int == 2)
    }

    @Test(
        "With --watch, a file that the server could not load is no longer listed after it was deleted",
        .enabled(if: SmallDisk.isAvailable, "only root can mount a small disk"),
        .enabled(if: TestDatabase.isSQLite))
    func deletedAfterAnError() throws {
        let disk = try SmallDisk(megabytes: 10)
        let client = try start(disk.path + "/braid.sqlite")
        var revision = 0
        try wait(for: 1, client, after: &revision)
        disk.fill()
        // More bytes than are left.
        let large = String(repeating: "x", count: 2_000_000), other = directory.path("fixtures/u.table.json")
        try #"{"table":"u","cells":{"C":{}},"bindings":[{"cell":"C","models":[{"id":"1","text":"\#(large)"}]}]}"#.write(
            toFile: other, atomically: true, encoding: .utf8)
        while try !client.get("/v1/fixtures").text.contains("u.table.json") { _ = try next(client, after: &revision) }
        #expect(try client.get("/v1/tables/u").status == 404)
        try FileManager.default.removeItem(atPath: other)
        while try client.get("/v1/fixtures").text.contains("u.table.json") { _ = try next(client, after: &revision) }
    }

    @Test("Without --watch, the server watches no files, and --watch needs --fixtures")
    func options() throws {
        #expect(
            try ServerProcess().keptClient().get("/v1/fixtures").text
                == #"{"revision":0,"watching":false,"files":[]}"#)
        let run = try CommandRun(["--port", "0", "--database", ":memory:", "--watch"])
        #expect(run.status == 1 && run.errors.contains("--watch needs the directories of --fixtures."))
    }
}
