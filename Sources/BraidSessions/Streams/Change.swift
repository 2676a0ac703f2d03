import BraidEngine
import BraidRuntime
import BraidStore
import Synchronization

/// The form in which an event stream's reader receives a session's changes.
package struct StreamForm: Sendable, Hashable {
    /// Whether updates contain `operations`, one after the other, instead of `stages`.
    package var isSequential: Bool
    /// Whether the stream also contains the session's taps, cell events and emitted events, which only controllers
    /// receive.
    package var hasControllerEvents: Bool

    package init(isSequential: Bool = false, hasControllerEvents: Bool = true) {
        self.isSequential = isSequential
        self.hasControllerEvents = hasControllerEvents
    }
}

/// One committed revision of a session, in the form in which subscribers receive it. The revision's events are encoded
/// once for all subscribers that follow the whole table in the same form.
final class Change: Sendable {
    let epoch: String
    let revision: Int
    let update: BatchUpdate
    let updateText: JSONText
    let controllerEvents: [JSONText]
    /// The tables before and after the change. `nil` if, when the change was published, no client followed a window of
    /// the session or had read one in the last minute.
    let tables: ChangedTable?
    private let encoded = Mutex(Encoded())

    private struct Encoded {
        var sequentialUpdate: JSONText?
        var events: [StreamForm: EventBytes] = [:]
    }

    init(
        epoch: String, revision: Int, update: BatchUpdate, updateText: JSONText, controllerEvents: [JSONText],
        tables: ChangedTable? = nil
    ) {
        self.epoch = epoch
        self.revision = revision
        self.update = update
        self.updateText = updateText
        self.controllerEvents = controllerEvents
        self.tables = tables
    }

    /// The approximate memory that this change occupies, in bytes.
    var size: Int {
        controllerEvents.reduce(256 + updateText.count + (tables == nil ? 0 : ChangedTable.size)) { $0 + $1.count }
    }

    /// Returns the events of this revision, encoded for an event stream. The bytes are empty if the revision has no
    /// events in this form.
    func events(_ form: StreamForm) -> EventBytes {
        encoded.withLock { encoded in
            if let events = encoded.events[form] { return events }
            let text = update.isEmpty ? nil : updateText(form.isSequential, &encoded)
            let events = EventBytes(
                Self.events(
                    epoch: epoch, revision: revision, update: text,
                    controllerEvents: form.hasControllerEvents ? controllerEvents : []))
            encoded.events[form] = events
            return events
        }
    }

    /// Returns the window after this change, and the events of this revision for the window's readers. Returns `nil` if
    /// the change was stored without the tables before and after it.
    ///
    /// - Throws: `unavailable` or `quotaExceeded` if there is no memory for a large update.
    func events(
        of place: WindowPlace, _ form: StreamForm, _ limits: StreamLimits, for account: Quota.Account
    ) throws(SessionError) -> WindowStep? {
        guard let (before, after) = tables?.windows(at: place), let update = try? WindowUpdate(from: before, to: after)
        else { return nil }
        let events = try EventBytes.encoding(
            update, form, epoch: epoch, controllerEvents: form.hasControllerEvents ? controllerEvents : [], limits,
            for: account)
        return WindowStep(place: after.place, events: events)
    }

    func updateText(sequential: Bool) -> JSONText {
        sequential ? encoded.withLock { updateText(true, &$0) } : updateText
    }

    private func updateText(_ isSequential: Bool, _ encoded: inout Encoded) -> JSONText {
        guard isSequential else { return updateText }
        let text = encoded.sequentialUpdate ?? update.sequentialJSON
        encoded.sequentialUpdate = text
        return text
    }

    /// Returns the events of one revision, encoded for an event stream.
    ///
    /// Taps, cell events and emitted events precede the update of their command, because the index paths of taps and
    /// cell events refer to the table before the update. Only the last event of a revision has the position as its id.
    /// A reader that loses the connection between two events of one revision therefore receives all events of the
    /// revision again.
    static func events(epoch: String, revision: Int, update: JSONText?, controllerEvents: [JSONText]) -> [UInt8] {
        var bytes: [UInt8] = []
        bytes.reserveCapacity(controllerEvents.reduce((update?.count ?? 0) + 64) { $0 + $1.count + 64 })
        let position = "\(epoch).\(revision)"
        for (index, event) in controllerEvents.enumerated() {
            let isLast = update == nil && index == controllerEvents.count - 1
            let name: StaticString =
                event["name"] != nil ? "emitted" : event["event"] != nil ? "cellEvent" : "tap"
            event.withBytes { ServerSentEvent.append(name, id: isLast ? position : nil, data: $0, to: &bytes) }
        }
        update?.withBytes { ServerSentEvent.append("update", id: position, data: $0, to: &bytes) }
        return bytes
    }
}

/// A window after one revision, and the encoded events of this revision for the clients that follow the window.
struct WindowStep: Sendable {
    var place: WindowPlace
    var events: (bytes: EventBytes, lease: Quota.Lease?)
}

/// The steps of windows (new window and events) that the feed's pump, or a subscriber that catches up, has computed in
/// one round. In a round of the pump, all clients that follow the same window in the same form share a step.
struct WindowSteps {
    private struct Key: Hashable {
        var place: WindowPlace
        var revision: Int
        var form: StreamForm
    }

    private var steps: [Key: WindowStep] = [:]

    /// Returns the step that leads a window to the revision of a change. Returns `nil` if the change was stored without
    /// the tables before and after it.
    mutating func step(
        of place: WindowPlace, by change: Change, _ form: StreamForm, _ limits: StreamLimits,
        for account: Quota.Account
    ) throws(SessionError) -> WindowStep? {
        let key = Key(place: place, revision: change.revision, form: form)
        if let known = steps[key] { return known }
        guard let step = try change.events(of: place, form, limits, for: account) else { return nil }
        steps[key] = step
        return step
    }
}

/// Encoded events, shared by all streams that send them. The events are compressed once for each coding.
final class EventBytes: Sendable {
    private let plain: BodyPiece
    private let compressed = PerCoding<BodyPiece>()
    private let known = Mutex(WeakLease())

    private struct WeakLease {
        weak var lease: Quota.Lease?
    }

    init(_ bytes: [UInt8], _ lease: Quota.Lease? = nil) {
        plain = BodyPiece(bytes)
        known.withLock { $0.lease = lease }
    }

    var isEmpty: Bool { plain.bytes.isEmpty }

    /// Returns the events, compressed in the coding that a stream uses. Returns the plain events if `coding` is `nil`.
    func piece(in coding: ContentCoding?) -> BodyPiece {
        guard let coding else { return plain }
        return compressed.value(for: coding) { BodyPiece(plain.bytes, in: coding) }
    }

    /// Returns a lease of memory for these bytes, from the quota for answers. All event streams that have these bytes
    /// in their queues share the lease. Returns `nil` for small events, which need no lease.
    ///
    /// The lease is for the uncompressed bytes, which stay in memory as long as the compressed bytes. The lease counts
    /// against the account of the first stream that needs it. Throws if the quota refuses the lease.
    func lease(_ limits: StreamLimits, for account: Quota.Account) throws(Quota.Refusal) -> Quota.Lease? {
        guard plain.bytes.count > limits.largeBytes else { return nil }
        return try known.withLock { weak throws(Quota.Refusal) in
            if let lease = weak.lease { return lease }
            let lease = try limits.buffers.lease(plain.bytes.count, to: account)
            weak.lease = lease
            return lease
        }
    }
}

extension EventBytes {
    /// Encodes the update of a window and the events before it. Leases memory for a large update before it encodes the
    /// update. The lease lasts as long as the caller keeps it.
    static func encoding(
        _ update: WindowUpdate, _ form: StreamForm, epoch: String, controllerEvents: [JSONText] = [],
        _ limits: StreamLimits, for account: Quota.Account
    ) throws(SessionError) -> (bytes: EventBytes, lease: Quota.Lease?) {
        // The update's JSON and its copy in the events are in memory at the same time.
        let lease = try limits.lease(update.update.estimatedSize, copies: 2, for: account)
        let text = update.isEmpty ? nil : form.isSequential ? update.sequentialJSON : update.json
        let bytes = Change.events(
            epoch: epoch, revision: update.update.to, update: text, controllerEvents: controllerEvents)
        return (EventBytes(bytes, lease), lease)
    }
}

// The events of a revision that was read from the session's journal because it is no longer in memory.
extension JournalRecord {
    /// Returns the events of this record's revision, encoded for an event stream: the same bytes as `Change.events`
    /// returns.
    func events(_ form: StreamForm, epoch: String) throws -> EventBytes {
        EventBytes(
            Change.events(
                epoch: epoch, revision: revision,
                update: changedTheTable ? try updateText(sequential: form.isSequential) : nil,
                controllerEvents: form.hasControllerEvents ? controllerEvents?.elements() ?? [] : []))
    }

    /// Returns the update in this journal record as JSON, with `operations` if `sequential` is true and with `stages`
    /// otherwise.
    func updateText(sequential: Bool) throws -> JSONText {
        sequential ? try BatchUpdate(json: update).sequentialJSON : update
    }

    private var changedTheTable: Bool {
        update["stages"] != .emptyArray || update["state"] != nil || update["empty"] != nil
    }
}
