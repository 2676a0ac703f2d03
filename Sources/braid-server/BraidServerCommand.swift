import ArgumentParser
import BraidServer
import Foundation

@main
struct BraidServerCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "braid-server",
        abstract: "A table is described once, in JSON; every client gets the same snapshots and batch updates.",
        discussion: """
            Exit status: 0 when all is well; 1 when what was asked could not be done, or found faults; 64 when the command \
            line or an environment variable is wrong; 74 when the server could not write to its disk.
            """,
        version: App.version,
        subcommands: [Serve.self, Check.self, Diff.self, Render.self, Replay.self, Backup.self, Health.self],
        defaultSubcommand: Serve.self)

    /// Commands that the environment has options for.
    private static let configurable: [any ParsableCommand.Type] = [Serve.self, Health.self]

    static func main() async {
        // What is closed is a descriptor that the database or a connection could get, and what is meant for the log would go there.
        for descriptor in 0...2 as ClosedRange<CInt> where fcntl(descriptor, F_GETFD) == -1 {
            _ = open("/dev/null", O_RDWR)
        }
        do {
            let environment = ProcessInfo.processInfo.environment
            var command = try parseAsRoot(try Self.arguments(Array(CommandLine.arguments.dropFirst()), environment))
            if var command = command as? any AsyncParsableCommand { try await command.run() } else { try command.run() }
        } catch {
            exit(withError: error)
        }
    }

    /// The arguments with those that the environment adds. Without a subcommand, `serve` is meant.
    private static func arguments(_ given: [String], _ environment: [String: String]) throws -> [String] {
        guard environment.keys.contains(where: { $0.hasPrefix(EnvironmentOptions.prefix) }) else { return given }
        let isHelp = given.contains { ["-h", "--help", "--version"].contains($0) }
        guard !isHelp else { return given }
        let named = configurable.first { $0._commandName == given.first }
        let isBare =
            given.first.map { $0.hasPrefix("-") && !$0.hasPrefix("--generate") && !$0.hasPrefix("--experimental") }
            ?? true
        guard let command = named ?? (isBare ? Serve.self : nil) else { return given }
        let own = named == nil ? given : Array(given.dropFirst())
        return [command._commandName] + (try EnvironmentOptions(of: command).arguments(from: environment, beside: own))
            + own
    }
}

/// What stops a command, said in a sentence.
struct Failure: Error, CustomStringConvertible {
    let description: String
    init(_ description: String) { self.description = description }
}
