/// A command of `braid-server`.
///
/// A command declares its arguments and options as values. The parser, the environment variables and the help all
/// follow from these declarations. The default of an option is the value of its property after `init()`.
protocol ServerCommand: Sendable {
    static var name: String { get }
    /// One sentence.
    static var abstract: String { get }
    /// The paragraphs of the help, one in a line.
    static var discussion: String { get }
    /// The arguments without a name, in their order.
    static var arguments: [CommandArgument<Self>] { get }
    static var options: [CommandOption<Self>] { get }
    /// Whether each option is also an environment variable.
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
