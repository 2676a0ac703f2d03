/// A command of `braid-server`.
///
/// A command declares its arguments and options as values. The parser, the environment variables and the help use these
/// declarations. The default of an option is the value that its property has after `init()`.
protocol ServerCommand: Sendable {
    static var name: String { get }
    /// The command's purpose in one sentence, for the help.
    static var abstract: String { get }
    /// The paragraphs of the command's help, one in each line.
    static var discussion: String { get }
    /// The arguments that have no `--name`, such as file names, in their order.
    static var arguments: [CommandArgument<Self>] { get }
    static var options: [CommandOption<Self>] { get }
    /// Whether the command also reads each option from an environment variable.
    static var readsEnvironment: Bool { get }

    init()
    func run() async throws
}

extension ServerCommand {
    static var arguments: [CommandArgument<Self>] { [] }
    static var options: [CommandOption<Self>] { [] }
    static var readsEnvironment: Bool { false }

    /// The names of the command's environment variables.
    static var variables: [String] { readsEnvironment ? options.map(\.variable) : [] }
}

/// A mistake in the command line or in an environment variable. The message is one or more sentences for the user.
struct UsageError: Error {
    let message: String
    init(_ message: String) { self.message = message }
}
