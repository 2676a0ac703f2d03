import Glibc
import Synchronization

/// Lets a command end itself after SIGINT or SIGTERM, so that the command can remove its unfinished files.
enum Interruption {
    private static let isRequested = Atomic(false)

    /// After this call, SIGINT and SIGTERM no longer end the process. The command must call `check` or read `isPending`
    /// often. If a file becomes too large for the process, the write fails, and the signal SIGXFSZ does not end the
    /// process.
    static func prepare() {
        // Without the flag SA_RESTART, a signal also interrupts a waiting system call, such as a read from a pipe.
        var action = sigaction()
        action.__sigaction_handler.sa_handler = { _ in Interruption.isRequested.store(true, ordering: .relaxed) }
        for number in [SIGINT, SIGTERM] { sigaction(number, &action, nil) }
        signal(SIGXFSZ, SIG_IGN)
    }

    static var isPending: Bool { isRequested.load(ordering: .relaxed) }

    /// Throws a `Failure` if the process has received SIGINT or SIGTERM.
    static func check() throws {
        if isPending { throw Failure("Interrupted. Nothing was left behind.") }
    }
}
