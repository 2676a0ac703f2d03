/// The declaration of an option: `--name value`, `--name=value`, or `--name` for a flag.
struct CommandOption<Settings>: Sendable {
    /// The option's name without dashes, such as `max-rows`.
    let name: String
    let form: OptionForm
    let help: String
    /// The heading in the help under which the option is listed. `nil` for the heading "Options".
    var heading: String?
    /// The values that the option accepts, if the option accepts only some fixed words.
    var choices: [String] = []
    /// Returns the option's current value in the settings as a text, for the help and the log. `nil` if the option has
    /// no value.
    let current: @Sendable (Settings) -> String?
    /// Stores a value in the settings. Throws a `WrongValue` if the option does not accept the text.
    let store: @Sendable (String, inout Settings) throws(WrongValue) -> Void

    /// The option's environment variable: `BRAID_MAX_ROWS` for `--max-rows`.
    var variable: String { EnvironmentVariables.prefix + String(name.uppercased().map { $0 == "-" ? "_" : $0 }) }
}

/// The declaration of a command's argument that has no `--name`, such as a file name.
struct CommandArgument<Settings>: Sendable {
    /// The argument's name in the help and in messages.
    let name: String
    let form: ArgumentForm
    let help: String
    /// Stores a value in the settings. Throws a `WrongValue` if the argument does not accept the text.
    let store: @Sendable (String, inout Settings) throws(WrongValue) -> Void
}

enum OptionForm { case flag, value, repeatedValue }

enum ArgumentForm { case required, optional, repeated }

/// A value that an option or an argument does not accept.
struct WrongValue: Error {
    /// What is wrong, as the end of a sentence that begins with the name of the option, its variable or the argument,
    /// such as `must not be empty`.
    let complaint: String
    init(_ complaint: String) { self.complaint = complaint }
}

/// Throws a `WrongValue` if a text is not allowed.
typealias ValueCheck = @Sendable (String) throws(WrongValue) -> Void

/// The key path of a property of the settings, in which an option stores its value.
typealias SettingPath<Settings, Value> = WritableKeyPath<Settings, Value> & Sendable

// MARK: Options

extension CommandOption {
    /// An option for a whole number.
    static func integer(
        _ name: String, _ path: SettingPath<Settings, Int>, in range: ClosedRange<Int>, help: String
    ) -> Self {
        CommandOption(name: name, form: .value, help: help, current: { String($0[keyPath: path]) }) {
            text, settings throws(WrongValue) in settings[keyPath: path] = try wholeNumber(text, in: range)
        }
    }

    /// An option for a limit whose value another limit restricts (`BoundedLimit`).
    static func limit(
        _ name: String, _ path: SettingPath<Settings, BoundedLimit>, in range: ClosedRange<Int>, help: String
    ) -> Self {
        CommandOption(name: name, form: .value, help: help, current: { String($0[keyPath: path].value) }) {
            text, settings throws(WrongValue) in
            settings[keyPath: path] = BoundedLimit(value: try wholeNumber(text, in: range), isChosen: true)
        }
    }

    /// An option for a text that is not empty.
    static func text(
        _ name: String, _ path: SettingPath<Settings, String>, help: String, check: @escaping ValueCheck = { _ in }
    ) -> Self {
        CommandOption(name: name, form: .value, help: help, current: { $0[keyPath: path] }) {
            text, settings throws(WrongValue) in
            settings[keyPath: path] = try nonEmpty(text, check)
        }
    }

    /// An option for a text that is not empty. Without the option, the property is `nil`.
    static func optionalText(_ name: String, _ path: SettingPath<Settings, String?>, help: String) -> Self {
        CommandOption(name: name, form: .value, help: help, current: { $0[keyPath: path] }) {
            text, settings throws(WrongValue) in
            settings[keyPath: path] = try nonEmpty(text)
        }
    }

    /// An option that can be given several times, each time with a text that is not empty.
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

    /// An option for one of the cases of an enumeration.
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

    /// An option without a value. Its environment variable is `true`, `1` or `yes`, or `false`, `0` or `no`.
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

    /// Returns this option as an option of outer settings, which contain this option's settings as a property.
    /// - Parameters:
    ///   - path: This option's settings in the outer settings.
    ///   - heading: The heading in the help under which the option is listed.
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
    /// A required argument of a command. The argument replaces the value that the property has after `init()`.
    static func required(
        _ name: String, _ path: SettingPath<Settings, String>, help: String, check: @escaping ValueCheck = { _ in }
    ) -> Self {
        CommandArgument(name: name, form: .required, help: help) { text, settings throws(WrongValue) in
            settings[keyPath: path] = try nonEmpty(text, check)
        }
    }

    /// An optional argument of a command. Without the argument, the property is `nil`.
    static func optional(
        _ name: String, _ path: SettingPath<Settings, String?>, help: String, check: @escaping ValueCheck = { _ in }
    ) -> Self {
        CommandArgument(name: name, form: .optional, help: help) { text, settings throws(WrongValue) in
            settings[keyPath: path] = try nonEmpty(text, check)
        }
    }

    /// An argument that can be given once or several times. Must be the last declaration in `arguments`.
    static func repeated(_ name: String, _ path: SettingPath<Settings, [String]>, help: String) -> Self {
        CommandArgument(name: name, form: .repeated, help: help) { text, settings throws(WrongValue) in
            settings[keyPath: path].append(try nonEmpty(text))
        }
    }
}

/// Returns the whole number in the text. Throws a `WrongValue` if the text is not a whole number, or if the number is
/// outside of the range.
private func wholeNumber(_ text: String, in range: ClosedRange<Int>) throws(WrongValue) -> Int {
    guard let value = Int(text), range.contains(value) else {
        let wanted =
            range.upperBound == .max
            ? "of at least \(range.lowerBound)" : "from \(range.lowerBound) to \(range.upperBound)"
        throw WrongValue("must be a whole number \(wanted), not '\(text)'")
    }
    return value
}

/// Returns the text. Throws a `WrongValue` if the text is empty, or if `check` does not allow it.
private func nonEmpty(_ text: String, _ check: ValueCheck = { _ in }) throws(WrongValue) -> String {
    guard !text.isEmpty else { throw WrongValue("must not be empty") }
    try check(text)
    return text
}
