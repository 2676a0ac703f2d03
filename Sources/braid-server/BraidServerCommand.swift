import ArgumentParser
import BraidServer
@preconcurrency import Glibc

@main
struct BraidServerCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "braid-server",
        abstract: "Describe a table once, in JSON. Every client gets the same snapshots and batch updates.",
        discussion: """
            Exit status: 0 after success; 1 if the command failed or found faults; 64 if the command line or an environment \
            variable is wrong; 74 if the server could not write to its disk.
            """,
        version: App.version,
        subcommands: [Serve.self, Check.self, Diff.self, Render.self, Replay.self, Backup.self, Health.self],
        defaultSubcommand: Serve.self)

    /// The commands whose options can also be set by environment variables. The first one is the default command.
    private static let configurable: KeyValuePairs<String, any ParsableCommand.Type> = [
        "serve": Serve.self, "health": Health.self,
    ]

    static func main() async {
        // Open the standard descriptors 0 to 2 on /dev/null if they are closed. Otherwise the database or a connection
        // could get such a number, and log lines would be written into it.
        for descriptor in 0...2 as ClosedRange<CInt> where fcntl(descriptor, F_GETFD) == -1 {
            _ = open("/dev/null", O_RDWR)
        }
        do {
            let environment = Self.environment
            var command = try parseAsRoot(try Self.arguments(Array(CommandLine.arguments.dropFirst()), environment))
            if var command = command as? any AsyncParsableCommand { try await command.run() } else { try command.run() }
        } catch {
            exit(withError: error)
        }
    }

    /// The process's environment variables.
    private static var environment: [String: String] {
        var variables: [String: String] = [:]
        var next: UnsafeMutablePointer<UnsafeMutablePointer<CChar>?>? = environ
        while let variable = next?.pointee {
            let parts = String(cString: variable).split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
            if parts.count == 2 { variables[String(parts[0])] = String(parts[1]) }
            next = next?.successor()
        }
        return variables
    }

    /// Returns the complete arguments of a command: those from environment variables, followed by those of the command
    /// line. Without a subcommand, the command is `serve`.
    private static func arguments(_ given: [String], _ environment: [String: String]) throws -> [String] {
        guard environment.keys.contains(where: { $0.hasPrefix(EnvironmentOptions.prefix) }) else { return given }
        let isHelp = given.contains { ["-h", "--help", "--version"].contains($0) }
        guard !isHelp else { return given }
        let named = configurable.first { $0.key == given.first }
        let isBare =
            given.first.map { $0.hasPrefix("-") && !$0.hasPrefix("--generate") && !$0.hasPrefix("--experimental") }
            ?? true
        guard let (name, command) = named ?? (isBare ? configurable.first : nil) else { return given }
        let own = named == nil ? given : Array(given.dropFirst())
        return [name] + (try EnvironmentOptions(of: command).arguments(from: environment, beside: own))
            + own
    }
}

/// An error that stops a command. The error's description is a sentence for the user.
struct Failure: Error, CustomStringConvertible {
    let description: String
    init(_ description: String) { self.description = description }
}
