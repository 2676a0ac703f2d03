import BraidEngine
import BraidRuntime
import BraidStore
import Synchronization

package struct StreamForm: Sendable, Hashable {
    /// `operations`, one after the other, instead of `stages`.
    package var isSequential: Bool
    /// Taps, cell events and emitted events: for controllers only.
    package var hasControllerEvents: Bool

    package init(isSequential: Bool = false, hasControllerEvents: Bool = true) {
        self.isSequential = isSequential
        self.hasControllerEvents = hasControllerEvents
    }
}

/// A revision, encoded once for all who follow the whole table in the same form.
final class Change: Sendable {
    let epoch: String
    let update: BatchUpdate
    let controllerEvents: [JSONText]
    /// `nil` if nobody followed a window at the time, or had read one in the last minute.
    let tables: ChangedTable?
    private let updateText: JSONText
    private let sequentialText = OnFirstUse<JSONText>()
    private let encoded = Mutex<[StreamForm: EventBytes]>([:])

    init(
        epoch: String, update: BatchUpdate, updateText: JSONText, controllerEvents: [JSONText],
        tables: ChangedTable? = nil
    ) {
        self.epoch = epoch
        self.update = update
        self.updateText = updateText
        self.controllerEvents = controllerEvents
        self.tables = tables
    }

    /// In somebody's own table, a change can have several revisions.
    var from: Int { update.from }
    var revision: Int { update.to }
    var position: Position { Position(epoch: epoch, revision: revision) }

    /// Approximate bytes in memory.
    var size: Int {
        controllerEvents.reduce(256 + updateText.count + (tables == nil ? 0 : ChangedTable.size)) { $0 + $1.count }
    }

    func events(_ form: StreamForm) -> EventBytes {
        if let events = encoded.withLock({ $0[form] }) { return events }
        // Not under the lock: two may encode it at once, and the first result is kept.
        let events = EventBytes(
            ServerSentEvent.bytes(
                at: position, update: update.isEmpty ? nil : updateText(sequential: form.isSequential),
                controllerEvents: form.hasControllerEvents ? controllerEvents : []))
        return encoded.withLock { encoded in
            let kept = encoded[form] ?? events
            encoded[form] = kept
            return kept
        }
    }

    func updateText(sequential: Bool) -> JSONText {
        sequential ? sequentialText.value { update.sequentialJSON } : updateText
    }
}

/// The table before and after a change, for the updates of windows.
final class ChangedTable: Sendable {
    let before: SessionTable
    private let after: SessionTable
    private let update: BatchUpdate
    private let prepared = OnFirstUse<(before: WindowSource, after: WindowSource, follower: RowFollower)>()

    /// Approximate bytes: both tables share all unchanged rows.
    static let size = 12 * 1024

    init(before: SessionTable, after: SessionTable, update: BatchUpdate) {
        self.before = before
        self.after = after
        self.update = update
    }

    /// The window at `place` before the change, and followed through it.
    func windows(at place: WindowPlace) -> (before: WindowedSnapshot, after: WindowedSnapshot) {
        let tables = prepared.value {
            (before.windows, after.windows, RowFollower(update))
        }
        let window = tables.before.cut(place)
        return (window, window.following(tables.follower, to: tables.after))
    }
}

extension JournalRecord {
    /// The same bytes as `Change.events`, for a revision no longer in memory.
    func events(_ form: StreamForm, epoch: String) throws -> [UInt8] {
        ServerSentEvent.bytes(
            at: Position(epoch: epoch, revision: revision),
            update: changedTheTable ? try updateText(sequential: form.isSequential) : nil,
            controllerEvents: form.hasControllerEvents ? controllerEvents?.elements() ?? [] : [])
    }

    func updateText(sequential: Bool) throws -> JSONText {
        sequential ? try BatchUpdate(json: update).sequentialJSON : update
    }

    private var changedTheTable: Bool {
        update["stages"] != .emptyArray || update["state"] != nil || update["empty"] != nil
    }
}

/// `text/event-stream` (WHATWG HTML, 9.2.5 and 9.2.6).
enum ServerSentEvent {
    /// `data` must be one line, as compact JSON is. Without an `id`, the reader keeps its last.
    static func append(_ event: StaticString, id: String?, data: some Sequence<UInt8>, to bytes: inout [UInt8]) {
        var fields = "\(id.map { "id: \($0)\n" } ?? "")event: \(event)\ndata: "
        fields.withUTF8 { bytes.append(contentsOf: $0) }
        bytes.append(contentsOf: data)
        bytes.append(contentsOf: "\n\n".utf8)
    }

    static func bytes(_ event: StaticString, at position: Position?, data: some Collection<UInt8>) -> [UInt8] {
        var bytes: [UInt8] = []
        bytes.reserveCapacity(data.count + 64)
        append(event, id: position.map { "\($0)" }, data: data, to: &bytes)
        return bytes
    }

    /// Taps, cell events and emitted events come before the update: their index paths refer to the table before it.
    /// Only the last event has an id, so a reader cut off between two gets all of them again.
    static func bytes(at position: Position, update: JSONText?, controllerEvents: [JSONText]) -> [UInt8] {
        var bytes: [UInt8] = []
        bytes.reserveCapacity(controllerEvents.reduce((update?.count ?? 0) + 64) { $0 + $1.count + 64 })
        let id = "\(position)"
        for (index, event) in controllerEvents.enumerated() {
            let isLast = update == nil && index == controllerEvents.count - 1
            let name: StaticString =
                event["name"] != nil ? "emitted" : event["event"] != nil ? "cellEvent" : "tap"
            event.withBytes { append(name, id: isLast ? id : nil, data: $0, to: &bytes) }
        }
        update?.withBytes { append("update", id: id, data: $0, to: &bytes) }
        return bytes
    }

    static func retry(after time: Duration) -> [UInt8] {
        Array("retry: \(max(0, time.milliseconds))\n\n".utf8)
    }

    /// Keeps proxies from closing an idle connection (WHATWG HTML, 9.2.7).
    static let comment = EventBytes(Array(":\n\n".utf8))
}

/// Events that streams share, compressed once per coding.
final class EventBytes: Sendable {
    private let plain: BodyPiece
    private let compressed = PerCoding<BodyPiece>()
    private let ownLease: Quota.Lease?
    private let sharedLease = Mutex(WeakLease())

    private struct WeakLease {
        weak var lease: Quota.Lease?
    }

    /// `lease` was taken before encoding.
    init(_ bytes: [UInt8], _ lease: Quota.Lease? = nil) {
        plain = BodyPiece(bytes)
        ownLease = lease
    }

    var isEmpty: Bool { plain.bytes.isEmpty }
    var count: Int { plain.bytes.count }

    func piece(in coding: ContentCoding?) -> BodyPiece {
        guard let coding else { return plain }
        return compressed.value(for: coding) { BodyPiece(plain.bytes, in: coding) }
    }

    /// `nil` for small events. Shared while any stream holds it; counts against the account that asked first. For the
    /// plain bytes, which live as long as the compressed ones.
    func lease(_ limits: StreamLimits, for account: Quota.Account) throws(SessionError) -> Quota.Lease? {
        guard ownLease == nil, plain.bytes.count > limits.largeBytes else { return ownLease }
        return try sharedLease.withLock { shared throws(SessionError) in
            if let lease = shared.lease { return lease }
            let lease = try limits.lease(plain.bytes.count, for: account)
            shared.lease = lease
            return lease
        }
    }
}
