import BraidEngine
import BraidRuntime
import BraidServer
import Glibc

@main
enum Program {
    static let name = "braid-server"
    /// The first is the default.
    static let commands: [any ServerCommand.Type] = [
        Serve.self, Check.self, Diff.self, Render.self, Replay.self, Backup.self, Verify.self, Compact.self,
        Export.self, Import.self, Health.self,
    ]

    // On the main thread: Swift's other threads do not exist yet, and without them a program hangs at its first await.
    @MainActor static func main() async {
        // Opens missing ones: the database or a connection could get stderr's descriptor, and with it the log.
        for descriptor in 0...2 as ClosedRange<CInt> where fcntl(descriptor, F_GETFD) == -1 {
            _ = open("/dev/null", O_RDWR)
        }
        // Database, copies and log are for this user only; `--socket-access` opens the Unix socket.
        umask(0o077)
        let all = ProcessArguments.all
        let arguments = Array(all.dropFirst())
        let command = command(for: arguments.first)
        func complain(_ text: String, hint: String = "") {
            let text = Secrets.redacted(text)
            guard command == Serve.self, Serve.isLogJSON(arguments, EnvironmentVariables.ofProcess()) else {
                Files.write("Error: \(text)\n\(hint)".utf8, to: STDERR_FILENO)
                return
            }
            let lines = text.split(separator: "\n").map { LogLines.line(.json, .critical, String($0)) }
            Files.write(lines.joined(), to: STDERR_FILENO)
        }
        // An unreadable command line must not count as empty, which would start a server with defaults.
        guard let first = all.first, !first.isEmpty else {
            complain("The command line of this process cannot be read. Start the program with its name as argument 0.")
            exit(64)
        }
        do {
            if command == Serve.self { try checkThreads(Workers.threadsAtStart) }
            try await execute(arguments, of: command)
        } catch is ReportedFailure {
            exit(1)
        } catch let error as UsageError {
            let usage = command.map { CommandHelp.usage(of: $0, program: name) } ?? "\(name) <subcommand>"
            let words = [name, command?.name, "--help"].compactMap { $0 }
            complain(
                error.message,
                hint: "Usage: \(usage)\n  See '\(words.joined(separator: " "))' for more information.\n")
            exit(64)
        } catch {
            complain("\(error)")
            exit(1)
        }
        exit(0)
    }

    private static func command(for first: String?) -> (any ServerCommand.Type)? {
        guard let first, !first.hasPrefix("-") else { return Serve.self }
        return commands.first { $0.name == first }
    }

    private static func execute(_ arguments: [String], of command: (any ServerCommand.Type)?) async throws {
        let first = arguments.first, isNamed = first == command?.name
        if first == "help" {
            let topic = arguments.dropFirst().first { !$0.hasPrefix("-") }
            return try printHelp(of: try topic.map { try known(Self.command(for: $0), $0) })
        }
        let command = try known(command, first ?? ""), options = arguments.prefix { $0 != "--" }
        if options.contains("-h") || options.contains("--help") { return try printHelp(of: isNamed ? command : nil) }
        if options.contains("--version") { return try StandardOutput.print(Array(App.version.utf8)) }
        let own = isNamed ? Array(arguments.dropFirst()) : arguments
        try await command.init(own, environment: EnvironmentVariables.ofProcess()).run()
    }

    private static func known(
        _ command: (any ServerCommand.Type)?, _ name: String
    ) throws(UsageError) -> any ServerCommand.Type {
        if let command { return command }
        let near = Spelling.nearest(to: name, among: commands.map { $0.name }, mistakes: 2)
        throw UsageError("'\(name)' is not a command.\(near.map { " Did you mean '\($0)'?" } ?? "")")
    }

    /// `nil`: the program's.
    private static func printHelp(of command: (any ServerCommand.Type)?) throws {
        let text =
            command.map { CommandHelp.text(of: $0, program: name) }
            ?? CommandHelp.text(
                program: name,
                abstract: "Describe a table once, in JSON. Every client gets the same snapshots and batch updates.",
                discussion: """
                    Exit status: 0 after success; 1 if the command failed or found faults; 64 if the command line or an \
                    environment variable is wrong; 74 if the server could not write to its disk.
                    """,
                commands: commands)
        try StandardOutput.print(Array(text.utf8))
    }
}
