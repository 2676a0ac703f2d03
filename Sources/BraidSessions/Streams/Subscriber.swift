import BraidEngine
import BraidRuntime
import BraidStore
import Synchronization

/// One open event stream of a session, with its reader's progress.
///
/// A subscriber that is not too slow is *live*: the pump of the session's feed writes each change to the subscriber's
/// queue. A new subscriber, or a subscriber that has fallen behind, catches up in a separate task. The separate task
/// sends the recent changes in memory, the records of the journal or a new snapshot, and then makes the subscriber
/// live. The pump and the separate task never write to a queue at the same time.
final class Subscriber: Sendable {
    let stream: ByteStream
    private let session: Session
    private let form: StreamForm
    /// The lease with which this event stream counts against `--max-subscribers` until the stream ends.
    private let lease: Quota.Lease?
    /// The account (session and token) against which the memory of this stream's large events counts.
    private let account: Quota.Account
    private let progress: Mutex<Progress>

    private struct Progress {
        /// The revision that the reader will have after it has read all queued bytes. `nil` if the reader needs a
        /// snapshot first.
        var position: Int?
        var isLive = false
        var owesCaughtUp = true
        /// The place of the stream's window at `position`. If `position` is `nil`, the latest one that is known.
        /// `nil` if the stream follows the whole table.
        var window: FollowedWindow?
    }

    /// The place of a window behind a reference. Most streams follow no window, and a reference keeps the progress of
    /// these streams small. A stream keeps no rows of its window: the feed keeps the tables.
    private final class FollowedWindow: Sendable {
        let place: WindowPlace
        /// The window of the reader, if the stream still has to lead from it to `place` at the same revision.
        let old: WindowPlace?

        init(_ place: WindowPlace, from old: WindowPlace? = nil) {
            self.place = place
            self.old = old
        }
    }

    /// Whether the stream follows a window of the table.
    let followsWindow: Bool

    /// Creates the subscriber for a new event stream.
    ///
    /// - Parameters:
    ///   - position: the revision after which the stream continues, or `nil` to start with a snapshot.
    ///   - window: the window that the stream follows, as it was at `position`. `nil` for the whole table.
    init(
        _ session: Session, after position: Int?, form: StreamForm, window: Session.WindowStart? = nil,
        lease: Quota.Lease? = nil, account: Quota.Account = Quota.Account()
    ) {
        self.session = session
        self.form = form
        self.lease = lease
        self.account = account
        stream = ByteStream(limit: session.feed.limits.queueBytes)
        followsWindow = window != nil
        progress = Mutex(
            Progress(
                position: position,
                window: window.map { FollowedWindow($0.place, from: $0.old) }))
    }

    /// Adds the subscriber to its session's feed. The subscriber writes its first event when an event loop sends the
    /// stream. Returns `false` if the session was ended or dropped from memory.
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

    /// If the subscriber is live, queues the changes that the stream's reader does not have yet. The feed's pump calls
    /// this method.
    func advance(through recent: RecentChanges, _ end: ChangeFeed.End?, _ steps: inout WindowSteps) {
        guard progress.withLock({ $0.isLive }) else { return }
        // The pump works for all streams of the session, so a large window is followed in a task of its own.
        if windowCost <= Workers.shortRows {
            let result = deliver(recent, end, &steps)
            guard result != .accepted, result != .closed else { return }
            session.feed.behind.add()
        }
        progress.withLock { $0.isLive = false }
        startCatchingUp(readsHistory: false)
    }

    /// The largest number of rows that the stream's window can have now. 0 for the whole table.
    private var windowCost: Int {
        guard followsWindow, let window = progress.withLock({ $0.window?.place.window }) else { return 0 }
        let most = window.mostRows(in: .max)
        return most <= Workers.shortRows ? most : window.mostRows(in: session.current.snapshot.totalRowCount)
    }

    /// Queues a comment for the stream's reader, unless the subscriber is catching up.
    func comment() {
        guard progress.withLock({ $0.isLive }) else { return }
        stream.write(ServerSentEvent.comment.piece(in: stream.coding))
    }

    // MARK: Catching up

    private func startCatchingUp(readsHistory: Bool, isStart: Bool = false) {
        // Encoding or compressing a large snapshot and reading the journal take long, so these tasks run on the long
        // worker pool.
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
        var result = readsHistory ? ByteStream.WriteResult.accepted : .full(queued: 0)
        while true {
            switch result {
            case .accepted: break
            case .full: await stream.drained()
            case .closed: return
            }
            do {
                let delivered = try await session.withWindows(costing: windowCost, for: account) {
                    let (recent, end) = session.feed.recent
                    var steps = WindowSteps()
                    return deliver(recent, end, &steps)
                }
                if let delivered {
                    result = delivered
                    if result == .accepted { result = deliverCaughtUp() }
                    guard result == .accepted else { continue }
                    let position = progress.withLock { progress in
                        progress.isLive = true
                        return progress.position
                    }
                    return session.feed.resume(after: position ?? 0)
                }
                // Updates of a window need the table, which the journal does not contain, so the reader gets a
                // snapshot.
                if readsHistory, !followsWindow, let told = try await deliverHistory() {
                    result = told
                } else {
                    result = try await deliverSnapshot()
                }
            } catch {
                // The store failed, or there is no memory for the events. End the stream: its reader then reconnects
                // with the reader's position.
                cutOff()
                return
            }
        }
    }

    /// Queues the feed's changes after the reader's position, and the end of the stream if the feed is closed. Returns
    /// `nil` if the caller must first queue journal records or a snapshot.
    private func deliver(_ recent: RecentChanges, _ end: ChangeFeed.End?, _ steps: inout WindowSteps)
        -> ByteStream.WriteResult?
    {
        if let position = progress.withLock({ $0.position }), let changes = recent.after(position) {
            if let window = progress.withLock({ $0.window }), let old = window.old {
                guard let result = deliverMove(from: old, to: window.place, at: position) else { return nil }
                guard result == .accepted else { return result }
            }
            for change in changes {
                guard let result = deliver(change, &steps) else { return nil }
                guard result == .accepted else { return result }
            }
        } else if end == nil {
            return nil
        }
        return end.map { deliver($0) } ?? .accepted
    }

    /// Queues a change. Returns `nil` if the stream follows a window and the change was stored without the tables
    /// before and after it.
    private func deliver(_ change: Change, _ steps: inout WindowSteps) -> ByteStream.WriteResult? {
        guard let place = progress.withLock({ $0.window?.place }) else {
            return deliver(change.events(form), revision: change.revision)
        }
        do throws(SessionError) {
            let step = try steps.step(of: place, by: change, form, session.feed.limits, for: account)
            return step.map { deliver($0.events.bytes, revision: change.revision, window: $0.place) }
        } catch {
            return cutOff()
        }
    }

    /// Queues the event that leads the reader from one window to another one at the same revision. Returns `nil` if the
    /// table of this revision is no longer in memory.
    private func deliverMove(from old: WindowPlace, to new: WindowPlace, at revision: Int) -> ByteStream.WriteResult? {
        guard let source = session.table(at: revision)?.table.windows,
            let update = try? WindowUpdate(from: source.cut(old), to: source.cut(new))
        else { return nil }
        do throws(SessionError) {
            let events = try EventBytes.encoding(
                update, form, epoch: session.epoch, session.feed.limits, for: account)
            return deliver(events.bytes, events.lease, revision: revision, window: new)
        } catch {
            return cutOff()
        }
    }

    /// Queues the next page of the session's journal. Returns `nil` if the journal does not reach back to the reader's
    /// position.
    private func deliverHistory() async throws -> ByteStream.WriteResult? {
        guard let position = progress.withLock({ $0.position }) else { return nil }
        let records = try await session.history(
            after: position, limit: session.feed.limits.historyPage, bytes: session.feed.limits.historyBytes)
        guard records.first?.revision == position + 1 else { return nil }
        for record in records {
            let events = try record.events(form, epoch: session.epoch)
            // Take the lease for the memory of these events before the queue has room for them, because waiting events
            // also use memory.
            let lease = try events.lease(session.feed.limits, for: account)
            while case let result = deliver(events, lease, revision: record.revision), result != .accepted {
                if result == .closed { return .closed }
                await stream.drained()
            }
        }
        return .accepted
    }

    private func deliverSnapshot() async throws -> ByteStream.WriteResult {
        if let known = progress.withLock({ $0.window?.place }) { return try await deliverWindow(after: known) }
        guard let (revision, event) = session.feed.snapshotEvent(of: session, for: self) else { return .closed }
        return deliver(event, revision: revision)
    }

    /// Queues an event with a snapshot of the window that the stream follows. Leases memory for a large window before
    /// it encodes the window.
    private func deliverWindow(after known: WindowPlace) async throws -> ByteStream.WriteResult {
        let window = session.current.table.windows.cut(following: known), revision = window.snapshot.revision
        return try await session.withWindows(costing: window.cost, for: account) {
            let lease = try session.feed.limits.lease(window.snapshot.encodedSize, copies: 2, for: account)
            var bytes: [UInt8] = []
            ServerSentEvent.append(
                "snapshot", id: "\(session.epoch).\(revision)", data: session.encoded(window), to: &bytes)
            return deliver(EventBytes(bytes, lease), lease, revision: revision, window: window.place)
        }
    }

    private func deliverCaughtUp() -> ByteStream.WriteResult {
        guard let position = progress.withLock({ $0.owesCaughtUp ? $0.position : nil }) else { return .accepted }
        var bytes: [UInt8] = []
        ServerSentEvent.append(
            "caught-up", id: "\(session.epoch).\(position)", data: #"{"revision":\#(position)}"#.utf8, to: &bytes)
        let result = stream.write(bytes)
        if result == .accepted { progress.withLock { $0.owesCaughtUp = false } }
        return result
    }

    /// Queues encoded events for the stream's reader. If the quota has no memory for large events, closes the stream:
    /// the reader then reconnects with its position.
    private func deliver(_ events: EventBytes, revision: Int, window: WindowPlace? = nil) -> ByteStream.WriteResult {
        do {
            return deliver(
                events, try events.lease(session.feed.limits, for: account), revision: revision, window: window)
        } catch {
            return cutOff()
        }
    }

    private func deliver(_ events: EventBytes, _ lease: Quota.Lease?, revision: Int, window: WindowPlace? = nil)
        -> ByteStream.WriteResult
    {
        let result = events.isEmpty ? .accepted : stream.write(events.piece(in: stream.coding), lease)
        if result == .accepted {
            progress.withLock { progress in
                progress.position = revision
                if let window { progress.window = FollowedWindow(window) }
            }
        }
        return result
    }

    @discardableResult
    private func cutOff() -> ByteStream.WriteResult {
        session.feed.remove(self)
        stream.fail()
        return .closed
    }

    private func deliver(_ end: ChangeFeed.End) -> ByteStream.WriteResult {
        if end == .ended {
            var bytes: [UInt8] = []
            ServerSentEvent.append("ended", id: nil, data: "{}".utf8, to: &bytes)
            let result = stream.write(bytes)
            guard result == .accepted else { return result }
        }
        stream.finish()
        session.feed.remove(self)
        return .closed
    }
}
