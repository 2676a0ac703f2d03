import ArgumentParser

/// A command's options as environment variables: `BRAID_` and the option's name, so that `--journal-limit` is
/// `BRAID_JOURNAL_LIMIT`.
///
/// A variable becomes an argument in front of those that were given, unless they have that option: the command line
/// wins. A flag's variable is `true` or `false`; an option that can be given several times takes its values with commas
/// between them; one that is empty is not there. Variables that are no option's are left alone: others may use the
/// prefix too.
struct EnvironmentOptions {
    struct Option: Equatable {
        /// Without its dashes.
        let name: String
        let isFlag: Bool
        let isRepeating: Bool

        var variable: String { EnvironmentOptions.prefix + String(name.uppercased().map { $0 == "-" ? "_" : $0 }) }
    }

    static let prefix = "BRAID_"
    /// All that the command has, those of its groups included.
    let options: [Option]
    private let command: any ParsableArguments.Type

    init(of command: any ParsableArguments.Type) {
        self.command = command
        options = Self.options(of: command)
    }

    /// The properties of the type that are options, in the order of their declaration. ArgumentParser names an option
    /// after its property, too: options here must keep that name.
    private static func options(of type: any ParsableArguments.Type) -> [Option] {
        Mirror(reflecting: type.init()).children.flatMap { label, value -> [Option] in
            if let group = value as? any DeclaredGroup { return options(of: group.members) }
            // The label is the name of the wrapper's storage: `_journalLimit`.
            guard let option = value as? any DeclaredOption, let property = label?.dropFirst() else { return [] }
            let name = property.map { $0.isUppercase ? "-\($0.lowercased())" : "\($0)" }.joined()
            return [Option(name: name, isFlag: option.isFlag, isRepeating: option.isRepeating)]
        }
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

// MARK: What a property wrapper says of its option

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
