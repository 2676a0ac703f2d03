import Foundation
import TestSupport
import Testing

/// `diff`, `render`, `backup`, `health`, and commands that read a pipe or cannot write their result.
@Suite(.serialized) struct CommandTests {
    private let directory = try! TemporaryDirectory()

    private func file(_ name: String, _ text: String) throws -> String {
        try text.write(toFile: directory.path(name), atomically: true, encoding: .utf8)
        return directory.path(name)
    }

    @Test("`diff` prints the update between two snapshots, or the faults of both files")
    func diff() throws {
        let client = try ServerProcess(["--fixtures", "\(ServerProcess.package.path)/Examples/attendees"]).keptClient()
        let before = try file("before.json", try client.get("/v1/sessions/party/snapshot?pretty").text)
        let answer = try client.request(
            "POST", "/v1/sessions/party/edits", #"{"delete":{"section":"attending","row":1}}"#
        ).text
        let after = try file("after.json", try client.get("/v1/sessions/party/snapshot").text)
        let run = try CommandRun(["diff", before, after])
        #expect(run.status == 0 && run.errors.isEmpty)
        #expect(answer == #"{"revision":1,"outcome":"applied","update":\#(run.output.dropLast())}"#)
        #expect(
            try CommandRun(["diff", before, after, "--form", "sequential"]).output.contains(
                #""operations":[{"moveRow""#))
        // Both files' faults, with lines and columns.
        let faulty = try file("faulty.json", "{\n  \"sections\": [ { \"id\": \"a\",\n      \"rows\": 5 } ] }"),
            broken = try file("broken.json", "{]")
        let failed = try CommandRun(["diff", faulty, broken])
        #expect(failed.status == 1 && failed.output.isEmpty)
        #expect(
            failed.errors.contains("\(faulty):3:15: /sections/0/rows: ") && failed.errors.contains("\(broken):1:2: "),
            "\(failed.errors)")
    }

    @Test("`render` prints the rendered template, or the fault of the template with its place")
    func render() throws {
        let template = try file(
            "template.json", #"{"title": "${name}", "n": {"$eval": "n + 1"}, "none": {"$if": "false", "then": 1}}"#)
        let context = try file("context.json", #"{"name": "Omar", "n": 1}"#)
        #expect(try CommandRun(["render", template, "--context", context]).output == #"{"title":"Omar","n":2}"# + "\n")
        let nothing = try CommandRun(["render", file("absent.json", #"{"$if": "false", "then": 1}"#)])
        #expect(nothing.status == 0 && nothing.output.isEmpty, "the template renders no value")
        let failed = try CommandRun(["render", template])
        #expect(
            failed.status == 1 && failed.output.isEmpty && failed.errors.contains("\(template):1:"), "\(failed.errors)")
        #expect(failed.errors.contains("/title: ") || failed.errors.contains("/n/$eval: "), "\(failed.errors)")
        #expect(
            try CommandRun(["render", template, "--context", try file("list.json", "[]")]).errors.contains(
                "the context must be an object"))
        #expect(
            try CommandRun(["render", template, "--context", directory.path("missing")]).errors.contains(
                "does not exist"))
    }

    /// `$braid` is the binary.
    private func shell(_ line: String) throws -> (status: Int32, output: String) {
        let process = Process(), output = Pipe()
        process.executableURL = URL(fileURLWithPath: "/bin/sh")
        process.arguments = ["-c", line]
        process.environment = ServerProcess.environment(adding: ["braid": ServerProcess.binary.path])
        process.standardOutput = output
        process.standardError = output
        try process.run()
        let text = String(decoding: output.fileHandleForReading.readDataToEndOfFile(), as: UTF8.self)
        process.waitUntilExit()
        return (process.terminationStatus, text)
    }

    @Test("`render`, `replay`, `check` and `serve` can read a pipe in place of a file")
    func pipes() throws {
        let template = try file("template.json", #"{"n": {"$eval": "n"}}"#),
            table = try file("x.table.json", #"{"table": "x", "bound": 1}"#)
        let journal = try file(
            "x.ndjson", #"{"session":"x","epoch":"e","created":"2026-01-01T00:00:00.000Z","opening":{"rows":[]}}"#)
        #expect(
            try shell(#"echo '{"n": 1.50}' | "$braid" render \#(template) --context /dev/stdin"#) == (
                0, #"{"n":1.50}"# + "\n"
            ))
        #expect(try shell(#"cat \#(journal) | "$braid" replay /dev/stdin"#) == shell(#""$braid" replay \#(journal)"#))
        // Places of faults, also from a pipe.
        let faulty = try shell(#"cat \#(table) | "$braid" check /dev/stdin"#)
        #expect(faulty.status == 1 && faulty.output.hasPrefix("/dev/stdin:1:25: /bound: "), "\(faulty)")
        #expect(try shell(#"echo ' ' | "$braid" serve --token-file /dev/stdin"#).output.contains("/dev/stdin is empty"))
        #expect(
            try CommandRun(["check", directory.url.path]).errors == ""
                && CommandRun(["check", directory.url.path]).output.contains("cannot be read"))
    }

    @Test("A command that cannot write its result prints an error and exits with status 1")
    func unwritableResult() throws {
        let template = try file("template.json", "1"),
            snapshot = try file("snapshot.json", #"{"sections":[],"revision":0,"state":{}}"#)
        let journal = try file(
            "x.ndjson", #"{"session":"x","epoch":"e","created":"2026-01-01T00:00:00.000Z","opening":{"rows":[]}}"#)
        for command in ["render \(template)", "diff \(snapshot) \(snapshot)", "replay \(journal)"] {
            let run = try shell("\"$braid\" \(command) 2>&1 >/dev/full")
            #expect(run == (1, "Error: The result could not be written: No space left on device.\n"), "\(run)")
        }
    }

    @Test(
        "A backup that is made during commands contains the session at exactly one of its revisions",
        .enabled(if: TestDatabase.isSQLite))
    func backupDuringCommands() throws {
        let database = directory.path("braid.sqlite"), copy = directory.path("copy.sqlite")
        let server = try ServerProcess(database: database)
        let client = try server.client(), port = server.port
        try client.request("POST", "/v1/sessions", #"{"id":"s","rows":[{"id":"0"}]}"#)
        let stop = FileManager.default.temporaryDirectory.appendingPathComponent(UUID().uuidString).path
        let hasEnded = Flag()
        Thread.detachNewThread {
            defer { hasEnded.set() }
            guard let client = try? HTTPClient(port: port) else { return }
            var row = 1
            while !FileManager.default.fileExists(atPath: stop) {
                _ = try? client.request("POST", "/v1/sessions/s/rows", #"{"at":[0,\#(row)],"model":{"id":"\#(row)"}}"#)
                row += 1
            }
        }
        let low = try client.get("/v1/sessions/s").object["revision"] as? Int ?? -1
        let run = try CommandRun(["backup", database, copy])
        let high = try client.get("/v1/sessions/s").object["revision"] as? Int ?? -1
        #expect(FileManager.default.createFile(atPath: stop, contents: nil))
        defer { try? FileManager.default.removeItem(atPath: stop) }
        #expect(
            run == (try CommandRun(["render", try file("nothing.json", #"{"$if": "false", "then": 1}"#)])),
            "no word, status 0: \(run)")
        #expect(
            try FileManager.default.contentsOfDirectory(atPath: directory.url.path).contains("copy.sqlite-partial")
                == false)
        #expect(hasEnded.wait())
        #expect(server.stop() == 0)
        // A backup of a changing session is one of its revisions, complete.
        let restored = try ServerProcess(database: copy).keptClient()
        let revision = try #require(try restored.get("/v1/sessions/s").object["revision"] as? Int)
        #expect((low...high).contains(revision))
        #expect(try restored.get("/v1/sessions/s/snapshot").object["totalRowCount"] as? Int == revision + 1)
    }

    @Test(
        "`backup` uses its arguments as file names, even if SQLite would read them as URIs",
        .enabled(if: TestDatabase.isSQLite))
    func backupNames() throws {
        let database = directory.path("plain.sqlite")
        try ServerProcess(database: database).stop()
        #expect(try CommandRun(["backup", database, "file:copy"], directory: directory.url.path).status == 0)
        #expect(
            try CommandRun(["backup", "file:copy", "file:copy?mode=memory"], directory: directory.url.path).status == 0)
        for name in ["file:copy", "file:copy?mode=memory"] {
            #expect(
                FileManager.default.contents(atPath: directory.path(name))?.starts(with: Data("SQLite format 3".utf8))
                    == true, "\(name)")
        }
        #expect(
            try FileManager.default.contentsOfDirectory(atPath: directory.url.path).filter { $0.contains("copy") }.count
                == 2)
    }

    @Test(
        "If `backup` fails, it says why, creates no file and does not change an existing file",
        .enabled(if: TestDatabase.isSQLite))
    func failedBackup() throws {
        let database = directory.path("other.sqlite")
        try ServerProcess(database: database).stop()
        let there = try file("there.sqlite", "mine")
        for (from, to, said) in [
            (database, there, "Error: There is a file \(there) already"),
            (directory.path("none.sqlite"), directory.path("x"), "Error: There is no file"),
            (there, directory.path("y"), "is not an SQLite database"),
            (database, "/no/such/directory/copy", "/no/such/directory"),
        ] {
            let run = try CommandRun(["backup", from, to])
            #expect(run.status == 1 && run.errors.contains(said), "\(run)")
        }
        // Or an operator could delete a good backup in favour of an empty one.
        let emptied = directory.path("emptied")
        _ = FileManager.default.createFile(atPath: emptied, contents: nil)
        #expect(try CommandRun(["backup", emptied, directory.path("y")]).status == 1)
        #expect(try String(contentsOfFile: there, encoding: .utf8) == "mine")
        #expect(
            try FileManager.default.contentsOfDirectory(atPath: directory.url.path).filter {
                $0.hasSuffix("-partial") || $0 == "x" || $0 == "y"
            } == [])
    }

    @Test("`backup` refuses to copy a PostgreSQL database, and refers to `pg_dump`")
    func pgDump() throws {
        let run = try CommandRun(["backup", "postgres://localhost/tables", directory.path("copy")])
        #expect(run.status == 64 && run.errors.contains("pg_dump"), "\(run)")
    }

    /// Again, if a busy server does not answer in the command's five seconds, or with 503 because its database needs
    /// more than four.
    private func runHealth(_ arguments: String..., environment: [String: String] = [:]) throws -> CommandRun {
        for _ in 0..<20 {
            let run = try CommandRun(["health"] + arguments, environment: environment)
            if !run.errors.contains("no answer within 5 seconds"), !run.output.hasSuffix(": 503\n") { return run }
        }
        return try CommandRun(["health"] + arguments, environment: environment)
    }

    @Test("`health` exits with 0 if the server answers 200, with 1 if not, and with 64 if the address is invalid")
    func health() throws {
        let server = try ServerProcess()
        let well = try runHealth("http://127.0.0.1:\(server.port)")
        #expect(well == (try runHealth(environment: ["BRAID_PORT": "\(server.port)"])))
        #expect(well.status == 0 && well.output == "http://127.0.0.1:\(server.port)/readyz: 200\n")
        #expect(try runHealth("http://localhost:\(server.port)/healthz").status == 0)
        #expect(try runHealth("http://127.0.0.1:\(server.port)/v1/nothing").status == 1)
        #expect(
            try runHealth("http://localhost:\(server.port)/healthz?pretty=false").output
                == "http://localhost:\(server.port)/healthz?pretty=false: 200\n")
        // Truncated to 16 bits, it is the server's port.
        #expect(try CommandRun(["health", "--port", "\(server.port + 65_536)"]).status == 64)
        server.stop()
        let gone = try CommandRun(["health", "--port", "\(server.port)"])
        #expect(gone.status == 1 && gone.errors.contains("Connection refused"))
        for url in ["https://127.0.0.1", "127.0.0.1:8080", "http://", "http://127.0.0.1:\(server.port + 65_536)"] {
            #expect(try CommandRun(["health", url]).status == 64)
        }
    }

    @Test("`health` can check a server that listens on a Unix socket")
    func healthOverUnixSocket() throws {
        let socket = directory.path("socket")
        let server = Process(), output = Pipe()
        server.executableURL = ServerProcess.binary
        server.environment = ServerProcess.environment()
        server.arguments = ["serve", "--socket", socket, "--database", ":memory:", "--log-level", "error"]
        server.standardOutput = output
        try server.run()
        defer {
            server.terminate()
            server.waitUntilExit()
        }
        #expect(try output.fileHandleForReading.read(upToCount: 9) == Data("listening".utf8))
        #expect(try runHealth("--socket", socket).status == 0)
        #expect(try runHealth(environment: ["BRAID_SOCKET": socket]).status == 0)
        #expect(try CommandRun(["health", "--socket", socket + "-none"]).status == 1)
    }
}
