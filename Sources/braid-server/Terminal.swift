import BraidRuntime
import Glibc
import Synchronization

enum StandardOutput {
    static func print(_ line: String) throws { try print(Array(line.utf8)) }

    /// Adds a line feed.
    static func print(_ bytes: [UInt8]) throws {
        guard Files.write(bytes + [UInt8(ascii: "\n")], to: STDOUT_FILENO) else {
            throw Failure("The result could not be written: \(String(cString: strerror(errno))).")
        }
    }
}

/// Shown on stderr, if that is a terminal and the task takes longer than a second.
final class Progress: Sendable {
    private let title: String
    private let state: Mutex<(next: ContinuousClock.Instant, shown: Bool)>
    private let isShown = isatty(STDERR_FILENO) == 1

    init(_ title: String) {
        self.title = title
        state = Mutex((.now + .seconds(1), false))
    }

    /// Call it often: writes at most twice a second.
    func show(part: Int, of whole: Int) {
        guard isShown else { return }
        let isDue = state.withLock { state in
            guard ContinuousClock.now >= state.next else { return false }
            state = (.now + .milliseconds(500), true)
            return true
        }
        if isDue { write("\r\(title): \(min(100, 100 * part / max(1, whole))) %") }
    }

    func end() {
        if state.withLock({ $0.shown }) { write("\r\u{1B}[K") }
    }

    private func write(_ text: String) { Files.write(text.utf8, to: STDERR_FILENO) }
}

/// After SIGINT or SIGTERM, lets a command end itself and remove unfinished files.
enum Interruption {
    private static let isRequested = Atomic(false)

    /// From now on, call `check` or read `isPending` often. A file that becomes too large fails the write instead of
    /// ending the process.
    static func prepare() {
        // No SA_RESTART: signals also interrupt waiting system calls, such as a read from a pipe.
        var action = sigaction()
        action.__sigaction_handler.sa_handler = { _ in Interruption.isRequested.store(true, ordering: .relaxed) }
        for number in [SIGINT, SIGTERM] { sigaction(number, &action, nil) }
        signal(SIGXFSZ, SIG_IGN)
    }

    static var isPending: Bool { isRequested.load(ordering: .relaxed) }

    static func check() throws {
        if isPending { throw Failure("Interrupted. Nothing was left behind.") }
    }
}
