import Synchronization

/// A window that stays up to date while a list scrolls.
///
/// ```swift
/// let rows = session.subscribe(window: .rows(limit: 150))
/// for try await event in rows { … }  // as of subscribe(from:)
/// rows.show(120...140)               // from anywhere: moves when needed
/// ```
/// Snapshots and index paths are the window's. A move is one update with the rows that enter or changed, or a snapshot.
///
/// To stop, leave the loop or cancel the task. A later loop continues, and ends one that still runs.
public final class WindowSubscription: AsyncSequence, Sendable {
    private let session: BraidSession
    private let overscan: Int
    private let withPresence: Bool
    /// Locked before a loop's `run`, never while that is locked.
    private let state: Mutex<State>

    private struct State {
        /// What to follow.
        var window: TableWindow
        /// After the loop's last event.
        var snapshot: Snapshot?
        /// What `snapshot` shows.
        var shown: TableWindow?
        /// Counts moves.
        var moves = 0
        /// Taken as loaded until the wanted window arrives.
        var requested: Range<Int>?
        var loop: Loop?

        mutating func move(to window: TableWindow, with rows: Range<Int>) {
            self.window = window
            requested = rows
            moves += 1
            loop?.follow(window, moves: moves)
        }
    }

    init(_ session: BraidSession, _ window: TableWindow, _ snapshot: Snapshot?, overscan: Int, withPresence: Bool) {
        self.session = session
        self.overscan = overscan
        self.withPresence = withPresence
        state = Mutex(State(window: window, snapshot: snapshot, shown: snapshot.map { _ in window }))
    }

    /// With its current anchor.
    public var window: TableWindow { state.withLock { $0.window } }

    /// Whether a new window's rows have yet to arrive.
    public var isMoving: Bool { state.withLock { $0.requested != nil } }

    /// Follows another window.
    public func move(to window: TableWindow) {
        // Until it arrives, the old one's rows are visible: `show` must not move again.
        state.withLock { $0.move(to: window, with: .min ..< .max) }
    }

    /// Tell it the visible rows, as ``Snapshot/displayIndex(of:)`` counts; near its edge, the window moves.
    ///
    /// It stays while it has half the overscan on both sides, or all rows to that end. The new one has all of it, and
    /// the middle row as anchor, or an offset if that row is not loaded or has no id.
    public func show(_ rows: ClosedRange<Int>) {
        state.withLock { state in
            guard let snapshot = state.snapshot, let offset = snapshot.window?.offset else { return }
            let section = state.window.section
            let count = snapshot.sections.reduce(0) { $0 + $1.rows.count }
            let total = section == nil ? snapshot.totalRowCount : snapshot.sections.first?.rowCount ?? 0
            let loaded = state.requested ?? offset..<offset + count
            let first = rows.lowerBound, last = rows.upperBound, near = (overscan + 1) / 2
            // `AsyncSequence` has methods `min` and `max`.
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

    /// For a `for try await` loop.
    public func makeAsyncIterator() -> Iterator {
        let (events, continuation) = AsyncThrowingStream<Told, any Error>.makeStream()
        state.withLock { state in
            state.loop?.end()
            let follower = Follower(
                session: session, snapshot: state.snapshot, of: state.shown, withPresence: withPresence)
            let loop = Loop(follower, continuation)
            continuation.onTermination = { _ in loop.end() }
            state.loop = loop
            loop.follow(state.window, moves: state.moves)
        }
        return Iterator(events: events.makeAsyncIterator(), subscription: self)
    }

    /// One loop's.
    public struct Iterator: AsyncIteratorProtocol {
        fileprivate var events: AsyncThrowingStream<Told, any Error>.Iterator
        fileprivate let subscription: WindowSubscription

        /// `nil` when the session ended, a newer loop began, or the task was cancelled.
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
            case .cellEvent, .tap, .emitted, .presence, .interrupted: return
            }
            // Otherwise the event is of a window before the last move.
            guard told.moves == state.moves, let window = told.window else { return }
            state.window = window
            state.requested = nil
        }
    }

    fileprivate struct Told: Sendable {
        var event: SessionEvent
        var window: TableWindow?
        var moves: Int
    }

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
                        // The window moved: the next run continues.
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
            // Not under the lock: `finish` calls `onTermination`, which calls this again.
            events.finish()
        }
    }
}
