import ArgumentParser

/// A command's options as environment variables. A variable's name is `BRAID_` and the option's name:
/// `BRAID_JOURNAL_LIMIT` is `--journal-limit`.
///
/// - A variable sets its option, unless the command line contains the option as well.
/// - The variable of a flag is `true` or `false`.
/// - An option that can be given several times has its values separated by commas.
/// - Empty variables are ignored. Unknown variables are ignored too, as other programs may use the prefix `BRAID_`.
struct EnvironmentOptions {
    struct Option: Equatable {
        /// The command-line option's name without its leading dashes, as in `journal-limit`.
        let name: String
        let isFlag: Bool
        let isRepeating: Bool

        var variable: String { EnvironmentOptions.prefix + String(name.uppercased().map { $0 == "-" ? "_" : $0 }) }
    }

    static let prefix = "BRAID_"
    /// All options of the command, including the options of its option groups.
    let options: [Option]
    private let command: any ParsableArguments.Type

    init(of command: any ParsableArguments.Type) {
        self.command = command
        options = Self.options(of: command)
    }

    /// Returns the options of a type, in the order of declaration. ArgumentParser derives an option's name from its
    /// property as well, so options with environment variables must not have custom names.
    private static func options(of type: any ParsableArguments.Type) -> [Option] {
        Mirror(reflecting: type.init()).children.flatMap { label, value -> [Option] in
            if let group = value as? any DeclaredGroup { return options(of: group.members) }
            // The mirror's label is the name of the property wrapper's storage: `_journalLimit`.
            guard let option = value as? any DeclaredOption, let property = label?.dropFirst() else { return [] }
            let name = property.map { $0.isUppercase ? "-\($0.lowercased())" : "\($0)" }.joined()
            return [Option(name: name, isFlag: option.isFlag, isRepeating: option.isRepeating)]
        }
    }

    /// The names of the command's environment variables, separated by commas, for a help text.
    var listing: String { options.map(\.variable).joined(separator: ", ") }

    /// Converts the environment variables of this command's options to command-line arguments. Throws a
    /// `ValidationError` that names the faulty variable.
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

// MARK: Reading whether an option is a flag or repeatable

private protocol DeclaredOption {
    var isFlag: Bool { get }
    var isRepeating: Bool { get }
}

extension Option: DeclaredOption {
    fileprivate var isFlag: Bool { false }
    fileprivate var isRepeating: Bool { Value.self is any ListOfValues.Type }
}

extension Flag: DeclaredOption {
    fileprivate var isFlag: Bool { true }
    fileprivate var isRepeating: Bool { false }
}

private protocol DeclaredGroup {
    var members: any ParsableArguments.Type { get }
}

extension OptionGroup: DeclaredGroup {
    fileprivate var members: any ParsableArguments.Type { Value.self }
}

private protocol ListOfValues {}

extension Array: ListOfValues {}
