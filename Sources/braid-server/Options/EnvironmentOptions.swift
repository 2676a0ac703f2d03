import ArgumentParser
import Foundation

/// A command's options as environment variables: `BRAID_` and the option's name, so that `--journal-limit` is
/// `BRAID_JOURNAL_LIMIT`.
///
/// A variable becomes an argument in front of those that were given, unless they have that option: the command line wins.
/// A flag's variable is `true` or `false`; an option that can be given several times takes its values with commas between
/// them; one that is empty is not there. Variables that are no option's are left alone: others may use the prefix too.
struct EnvironmentOptions {
    struct Option: Equatable {
        /// Without its dashes.
        let name: String
        let isFlag: Bool
        let isRepeating: Bool

        var variable: String { EnvironmentOptions.prefix + name.uppercased().replacingOccurrences(of: "-", with: "_") }
    }

    static let prefix = "BRAID_"
    /// All that the command has, those of its groups included.
    let options: [Option]
    private let command: any ParsableArguments.Type

    init(of command: any ParsableArguments.Type) {
        self.command = command
        let help = try? JSONDecoder().decode(Help.self, from: Data(command._dumpHelp().utf8))
        options = (help?.command.arguments ?? []).compactMap { argument in
            guard argument.kind != "positional", let name = argument.preferredName?.name, name != "help",
                name != "version"
            else { return nil }
            return Option(name: name, isFlag: argument.kind == "flag", isRepeating: argument.isRepeating)
        }
    }

    /// What ArgumentParser says of a command: its form of `--experimental-dump-help`.
    private struct Help: Decodable {
        struct Command: Decodable { var arguments: [Argument]? }
        struct Argument: Decodable {
            struct Name: Decodable { var name: String }
            var kind: String
            var preferredName: Name?
            var isRepeating: Bool
        }
        var command: Command
    }

    /// For a help text.
    var listing: String { options.map(\.variable).joined(separator: ", ") }

    /// The arguments that the environment stands for. Throws a `ValidationError` that names the variable at fault.
    func arguments(from environment: [String: String], beside given: [String]) throws -> [String] {
        var arguments: [String] = []
        for option in options {
            guard let value = environment[option.variable], !value.isEmpty,
                !given.contains(where: { $0 == "--\(option.name)" || $0.hasPrefix("--\(option.name)=") })
            else { continue }
            let own = try Self.arguments(option, value)
            do {
                _ = try command.parse(own)
            } catch {
                throw ValidationError("\(option.variable): \(command.message(for: error))")
            }
            arguments += own
        }
        return arguments
    }

    private static func arguments(_ option: Option, _ value: String) throws -> [String] {
        if option.isRepeating { return value.split(separator: ",").map { "--\(option.name)=\($0)" } }
        guard option.isFlag else { return ["--\(option.name)=\(value)"] }
        switch value.lowercased() {
        case "true", "1", "yes": return ["--\(option.name)"]
        case "false", "0", "no": return []
        default: throw ValidationError("\(option.variable): a flag is true or false, not '\(value)'.")
        }
    }
}
