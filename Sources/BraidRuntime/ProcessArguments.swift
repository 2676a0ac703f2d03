import CEpoll

/// The command line of the process.
public enum ProcessArguments {
    /// The arguments with which the process was started. The first argument is the program's name. The array is empty
    /// if the arguments cannot be read.
    ///
    /// Swift's own `CommandLine.arguments` reads `/proc/self/cmdline`, so it is empty if the root directory has no
    /// `/proc`. With glibc, this property reads no file, so it does not need `/proc`.
    public static var all: [String] {
        let count = cepoll_argument_count()
        guard count > 0 else { return CommandLine.arguments }
        return (0..<count).compactMap { cepoll_argument($0).map { String(cString: $0) } }
    }
}
