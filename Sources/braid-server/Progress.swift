import BraidRuntime
import Glibc
import Synchronization

/// The progress of a long task such as a backup, in percent, for the person who runs the command. The progress is
/// written to stderr only if stderr is a terminal and the task takes longer than a second.
final class Progress: Sendable {
    private let title: String
    private let state: Mutex<(next: ContinuousClock.Instant, shown: Bool)>
    private let isShown = isatty(STDERR_FILENO) == 1

    init(_ title: String) {
        self.title = title
        state = Mutex((.now + .seconds(1), false))
    }

    /// Shows how much of the task is done. The method can be called often: it writes to stderr at most twice a second.
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
