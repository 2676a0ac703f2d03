import Synchronization

/// A window of a session's table, kept up to date while a list scrolls. Iterate over the subscription to receive its
/// events, and call ``show(_:)`` or ``move(to:)`` from anywhere to move the window.
///
/// A subscription has the same events as ``BraidSession/subscribe(from:)``: for example a snapshot, and then updates
/// without a gap.
/// The snapshots contain only the window's rows, and the index paths of updates refer to the window. When the window
/// moves, one update changes the snapshot of the old window into the snapshot of the new one. This update contains only
/// the rows that enter the window or have changed. If the server no longer has the old table, it sends a snapshot
/// instead.
///
/// To stop following, leave the loop or cancel the task. A later loop over the same subscription continues where the
/// earlier loop stopped. A new loop ends an earlier loop that is still running.
public final class WindowSubscription: AsyncSequence, Sendable {
    private let session: BraidSession
    private let overscan: Int
    private let state: Mutex<State>

    private struct State {
        /// The window to follow.
        var window: TableWindow
        /// The snapshot after the last event that the loop received.
        var snapshot: Snapshot?
        /// The window that ``snapshot`` shows.
        var shown: TableWindow?
        /// How often the window has been moved.
        var moves = 0
        /// The range of rows that `show` treats as loaded while a requested window has not arrived. `nil` otherwise.
        var requested: Range<Int>?
        var loop: Loop?

        mutating func move(to window: TableWindow, with rows: Range<Int>) {
            self.window = window
            requested = rows
            moves += 1
            loop?.follow(window, moves: moves)
        }
    }

    init(_ session: BraidSession, _ window: TableWindow, _ snapshot: Snapshot?, overscan: Int) {
        self.session = session
        self.overscan = overscan
        state = Mutex(State(window: window, snapshot: snapshot, shown: snapshot.map { _ in window }))
    }

    /// The window that the subscription follows, with the anchor that it has after the last received event.
    public var window: TableWindow { state.withLock { $0.window } }

    /// Whether the window was moved and the loop has not received the rows of the new window yet.
    public var isMoving: Bool { state.withLock { $0.requested != nil } }

    /// Follows another window from now on. An update changes the snapshot of the old window into the snapshot of the
    /// new one, or a new snapshot arrives.
    public func move(to window: TableWindow) {
        // After this call of `move(to:)`, `show` must not move the window again until the new window has arrived. Until
        // then, the visible rows are still those of the old window.
        state.withLock { $0.move(to: window, with: .min ..< .max) }
    }

    /// Tells the subscription which rows are visible. If the visible rows come near the window's edge, the window
    /// moves.
    ///
    /// The window does not move while it contains at least half of the overscan before and after the visible rows, or
    /// all rows up to that end of the section or table. The anchor of a new window is the row in the middle of the
    /// visible rows, if this row is loaded and has an id. Otherwise the new window has a fixed offset. A new window
    /// contains the visible rows, and the subscription's overscan before and after them.
    ///
    /// - Parameter rows: the indexes of the first and the last visible row, among all displayed rows of the window's
    ///   section or of the whole table. ``Snapshot/displayIndex(of:)`` returns a row's index.
    public func show(_ rows: ClosedRange<Int>) {
        state.withLock { state in
            guard let snapshot = state.snapshot, let offset = snapshot.window?.offset else { return }
            let section = state.window.section
            let count = snapshot.sections.reduce(0) { $0 + $1.rows.count }
            let total = section == nil ? snapshot.totalRowCount : snapshot.sections.first?.rowCount ?? 0
            let loaded = state.requested ?? offset..<offset + count
            let first = rows.lowerBound, last = rows.upperBound, near = (overscan + 1) / 2
            // `AsyncSequence` has methods with the names `min` and `max`, which would hide the global functions.
            let needed = (first: Swift.max(0, first - near), end: Swift.min(total, last + 1 + near))
            if needed.first >= loaded.lowerBound, needed.end <= loaded.upperBound { return }
            let middle = first + (last - first) / 2
            let before = middle - first + overscan, after = last - middle + overscan
            let window: TableWindow
            if let path = snapshot.path(atDisplayIndex: middle),
                let id = snapshot.sections[path.section].rows[path.row].id
            {
                window = .around(
                    id, inSection: snapshot.sections[path.section].id, before: before, after: after,
                    ofSection: section)
            } else {
                window = .rows(offset: Swift.max(0, middle - before), limit: before + 1 + after, ofSection: section)
            }
            state.move(to: window, with: first - overscan..<last + 1 + overscan)
        }
    }

    // MARK: Events

    /// Starts to follow the window. A `for try await` loop over the subscription calls this method.
    public func makeAsyncIterator() -> Iterator {
        let (events, continuation) = AsyncThrowingStream<Told, any Error>.makeStream()
        state.withLock { state in
            state.loop?.end()
            let loop = Loop(Follower(session: session, snapshot: state.snapshot, of: state.shown), continuation)
            continuation.onTermination = { _ in loop.end() }
            state.loop = loop
            loop.follow(state.window, moves: state.moves)
        }
        return Iterator(events: events.makeAsyncIterator(), subscription: self)
    }

    /// The iterator of one loop over the subscription.
    public struct Iterator: AsyncIteratorProtocol {
        fileprivate var events: AsyncThrowingStream<Told, any Error>.Iterator
        fileprivate let subscription: WindowSubscription

        /// Returns the next event. `nil` if the session has ended, a newer loop has begun or the task was cancelled.
        public mutating func next(isolation actor: isolated (any Actor)?) async throws -> SessionEvent? {
            guard let told = try await events.next(isolation: actor) else { return nil }
            subscription.note(told)
            return told.event
        }
    }

    private func note(_ told: Told) {
        state.withLock { state in
            switch told.event {
            case .snapshot(let new), .update(_, before: _, after: let new):
                state.snapshot = new
                state.shown = told.window
            case .live: break
            case .cellEvent, .tap, .emitted, .interrupted: return
            }
            guard told.moves == state.moves, let window = told.window else { return }
            state.window = window
            state.requested = nil
        }
    }

    /// An event, the window that the snapshot shows after the event, and the number of moves of the window before the
    /// event.
    fileprivate struct Told: Sendable {
        var event: SessionEvent
        var window: TableWindow?
        var moves: Int
    }

    /// One loop over the subscription. The loop follows one window at a time.
    private final class Loop: Sendable {
        private let follower: Follower
        private let events: AsyncThrowingStream<Told, any Error>.Continuation
        private let run = Mutex<(task: Task<Void, Never>?, hasEnded: Bool)>((nil, false))

        init(_ follower: Follower, _ events: AsyncThrowingStream<Told, any Error>.Continuation) {
            self.follower = follower
            self.events = events
        }

        func follow(_ window: TableWindow, moves: Int) {
            run.withLock { run in
                guard !run.hasEnded else { return }
                let previous = run.task
                previous?.cancel()
                run.task = Task { [follower, events] in
                    await previous?.value
                    do {
                        try await follower.run(following: window) { event, window in
                            events.yield(Told(event: event, window: window, moves: moves))
                        }
                        events.finish()
                    } catch {
                        // If this run of the follower was cancelled because the window moved, the run must not finish
                        // the stream of events. The follower's next run continues the stream.
                        if !Task.isCancelled { events.finish(throwing: error) }
                    }
                }
            }
        }

        func end() {
            run.withLock { run in
                run.hasEnded = true
                run.task?.cancel()
            }
            events.finish()
        }
    }
}
