import Foundation
import Glibc
import TestSupport
import Testing

/// `verify`, `compact`, `export`, `import`, `backup`
@Suite("Commands on databases and archives", .serialized, .enabled(if: TestDatabase.isSQLite)) struct DataToolTests {
    private let directory: TemporaryDirectory
    private let database: String

    init() throws {
        directory = try TemporaryDirectory()
        database = directory.path("braid.sqlite")
    }

    private static let examples = ["--fixtures", ServerProcess.package.appendingPathComponent("Examples").path]

    /// Without those that SQLite keeps next to an open database.
    private func files() throws -> [String] {
        try FileManager.default.contentsOfDirectory(atPath: directory.url.path).sorted().filter {
            !$0.hasSuffix(".sqlite-wal") && !$0.hasSuffix(".sqlite-shm")
        }
    }

    /// The examples and a changed session. Returns a kept answer with its ETag.
    private func fill() throws -> (etag: String, kept: String) {
        let server = try ServerProcess(database: database, Self.examples)
        let client = try server.client()
        try #require(try client.request("POST", "/v1/sessions", #"{"id":"s","rows":[{"id":"0"}]}"#).status == 201)
        let key = ["Idempotency-Key": "\"key\""]
        let kept = try client.request(
            "POST", "/v1/sessions/s/rows", #"{"at":[0,1],"model":{"id":"1"}}"#, headers: key)
        try #require(kept.status == 200, "\(kept.text)")
        let etag = try #require(kept.header("etag"))
        // An unpublished row.
        let hidden = try client.request(
            "POST", "/v1/sessions/s/rows", #"{"at":[0,2],"model":{"id":"2"},"notify":false}"#)
        try #require(hidden.status == 200, "\(hidden.text)")
        #expect(server.stop() == 0)
        return (etag, kept.text)
    }

    /// Snapshots and journals without epochs: an import begins new ones.
    private func content(of server: ServerProcess) throws -> [String: String] {
        let client = try server.client()
        let list = try client.get("/v1/sessions?limit=100").object["sessions"] as? [[String: Any]] ?? []
        var content: [String: String] = [:]
        for id in list.compactMap({ $0["session"] as? String ?? $0["id"] as? String }) {
            let snapshot = try client.get("/v1/sessions/\(id)/snapshot").text
            content[id] = snapshot.replacing(/"epoch":"[^"]*"/, with: "")
            let journal = try client.get("/v1/sessions/\(id)/journal").text
            content[id, default: ""] += journal.replacing(/"epoch":"[^"]*"/, with: "")
        }
        try #require(content.count > 5)
        return content
    }

    // MARK: Export and import

    @Test("A server on an imported database has the same sessions, and clients with an old position get a snapshot")
    func roundTrip() throws {
        let (etag, kept) = try fill()
        let archive = directory.path("archive.jsonl")
        let run = try CommandRun(["export", database, archive])
        #expect(run.status == 0 && run.output.hasPrefix("exported 8 sessions, "), "\(run)")
        var places = [directory.path("copy.sqlite")]
        if PostgresCluster.isPossible { places.append(try TestDatabase.schema()) }
        let before = try content(of: ServerProcess(database: database))
        for place in places {
            let run = try CommandRun(["import", archive, place])
            #expect(run.status == 0 && run.output.hasPrefix("imported 8 sessions, "), "\(run)")
            let again = directory.path("again.jsonl")
            #expect(try CommandRun(["export", place, again]).status == 0)
            #expect(FileManager.default.contentsEqual(atPath: archive, andPath: again))
            try FileManager.default.removeItem(atPath: again)
            let verified = try CommandRun(["verify", place])
            #expect(verified == (try CommandRun(["verify", database])) && verified.status == 0, "\(verified)")

            let server = try ServerProcess(database: place), client = try server.client()
            #expect(try content(of: server) == before)
            let position = String(etag.dropFirst().dropLast())
            #expect(try client.get("/v1/sessions/s/updates?since=\(position)").object["reset"] as? Bool == true)
            let repeated = try client.request(
                "POST", "/v1/sessions/s/rows", #"{"at":[0,1],"model":{"id":"1"}}"#,
                headers: ["Idempotency-Key": "\"key\""])
            #expect(repeated.text == kept, "the kept answer")
            let published = try client.request("POST", "/v1/sessions/s/rows", #"{"at":[0,3],"model":{"id":"3"}}"#)
            #expect(published.status == 200 && published.text.contains(#""id":"2""#), "\(published.text)")
            #expect(server.stop() == 0)
        }
    }

    @Test("An archive can be exported and imported through a pipe, also while a server uses the database")
    func pipe() throws {
        _ = try fill()
        let server = try ServerProcess(database: database)
        let copy = directory.path("copy.sqlite")
        let run = try shell("\"$0\" export \(database) - | \"$0\" import - \(copy)")
        #expect(run.status == 0, "\(run)")
        #expect(
            try CommandRun(["export", copy, "-"]).output == CommandRun(["export", database, "-"]).output)
        #expect(server.stop() == 0)
    }

    @Test("A cut archive, or an existing target database, is refused with the reason") func refusals() throws {
        _ = try fill()
        let archive = directory.path("archive.jsonl"), cut = directory.path("cut.jsonl")
        #expect(try CommandRun(["export", database, archive]).status == 0)
        let text = try String(contentsOfFile: archive, encoding: .utf8)
        let lines = text.split(separator: "\n")
        try lines.dropLast().joined(separator: "\n").write(toFile: cut, atomically: true, encoding: .utf8)
        let before = try files()
        for (arguments, said) in [
            (["import", cut, directory.path("x.sqlite")], "\(cut): line \(lines.count): the archive is cut off"),
            (["import", archive, database], "There is a file \(database) already"),
            (["import", directory.path("none"), directory.path("x.sqlite")], "cannot be read: No such file"),
            (["export", database, archive], "There is a file \(archive) already"),
            (["export", archive, directory.path("y")], "is not an SQLite database"),
            (
                ["backup", database, directory.path("none/y")],
                "there is no directory \(directory.path("none")); create it"
            ),
        ] {
            let run = try CommandRun(arguments)
            #expect(run.status == 1 && run.errors.contains(said), "\(run)")
        }
        #expect(try files() == before)
    }

    @Test("Under another name than its server's, a database cannot be read, and no file is left behind")
    func otherName() throws {
        let server = try ServerProcess(database: database), client = try server.client()
        #expect(try client.request("POST", "/v1/sessions", #"{"id":"s","rows":[{"id":"0"}]}"#).status == 201)
        let other = directory.path("other.sqlite"), link = directory.path("link.sqlite"), copy = directory.path("copy")
        #expect(Glibc.link(database, other) == 0)
        try FileManager.default.createSymbolicLink(atPath: link, withDestinationPath: database)
        let before = try files()
        for command in [["backup", other, copy], ["export", other, copy], ["verify", other]] {
            let run = try CommandRun(command)
            #expect(
                run.status == 1 && run.output.isEmpty && run.errors.contains("\(other) is in use")
                    && run.errors.contains("another name"), "\(run)")
        }
        #expect(try files() == before)
        for (number, name) in [database, link].enumerated() {
            let copy = copy + "\(number)"
            #expect(try CommandRun(["backup", name, copy]).status == 0)
            #expect(try CommandRun(["verify", copy]).output == "1 session checked, 0 faults\n")
        }
        #expect(server.stop() == 0)
        #expect(try CommandRun(["backup", other, copy]).status == 0, "the server has stopped")
    }

    @Test("An interrupted import leaves no files behind") func interrupted() throws {
        _ = try fill()
        let archive = directory.path("archive.jsonl"), partial = directory.path("x.sqlite-partial")
        #expect(try CommandRun(["export", database, archive]).status == 0)
        let before = try files()
        let process = Process(), input = Pipe(), errors = Pipe()
        process.executableURL = ServerProcess.binary
        process.arguments = ["import", "-", directory.path("x.sqlite")]
        process.standardInput = input
        process.standardError = errors
        try process.run()
        let half = try #require(FileManager.default.contents(atPath: archive))
        try input.fileHandleForWriting.write(contentsOf: half.prefix(half.count / 2))
        #expect(eventually { FileManager.default.fileExists(atPath: partial) })
        process.terminate()
        // A signal just before a read is noticed only after it, so it is repeated.
        let hasEnded = eventually {
            if process.isRunning { process.terminate() }
            return !process.isRunning
        }
        #expect(hasEnded)
        process.waitUntilExit()
        let text = String(decoding: errors.fileHandleForReading.readDataToEndOfFile(), as: UTF8.self)
        #expect(
            process.terminationReason == .exit && process.terminationStatus == 1 && text.contains("Interrupted"),
            "\(text)")
        #expect(try files() == before)
    }

    // MARK: Verify

    @Test("The command verify names each fault with its session and its place") func faults() throws {
        _ = try fill()
        let sound = try CommandRun(["verify", database])
        #expect(sound == CommandRun(status: 0, output: "8 sessions checked, 0 faults\n", errors: ""), "\(sound)")
        let unwritten = try shell("\"$0\" verify \(database) > /dev/full")
        #expect(unwritten.status == 1 && unwritten.errors.contains("could not be written"), "\(unwritten)")
        let copy = directory.path("copy.sqlite")
        let number = "(SELECT number FROM session WHERE id = 's')"
        for (sql, fault) in [
            ("UPDATE model SET body = '{' WHERE key >> 32 = \(number)", "body is not JSON"),
            ("UPDATE model SET section = 9 WHERE key >> 32 = \(number)", "section 9 does not exist"),
            ("DELETE FROM opening WHERE session = \(number)", "session \"s\": has no row in table opening"),
            ("DELETE FROM state WHERE session = \(number)", "session \"s\": has no row in table state"),
            ("DELETE FROM session WHERE id = 's'", "table model: session number 8 does not exist"),
            ("DELETE FROM journal WHERE key = \(number) << 32 | 1", "session \"s\""),
            ("DELETE FROM journal WHERE key = \(number) << 32 | 2", "session \"s\", journal: it ends at revision 1"),
            ("UPDATE session SET total_row_count = 7 WHERE id = 's'", "session \"s\": total_row_count is 7"),
            (
                "UPDATE table_description SET description = '{}' WHERE name = 'accounts'",
                "table table_description, name \"accounts\", version 1"
            ),
            (
                "DELETE FROM table_description WHERE name = 'accounts'",
                "version 1 of its table description does not exist"
            ),
            ("DELETE FROM published", "table published_"),
            ("UPDATE sqlite_sequence SET seq = 3", "last_session is 3, but a session has the number 8"),
            ("UPDATE journal SET undo = '{}' WHERE key >> 32 = \(number)", "table journal, session 8, revision 1"),
        ] {
            try? FileManager.default.removeItem(atPath: copy)
            try FileManager.default.copyItem(atPath: database, toPath: copy)
            try #require(try shell("sqlite3 \(copy) \"\(sql)\"").status == 0)
            let run = try CommandRun(["verify", copy])
            if sql.hasPrefix("DELETE FROM journal WHERE key = \(number) << 32 | 1") {
                // No fault: servers delete the oldest records, too.
                #expect(run.status == 0, "\(run)")
                continue
            }
            #expect(run.status == 1 && run.output.contains(fault), "\(sql): \(run)")
            #expect(!run.output.hasSuffix(" 0 faults\n"))
        }
    }

    @Test("The command verify reports damaged pages, and backup refuses them and leaves no file behind")
    func damagedPages() throws {
        let server = try ServerProcess(database: database)
        let rows = (0..<400).map { #"{"id":"\#($0)","text":"\#(String(repeating: "x", count: 900))"}"# }
        try #require(
            try server.client().request("POST", "/v1/sessions", #"{"id":"s","rows":[\#(rows.joined(separator: ","))]}"#)
                .status == 201)
        #expect(server.stop() == 0)
        let file = try #require(FileHandle(forUpdatingAtPath: database))
        let size = try file.seekToEnd()
        // The first pages have the roots of the tables, so only later ones are damaged.
        for page in stride(from: UInt64(40), to: size / 4096 - 1, by: 5) {
            try file.seek(toOffset: page * 4096)
            try file.write(contentsOf: Data(repeating: 0x5A, count: 4096))
        }
        try file.close()
        let before = try files()
        let verified = try CommandRun(["verify", database])
        #expect(verified.status == 1 && verified.output.contains("session \"s\""), "\(verified)")
        let run = try CommandRun(["backup", database, directory.path("copy.sqlite")])
        #expect(run.status == 1 && run.errors.contains("damaged") && run.errors.contains(database), "\(run)")
        #expect(try files() == before)
    }

    @Test(
        "The command verify can check a PostgreSQL database",
        .enabled(if: PostgresCluster.isPossible, PostgresCluster.needs))
    func postgres() throws {
        _ = try fill()
        let place = try TestDatabase.schema()
        #expect(try CommandRun(["verify", place]).errors.contains("has no tables of Braid Server"))
        let imported = try shell("\"$0\" export \(database) - | \"$0\" import - '\(place)'")
        #expect(imported.status == 0, "\(imported)")
        #expect(try CommandRun(["verify", place]).status == 0)
        for (sql, fault) in [
            ("UPDATE model SET body = '{' WHERE session = 8", "table model, session 8, key 1: body is not JSON"),
            ("DELETE FROM opening WHERE session = 8", "session \"s\": has no row in table opening"),
            ("DELETE FROM section WHERE session = 8", "does not exist"),
        ] {
            try TestDatabase.run(sql, in: place)
            let run = try CommandRun(["verify", place])
            #expect(run.status == 1 && run.output.contains(fault), "\(sql): \(run)")
        }
    }

    // MARK: A full disk

    @Test("On a full disk, the commands backup, export, import and compact report it and leave no file behind")
    func fullDisk() throws {
        let server = try ServerProcess(database: database)
        let rows = (0..<400).map { #"{"id":"\#($0)","text":"\#(String(repeating: "x", count: 900))"}"# }
        try #require(
            try server.client().request("POST", "/v1/sessions", #"{"id":"s","rows":[\#(rows.joined(separator: ","))]}"#)
                .status == 201)
        #expect(server.stop() == 0)
        let archive = directory.path("archive.jsonl")
        #expect(try CommandRun(["export", database, archive]).status == 0)
        let before = try files(), content = FileManager.default.contents(atPath: database)
        for arguments in [
            "backup \(database) \(directory.path("x"))", "export \(database) \(directory.path("x"))",
            "import \(archive) \(directory.path("x"))", "compact \(database)",
        ] {
            // Like a full disk: 100 KiB per file.
            let run = try shell("ulimit -f 100; exec \"$0\" \(arguments)")
            #expect(run.status == 1 && run.errors.contains("There is no room"), "\(arguments): \(run)")
            #expect(try files() == before, "\(arguments)")
        }
        #expect(FileManager.default.contents(atPath: database) == content)
        #expect(try CommandRun(["verify", database]).status == 0)
    }

    // MARK: Compact

    @Test("The command compact prints the sizes before and after, and refuses a database that a server uses")
    func compact() throws {
        let server = try ServerProcess(database: database), client = try server.client()
        let rows = (0..<400).map { #"{"id":"\#($0)","text":"\#(String(repeating: "x", count: 900))"}"# }
        try #require(
            try client.request("POST", "/v1/sessions", #"{"id":"s","rows":[\#(rows.joined(separator: ","))]}"#).status
                == 201)
        #expect(try client.request("DELETE", "/v1/sessions/s").status == 204)
        let refused = try CommandRun(["compact", database])
        #expect(refused.status == 1 && refused.errors.contains("in use"), "\(refused)")
        #expect(try CommandRun(["verify", database]).status == 0, "verify may run meanwhile")
        #expect(server.stop() == 0)
        let run = try CommandRun(["compact", database])
        let sizes = try #require(
            run.output.wholeMatch(of: /(.*): ([0-9]+) bytes before, ([0-9]+) bytes after\n/), "\(run)")
        #expect(sizes.1 == database && (Int(sizes.2) ?? 0) > 400_000 && (Int(sizes.3) ?? 0) < 200_000, "\(run)")
        #expect(try FileManager.default.attributesOfItem(atPath: database)[.size] as? Int == Int(sizes.3))
        #expect(try CommandRun(["compact", "postgres://localhost/x"]).status == 64)
    }

    private func shell(_ command: String) throws -> CommandRun {
        let process = Process(), output = Pipe(), errors = Pipe()
        process.executableURL = URL(fileURLWithPath: "/bin/bash")
        process.arguments = ["-o", "pipefail", "-c", command, ServerProcess.binary.path]
        process.environment = ServerProcess.environment()
        process.standardOutput = output
        process.standardError = errors
        try process.run()
        let text = output.fileHandleForReading.readDataToEndOfFile()
        let complaints = errors.fileHandleForReading.readDataToEndOfFile()
        process.waitUntilExit()
        return CommandRun(
            status: process.terminationStatus, output: String(decoding: text, as: UTF8.self),
            errors: String(decoding: complaints, as: UTF8.self))
    }
}
