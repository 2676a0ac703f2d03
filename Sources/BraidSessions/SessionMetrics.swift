import BraidEngine
import Synchronization

/// Counts of what sessions do. Any thread adds to them, without a lock.
///
/// No count is kept by anything that a client chose, such as a session or a token.
package final class SessionMetrics: Sendable {
    package let commands = CommandCounters()
    /// Readers of streams that did not keep up, and were sent a snapshot in place of what they missed.
    package let streamsBehind = Counter()
    /// Commits that another server on the same database came before.
    package let lostRaces = Counter()
    /// Revisions that other servers on the same database committed, and that this server took over.
    package let revisionsOfOthers = Counter()
}

/// A number that only grows.
package final class Counter: Sendable {
    private let count = Atomic<Int>(0)

    package init() {}

    package func add(_ amount: Int = 1) { count.wrappingAdd(amount, ordering: .relaxed) }
    package var value: Int { count.load(ordering: .relaxed) }
}

/// Commands, by what they were and what became of them.
package final class CommandCounters: Sendable {
    package enum Outcome: String, CaseIterable {
        case applied, unchanged, ignored
        /// Computed and not carried out, as it was asked.
        case dryRun = "dry-run"
        /// The client's doing.
        case refused
        /// The server's or its disk's.
        case failed
    }

    private static let kinds = CommandKind.all.map(\.name)
    private let counters = kinds.map { _ in Outcome.allCases.map { _ in Counter() } }

    func count(_ command: Command, _ outcome: Outcome) {
        guard let kind = Self.kinds.firstIndex(of: command.kind.name),
            let outcome = Outcome.allCases.firstIndex(of: outcome)
        else { return }
        counters[kind][outcome].add()
    }

    /// Counts what a command was refused by, or failed with.
    func count(_ command: Command, thrown error: any Error) {
        if error is StaleSession { return }  // to be tried again
        count(command, SessionError.isRefusal(error) ? .refused : .failed)
    }

    package var all: [(kind: String, outcome: Outcome, count: Int)] {
        zip(Self.kinds, counters).flatMap { kind, row in
            zip(Outcome.allCases, row).compactMap { $1.value > 0 ? (kind, $0, $1.value) : nil }
        }
    }
}

extension Session.Answer {
    var outcome: CommandCounters.Outcome {
        switch kind {
        case .applied: .applied
        case .unchanged: .unchanged
        case .ignored: .ignored
        }
    }
}
