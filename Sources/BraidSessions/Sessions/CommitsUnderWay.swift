import BraidEngine
import BraidRuntime
import BraidStore
import Synchronization

/// A session's commits that are not stored yet, in order. The next command is applied to what the last one leads to.
///
/// While the store writes some, others gather here, and get to it together: they share its transaction and disk flush.
/// Each is published and answered after it is stored. If one fails, so do all on top of it, which are executed again.
final class CommitsUnderWay: Sendable {
    private struct State {
        var commits: [PendingCommit] = []
        /// The store has been given the first ones.
        var sent = 0
        var cost = 0
        /// One has failed. Until the store has refused those on top of it, no command may be applied.
        var isBroken = false
        var awaiting: (need: Need, holder: CheckedContinuation<Void, Never>)?

        func meets(_ need: Need) -> Bool {
            switch need {
            case .room: !isBroken && cost < CommitsUnderWay.mostCost
            case .none: commits.isEmpty
            }
        }

        /// Those that get one transaction. The store may keep a large one for a later one.
        mutating func nextBatch() -> [PendingCommit] {
            guard sent == 0 else { return [] }
            let small = commits.prefix { !$0.commit.isLarge }
            let batch = small.isEmpty ? commits.prefix(1) : small
            sent = batch.count
            return Array(batch)
        }

        /// Returns what must be executed again.
        mutating func remove(_ commit: PendingCommit, isStored: Bool) -> [PendingCommit] {
            guard let index = commits.firstIndex(where: { $0 === commit }) else { return [] }
            commits.remove(at: index)
            cost -= commit.cost
            sent -= 1
            defer { isBroken = sent > 0 && (isBroken || !isStored) }
            if isStored { return [] }
            let dropped = Array(commits[sent...])
            commits.removeSubrange(sent...)
            cost -= dropped.reduce(0) { $0 + $1.cost }
            return dropped
        }

        mutating func takeHolder() -> CheckedContinuation<Void, Never>? {
            guard let (need, holder) = awaiting, meets(need) else { return nil }
            awaiting = nil
            return holder
        }
    }

    private enum Need { case room, none }

    /// Limits their number and bytes, and what others' commits may have to wait for: one may exceed it.
    static let mostCost = Workers.shortRows

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

    func settled() async { await wait(for: .none) }

    /// Throws `Superseded` if the state to which the command was applied is not committed after all.
    func append(_ commit: PendingCommit, of session: Session) throws {
        let batch: [PendingCommit]? = state.withLock { state in
            let latest = state.commits.last?.after ?? session.current
            guard !state.isBroken, commit.execution.before === latest else { return nil }
            state.commits.append(commit)
            state.cost += commit.cost
            latest.lead(to: commit.after, by: commit.execution)
            return state.nextBatch()
        }
        guard let batch else { throw Superseded() }
        send(batch, of: session)
    }

    /// The journal records that the store may not have yet.
    var records: [JournalRecord] { state.withLock { $0.commits.map(\.commit.record) } }

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

    // MARK: To and from the store

    private func send(_ batch: [PendingCommit], of session: Session) {
        for (index, pending) in batch.enumerated() {
            var commit = pending.commit
            commit.followsInTransaction = index > 0
            session.store.commit(commit) { [self] in finish(pending, $0, of: session) }
        }
    }

    /// On a thread of the store, which reports successes one at a time and in order.
    private func finish(_ commit: PendingCommit, _ result: Result<Void, any Error>, of session: Session) {
        // Before the commit leaves the list: `latest` never returns less than the store has.
        let result = result.mapError { error in
            let isOnTop = (error as? StoreError) == .revisionConflict && state.withLock { $0.isBroken }
            return isOnTop ? Superseded() : session.failed(error)
        }
        let isStored = (try? result.get()) != nil
        if isStored, !session.isStale { session.advance(by: commit.execution, to: commit.after) }
        let (dropped, next, holder) = state.withLock { state in
            let dropped = state.remove(commit, isStored: isStored)
            return (dropped, state.nextBatch(), state.takeHolder())
        }
        send(next, of: session)
        holder?.resume()
        commit.finish(result)
        for commit in dropped { commit.finish(.failure(Superseded())) }
        if commit.execution.text.count > Memory.largeBytes { Memory.trimSoon() }
    }
}

final class PendingCommit: Sendable {
    let execution: Execution
    let after: Session.Committed
    fileprivate let commit: SessionCommit
    private let state = Mutex<(result: Result<Void, any Error>?, waiting: [CheckedContinuation<Void, any Error>])>(
        (nil, []))

    init(_ execution: Execution, _ commit: SessionCommit) {
        self.execution = execution
        after = execution.before.advanced(by: execution)
        self.commit = commit
    }

    fileprivate var cost: Int { max(1, commit.cost) }

    /// Returns even if the task is cancelled meanwhile.
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
            defer { state = (result, []) }
            return state.waiting
        }
        for continuation in waiting { continuation.resume(with: result) }
    }
}

/// The state to which a command was applied is not committed, so neither is the command: execute it again.
struct Superseded: Error {}
