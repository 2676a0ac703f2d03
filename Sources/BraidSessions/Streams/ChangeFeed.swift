import BraidRuntime
import Synchronization

/// Delivers a session's committed changes to its followers, in the order of revisions.
///
/// A follower is a subscriber with an event stream, or a waiting long poll. `publish` only stores a change, wakes the
/// long polls that wait for the change, and wakes the pump. The pump is a single task that writes to the queues of all
/// subscribers. The time of a command therefore does not depend on the number of event streams.
///
/// Every follower has a position and receives the changes after this position, or a snapshot in their place. A follower
/// can therefore read a snapshot and then subscribe, without a gap and without duplicates.
final class ChangeFeed: Sendable {
    /// The reason why a session's feed delivers no more changes to event streams and long polls.
    enum End: Sendable {
        /// The session was ended.
        case ended
        /// The session object is outdated, for example because the session was dropped from memory. A client that
        /// reconnects with its position makes the server load the session again.
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
        /// The highest revision of this session that another server has reported in a notification of the database.
        var heard = 0
        /// The encoded event with the latest snapshot that a subscriber of this feed needed. `nil` if the feed has no
        /// subscribers, or if none of them has needed a snapshot.
        var snapshotEvent: SnapshotEvent?

        /// The number of subscribers that follow a window.
        var windowSubscribers = 0
        /// The time until which the feed stores the tables before and after each new change, because a request has read
        /// a window.
        var windowsUntil: ContinuousClock.Instant?

        var isFollowed: Bool { !subscribers.isEmpty || !waiting.isEmpty }

        var hasWindowReaders: Bool { windowSubscribers > 0 || windowsUntil.map { $0 > .now } ?? false }

        /// Removes the recent changes from memory if the feed has no followers and no recent readers of windows.
        mutating func forgetUnneeded() {
            if !isFollowed, !hasWindowReaders { recent.forget() }
        }
    }

    /// The time for which the feed stores the tables before and after each new change, once a request has read a
    /// window. During this time, the client's next request can ask for an update of this window.
    private static let windowTime = Duration.seconds(60)

    private let state: Mutex<State>
    /// The action that reads a revision of another server from the database. The feed runs the action when a follower
    /// is added, if another server has reported a revision that is not published here yet.
    private let missing = Mutex<(@Sendable () -> Void)?>(nil)
    let limits: StreamLimits
    /// Counts how often an event stream fell behind. The feeds of all sessions share this counter.
    let behind: Counter

    init(revision: Int, limits: StreamLimits, behind: Counter) {
        self.limits = limits
        self.behind = behind
        state = Mutex(State(recent: RecentChanges(last: revision)))
    }

    func onMissing(_ body: @escaping @Sendable () -> Void) { missing.withLock { $0 = body } }

    /// Records that another server has committed `revision`. Returns whether the session has followers that have not
    /// received this revision.
    func hear(revision: Int) -> Bool {
        state.withLock { state in
            state.heard = max(state.heard, revision)
            return state.isFollowed && state.heard > state.recent.last
        }
    }

    /// Runs the action for missing revisions if another server has reported a revision that is not published here yet.
    /// Called when a follower is added.
    private func lookForMissing() {
        if state.withLock({ $0.heard > $0.recent.last }) { missing.withLock { $0 }?() }
    }

    /// Records that a request has read a window of the session.
    func noteWindowReader() { state.withLock { $0.windowsUntil = .now + Self.windowTime } }

    /// Passes a committed revision on to the session's followers. The caller must publish revisions in order. The
    /// method calls `change` only if the session has followers or recent readers of windows. The argument of `change`
    /// says whether the `Change` must contain the tables before and after the change.
    func publish(revision: Int, _ change: (_ hasTables: Bool) -> Change) {
        let (woken, recent, startsPump) = state.withLock { state in
            let hasTables = state.hasWindowReaders
            guard state.isFollowed || hasTables else {
                state.recent.skip(to: revision)
                return ([CheckedContinuation<RecentChanges, Never>](), state.recent, false)
            }
            state.recent.append(change(hasTables), limits: limits)
            let recent = state.recent
            return (Self.takingWaiting(before: revision, &state), recent, Self.noteNews(&state))
        }
        for continuation in woken { continuation.resume(returning: recent) }
        if startsPump { startPump() }
    }

    /// Closes the feed: wakes the waiting long polls, passes the reason `end` to the event streams, and delivers no
    /// more changes. If the feed is already closed, the first reason remains.
    func close(_ end: End) {
        let (woken, recent, startsPump) = state.withLock { state in
            state.end = state.end ?? end
            return (Self.takingWaiting(before: .max, &state), state.recent, Self.noteNews(&state))
        }
        for continuation in woken { continuation.resume(returning: recent) }
        if startsPump { startPump() }
    }

    /// Closes the feed if it has neither event streams nor waiting long polls. Returns `false` if the feed has event
    /// streams or waiting long polls.
    func closeIfUnfollowed() -> Bool {
        state.withLock { state in
            if !state.isFollowed { state.end = state.end ?? .dropped }
            return !state.isFollowed
        }
    }

    var isFollowed: Bool { state.withLock { $0.isFollowed } }

    /// The number of the session's event streams, and the number of its waiting long polls.
    var followers: (subscribers: Int, polls: Int) { state.withLock { ($0.subscribers.count, $0.waiting.count) } }

    /// The session's recent changes. If the feed is closed, also the reason.
    var recent: (changes: RecentChanges, end: End?) { state.withLock { ($0.recent, $0.end) } }

    /// Removes and returns the long polls that wait for `revision` or an earlier revision, so that they can be
    /// answered.
    private static func takingWaiting(before revision: Int, _ state: inout State) -> [CheckedContinuation<
        RecentChanges, Never
    >] {
        let woken = state.waiting.filter { $0.value.after < revision }
        for number in woken.keys { state.waiting[number] = nil }
        state.forgetUnneeded()
        return woken.values.map(\.continuation)
    }

    // MARK: Subscribers

    /// Adds the subscriber of an event stream. After this call, the feed keeps changes in memory for the subscriber.
    /// Returns `false` if the feed is closed.
    func add(_ subscriber: Subscriber) -> Bool {
        let (isOpen, startsComments) = state.withLock { state in
            guard state.end == nil else { return (false, false) }
            state.subscribers[ObjectIdentifier(subscriber)] = subscriber
            if subscriber.followsWindow { state.windowSubscribers += 1 }
            defer { state.isCommenting = true }
            return (true, !state.isCommenting)
        }
        if startsComments { Task { await comment() } }
        lookForMissing()
        return isOpen
    }

    func remove(_ subscriber: Subscriber) {
        state.withLock { state in
            guard state.subscribers.removeValue(forKey: ObjectIdentifier(subscriber)) != nil else { return }
            if subscriber.followsWindow { state.windowSubscribers -= 1 }
            if state.subscribers.isEmpty { state.snapshotEvent = nil }
            state.forgetUnneeded()
        }
    }

    /// Starts the pump for a subscriber that has just caught up, if the feed has changes after the subscriber's
    /// `revision` or is closed.
    func resume(after revision: Int) {
        let startsPump = state.withLock { state in
            revision < state.recent.last || state.end != nil ? Self.noteNews(&state) : false
        }
        if startsPump { startPump() }
    }

    /// Returns the event that contains the session's snapshot, encoded for an event stream. Subscribers that need a
    /// snapshot at the same revision share one event. Returns `nil` if the subscriber was removed.
    func snapshotEvent(of session: Session, for subscriber: Subscriber) -> (revision: Int, event: EventBytes)? {
        snapshotEvent(at: session.revision, for: subscriber) {
            let (revision, snapshot) = session.encodedSnapshot()
            var bytes: [UInt8] = []
            bytes.reserveCapacity(snapshot.plain.count + 64)
            ServerSentEvent.append("snapshot", id: "\(session.epoch).\(revision)", data: snapshot.plain, to: &bytes)
            return (revision, EventBytes(bytes))
        }
    }

    /// Returns the event that contains the session's snapshot at `revision` or a later one.
    ///
    /// `encode` can take long. `encode` runs outside the feed's lock, so that only subscribers that need the snapshot
    /// wait for the encoding. A disconnected subscriber is removed on an event loop's thread, which must not wait.
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

    /// An event with a snapshot. The first subscriber that needs the event encodes it. Other subscribers that need the
    /// event wait for the encoding.
    private final class SnapshotEvent: Sendable {
        /// The lowest revision that the snapshot in this event can have.
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

    /// Records that the pump has news to deliver to subscribers: changes, or the end of the feed. Returns whether the
    /// caller must start the pump, because the pump is idle and the feed has subscribers.
    private static func noteNews(_ state: inout State) -> Bool {
        state.hasNews = true
        guard !state.isPumping, !state.subscribers.isEmpty else { return false }
        state.isPumping = true
        return true
    }

    private func startPump() {
        Task(executorPreference: Workers.shared.short) {
            while let (subscribers, recent, end) = self.news() {
                var steps = WindowSteps()
                for subscriber in subscribers.values { subscriber.advance(through: recent, end, &steps) }
                await Task.yield()
            }
        }
    }

    /// Returns the pump's next work: the recent changes, and all subscribers of the feed. If the feed has no news,
    /// stops the pump and returns `nil`.
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

    /// Sends a comment to the session's event streams at intervals, except to those that are catching up. Ends when the
    /// session has no event stream.
    private func comment() async {
        while true {
            try? await Task.sleep(for: limits.commentInterval)
            let subscribers = state.withLock { state in
                state.isCommenting = !state.subscribers.isEmpty
                return state.subscribers
            }
            if subscribers.isEmpty { return }
            for subscriber in subscribers.values { subscriber.comment() }
        }
    }
}

// MARK: - Long polling

extension ChangeFeed {
    /// Waits for the session's next change after `revision`, at most for `time`, and returns the recent changes.
    ///
    /// Returns without a new change if the feed is closed, if the time is over, or if the task is cancelled.
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
                    // If the task was cancelled before this line, `Task.isCancelled` says so. If the task is cancelled
                    // later, the cancellation handler finds the continuation in `waiting`.
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
                defer { state.forgetUnneeded() }
                return (waiting, state.recent)
            }
            waiting?.continuation.resume(returning: recent)
        }
    }
}
