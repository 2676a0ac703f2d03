import CEpoll

/// The command line of the process.
public enum ProcessArguments {
    /// The program's name and its arguments; empty if they cannot be read. Swift's `CommandLine.arguments` needs
    /// `/proc`, which a root directory may lack; with glibc this does not.
    public static var all: [String] {
        let count = cepoll_argument_count()
        guard count > 0 else { return CommandLine.arguments }
        return (0..<count).compactMap { cepoll_argument($0).map { String(cString: $0) } }
    }
}
