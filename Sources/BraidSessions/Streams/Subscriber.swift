import BraidEngine
import BraidRuntime
import BraidStore
import Synchronization

/// One open event stream of a session.
///
/// While it is *live*, the feed's pump writes each change to its queue. A new or slow one catches up in its own task
/// (recent changes, journal, or a snapshot), then goes live. The two never write at once.
final class Subscriber: Sendable {
    let stream: ByteStream
    let followsWindow: Bool
    private let session: Session
    private let form: StreamForm
    private let lease: Quota.Lease?
    /// Against which the memory of large events counts.
    private let account: Quota.Account
    private let progress: Mutex<Progress>

    private struct Progress {
        /// The revision that the reader has once it has read the queue. `nil` if it needs a snapshot first.
        var position: Int?
        /// A window's place is the one at `position`, or else the latest that is known.
        var followed: Followed
        var isLive = false
        var owesCaughtUp = true
    }

    /// - Parameters:
    ///   - position: the revision after which the stream continues, or `nil` to start with a snapshot.
    ///   - followed: what the stream follows, as it was at `position`.
    init(
        _ session: Session, after position: Int?, following followed: Followed = .table, form: StreamForm,
        lease: Quota.Lease? = nil, account: Quota.Account = Quota.Account()
    ) {
        self.session = session
        self.form = form
        self.lease = lease
        self.account = account
        stream = ByteStream(limit: session.feed.limits.queueBytes)
        followsWindow = if case .window = followed { true } else { false }
        progress = Mutex(Progress(position: position, followed: followed))
    }

    /// Adds the subscriber to its feed. It writes its first event when an event loop sends the stream. Returns `false`
    /// if the feed is closed.
    func start() -> Bool {
        guard session.feed.add(self) else { return false }
        stream.onClose { [self] in
            session.feed.remove(self)
            lease?.end()
        }
        stream.onAttach { [self] in startCatchingUp(readsHistory: true, isStart: true) }
        return true
    }

    // MARK: Live

    /// Called by the feed's pump.
    func deliverNews(_ recent: RecentChanges, _ end: ChangeFeed.End?, _ steps: inout WindowSteps) {
        guard progress.withLock({ $0.isLive }) else { return }
        // The pump works for all streams of the session, so a large window is followed in a task of its own.
        if windowCost <= Workers.shortRows {
            do throws(SessionError) {
                switch try deliverRecent(recent, end, &steps) {
                case .accepted, .closed: return
                case .full, nil: session.feed.behind.add()
                }
            } catch {
                return cutOff()
            }
        }
        progress.withLock { $0.isLive = false }
        startCatchingUp(readsHistory: false)
    }

    /// The most rows that the stream's window can have now. 0 for the whole table.
    private var windowCost: Int {
        guard followsWindow, case .window(let place, _) = progress.withLock({ $0.followed }) else { return 0 }
        let most = place.window.mostRows(in: .max)
        return most <= Workers.shortRows ? most : place.window.mostRows(in: session.current.snapshot.totalRowCount)
    }

    func comment() {
        guard progress.withLock({ $0.isLive }) else { return }
        stream.write(ServerSentEvent.comment.piece(in: stream.coding))
    }

    // MARK: Catching up

    private func startCatchingUp(readsHistory: Bool, isStart: Bool = false) {
        // Encoding or compressing a large snapshot and reading the journal take long.
        let isLong =
            !followsWindow
            && (readsHistory && progress.withLock({ $0.position != nil }) || session.isLarge
                || stream.coding != nil && session.isLongToCompress)
        Task(executorPreference: isLong ? Workers.shared.long : Workers.shared.short) {
            if isStart { self.stream.write(ServerSentEvent.retry(after: self.session.feed.limits.retryTime)) }
            await self.catchUp(readsHistory: readsHistory)
        }
    }

    private func catchUp(readsHistory: Bool) async {
        // Without history, the subscriber catches up because its queue is full.
        var result = readsHistory ? ByteStream.WriteResult.accepted : .full
        while true {
            switch result {
            case .accepted: break
            case .full: await stream.drained()
            case .closed: return
            }
            do {
                let delivered = try await session.withWindows(costing: windowCost, for: account) {
                    let (recent, end) = session.feed.recent
                    var steps = WindowSteps(session.feed.limits)
                    return try deliverRecent(recent, end, &steps)
                }
                if let delivered {
                    result = delivered == .accepted ? try deliverCaughtUp() : delivered
                    if result == .accepted { return goLive() }
                } else if readsHistory, !followsWindow, let delivered = try await deliverHistory() {
                    // The journal has no tables, so a window cannot be followed through it.
                    result = delivered
                } else {
                    result = try await deliverSnapshot()
                }
            } catch {
                // The store failed, or there is no memory for the events. The reader reconnects with its position.
                return cutOff()
            }
        }
    }

    private func goLive() {
        let position = progress.withLock { progress in
            progress.isLive = true
            return progress.position
        }
        session.feed.resume(after: position ?? 0)
    }

    // MARK: Delivery

    /// Queues the events of a step, and moves the reader's progress. Everything that a reader gets to know of its table
    /// or window goes through here.
    ///
    /// - Throws: if there is no memory for large events.
    private func deliver(_ step: StreamStep) throws(SessionError) -> ByteStream.WriteResult {
        let lease = try step.events.lease(session.feed.limits, for: account)
        let result = step.events.isEmpty ? .accepted : stream.write(step.events.piece(in: stream.coding), lease)
        if result == .accepted {
            progress.withLock { progress in
                progress.position = step.revision
                progress.followed = step.followed
            }
        }
        return result
    }

    /// Queues the changes after the reader's position, and the end of the stream if the feed is closed. Returns `nil`
    /// if the reader first needs journal records or a snapshot.
    private func deliverRecent(
        _ recent: RecentChanges, _ end: ChangeFeed.End?, _ steps: inout WindowSteps
    ) throws(SessionError) -> ByteStream.WriteResult? {
        var (position, followed) = progress.withLock { ($0.position, $0.followed) }
        if let position, let changes = recent.after(position) {
            if case .window(let place, let old?) = followed {
                guard let step = try move(from: old, to: place, at: position) else { return nil }
                let result = try deliver(step)
                guard result == .accepted else { return result }
                followed = step.followed
            }
            for change in changes {
                guard let step = try steps.step(of: followed, by: change, form, for: account) else { return nil }
                let result = try deliver(step)
                guard result == .accepted else { return result }
                followed = step.followed
            }
        } else if end == nil {
            return nil
        }
        return end.map(finish) ?? .accepted
    }

    /// Returns the step from one window to another one at the same revision. `nil` if its table is no longer in memory.
    private func move(
        from old: WindowPlace, to new: WindowPlace, at revision: Int
    ) throws(SessionError) -> StreamStep? {
        guard let source = session.table(at: revision)?.table.windows,
            let update = try? WindowUpdate(from: source.cut(old), to: source.cut(new))
        else { return nil }
        return try StreamStep(update, to: new, form, epoch: session.epoch, session.feed.limits, for: account)
    }

    /// Queues the next page of the journal. Returns `nil` if the journal does not reach back to the reader's position.
    private func deliverHistory() async throws -> ByteStream.WriteResult? {
        guard let position = progress.withLock({ $0.position }) else { return nil }
        let limits = session.feed.limits
        let records = try await session.history(after: position, limit: limits.historyPage, bytes: limits.historyBytes)
        guard records.first?.revision == position + 1 else { return nil }
        for record in records {
            let bytes = try record.events(form, epoch: session.epoch)
            // Events that wait for room in the queue use memory as well, so they have their lease from the start.
            let events = EventBytes(bytes, try limits.lease(bytes.count, for: account))
            let step = StreamStep(events: events, revision: record.revision, followed: .table)
            while case let result = try deliver(step), result != .accepted {
                if result == .closed { return .closed }
                await stream.drained()
            }
        }
        return .accepted
    }

    private func deliverSnapshot() async throws -> ByteStream.WriteResult {
        let session = session
        if case .window(let known, _) = progress.withLock({ $0.followed }) {
            let window = session.current.table.windows.cut(following: known), revision = window.snapshot.revision
            return try await session.encoding(window, copies: 2, for: account) { json, lease in
                let bytes = ServerSentEvent.bytes("snapshot", at: session.position(at: revision), data: json)
                return try deliver(
                    StreamStep(
                        events: EventBytes(bytes, lease), revision: revision, followed: .window(window.place)))
            }
        }
        let step = try await session.feed.snapshotStep(at: session.revision, for: self) {
            let (revision, snapshot) = session.encodedSnapshot()
            let bytes = ServerSentEvent.bytes("snapshot", at: session.position(at: revision), data: snapshot.plain)
            return StreamStep(events: EventBytes(bytes), revision: revision, followed: .table)
        }
        return try step.map(deliver) ?? .closed
    }

    private func deliverCaughtUp() throws(SessionError) -> ByteStream.WriteResult {
        let (position, followed) = progress.withLock { ($0.owesCaughtUp ? $0.position : nil, $0.followed) }
        guard let position else { return .accepted }
        let bytes = ServerSentEvent.bytes(
            "caught-up", at: session.position(at: position), data: #"{"revision":\#(position)}"#.utf8)
        let result = try deliver(StreamStep(events: EventBytes(bytes), revision: position, followed: followed))
        if result == .accepted { progress.withLock { $0.owesCaughtUp = false } }
        return result
    }

    private func finish(_ end: ChangeFeed.End) -> ByteStream.WriteResult {
        if end == .ended {
            let result = stream.write(ServerSentEvent.bytes("ended", at: nil, data: "{}".utf8))
            guard result == .accepted else { return result }
        }
        stream.finish()
        session.feed.remove(self)
        return .closed
    }

    /// Breaks the stream off, so that its reader reconnects with its position.
    private func cutOff() {
        session.feed.remove(self)
        stream.fail()
    }
}

/// What an event stream follows.
enum Followed: Sendable {
    case table
    /// A window, at its place in the reader's revision. The reader may still have another one (`from`) at the same
    /// revision. Indirect, to keep the many streams of whole tables small; a stream keeps no rows of its window.
    indirect case window(WindowPlace, from: WindowPlace? = nil)
}

/// Events for the readers of a stream, and what a reader has once it has read them.
struct StreamStep: Sendable {
    var events: EventBytes
    var revision: Int
    var followed: Followed
}

extension StreamStep {
    /// Encodes the update of a window, after `controllerEvents`.
    ///
    /// - Throws: `unavailable` or `quotaExceeded` if there is no memory for a large update.
    init(
        _ update: WindowUpdate, to place: WindowPlace, _ form: StreamForm, epoch: String,
        controllerEvents: [JSONText] = [], _ limits: StreamLimits, for account: Quota.Account
    ) throws(SessionError) {
        // The update's JSON and its copy in the events are in memory at the same time.
        let lease = try limits.lease(update.update.estimatedSize, copies: 2, for: account)
        let revision = update.update.to
        let bytes = ServerSentEvent.bytes(
            at: Position(epoch: epoch, revision: revision),
            update: update.isEmpty ? nil : form.isSequential ? update.sequentialJSON : update.json,
            controllerEvents: form.hasControllerEvents ? controllerEvents : [])
        self.init(events: EventBytes(bytes, lease), revision: revision, followed: .window(place))
    }
}

/// The steps of windows that one round of the feed's pump, or of a subscriber that catches up, has computed. In a round
/// of the pump, all streams of the same window in the same form share a step.
struct WindowSteps {
    private struct Key: Hashable {
        var place: WindowPlace
        var revision: Int
        var form: StreamForm
    }

    let limits: StreamLimits
    private var steps: [Key: StreamStep] = [:]

    init(_ limits: StreamLimits) { self.limits = limits }

    /// Returns the step to the revision of a change. Returns `nil` if it is the step of a window, and the change has no
    /// tables.
    mutating func step(
        of followed: Followed, by change: Change, _ form: StreamForm, for account: Quota.Account
    ) throws(SessionError) -> StreamStep? {
        guard case .window(let place, _) = followed else {
            return StreamStep(events: change.events(form), revision: change.revision, followed: .table)
        }
        let key = Key(place: place, revision: change.revision, form: form)
        if let known = steps[key] { return known }
        guard let (before, after) = change.tables?.windows(at: place),
            let update = try? WindowUpdate(from: before, to: after)
        else { return nil }
        let step = try StreamStep(
            update, to: after.place, form, epoch: change.epoch, controllerEvents: change.controllerEvents, limits,
            for: account)
        steps[key] = step
        return step
    }
}
