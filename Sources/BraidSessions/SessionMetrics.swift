import BraidEngine
import Synchronization

/// Counters of what the server's sessions do, for the metrics. Every thread can increment the counters without a lock.
///
/// No counter is labelled with a value that clients choose, such as a session or a token.
package final class SessionMetrics: Sendable {
    package let commands = CommandCounters()
    /// The number of times that an event stream fell behind: its queue was full, or the feed no longer had the stream's
    /// next change in memory. The stream then continues with the changes that are in memory, or with a snapshot.
    package let streamsBehind = Counter()
    /// The number of this server's commits that failed because another server on the same database had committed that
    /// revision first.
    package let lostRaces = Counter()
    /// The number of revisions that other servers on the same database committed, and that this server applied to its
    /// copy of the session.
    package let revisionsOfOthers = Counter()
}

/// A number that only grows. Threads can increment it without a lock.
package final class Counter: Sendable {
    private let count = Atomic<Int>(0)

    package init() {}

    package func add(_ amount: Int = 1) { count.wrappingAdd(amount, ordering: .relaxed) }
    package var value: Int { count.load(ordering: .relaxed) }
}

/// Counters of the executed commands, by kind and outcome.
package final class CommandCounters: Sendable {
    package enum Outcome: String, CaseIterable {
        case applied, unchanged, ignored
        /// The request asked for a dry run: the command was only computed, not stored.
        case dryRun = "dry-run"
        /// The command failed because of an error of the client.
        case refused
        /// The command failed because of the server, its disk or its load. Or the client disconnected while the command
        /// waited for the session's lock.
        case failed
    }

    private static let kinds = CommandKind.all.map(\.name)
    private let counters = kinds.map { _ in Outcome.allCases.map { _ in Counter() } }

    func count(_ kind: CommandKind, _ outcome: Outcome) {
        guard let kind = Self.kinds.firstIndex(of: kind.name),
            let outcome = Outcome.allCases.firstIndex(of: outcome)
        else { return }
        counters[kind][outcome].add()
    }

    /// Counts a command whose execution threw `error`, as refused or as failed.
    func count(_ kind: CommandKind, thrown error: any Error) {
        // After the error `StaleSession`, the caller executes the command again. Only the outcome of the last attempt
        // is counted.
        if error is StaleSession { return }
        count(kind, SessionError.isRefusal(error) ? .refused : .failed)
    }

    /// The numbers of commands by kind and outcome. Combinations of kind and outcome that have not occurred are left
    /// out.
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
