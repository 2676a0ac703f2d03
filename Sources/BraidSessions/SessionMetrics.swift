import BraidEngine
import Synchronization

/// Counters of what the server's sessions do. None is labelled with a value that clients choose, such as a session.
package final class SessionMetrics: Sendable {
    package let commands = CommandCounters()
    /// How often an event stream fell behind: its queue was full, or the feed no longer had its next change in memory.
    package let streamsBehind = Counter()
    /// How often another server on the same database had committed a revision first.
    package let lostRaces = Counter()
    /// The other servers' revisions that this one has applied to its copies.
    package let revisionsOfOthers = Counter()
}

/// A number that only grows. Threads can increment it without a lock.
package final class Counter: Sendable {
    private let count = Atomic<Int>(0)

    package init() {}

    package func add(_ amount: Int = 1) { count.wrappingAdd(amount, ordering: .relaxed) }
    package var value: Int { count.load(ordering: .relaxed) }
}

package final class CommandCounters: Sendable {
    package enum Outcome: String, CaseIterable {
        case applied, unchanged, ignored
        /// The request asked for a dry run: the command was only computed, not stored.
        case dryRun = "dry-run"
        case refused
        /// The command failed because of the server, its disk or its load, or the client disconnected while it waited.
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
        // The caller executes the command again. Only the outcome of the last attempt is counted.
        if error is StaleSession { return }
        count(kind, SessionError.isRefusal(error) ? .refused : .failed)
    }

    /// The combinations of kind and outcome that have occurred.
    package var all: [(kind: String, outcome: Outcome, count: Int)] {
        zip(Self.kinds, counters).flatMap { kind, row in
            zip(Outcome.allCases, row).compactMap { $1.value > 0 ? (kind, $0, $1.value) : nil }
        }
    }
}
