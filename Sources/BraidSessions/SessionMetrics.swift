import BraidEngine
import Synchronization

/// No label is a value that clients choose, such as a session's ID.
package final class SessionMetrics: Sendable {
    package let commands = CommandCounters()
    /// A stream's queue was full, or its next change no longer in memory.
    package let streamsBehind = Counter()
    /// Commits that another server made first.
    package let lostRaces = Counter()
    /// Applied to this server's copies.
    package let revisionsOfOthers = Counter()
}

/// Only grows; needs no lock.
package final class Counter: Sendable {
    private let count = Atomic<Int>(0)

    package init() {}

    package func add(_ amount: Int = 1) { count.wrappingAdd(amount, ordering: .relaxed) }
    package var value: Int { count.load(ordering: .relaxed) }
}

package final class CommandCounters: Sendable {
    package enum Outcome: String, CaseIterable {
        case applied, unchanged, ignored
        case dryRun = "dry-run"
        case refused
        /// Not the client's fault, or it disconnected while waiting.
        case failed

        init(_ kind: BraidEngine.Outcome.Kind) {
            self =
                switch kind {
                case .applied: .applied
                case .unchanged: .unchanged
                case .ignored: .ignored
                }
        }
    }

    private static let kinds = CommandKind.all.map(\.name)
    private let counters = kinds.map { _ in Outcome.allCases.map { _ in Counter() } }

    func count(_ kind: CommandKind, _ outcome: Outcome) {
        guard let kind = Self.kinds.firstIndex(of: kind.name),
            let outcome = Outcome.allCases.firstIndex(of: outcome)
        else { return }
        counters[kind][outcome].add()
    }

    func count(_ kind: CommandKind, thrown error: any Error) {
        // Will be executed again.
        if error is StaleSession { return }
        count(kind, SessionError.isRefusal(error) ? .refused : .failed)
    }

    package var all: [(kind: String, outcome: Outcome, count: Int)] {
        zip(Self.kinds, counters).flatMap { kind, row in
            zip(Outcome.allCases, row).compactMap { $1.value > 0 ? (kind, $0, $1.value) : nil }
        }
    }
}
