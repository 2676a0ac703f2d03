/// A subcommand. The parser, the environment and the help read its declarations. An option's default is its property's
/// value after `init()`.
protocol ServerCommand: Sendable {
    static var name: String { get }
    /// One sentence.
    static var abstract: String { get }
    /// A paragraph per line.
    static var discussion: String { get }
    /// Without `--name`, in order.
    static var arguments: [CommandArgument<Self>] { get }
    /// The comment above each says who needs it.
    static var options: [CommandOption<Self>] { get }
    static var readsEnvironment: Bool { get }

    init()
    func run() async throws
}

extension ServerCommand {
    static var arguments: [CommandArgument<Self>] { [] }
    static var options: [CommandOption<Self>] { [] }
    static var readsEnvironment: Bool { false }

    static var variables: [String] { readsEnvironment ? options.map(\.variable) : [] }
}

/// A mistake in the command line or the environment, in sentences for the user.
struct UsageError: Error {
    let message: String
    init(_ message: String) { self.message = message }
}

/// `--name value`, `--name=value`, or for a flag `--name`.
struct CommandOption<Settings>: Sendable {
    /// Without dashes.
    let name: String
    let form: OptionForm
    let help: String
    /// Above it in the help; `nil`: "Options".
    var heading: String?
    /// For a choice: all accepted words.
    var choices: [String] = []
    /// For the help and the log.
    let current: @Sendable (Settings) -> String?
    let store: @Sendable (String, inout Settings) throws(WrongValue) -> Void

    /// `BRAID_MAX_ROWS` for `--max-rows`.
    var variable: String { EnvironmentVariables.prefix + String(name.uppercased().map { $0 == "-" ? "_" : $0 }) }
}

/// Without `--name`: a file, for example.
struct CommandArgument<Settings>: Sendable {
    let name: String
    let form: ArgumentForm
    let help: String
    let store: @Sendable (String, inout Settings) throws(WrongValue) -> Void
}

enum OptionForm { case flag, value, repeatedValue }

enum ArgumentForm { case required, optional, repeated }

struct WrongValue: Error {
    /// Follows the option's name: `must not be empty`.
    let complaint: String
    init(_ complaint: String) { self.complaint = complaint }
}

typealias ValueCheck = @Sendable (String) throws(WrongValue) -> Void

typealias SettingPath<Settings, Value> = WritableKeyPath<Settings, Value> & Sendable

// MARK: Options

extension CommandOption {
    static func integer(
        _ name: String, _ path: SettingPath<Settings, Int>, in range: ClosedRange<Int>, help: String
    ) -> Self {
        CommandOption(name: name, form: .value, help: help, current: { String($0[keyPath: path]) }) {
            text, settings throws(WrongValue) in settings[keyPath: path] = try wholeNumber(text, in: range)
        }
    }

    /// An integer that another limit bounds.
    static func limit(
        _ name: String, _ path: SettingPath<Settings, BoundedLimit>, in range: ClosedRange<Int>, help: String
    ) -> Self {
        CommandOption(name: name, form: .value, help: help, current: { String($0[keyPath: path].value) }) {
            text, settings throws(WrongValue) in
            settings[keyPath: path] = BoundedLimit(value: try wholeNumber(text, in: range), isChosen: true)
        }
    }

    static func text(
        _ name: String, _ path: SettingPath<Settings, String>, help: String, check: @escaping ValueCheck = { _ in }
    ) -> Self {
        CommandOption(name: name, form: .value, help: help, current: { $0[keyPath: path] }) {
            text, settings throws(WrongValue) in
            settings[keyPath: path] = try nonEmpty(text, check)
        }
    }

    static func optionalText(_ name: String, _ path: SettingPath<Settings, String?>, help: String) -> Self {
        CommandOption(name: name, form: .value, help: help, current: { $0[keyPath: path] }) {
            text, settings throws(WrongValue) in
            settings[keyPath: path] = try nonEmpty(text)
        }
    }

    static func repeatedText(
        _ name: String, _ path: SettingPath<Settings, [String]>, help: String, check: @escaping ValueCheck = { _ in }
    ) -> Self {
        CommandOption(
            name: name, form: .repeatedValue, help: help,
            current: { $0[keyPath: path].isEmpty ? nil : $0[keyPath: path].joined(separator: ",") }
        ) {
            text, settings throws(WrongValue) in
            settings[keyPath: path].append(try nonEmpty(text, check))
        }
    }

    static func choice<Choice: RawRepresentable<String> & CaseIterable & Sendable>(
        _ name: String, _ path: SettingPath<Settings, Choice>, help: String
    ) -> Self {
        let choices = Choice.allCases.map(\.rawValue)
        return CommandOption(
            name: name, form: .value, help: help, choices: choices, current: { $0[keyPath: path].rawValue }
        ) { text, settings throws(WrongValue) in
            guard let choice = Choice(rawValue: text) else {
                throw WrongValue("must be one of \(choices.joined(separator: ", ")), not '\(text)'")
            }
            settings[keyPath: path] = choice
        }
    }

    /// As a variable `true`, `1`, `yes`, `false`, `0` or `no`.
    static func flag(_ name: String, _ path: SettingPath<Settings, Bool>, help: String) -> Self {
        CommandOption(name: name, form: .flag, help: help, current: { String($0[keyPath: path]) }) {
            text, settings throws(WrongValue) in
            switch text.lowercased() {
            case "true", "1", "yes": settings[keyPath: path] = true
            case "false", "0", "no": settings[keyPath: path] = false
            default: throw WrongValue("must be true or false, not '\(text)'")
            }
        }
    }

    /// For settings that contain this option's at `path`.
    func inside<Outer>(_ path: SettingPath<Outer, Settings>, heading: String? = nil) -> CommandOption<Outer> {
        CommandOption<Outer>(
            name: name, form: form, help: help, heading: heading ?? self.heading, choices: choices,
            current: { current($0[keyPath: path]) }
        ) { text, settings throws(WrongValue) in
            try store(text, &settings[keyPath: path])
        }
    }
}

// MARK: Arguments

extension CommandArgument {
    static func required(
        _ name: String, _ path: SettingPath<Settings, String>, help: String, check: @escaping ValueCheck = { _ in }
    ) -> Self {
        CommandArgument(name: name, form: .required, help: help) { text, settings throws(WrongValue) in
            settings[keyPath: path] = try nonEmpty(text, check)
        }
    }

    static func optional(
        _ name: String, _ path: SettingPath<Settings, String?>, help: String, check: @escaping ValueCheck = { _ in }
    ) -> Self {
        CommandArgument(name: name, form: .optional, help: help) { text, settings throws(WrongValue) in
            settings[keyPath: path] = try nonEmpty(text, check)
        }
    }

    /// The last argument: one or several.
    static func repeated(_ name: String, _ path: SettingPath<Settings, [String]>, help: String) -> Self {
        CommandArgument(name: name, form: .repeated, help: help) { text, settings throws(WrongValue) in
            settings[keyPath: path].append(try nonEmpty(text))
        }
    }
}

private func wholeNumber(_ text: String, in range: ClosedRange<Int>) throws(WrongValue) -> Int {
    guard let value = Int(text), range.contains(value) else {
        let wanted =
            range.upperBound == .max
            ? "of at least \(range.lowerBound)" : "from \(range.lowerBound) to \(range.upperBound)"
        throw WrongValue("must be a whole number \(wanted), not '\(text)'")
    }
    return value
}

private func nonEmpty(_ text: String, _ check: ValueCheck = { _ in }) throws(WrongValue) -> String {
    guard !text.isEmpty else { throw WrongValue("must not be empty") }
    try check(text)
    return text
}
