import Foundation
import Testing

@Suite(.serialized) struct FixtureTests {
    private let directory = try! TemporaryDirectory()
    private static let table =
        #"{"table":"NAME","cells":{"C":{}},"bindings":[{"cell":"C","models":[{"id":"1"}],"editing":"delete"}]}"#

    private func write(_ name: String, _ text: String) throws -> String {
        let path = directory.path(name)
        try FileManager.default.createDirectory(
            at: URL(fileURLWithPath: path).deletingLastPathComponent(), withIntermediateDirectories: true)
        try text.write(toFile: path, atomically: true, encoding: .utf8)
        return path
    }

    private func table(_ name: String) -> String { Self.table.replacingOccurrences(of: "NAME", with: name) }

    @Test("Faulty fixtures prevent the start, and the server prints the faults of all files")
    func faultyFiles() throws {
        let fixtures = directory.path("a"), other = directory.path("b")
        let database = directory.path("braid.sqlite")
        _ = try write("a/right.table.json", table("right"))
        let faulty = try write(
            "a/faulty.table.json",
            "{ \"table\": \"t\", \"cells\": {},\n  \"bindings\": [ { \"cell\": \"D\", \"models\": [] } ] }"
        )
        let broken = try write("a/deep/broken.session.json", "{\n  oops }")
        let nameless = try write("b/nameless.session.json", #"{"table":"right"}"#)
        let unknown = try write("b/unknown.session.json", "{\"id\":\"x\",\n\"tables\":\"right\"}")
        let twice = try write("b/twice.table.json", table("right"))
        let run = try CommandRun([
            "--port", "0", "--database", database, "--fixtures", fixtures, "--fixtures", other, "--fixtures",
            directory.path("none"),
        ])
        #expect(run.status == 1 && run.output.isEmpty)
        for said in [
            "\(faulty):2:", "/bindings/0/cell", "\(broken):2:3: ", "\(nameless): a session fixture needs an `id`",
            "\(unknown):",
            "\(twice): describes \"right\", as \(fixtures)/right.table.json does",
            "The fixtures directory \(directory.path("none")) does not exist.",
        ] { #expect(run.errors.contains(said), "\(said) in \(run.errors)") }
        // Nothing was loaded.
        #expect(try ServerProcess(database: database).keptClient().get("/v1/tables").text == #"{"tables":[]}"#)
    }

    @Test("Names that begin with a dot are no fixtures, and a folder that several paths lead to is read once")
    func hiddenNamesAndLinks() throws {
        _ = try write(".a/t.table.json", table("t"))
        let fixtures = directory.path(".a"), files = FileManager.default
        for hidden in [".history/t_1.table.json", "..data/t.table.json", "deep/._t.table.json"] {
            _ = try write(".a/\(hidden)", table("t"))
        }
        try files.createSymbolicLink(atPath: fixtures + "/.#t.table.json", withDestinationPath: "ada@host.1:2")
        try files.createSymbolicLink(atPath: fixtures + "/deep/again", withDestinationPath: "..")
        _ = try write("elsewhere/u.table.json", table("u"))
        try files.createSymbolicLink(atPath: fixtures + "/linked", withDestinationPath: "../elsewhere")
        let client = try ServerProcess([
            "--fixtures", fixtures, "--fixtures", fixtures + "/deep/..", "--fixtures", directory.path("elsewhere"),
        ]).keptClient()
        let tables = try client.get("/v1/tables").object["tables"] as? [[String: Any]]
        #expect(tables?.map { $0["table"] as? String } == ["t", "u"])
    }

    @Test("A fixture session whose template fails prevents the start, and its row is named")
    func failedTemplate() throws {
        _ = try write(
            "a/t.table.json",
            #"{"table":"t","cells":{"C":{}},"bindings":[{"cell":"C","models":[],"viewModel":{"x":"${model.by.name}"}}]}"#
        )
        let session = try write(
            "a/s.session.json",
            #"{"id":"s","table":"t","models":{"table":[{"id":"good","by":{"name":"x"}},{"id":"bad"}]}}"#)
        let run = try CommandRun(["--port", "0", "--database", ":memory:", "--fixtures", directory.path("a")])
        #expect(
            run.status == 1
                && run.errors.contains("\(session): /bindings/0/viewModel/x: ")
                && run.errors.contains("for the row \"bad\" of the section \"table\""), "\(run.errors)")
    }

    @Test("If one fixture session prevents the start, no other is opened or logged as opened")
    func failedStart() throws {
        _ = try write("a/a.session.json", #"{"id":"a","rows":[]}"#)
        _ = try write("a/b.session.json", #"{"id":"b","table":"none"}"#)
        let database = directory.path("braid.sqlite")
        let run = try CommandRun(["--port", "0", "--database", database, "--fixtures", directory.path("a")])
        #expect(run.status == 1 && !run.errors.contains("session opened"), "\(run.errors)")
        #expect(try ServerProcess(database: database).keptClient().get("/v1/sessions").text == #"{"sessions":[]}"#)
    }

    @Test("A fixture session that cannot be opened prevents the start")
    func unopenableSessions() throws {
        let fixtures = directory.path("a")
        _ = try write("a/t.table.json", table("t"))
        let models = try write(
            "a/models.session.json",
            "{\"id\":\"x\", \"table\":\"t\",\n \"models\":{\"0\":[{\"id\":\"1\"},{\"id\":\"1\"}]}}")
        let tableless = try write("a/tableless.session.json", #"{"id":"y","table":"u"}"#)
        let run = try CommandRun(["--port", "0", "--database", ":memory:", "--fixtures", fixtures])
        #expect(
            run.status == 1 && run.errors.contains("\(models):")
                && run.errors.contains("\(tableless): The table description \"u\" does not exist"), "\(run.errors)")
    }

    @Test("Changed fixtures do not change an existing session, and a reset restores it as it was opened")
    func existingSession() throws {
        let fixtures = directory.path("a"), database = directory.path("braid.sqlite")
        _ = try write("a/t.table.json", table("t"))
        let session = try write("a/s.session.json", #"{"id":"s","table":"t"}"#)
        var opened = ""
        do {
            let client = try ServerProcess(database: database, ["--fixtures", fixtures]).keptClient()
            opened = try client.get("/v1/sessions/s/snapshot").text
            #expect(try client.request("POST", "/v1/sessions/s/edits", #"{"delete":{"id":"1"}}"#).status == 200)
            #expect(client.server.stop() == 0)
        }
        // Changed fixtures are for new sessions; an existing one keeps its data and opening.
        _ = try write("a/t.table.json", table("t").replacingOccurrences(of: #""id":"1""#, with: #""id":"2""#))
        try #"{"id":"s","table":"t","state":{"new":true}}"#.write(toFile: session, atomically: true, encoding: .utf8)
        let client = try ServerProcess(database: database, ["--fixtures", fixtures]).keptClient()
        #expect(try client.get("/v1/tables").text.contains(#""version":2"#))
        #expect(try client.get("/v1/sessions/s/snapshot").object["totalRowCount"] as? Int == 0)
        #expect(try client.request("POST", "/v1/sessions/s/reset").status == 200)
        let back = try client.get("/v1/sessions/s/snapshot").text
        #expect(back == opened.replacingOccurrences(of: #""revision":0"#, with: #""revision":2"#))
        #expect(try client.request("POST", "/v1/sessions", #"{"table":"t","id":"new"}"#).text.contains(#""id":"2""#))
    }
}
