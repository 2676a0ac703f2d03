/// The help, 80 columns wide.
enum CommandHelp {
    private static let width = 80
    private static let column = 26

    static func text(program: String, abstract: String, discussion: String, commands: [any ServerCommand.Type])
        -> String
    {
        let rows = commands.enumerated().map { number, command in
            (label: number == 0 ? "\(command.name) (default)" : command.name, text: command.abstract)
        }
        return """
            \(wrapped("OVERVIEW: \(abstract)"))

            \(wrapped(discussion))

            USAGE: \(program) <subcommand>

            \(list("OPTIONS", standardOptions))

            \(list("SUBCOMMANDS", rows))

              See '\(program) help <subcommand>' for detailed help.
            """
    }

    static func text<Command: ServerCommand>(of command: Command.Type, program: String) -> String {
        let defaults = Command()
        let options = Command.options.map { option in
            (heading: option.heading?.uppercased() ?? "OPTIONS", row: row(option, defaults: defaults))
        }
        var headings: [String] = []
        for option in options where option.heading != "OPTIONS" && !headings.contains(option.heading) {
            headings.append(option.heading)
        }
        var parts = [wrapped("OVERVIEW: \(Command.abstract)"), wrapped(Command.discussion)]
        parts.append("USAGE: " + usage(of: command, program: program))
        if !Command.arguments.isEmpty {
            parts.append(list("ARGUMENTS", Command.arguments.map { ("<\($0.name)>", $0.help) }))
        }
        parts.append(list("OPTIONS", options.filter { $0.heading == "OPTIONS" }.map(\.row) + standardOptions))
        parts += headings.map { heading in list(heading, options.filter { $0.heading == heading }.map(\.row)) }
        return parts.joined(separator: "\n\n")
    }

    /// `braid-server diff <from> <to> [--form <form>]`
    static func usage<Command: ServerCommand>(of command: Command.Type, program: String) -> String {
        let start = "\(program) \(Command.name)"
        let arguments = Command.arguments.map { argument in
            switch argument.form {
            case .required: " <\(argument.name)>"
            case .optional: " [<\(argument.name)>]"
            case .repeated: " <\(argument.name)> ..."
            }
        }
        let options = Command.options.map { " [\(label($0))]" }.joined()
        let line = start + arguments.joined() + options
        return "USAGE: \(line)".count <= width ? line : start + arguments.joined() + " <options>"
    }

    // MARK: Lists

    private typealias Row = (label: String, text: String)

    private static let standardOptions: [Row] = [
        ("--version", "Show the version."), ("-h, --help", "Show help information."),
    ]

    private static func label<Settings>(_ option: CommandOption<Settings>) -> String {
        option.form == .flag ? "--\(option.name)" : "--\(option.name) <\(option.name)>"
    }

    private static func row<Settings>(_ option: CommandOption<Settings>, defaults: Settings) -> Row {
        var notes: [String] = []
        if !option.choices.isEmpty { notes.append("values: \(option.choices.joined(separator: ", "))") }
        if option.form != .flag, let value = option.current(defaults) { notes.append("default: \(value)") }
        return (label(option), option.help + (notes.isEmpty ? "" : " (\(notes.joined(separator: "; ")))"))
    }

    private static func list(_ heading: String, _ rows: [Row]) -> String {
        let lines = rows.map { label, text in
            let text = wrapped(text, indent: column), label = "  \(label)"
            guard label.count < column else { return "\(label)\n\(text)" }
            return label + text.dropFirst(label.count)
        }
        return "\(heading):\n" + lines.joined(separator: "\n")
    }

    // MARK: Lines

    private static func wrapped(_ text: String, indent: Int = 0) -> String {
        let start = String(repeating: " ", count: indent)
        return text.split(separator: "\n", omittingEmptySubsequences: false).map { paragraph in
            var lines: [String] = [], line = start
            for word in paragraph.split(separator: " ") {
                if line.count > indent, line.count + 1 + word.count > width {
                    lines.append(line)
                    line = start
                }
                line += line.count > indent ? " \(word)" : word
            }
            return (lines + [line]).joined(separator: "\n")
        }.joined(separator: "\n")
    }
}
