import Foundation
import Testing

/// The options of `serve`: on the command line, and in the environment.
@Suite(.serialized) struct OptionTests {
    struct Option {
        var name: String
        var variable: String { "BRAID_" + name.uppercased().replacingOccurrences(of: "-", with: "_") }
    }

    /// As the binary itself says.
    static func options() throws -> [Option] {
        let dump = try CommandRun(["serve", "--experimental-dump-help"]).output
        let root = try JSONSerialization.jsonObject(with: Data(dump.utf8)) as? [String: Any]
        let command = root?["command"] as? [String: Any]
        let serve =
            (command?["subcommands"] as? [[String: Any]])?.first { $0["commandName"] as? String == "serve" } ?? command
        return (serve?["arguments"] as? [[String: Any]] ?? []).compactMap { argument in
            let name = (argument["preferredName"] as? [String: Any])?["name"] as? String
            return name.flatMap { ["help", "version"].contains($0) ? nil : Option(name: $0) }
        }
    }

    /// Walks all options: each takes its value from the environment, which shows by its refusing one that cannot be.
    @Test func everyOptionIsAnEnvironmentVariableAndInTheHelp() throws {
        let options = try Self.options(),
            help = try CommandRun(["serve", "--help"]).output.split(whereSeparator: \.isWhitespace).joined(
                separator: " ")
        #expect(options.count >= 14)
        for option in options {
            #expect(help.contains("\(option.variable),") && help.contains("--\(option.name) "), "\(option.name)")
            let value = "/no/such/value"
            let rest = ["port": "0", "database": ":memory:"].filter { $0.key != option.name }.flatMap {
                ["--\($0.key)", $0.value]
            }
            let run = try CommandRun(rest, environment: [option.variable: value])
            #expect([1, 64].contains(run.status) && run.output.isEmpty, "\(option.name): \(run)")
            #expect(run.errors.contains(option.variable) || run.errors.contains(value), "\(option.name): \(run.errors)")
        }
    }

    @Test func aValueThatCannotBeIsRefusedWithTheNameOfItsVariable() throws {
        for (variable, value, said) in [
            ("BRAID_PORT", "http", "BRAID_PORT: The value 'http' is invalid"),
            ("BRAID_PORT", "70000", "BRAID_PORT: --port must be from 0 to 65535"),
            ("BRAID_JOURNAL_LIMIT", "0", "BRAID_JOURNAL_LIMIT: --journal-limit must be 1 at least"),
            ("BRAID_SYNCHRONOUS", "sometimes", "BRAID_SYNCHRONOUS: "),
            ("BRAID_ALLOW_ANONYMOUS", "perhaps", "BRAID_ALLOW_ANONYMOUS: a flag is true or false, not 'perhaps'"),
        ] {
            for arguments in [[], ["serve"], ["--database", ":memory:"]] {
                let run = try CommandRun(arguments, environment: [variable: value])
                #expect(run.status == 64 && run.errors.contains(said), "\(run)")
            }
        }
    }

    @Test func theCommandLineWins() throws {
        let directory = try TemporaryDirectory()
        // What stands on the command line is not even looked at in the environment; a port of 0 and a database are on
        // it.
        let server = try ServerProcess(
            ["--journal-limit", "2"],
            environment: [
                "BRAID_PORT": "http", "BRAID_DATABASE": directory.path("other.sqlite"), "BRAID_JOURNAL_LIMIT": "none",
                "BRAID_FIXTURES":
                    "\(ServerProcess.package.path)/Examples/attendees,\(ServerProcess.package.path)/Examples/list",
                "BRAID_ALLOW_ANONYMOUS": "false",
                "BRAID_SOCKET": "", "BRAID_SERVICE_HOST": "10.0.0.1",
            ])
        let sessions = try server.client().get("/v1/sessions").text
        #expect(
            sessions.contains(#""id":"party""#) && sessions.contains("list"),
            "both directories were loaded: \(sessions)")
        #expect(!FileManager.default.fileExists(atPath: directory.path("other.sqlite")))
        #expect(server.stop() == 0)
    }

    @Test func theEnvironmentIsForServingAndForHealthAlone() throws {
        let file = "\(ServerProcess.package.path)/Examples/attendees/attendees.table.json"
        #expect(try CommandRun(["check", file], environment: ["BRAID_PORT": "http"]).status == 0)
        #expect(try CommandRun(["serve", "--help"], environment: ["BRAID_PORT": "http"]).status == 0)
        #expect(
            try CommandRun(["--version"], environment: ["BRAID_PORT": "http"]).output.split(separator: ".").count == 3)
        #expect(try CommandRun(["health"], environment: ["BRAID_PORT": "http"]).status == 64)
        #expect(try CommandRun(["server"], environment: ["BRAID_PORT": "1"]).status == 64)
    }
}
