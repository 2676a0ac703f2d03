import BraidRuntime
import Synchronization

/// Brings a session's changes to its followers (event streams and waiting long polls), in order.
///
/// `publish` only stores a change and wakes the long polls and the pump, one task that writes to all subscribers'
/// queues. So a command takes the same time, however many there are.
///
/// A follower gets the changes after its position, or a snapshot instead: reading a snapshot and then subscribing
/// leaves no gap and no duplicates.
final class ChangeFeed: Sendable {
    enum End: Sendable {
        case ended
        /// Stale. A client that reconnects makes the server load the session again.
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
        /// The highest revision in other servers' notices.
        var heard = 0
        var snapshot: StreamStep?
        var windowSubscribers = 0
        /// Until then changes keep their tables: a request has read a window.
        var windowsUntil: ContinuousClock.Instant?

        var isFollowed: Bool { !subscribers.isEmpty || !waiting.isEmpty }

        var hasWindowReaders: Bool { windowSubscribers > 0 || windowsUntil.map { $0 > .now } ?? false }

        mutating func forgetUnneeded() {
            if !isFollowed, !hasWindowReaders { recent.forget() }
        }
    }

    /// How long a client that has read a window can ask for its update.
    private static let windowTime = Duration.seconds(60)

    private let state: Mutex<State>
    /// One subscriber at a time encodes a snapshot. Not under `state`: it takes long.
    private let encoding = FIFOLock()
    /// Reads other servers' revisions from the database.
    private let missing = Mutex<(@Sendable () -> Void)?>(nil)
    let limits: StreamLimits
    let behind: Counter

    init(revision: Int, limits: StreamLimits, behind: Counter) {
        self.limits = limits
        self.behind = behind
        state = Mutex(State(recent: RecentChanges(last: revision)))
    }

    /// `body` runs when a follower comes while another server's revision is missing here.
    func onMissing(_ body: @escaping @Sendable () -> Void) { missing.withLock { $0 = body } }

    /// Returns whether followers lack the revision.
    func hear(revision: Int) -> Bool {
        state.withLock { state in
            state.heard = max(state.heard, revision)
            return state.isFollowed && state.heard > state.recent.last
        }
    }

    private func lookForMissing() {
        if state.withLock({ $0.heard > $0.recent.last }) { missing.withLock { $0 }?() }
    }

    func noteWindowReader() { state.withLock { $0.windowsUntil = .now + Self.windowTime } }

    /// Before anybody follows it.
    func begin(at revision: Int) { state.withLock { $0.recent.skip(to: revision) } }

    /// Revisions must come in order. `change` runs under the feed's lock, and only if someone needs it.
    func publish(revision: Int, _ change: (_ hasTables: Bool) -> Change) {
        let (woken, recent, startsPump) = state.withLock { state in
            let hasTables = state.hasWindowReaders
            guard state.isFollowed || hasTables else {
                state.recent.skip(to: revision)
                return ([CheckedContinuation<RecentChanges, Never>](), state.recent, false)
            }
            state.recent.append(change(hasTables), limits: limits)
            // Copied before `takingWaiting`, which may forget the changes that the woken polls need.
            let recent = state.recent
            return (Self.takingWaiting(before: revision, &state), recent, Self.noteNews(&state))
        }
        for continuation in woken { continuation.resume(returning: recent) }
        if startsPump { startPump() }
    }

    /// Wakes long polls, ends streams. The first reason remains.
    func close(_ end: End) {
        let (woken, recent, startsPump) = state.withLock { state in
            state.end = state.end ?? end
            return (Self.takingWaiting(before: .max, &state), state.recent, Self.noteNews(&state))
        }
        for continuation in woken { continuation.resume(returning: recent) }
        if startsPump { startPump() }
    }

    /// Closes a feed without followers. Returns whether it did.
    func closeIfUnfollowed() -> Bool {
        state.withLock { state in
            if !state.isFollowed { state.end = state.end ?? .dropped }
            return !state.isFollowed
        }
    }

    var isFollowed: Bool { state.withLock { $0.isFollowed } }

    var followers: (subscribers: Int, polls: Int) { state.withLock { ($0.subscribers.count, $0.waiting.count) } }

    var recent: (changes: RecentChanges, end: End?) { state.withLock { ($0.recent, $0.end) } }

    private static func takingWaiting(before revision: Int, _ state: inout State) -> [CheckedContinuation<
        RecentChanges, Never
    >] {
        let woken = state.waiting.filter { $0.value.after < revision }
        for number in woken.keys { state.waiting[number] = nil }
        state.forgetUnneeded()
        return woken.values.map(\.continuation)
    }

    // MARK: Subscribers

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
            if state.subscribers.isEmpty { state.snapshot = nil }
            state.forgetUnneeded()
        }
    }

    /// For a subscriber that has just caught up: starts the pump if there is more.
    func resume(after revision: Int) {
        let startsPump = state.withLock { state in
            revision < state.recent.last || state.end != nil ? Self.noteNews(&state) : false
        }
        if startsPump { startPump() }
    }

    /// A snapshot at `revision` or later; `nil` if the subscriber was removed. One at a time encodes and compresses,
    /// the others wait and share the result. An event loop that removes a subscriber waits only for the feed's lock.
    func snapshotStep(
        at revision: Int, for subscriber: Subscriber, _ encode: () -> StreamStep
    ) async throws -> StreamStep? {
        try await encoding.withLock {
            let (isRemoved, known) = state.withLock { state in
                (state.subscribers[ObjectIdentifier(subscriber)] == nil, state.snapshot)
            }
            if isRemoved { return nil }
            let step: StreamStep
            if let known, known.revision >= revision {
                step = known
            } else {
                step = encode()
                state.withLock { if !$0.subscribers.isEmpty { $0.snapshot = step } }
            }
            // Compresses it now, once, under `encoding`; the events keep the result.
            _ = step.events.piece(in: subscriber.stream.coding)
            return step
        }
    }

    /// Returns whether the caller must start the pump.
    private static func noteNews(_ state: inout State) -> Bool {
        state.hasNews = true
        guard !state.isPumping, !state.subscribers.isEmpty else { return false }
        state.isPumping = true
        return true
    }

    private func startPump() {
        Task(executorPreference: Workers.shared.short) {
            while let (subscribers, recent, end) = self.news() {
                var steps = WindowSteps(self.limits)
                for subscriber in subscribers.values { subscriber.deliverNews(recent, end, &steps) }
                await Task.yield()
            }
        }
    }

    /// `nil`: no news, so the pump stops.
    private func news() -> ([ObjectIdentifier: Subscriber], RecentChanges, End?)? {
        state.withLock { state in
            // Under one lock with `noteNews`: no news comes between this look and the stop.
            guard state.hasNews else {
                state.isPumping = false
                return nil
            }
            state.hasNews = false
            return (state.subscribers, state.recent, state.end)
        }
    }

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

    // MARK: Long polling

    /// Also returns when the time is over, the feed is closed or the task is cancelled.
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
                    // If the task is cancelled later, `onCancel` finds the continuation in `waiting`.
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

/// The latest changes, without a gap.
struct RecentChanges: Sendable {
    private var changes: [Change] = []
    private var bytes = 0
    /// The last published revision, even if its change is not here.
    private(set) var last: Int

    init(last: Int) { self.last = last }

    /// Removes the oldest beyond the limits, never the newest.
    mutating func append(_ change: Change, limits: StreamLimits) {
        last = change.revision
        changes.append(change)
        bytes += change.size
        var excess = 0
        while changes.count - excess > 1, changes.count - excess > limits.recentChanges || bytes > limits.recentBytes {
            bytes -= changes[excess].size
            excess += 1
        }
        changes.removeFirst(excess)
    }

    /// For a revision that nobody needs.
    mutating func skip(to revision: Int) {
        forget()
        last = revision
    }

    mutating func forget() {
        changes = []
        bytes = 0
    }

    /// `nil` if they are not all here. Empty after `last`: a snapshot can be read before its revision is published.
    /// O(changes after it).
    func after(_ revision: Int) -> ArraySlice<Change>? {
        guard revision < last else { return [] }
        guard let index = changes.lastIndex(where: { $0.from <= revision }), changes[index].from == revision else {
            return nil
        }
        return changes[index...]
    }
}
