import Foundation
import Testing

/// Command line and environment.
@Suite(.serialized) struct OptionTests {
    struct Option {
        var name: String
        var isFlag: Bool
        var defaultValue: String?
        var variable: String { "BRAID_" + name.uppercased().replacingOccurrences(of: "-", with: "_") }
    }

    private static let commands = [
        "serve", "check", "diff", "render", "replay", "backup", "verify", "compact", "export", "import", "health",
    ]

    /// As in the help of `serve`, without `--version`.
    private static func options() throws -> [Option] {
        let help = try CommandRun(["serve", "--help"]).output
        let entries = help.replacing(/\n {26}/, with: " ").split(separator: "\n").filter { $0.hasPrefix("  --") }
        return entries.compactMap { entry in
            guard let name = entry.firstMatch(of: /--([a-z-]+)( <)?/), name.1 != "version" else { return nil }
            return Option(
                name: String(name.1), isFlag: name.2 == nil,
                defaultValue: entry.firstMatch(of: /default: ([^)]*)\)/).map { String($0.1) })
        }
    }

    /// The token file does not exist, so the server reads all settings, then stops.
    private func settings(_ arguments: [String], environment: [String: String] = [:]) throws -> CommandRun {
        try CommandRun(["serve", "--token-file", "/nowhere"] + arguments, environment: environment)
    }

    private func expectAccepted(_ run: CommandRun) {
        #expect(run.status == 1 && run.errors.contains("/nowhere does not exist"), "\(run)")
    }

    /// Status 64, the message, a usage line.
    private func expectRefused(_ run: CommandRun, _ message: String) {
        #expect(run.status == 64 && run.output.isEmpty, "\(run)")
        #expect(run.errors.hasPrefix("Error: \(message)") && run.errors.contains("\nUsage: braid-server"), "\(run)")
    }

    // MARK: Declarations

    @Test("Every option has an environment variable and is in the help")
    func everyOption() throws {
        let options = try Self.options()
        let help = try CommandRun(["serve", "--help"]).output.split(whereSeparator: \.isWhitespace).joined(
            separator: " ")
        #expect(options.count >= 30)
        for option in options {
            #expect(help.contains("\(option.variable),") && help.contains("--\(option.name) "), "\(option.name)")
            // Which every option refuses.
            let value = "/no/such/value"
            let rest = ["port": "0", "database": ":memory:"].filter { $0.key != option.name }.flatMap {
                ["--\($0.key)", $0.value]
            }
            let run = try CommandRun(rest, environment: [option.variable: value])
            #expect([1, 64].contains(run.status) && run.output.isEmpty, "\(option.name): \(run)")
            #expect(run.errors.contains(option.variable) || run.errors.contains(value), "\(option.name): \(run.errors)")
        }
    }

    @Test("Each option accepts its default value, in both forms and as a variable, and refuses an empty value")
    func defaults() throws {
        for option in try Self.options() where !option.isFlag {
            if let value = option.defaultValue {
                expectAccepted(
                    try settings(["--\(option.name)", value, "--\(option.name)=\(value)"]))
                expectAccepted(try settings([], environment: [option.variable: value]))
            }
            expectRefused(try settings(["--\(option.name)="]), "--\(option.name) must ")
            if option.name != "token-file" { expectAccepted(try settings([], environment: [option.variable: ""])) }
        }
    }

    @Test("A number option accepts the first and the last number of its range, and refuses the numbers beyond")
    func ranges() throws {
        for option in try Self.options() where option.defaultValue.flatMap({ Int($0) }) != nil {
            let refused = try settings(["--\(option.name)=x"])
            expectRefused(refused, "--\(option.name) must be a whole number ")
            let range = try #require(refused.errors.firstMatch(of: /(?:from|at least) (\d+)(?: to (\d+))?, not 'x'\./))
            let lowest = try #require(Int(range.1)), highest = range.2.flatMap { Int($0) }
            for value in [lowest, highest].compactMap({ $0 }) {
                expectAccepted(try settings(["--\(option.name)=\(value)"]))
            }
            for value in [lowest - 1, highest.map { $0 + 1 }].compactMap({ $0 }) {
                expectRefused(try settings(["--\(option.name)=\(value)"]), "--\(option.name) must be a whole number ")
                expectRefused(
                    try settings([], environment: [option.variable: "\(value)"]),
                    "\(option.variable) must be a whole number ")
            }
        }
    }

    @Test("The help text has at most 80 columns, and `help COMMAND` prints the same as `COMMAND --help`")
    func help() throws {
        let help = try CommandRun(["--help"])
        for run in [try CommandRun(["help"]), try CommandRun(["-h"])] { #expect(run == help) }
        #expect(help.status == 0 && help.errors.isEmpty)
        for command in Self.commands {
            let own = try CommandRun([command, "--help"])
            for run in [try CommandRun(["help", command]), try CommandRun([command, "--none", "-h"])] {
                #expect(run == own)
            }
            #expect(own.status == 0 && own.errors.isEmpty && own.output.contains("USAGE: braid-server \(command)"))
            #expect(help.output.contains("\n  \(command) "))
            for line in (help.output + own.output).split(separator: "\n") { #expect(line.count <= 80, "\(line)") }
        }
        let version = try CommandRun(["--version"])
        #expect(version.status == 0 && version.output.split(separator: ".").count == 3)
        #expect(try CommandRun(["diff", "--version"]) == version)
    }

    // MARK: The command line

    @Test(
        "The message about a mistake in the command line names the faulty argument",
        arguments: [
            (["--port"], "--port needs a value.\n"),
            (
                ["--journal-limit", "-5"],
                "--journal-limit needs a value. To pass '-5' as the value, write --journal-limit=-5.\n"
            ),
            (["--hostname", "--", "x"], "--hostname needs a value."),
            (["--journal-limit=-5"], "--journal-limit must be a whole number of at least 1, not '-5'.\n"),
            (["--deterministic=true"], "--deterministic is a flag: leave out the value after '='.\n"),
            (["--log-format", "xml"], "--log-format must be one of text, json, not 'xml'.\n"),
            (["--synchronous="], "--synchronous must be one of full, normal, not ''.\n"),
            (["serve", "extra"], "The command has no argument for 'extra'.\n"),
            (["serve", "--", "--port"], "The command has no argument for '--port'.\n"),
            (["serve", "--port", "1", "--prt", "1"], "--prt is not an option. Did you mean --port?\n"),
            (["-p", "1"], "-p is not an option.\n"),
            (["check", "--port", "1"], "--port is not an option.\n"),
            (["check"], "The argument <files> is missing.\n"),
            (["diff", "a"], "The argument <to> is missing.\n"),
            (["diff", "a", "b", "c"], "The command has no argument for 'c'.\n"),
            (["diff", "a", ""], "The argument <to> must not be empty.\n"),
            (["health", "ftp://x"], "The argument <url> must be http://HOST:PORT, not 'ftp://x'.\n"),
            (["health", "--port", "0"], "The port is 0"),
            (["server"], "'server' is not a command. Did you mean 'serve'?\n"),
            (["help", "reply"], "'reply' is not a command. Did you mean 'replay'?\n"),
            (["other"], "'other' is not a command.\n"),
        ])
    func mistakes(arguments: [String], message: String) throws {
        expectRefused(try CommandRun(arguments), message)
    }

    @Test("If an option is repeated, its last value counts, or all values if it is a list")
    func repetition() throws {
        expectAccepted(try settings(["--port", "1", "--port", "2"]))
        let run = try CommandRun([
            "serve", "--port=0", "--database", "/no/such", "--database", ":memory:", "--fixtures", "/none/a",
            "--fixtures=/none/b",
        ])
        #expect(run.status == 1 && run.errors.contains("/none/a") && run.errors.contains("/none/b"), "\(run)")
    }

    @Test("Arguments after -- may begin with a dash, and options may be before and after arguments")
    func dashes() throws {
        for arguments in [["check", "--", "-x", "--help"], ["check", "-", "--", "-x", "--help"]] {
            let run = try CommandRun(arguments)
            #expect(run.status == 1 && run.output.contains("-x: does not exist\n--help: does not exist\n"), "\(run)")
        }
        #expect(
            try CommandRun(["diff", "--form", "stages", "/none/a", "/none/b"])
                == CommandRun(["diff", "/none/a", "--form=stages", "/none/b"]))
    }

    @Test("The message about a misspelled option suggests the right option")
    func misspelledOptions() throws {
        for name in ["--socket", "--max-rows"] {
            for wrong in Self.misspellings(of: name) {
                expectRefused(try settings([wrong, "1"]), "\(wrong) is not an option. Did you mean \(name)?\n")
            }
        }
    }

    /// By one typing mistake after the first two characters.
    private static func misspellings(of word: String) -> [String] {
        (2..<word.count).flatMap { place in
            let start = String(word.prefix(place)), rest = word.dropFirst(place)
            let swapped = String(rest.prefix(2).reversed())
            return [
                start + rest.dropFirst(), start + "q" + rest.dropFirst(), start + "q" + rest,
                start + swapped + rest.dropFirst(2),
            ]
        }.filter { $0 != word }
    }

    // MARK: The environment

    @Test(
        "The message about a wrong value of an environment variable names the variable",
        arguments: [
            ("BRAID_PORT", "http", "BRAID_PORT must be a whole number from 0 to 65535, not 'http'."),
            (
                "BRAID_PORT", "tcp://10.0.0.1:80",
                "BRAID_PORT must be a whole number from 0 to 65535, not 'tcp://10.0.0.1:80'."
            ),
            ("BRAID_JOURNAL_LIMIT", "0", "BRAID_JOURNAL_LIMIT must be a whole number of at least 1, not '0'."),
            ("BRAID_SYNCHRONOUS", "sometimes", "BRAID_SYNCHRONOUS must be one of full, normal, not 'sometimes'."),
            ("BRAID_ALLOW_ANONYMOUS", "perhaps", "BRAID_ALLOW_ANONYMOUS must be true or false, not 'perhaps'."),
            ("BRAID_ALLOW_ORIGIN", "*,x", "BRAID_ALLOW_ORIGIN must be an origin "),
            ("BRAID_DATABASE", "file:x", "BRAID_DATABASE must be a path, not a URI"),
        ])
    func wrongVariables(variable: String, value: String, message: String) throws {
        for arguments in [[], ["serve"], ["--hostname", "127.0.0.1"]] {
            expectRefused(try CommandRun(arguments, environment: [variable: value]), message)
        }
    }

    @Test("Options on the command line take precedence over environment variables, and these over defaults")
    func precedence() throws {
        let directory = try TemporaryDirectory()
        // Set on the command line: their variables are not even read.
        let server = try ServerProcess(
            ["--journal-limit", "2"],
            environment: [
                "BRAID_PORT": "http", "BRAID_DATABASE": directory.path("other.sqlite"), "BRAID_JOURNAL_LIMIT": "none",
                "BRAID_FIXTURES":
                    "\(ServerProcess.package.path)/Examples/attendees,\(ServerProcess.package.path)/Examples/list",
                "BRAID_ALLOW_ANONYMOUS": "false", "BRAID_SOCKET": "",
            ])
        let sessions = try server.client().get("/v1/sessions").text
        #expect(
            sessions.contains(#""id":"party""#) && sessions.contains("list"),
            "both directories were loaded: \(sessions)")
        #expect(!FileManager.default.fileExists(atPath: directory.path("other.sqlite")))
        #expect(server.stop() == 0)
    }

    @Test("The environment variable of a flag can be true or false, in several spellings")
    func flags() throws {
        for (value, isOn) in [
            ("true", true), ("1", true), ("YES", true), ("False", false), ("0", false), ("no", false),
        ] {
            let run = try CommandRun(
                ["serve", "--hostname", "0.0.0.0", "--port", "0", "--database", "/no/such/directory/x"],
                environment: ["BRAID_ALLOW_ANONYMOUS": value])
            #expect(run.status == 1 && run.errors.contains("--allow-anonymous") == !isOn, "\(value): \(run)")
        }
    }

    @Test("Only `serve` and `health` read environment variables, and the help and the version do not depend on them")
    func commandsWithVariables() throws {
        let file = "\(ServerProcess.package.path)/Examples/attendees/attendees.table.json"
        let environment = ["BRAID_PORT": "http", "BRAID_PROT": "1"]
        #expect(try CommandRun(["check", file], environment: environment).status == 0)
        #expect(try CommandRun(["serve", "--help"], environment: environment).status == 0)
        #expect(try CommandRun(["--version"], environment: environment).status == 0)
        expectRefused(try CommandRun(["health"], environment: environment), "BRAID_PORT must be a whole number")
        expectRefused(try CommandRun(["server"], environment: environment), "'server' is not a command")
    }

    @Test("The message about a misspelled environment variable suggests the right variable")
    func misspelledVariables() throws {
        for word in ["PORT", "TOKEN"] {
            for wrong in Self.misspellings(of: "  " + word).map({ "BRAID_" + $0.dropFirst(2) }) {
                expectRefused(
                    try settings([], environment: [wrong: "1"]),
                    "\(wrong) is not a setting. Did you mean BRAID_\(word)?\n")
            }
        }
        expectRefused(
            try settings([], environment: ["BRAID_MAXROWS": "1", "BRAID_ELSE": "", "BRAID_JSON": "x"]),
            "BRAID_ELSE is not a setting.\nBRAID_JSON is not a setting.\nBRAID_MAXROWS is not a setting. Did you mean BRAID_MAX_ROWS?\n"
        )
    }

    @Test("Environment variables of Kubernetes services and of test suites are ignored")
    func foreignVariables() throws {
        var environment = ["BRAID_SERVER_BINARY": "/x", "BRAID_TEST_POSTGRES": "/x", "BRAIDED": "1"]
        for service in ["BRAID", "BRAID_SERVER", "BRAID_2"] {
            environment.merge([
                "\(service)_SERVICE_HOST": "10.0.0.1", "\(service)_SERVICE_PORT": "80",
                "\(service)_SERVICE_PORT_HTTP_API": "80", "\(service)_PORT_80_TCP": "tcp://10.0.0.1:80",
                "\(service)_PORT_80_TCP_PROTO": "tcp", "\(service)_PORT_80_TCP_PORT": "80",
                "\(service)_PORT_80_TCP_ADDR": "10.0.0.1", "\(service)_PORT_53_UDP_ADDR": "10.0.0.1",
                "\(service)_PORT": "udp://10.0.0.1:53",
            ]) { $1 }
        }
        expectAccepted(try settings(["--port", "0"], environment: environment))
        // Also a variable of the server, read unless the command line sets the port.
        expectRefused(try settings([], environment: environment), "BRAID_PORT must be a whole number")
        // Kubernetes sets it to an address for a service `braid-server`; a plain number is a mistake.
        expectRefused(try settings([], environment: ["BRAID_SERVER_PORT": "80"]), "BRAID_SERVER_PORT is not a setting.")
    }
}
