import BraidRuntime
import Synchronization

/// Tells those who follow a session what was committed, in the order of revisions.
///
/// `publish` only notes a change and wakes: one task at a time, the pump, then writes to the queues of all subscribers,
/// so that a command waits neither for them nor for their number. Nobody is told by handing over "the next" change:
/// every follower has a position, and is told what comes after it. So there is no gap, no duplicate and no moment that
/// must be met between reading a snapshot and being subscribed.
final class ChangeFeed: Sendable {
    /// Why no more changes come.
    enum End: Sendable {
        /// The session was ended.
        case ended
        /// The session was dropped from memory: who comes back, with a position, finds it again.
        case dropped
    }

    private struct State {
        var recent: RecentChanges
        var end: End?
        var subscribers: [ObjectIdentifier: Subscriber] = [:]
        var waiting: [Int: (after: Int, continuation: CheckedContinuation<RecentChanges, Never>)] = [:]
        var nextWaiting = 0
        var hasNews = false
        var isPumping = false
        var isCommenting = false
        /// The highest revision that another server is said to have come to.
        var heard = 0
        /// The event with the snapshot that was asked for last, while there are subscribers.
        var snapshotEvent: SnapshotEvent?

        var isFollowed: Bool { !subscribers.isEmpty || !waiting.isEmpty }
    }

    private let state: Mutex<State>
    /// What is to be done when somebody follows and there is a revision that was heard of and not published.
    private let missing = Mutex<(@Sendable () -> Void)?>(nil)
    let limits: StreamLimits
    /// Readers that did not keep up, of all sessions.
    let behind: Counter

    init(revision: Int, limits: StreamLimits, behind: Counter) {
        self.limits = limits
        self.behind = behind
        state = Mutex(State(recent: RecentChanges(last: revision, limits: limits)))
    }

    func onMissing(_ body: @escaping @Sendable () -> Void) { missing.withLock { $0 = body } }

    /// Notes that another server has come to a revision. True: somebody follows, to whom it is news.
    func hear(revision: Int) -> Bool {
        state.withLock { state in
            state.heard = max(state.heard, revision)
            return state.isFollowed && state.heard > state.recent.last
        }
    }

    /// After somebody has begun to follow: what was heard of before was nobody's concern.
    private func lookForMissing() {
        if state.withLock({ $0.heard > $0.recent.last }) { missing.withLock { $0 }?() }
    }

    /// Notes a committed revision, one after the other. The change is made only if somebody follows.
    func publish(revision: Int, _ change: () -> Change) {
        let (woken, recent, startsPump) = state.withLock { state in
            guard state.isFollowed else {
                state.recent.skip(to: revision)
                return ([CheckedContinuation<RecentChanges, Never>](), state.recent, false)
            }
            state.recent.append(change())
            let recent = state.recent
            return (Self.takingWaiting(before: revision, &state), recent, Self.noteNews(&state))
        }
        for continuation in woken { continuation.resume(returning: recent) }
        if startsPump { startPump() }
    }

    /// No more changes come. The first reason stands.
    func close(_ end: End) {
        let (woken, recent, startsPump) = state.withLock { state in
            state.end = state.end ?? end
            return (Self.takingWaiting(before: .max, &state), state.recent, Self.noteNews(&state))
        }
        for continuation in woken { continuation.resume(returning: recent) }
        if startsPump { startPump() }
    }

    /// No more changes come, unless somebody follows: then nothing happens, and false is given.
    func closeIfUnfollowed() -> Bool {
        state.withLock { state in
            if !state.isFollowed { state.end = state.end ?? .dropped }
            return !state.isFollowed
        }
    }

    var isFollowed: Bool { state.withLock { $0.isFollowed } }

    /// How many follow: by streams, and by long polls.
    var followers: (subscribers: Int, polls: Int) { state.withLock { ($0.subscribers.count, $0.waiting.count) } }

    /// What is kept of the last changes, and whether more may come.
    var recent: (changes: RecentChanges, end: End?) { state.withLock { ($0.recent, $0.end) } }

    /// Takes out the long polls to which the revision is news.
    private static func takingWaiting(before revision: Int, _ state: inout State) -> [CheckedContinuation<
        RecentChanges, Never
    >] {
        let woken = state.waiting.filter { $0.value.after < revision }
        for number in woken.keys { state.waiting[number] = nil }
        if !state.isFollowed { state.recent.forget() }
        return woken.values.map(\.continuation)
    }

    // MARK: Subscribers

    /// From now on changes are kept for the subscriber. False when no more will come.
    func add(_ subscriber: Subscriber) -> Bool {
        let (isOpen, startsComments) = state.withLock { state in
            guard state.end == nil else { return (false, false) }
            state.subscribers[ObjectIdentifier(subscriber)] = subscriber
            defer { state.isCommenting = true }
            return (true, !state.isCommenting)
        }
        if startsComments { Task { await comment() } }
        lookForMissing()
        return isOpen
    }

    func remove(_ subscriber: Subscriber) {
        state.withLock { state in
            state.subscribers[ObjectIdentifier(subscriber)] = nil
            if state.subscribers.isEmpty { state.snapshotEvent = nil }
            if !state.isFollowed { state.recent.forget() }
        }
    }

    /// Wakes the pump for a subscriber that has become live, if there is something that it was not told yet.
    func resume(after revision: Int) {
        let startsPump = state.withLock { state in
            revision < state.recent.last || state.end != nil ? Self.noteNews(&state) : false
        }
        if startsPump { startPump() }
    }

    /// The event with the session's snapshot, shared by all who start from the same revision. Nil for who has left.
    func snapshotEvent(of session: Session, for subscriber: Subscriber) -> (revision: Int, event: EventBytes)? {
        snapshotEvent(at: session.current.snapshot.revision, for: subscriber) {
            let (revision, snapshot) = session.encodedSnapshot()
            var bytes: [UInt8] = []
            bytes.reserveCapacity(snapshot.count + 64)
            ServerSentEvent.append("snapshot", id: "\(session.epoch).\(revision)", data: snapshot, to: &bytes)
            return (revision, EventBytes(bytes))
        }
    }

    /// `encode` takes its time, and gives the snapshot of that revision or a later one. Nobody waits for it but those
    /// who need what it gives: a reader that leaves meanwhile does so on an event loop's thread.
    func snapshotEvent(
        at revision: Int, for subscriber: Subscriber, _ encode: () -> (revision: Int, event: EventBytes)
    ) -> (revision: Int, event: EventBytes)? {
        let event: SnapshotEvent? = state.withLock { state in
            guard state.subscribers[ObjectIdentifier(subscriber)] != nil else { return nil }
            if let event = state.snapshotEvent, event.asked >= revision { return event }
            let new = SnapshotEvent(asked: revision)
            state.snapshotEvent = new
            return new
        }
        return event?.encoded(encode)
    }

    /// Encoded by the first who asks, while the others wait for it.
    private final class SnapshotEvent: Sendable {
        /// The snapshot is of this revision or a later one.
        let asked: Int
        private let event = Mutex<(revision: Int, event: EventBytes)?>(nil)

        init(asked: Int) { self.asked = asked }

        func encoded(_ encode: () -> (revision: Int, event: EventBytes)) -> (revision: Int, event: EventBytes) {
            event.withLock { event in
                let known = event ?? encode()
                event = known
                return known
            }
        }
    }

    /// Whether the pump is to be started.
    private static func noteNews(_ state: inout State) -> Bool {
        state.hasNews = true
        guard !state.isPumping, !state.subscribers.isEmpty else { return false }
        state.isPumping = true
        return true
    }

    private func startPump() {
        Task(executorPreference: Workers.shared.short) {
            while let (subscribers, recent, end) = self.news() {
                for subscriber in subscribers.values { subscriber.advance(through: recent, end) }
                await Task.yield()
            }
        }
    }

    /// What the pump is to tell, and to whom; nil when it has told everything.
    private func news() -> ([ObjectIdentifier: Subscriber], RecentChanges, End?)? {
        state.withLock { state in
            guard state.hasNews else {
                state.isPumping = false
                return nil
            }
            state.hasNews = false
            return (state.subscribers, state.recent, state.end)
        }
    }

    /// Runs while there are subscribers.
    private func comment() async {
        while true {
            try? await Task.sleep(for: limits.commentInterval)
            let subscribers = state.withLock { state in
                state.isCommenting = !state.subscribers.isEmpty
                return state.subscribers
            }
            if subscribers.isEmpty { return }
            for subscriber in subscribers.values { subscriber.stream.write(ServerSentEvent.comment) }
        }
    }
}

// MARK: - Long polling

extension ChangeFeed {
    /// Returns the recent changes when there is one after `revision`, or no more will come, or the time is over, or the
    /// task is cancelled.
    func changes(after revision: Int, waiting time: Duration) async -> RecentChanges {
        await withTaskGroup(of: RecentChanges?.self) { group in
            group.addTask { await self.nextChange(after: revision) }
            group.addTask {
                try? await Task.sleep(for: time)
                return nil
            }
            let first = await group.next() ?? nil
            group.cancelAll()
            return first ?? recent.changes
        }
    }

    private func nextChange(after revision: Int) async -> RecentChanges {
        let number = state.withLock { state in
            state.nextWaiting += 1
            return state.nextWaiting
        }
        return await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                let now: RecentChanges? = state.withLock { state in
                    // A cancellation before this is seen here, one after it finds the continuation.
                    if state.recent.last > revision || state.end != nil || Task.isCancelled { return state.recent }
                    state.waiting[number] = (revision, continuation)
                    return nil
                }
                if let now { continuation.resume(returning: now) }
                lookForMissing()
            }
        } onCancel: {
            let (waiting, recent) = state.withLock { state in
                let waiting = state.waiting.removeValue(forKey: number)
                defer { if !state.isFollowed { state.recent.forget() } }
                return (waiting, state.recent)
            }
            waiting?.continuation.resume(returning: recent)
        }
    }
}
