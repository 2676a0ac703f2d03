import BraidEngine
import BraidRuntime
import BraidStore
import Synchronization

/// One open event stream. While *live*, the feed's pump writes each change to its queue. A new or slow one catches up
/// in its own task (recent changes, journal, or a snapshot), then goes live. The two never write at once.
final class Subscriber: Sendable {
    let stream: ByteStream
    let followsWindow: Bool
    private let table: DisplayedTable
    private let form: StreamForm
    private let presence: PresenceStream?
    private let lease: Quota.Lease?
    /// The first event, up to where it begins.
    private let opening: StreamStep?
    /// Pays for large events.
    private let account: Quota.Account
    private let progress: Mutex<Progress>

    private struct Progress {
        /// The reader's, once it has read the queue. `nil`: needs a snapshot.
        var position: Int?
        /// A window's place at `position`, or else the latest known.
        var followed: Followed
        var isLive = false
        var owesCaughtUp = true
    }

    /// `followed` is as at `position`; without one, the stream starts with a snapshot.
    init(
        _ table: DisplayedTable, after position: Int?, following followed: Followed = .table,
        opening: StreamStep? = nil, form: StreamForm,
        presence: PresenceStream? = nil, lease: Quota.Lease? = nil, account: Quota.Account = Quota.Account()
    ) {
        self.table = table
        self.opening = opening
        self.form = form
        self.presence = presence
        self.lease = lease
        self.account = account
        stream = ByteStream(limit: table.feed.limits.queueBytes)
        followsWindow = if case .window = followed { true } else { false }
        progress = Mutex(Progress(position: position, followed: followed))
    }

    /// `false`: the feed is closed. The first event is written when an event loop sends the stream.
    func start() -> Bool {
        guard table.feed.add(self) else { return false }
        presence?.join()
        stream.onClose { [self] in
            leave()
            lease?.end()
        }
        stream.onAttach { [self] in startCatchingUp(readsHistory: true, isStart: true) }
        return true
    }

    private func leave() {
        table.feed.remove(self)
        presence?.leave()
    }

    // MARK: Live

    /// Only the feed's pump calls this.
    func deliverNews(_ recent: RecentChanges, _ end: ChangeFeed.End?, _ steps: inout WindowSteps) {
        guard progress.withLock({ $0.isLive }) else { return }
        // The pump works for the whole session: a large window gets a task of its own.
        if windowCost <= Workers.shortRows {
            do throws(SessionError) {
                switch try deliverRecent(recent, end, &steps) {
                case .accepted, .closed: return
                case .full, nil: table.feed.behind.add()
                }
            } catch {
                return cutOff()
            }
        }
        progress.withLock { $0.isLive = false }
        startCatchingUp(readsHistory: false)
    }

    /// In rows, at most; 0 for the whole table.
    private var windowCost: Int {
        guard followsWindow, case .window(let place, _) = progress.withLock({ $0.followed }) else { return 0 }
        let most = place.window.mostRows(in: .max)
        return most <= Workers.shortRows ? most : place.window.mostRows(in: table.current.snapshot.totalRowCount)
    }

    func comment() {
        guard progress.withLock({ $0.isLive }) else { return }
        stream.write(ServerSentEvent.comment.piece(in: stream.coding))
    }

    // MARK: Catching up

    private func startCatchingUp(readsHistory: Bool, isStart: Bool = false) {
        // Takes long: reading the journal, encoding or compressing a large snapshot.
        let isLong =
            !followsWindow
            && (readsHistory && progress.withLock({ $0.position != nil }) || table.isLarge
                || stream.coding != nil && table.isLongToCompress)
        Task(executorPreference: isLong ? Workers.shared.long : Workers.shared.short) {
            if isStart { self.stream.write(ServerSentEvent.retry(after: self.table.feed.limits.retryTime)) }
            if isStart, let opening = self.opening {
                do {
                    while try self.deliver(opening) == .full { await self.stream.drained() }
                } catch {
                    return self.cutOff()
                }
            }
            await self.catchUp(readsHistory: readsHistory)
        }
    }

    private func catchUp(readsHistory: Bool) async {
        // At the start the queue is empty. Later it is full, or the window is large: first let it drain.
        var result = readsHistory ? ByteStream.WriteResult.accepted : .full
        while true {
            switch result {
            case .accepted: break
            case .full: await stream.drained()
            case .closed: return
            }
            do {
                let delivered = try await table.session.withWindows(costing: windowCost, for: account) {
                    let (recent, end) = table.feed.recent
                    var steps = WindowSteps(table.feed.limits)
                    return try deliverRecent(recent, end, &steps)
                }
                if let delivered {
                    result = delivered == .accepted ? try deliverCaughtUp() : delivered
                    if result == .accepted { return goLive() }
                } else if readsHistory, !followsWindow, let delivered = try await deliverHistory() {
                    // The journal has no tables, so no window can be followed through it.
                    result = delivered
                } else {
                    result = try await deliverSnapshot()
                }
            } catch {
                // The store failed, or there is no memory.
                return cutOff()
            }
        }
    }

    /// Live first, then `resume`: a change between the two would otherwise be missed.
    private func goLive() {
        let position = progress.withLock { progress in
            progress.isLive = true
            return progress.position
        }
        table.feed.resume(after: position ?? 0)
    }

    // MARK: Delivery

    /// All that a reader learns of its table goes through here. Throws if there is no memory for large events.
    private func deliver(_ step: StreamStep) throws(SessionError) -> ByteStream.WriteResult {
        let lease = try step.events.lease(table.feed.limits, for: account)
        let result = step.events.isEmpty ? .accepted : stream.write(step.events.piece(in: stream.coding), lease)
        if result == .accepted {
            progress.withLock { progress in
                progress.position = step.revision
                progress.followed = step.followed
            }
        }
        return result
    }

    /// Delivers the changes in memory, and the end if the feed is closed. `nil`: needs journal or snapshot first.
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

    /// From window to window at the same revision. `nil` if its table is no longer in memory.
    private func move(
        from old: WindowPlace, to new: WindowPlace, at revision: Int
    ) throws(SessionError) -> StreamStep? {
        guard let source = table.recent(at: revision)?.table.windows,
            let update = try? WindowUpdate(from: source.cut(old), to: source.cut(new))
        else { return nil }
        return try StreamStep(update, to: new, form, epoch: table.epoch, table.feed.limits, for: account)
    }

    /// `nil`: the journal does not reach back.
    private func deliverHistory() async throws -> ByteStream.WriteResult? {
        guard let position = progress.withLock({ $0.position }) else { return nil }
        let limits = table.feed.limits
        if table.own != nil { return try await deliverOwnHistory(after: position) }
        let records = try await table.session.history(
            after: position, limit: limits.historyPage, bytes: limits.historyBytes)
        guard records.first?.revision == position + 1 else { return nil }
        for record in records {
            let bytes = try record.events(form, epoch: table.epoch)
            // What waits for room in the queue uses memory, too.
            let events = EventBytes(bytes, try limits.lease(bytes.count, for: account))
            let step = StreamStep(events: events, revision: record.revision, followed: .table)
            while case let result = try deliver(step), result != .accepted {
                if result == .closed { return .closed }
                await stream.drained()
            }
        }
        return .accepted
    }

    /// One event for all that has changed in somebody's own table.
    private func deliverOwnHistory(after position: Int) async throws -> ByteStream.WriteResult? {
        guard let update = try await table.update(since: position, for: account) else { return nil }
        let lease = try table.feed.limits.lease(update.estimatedSize, copies: 2, for: account)
        let bytes = ServerSentEvent.bytes(
            at: table.position(at: update.to), update: form.isSequential ? update.sequentialJSON : update.json,
            controllerEvents: [])
        return try deliver(
            StreamStep(events: EventBytes(bytes, lease), revision: update.to, followed: .table))
    }

    private func deliverSnapshot() async throws -> ByteStream.WriteResult {
        if case .window(let known, _) = progress.withLock({ $0.followed }) {
            let window = table.current.windows.cut(following: known), revision = window.snapshot.revision
            return try await table.encoding(window, copies: 2, for: account) { json, lease in
                let bytes = ServerSentEvent.bytes("snapshot", at: table.position(at: revision), data: json)
                return try deliver(
                    StreamStep(
                        events: EventBytes(bytes, lease), revision: revision, followed: .window(window.place)))
            }
        }
        let step = try await table.feed.snapshotStep(at: table.revision, for: self) {
            let (revision, snapshot) = table.encodedSnapshot()
            let bytes = ServerSentEvent.bytes("snapshot", at: table.position(at: revision), data: snapshot.plain)
            return StreamStep(events: EventBytes(bytes), revision: revision, followed: .table)
        }
        return try step.map(deliver) ?? .closed
    }

    private func deliverCaughtUp() throws(SessionError) -> ByteStream.WriteResult {
        let (position, followed) = progress.withLock { ($0.owesCaughtUp ? $0.position : nil, $0.followed) }
        guard let position else { return .accepted }
        let bytes = ServerSentEvent.bytes(
            "caught-up", at: table.position(at: position), data: #"{"revision":\#(position)}"#.utf8)
        let result = try deliver(StreamStep(events: EventBytes(bytes), revision: position, followed: followed))
        if result == .accepted {
            progress.withLock { $0.owesCaughtUp = false }
            presence?.watch(stream)
        }
        return result
    }

    private func finish(_ end: ChangeFeed.End) -> ByteStream.WriteResult {
        if end == .ended {
            let result = stream.write(ServerSentEvent.bytes("ended", at: nil, data: "{}".utf8))
            guard result == .accepted else { return result }
        }
        stream.finish()
        leave()
        return .closed
    }

    /// The reader then reconnects with its position.
    private func cutOff() {
        leave()
        stream.fail()
    }
}

enum Followed: Sendable {
    case table
    /// At its place in the reader's revision, where the reader may still have the window `from`. No rows are kept.
    /// Indirect, so that the many streams of whole tables stay small.
    indirect case window(WindowPlace, from: WindowPlace? = nil)
}

struct StreamStep: Sendable {
    var events: EventBytes
    var revision: Int
    var followed: Followed
}

extension StreamStep {
    /// After `controllerEvents`. Throws `unavailable` or `quotaExceeded`.
    init(
        _ update: WindowUpdate, to place: WindowPlace, _ form: StreamForm, epoch: String,
        controllerEvents: [JSONText] = [], _ limits: StreamLimits, for account: Quota.Account
    ) throws(SessionError) {
        // The update and its copy in the events are in memory together.
        let lease = try limits.lease(update.update.estimatedSize, copies: 2, for: account)
        let revision = update.update.to
        let bytes = ServerSentEvent.bytes(
            at: Position(epoch: epoch, revision: revision),
            update: update.isEmpty ? nil : form.isSequential ? update.sequentialJSON : update.json,
            controllerEvents: form.hasControllerEvents ? controllerEvents : [])
        self.init(events: EventBytes(bytes, lease), revision: revision, followed: .window(place))
    }
}

/// In one round of the pump (or of catching up), streams of the same window in the same form share a step.
struct WindowSteps {
    private struct Key: Hashable {
        var place: WindowPlace
        var revision: Int
        var form: StreamForm
    }

    let limits: StreamLimits
    private var steps: [Key: StreamStep] = [:]

    init(_ limits: StreamLimits) { self.limits = limits }

    /// `nil` for a window, if the change has no tables.
    mutating func step(
        of followed: Followed, by change: Change, _ form: StreamForm, for account: Quota.Account
    ) throws(SessionError) -> StreamStep? {
        guard case .window(let place, _) = followed else {
            return StreamStep(events: change.events(form), revision: change.revision, followed: .table)
        }
        let key = Key(place: place, revision: change.revision, form: form)
        if let known = steps[key] { return known }
        guard let (before, after) = change.tables?.windows(at: place),
            let update = try? WindowUpdate(from: before, to: after, in: change.update)
        else { return nil }
        let step = try StreamStep(
            update, to: after.place, form, epoch: change.epoch, controllerEvents: change.controllerEvents, limits,
            for: account)
        steps[key] = step
        return step
    }
}
