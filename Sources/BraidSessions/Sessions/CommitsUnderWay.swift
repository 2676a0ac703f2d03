import BraidEngine
import BraidStore
import Synchronization

/// A session's commits that the store has been given and has not confirmed yet, in order.
///
/// The next command is applied to what the last of them leads to, so commands of one session share disk flushes. What
/// is not confirmed is neither published nor answered. If the store refuses one, those on top of it fail as well, and
/// are executed again.
final class CommitsUnderWay: Sendable {
    private struct State {
        var commits: [PendingCommit] = []
        var bytes = 0
        /// Whether one has failed while others were on top of it. Until these have failed, no command may be applied.
        var isBroken = false
        var awaiting: (need: Need, holder: CheckedContinuation<Void, Never>)?

        mutating func remove(_ range: some RangeExpression<Int>) {
            bytes -= commits[range].reduce(0) { $0 + $1.bytes }
            commits.removeSubrange(range)
        }

        func meets(_ need: Need) -> Bool {
            switch need {
            case .room:
                // Smaller commits may be stored before a large one.
                !isBroken && commits.last?.isLarge != true && commits.count < CommitsUnderWay.mostCommits
                    && bytes < CommitsUnderWay.mostBytes
            case .none: commits.isEmpty
            }
        }
    }

    private enum Need { case room, none }

    /// As many as share a flush at best: more would only wait.
    private static let mostCommits = 256
    private static let mostBytes = 8 << 20

    private let state = Mutex(State())

    var isEmpty: Bool { state.withLock { $0.commits.isEmpty } }

    // MARK: For the holder of the session's lock

    /// The state to which the next command is applied, and the last commit under way, which may still fail.
    typealias Latest = (state: Session.Committed, unconfirmed: PendingCommit?)

    func latest(in session: Session) async -> Latest {
        while true {
            await wait(for: .room)
            if let latest = latestAtOnce(in: session) { return latest }
        }
    }

    /// `nil` if the next command must wait.
    func latestAtOnce(in session: Session) -> Latest? {
        state.withLock { state in
            guard state.meets(.room) else { return nil }
            guard let last = state.commits.last else { return (session.current, nil) }
            return (last.after, last)
        }
    }

    /// Returns when the store has confirmed or refused all commits.
    func settled() async { await wait(for: .none) }

    func append(_ commit: PendingCommit) {
        state.withLock {
            $0.commits.append(commit)
            $0.bytes += commit.bytes
        }
    }

    /// The journal records that the store may not have yet.
    var records: [JournalRecord] { state.withLock { $0.commits.map(\.record) } }

    private func wait(for need: Need) async {
        if state.withLock({ $0.meets(need) }) { return }
        await withCheckedContinuation { holder in
            let isMet = state.withLock { state in
                if state.meets(need) { return true }
                state.awaiting = (need, holder)
                return false
            }
            if isMet { holder.resume() }
        }
    }

    // MARK: On a thread of the store

    /// Publishes what the store now has, and gives each commit its result. The store reports successes one at a time.
    func finish(_ commit: PendingCommit, _ result: Result<Void, any Error>, of session: Session) {
        // A commit is stored only on top of those before it. So its success confirms them, even if the connection to
        // the database was lost before they were.
        var confirmed: [PendingCommit] = []
        if case .success = result {
            confirmed = state.withLock { state in
                state.commits.firstIndex { $0 === commit }.map { Array(state.commits[...$0]) } ?? []
            }
            // Before they leave the list: `latest` never returns less than the store has.
            for stored in confirmed where !session.isStale { session.advance(by: stored.execution, to: stored.after) }
        }
        var result = result
        let holder: CheckedContinuation<Void, Never>? = state.withLock { state in
            if let index = state.commits.firstIndex(where: { $0 === commit }) {
                switch result {
                case .success: state.remove(...index)
                case .failure(let error):
                    let isOnTop = state.isBroken && (error as? StoreError) == .revisionConflict
                    result = .failure(isOnTop ? Superseded() : session.failed(error))
                    state.remove(index...index)
                    state.isBroken = index < state.commits.count || state.isBroken
                }
            }
            if state.commits.isEmpty { state.isBroken = false }
            guard let awaiting = state.awaiting, state.meets(awaiting.need) else { return nil }
            state.awaiting = nil
            return awaiting.holder
        }
        holder?.resume()
        for earlier in confirmed.dropLast() { earlier.finish(.success(())) }
        commit.finish(result)
    }
}

/// A commit under way: a latch with a result.
final class PendingCommit: Sendable {
    let execution: Execution
    let after: Session.Committed
    let record: JournalRecord
    let bytes: Int
    let isLarge: Bool
    private let state = Mutex<(result: Result<Void, any Error>?, waiting: [CheckedContinuation<Void, any Error>])>(
        (nil, []))

    init(_ execution: Execution, _ commit: SessionCommit) {
        self.execution = execution
        after = execution.before.advanced(by: execution)
        record = commit.record
        bytes = commit.journalBytes
        isLarge = commit.isLarge
    }

    /// Returns when the commit is stored, even if the task is cancelled meanwhile.
    func stored() async throws {
        try await withCheckedThrowingContinuation { continuation in
            let result = state.withLock { state in
                if state.result == nil { state.waiting.append(continuation) }
                return state.result
            }
            if let result { continuation.resume(with: result) }
        }
    }

    fileprivate func finish(_ result: Result<Void, any Error>) {
        let waiting = state.withLock { state in
            defer { state = (state.result ?? result, []) }
            return state.waiting
        }
        for continuation in waiting { continuation.resume(with: result) }
    }
}

/// The commit on which this one was based is not stored, so neither is this one: execute the command again.
struct Superseded: Error {}
