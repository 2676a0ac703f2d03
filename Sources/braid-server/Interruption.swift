import Glibc
import Synchronization

/// Ends a command at SIGINT or SIGTERM in an orderly way, so that the command can remove its unfinished files.
enum Interruption {
    private static let isRequested = Atomic(false)

    /// From now on, the two signals do not end the process. The command must call `check` or read `isPending` often. A
    /// file of the largest size that the process may write is an error instead of a signal.
    static func prepare() {
        // Without SA_RESTART, a signal also ends a system call that waits, such as the read of a pipe.
        var action = sigaction()
        action.__sigaction_handler.sa_handler = { _ in Interruption.isRequested.store(true, ordering: .relaxed) }
        for number in [SIGINT, SIGTERM] { sigaction(number, &action, nil) }
        signal(SIGXFSZ, SIG_IGN)
    }

    static var isPending: Bool { isRequested.load(ordering: .relaxed) }

    /// Throws a `Failure` after one of the signals.
    static func check() throws {
        if isPending { throw Failure("Interrupted. Nothing was left behind.") }
    }
}
