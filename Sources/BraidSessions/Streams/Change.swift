import BraidEngine
import BraidRuntime
import BraidStore
import Synchronization

/// How a subscriber wants to be told.
package struct StreamForm: Sendable, Hashable {
    /// `operations` in place of `stages`.
    package var isSequential: Bool
    /// Taps and cell events, for controllers.
    package var hasRowEvents: Bool

    package init(isSequential: Bool = false, hasRowEvents: Bool = true) {
        self.isSequential = isSequential
        self.hasRowEvents = hasRowEvents
    }
}

/// One committed revision on its way to the subscribers: its events are encoded once, whoever many read them.
final class Change: Sendable {
    let epoch: String
    let revision: Int
    let update: BatchUpdate
    let updateText: JSONText
    let rowEvents: [JSONText]
    private let encoded = Mutex(Encoded())

    private struct Encoded {
        var sequentialUpdate: JSONText?
        var events: [StreamForm: EventBytes] = [:]
    }

    init(epoch: String, revision: Int, update: BatchUpdate, updateText: JSONText, rowEvents: [JSONText]) {
        self.epoch = epoch
        self.revision = revision
        self.update = update
        self.updateText = updateText
        self.rowEvents = rowEvents
    }

    /// Bytes that the revision takes up, about.
    var size: Int { rowEvents.reduce(256 + updateText.count) { $0 + $1.count } }

    /// The revision's events; empty when there is nothing to tell in this form.
    func events(_ form: StreamForm) -> EventBytes {
        encoded.withLock { encoded in
            if let events = encoded.events[form] { return events }
            let text = update.isEmpty ? nil : updateText(form.isSequential, &encoded)
            let events = EventBytes(
                Self.events(
                    epoch: epoch, revision: revision, update: text, rowEvents: form.hasRowEvents ? rowEvents : []))
            encoded.events[form] = events
            return events
        }
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

    /// Taps and cell events come before the update that they led to: their index paths are those of the table as the
    /// reader has it. Only the revision's last event has the position, so that a reader who loses the connection
    /// between two of them is told the revision again, and misses nothing.
    fileprivate static func events(epoch: String, revision: Int, update: JSONText?, rowEvents: [JSONText]) -> [UInt8] {
        var bytes: [UInt8] = []
        bytes.reserveCapacity(rowEvents.reduce((update?.count ?? 0) + 64) { $0 + $1.count + 64 })
        let position = "\(epoch).\(revision)"
        for (index, event) in rowEvents.enumerated() {
            let isLast = update == nil && index == rowEvents.count - 1
            let name: StaticString = event["event"] == nil ? "tap" : "cellEvent"
            event.withBytes { ServerSentEvent.append(name, id: isLast ? position : nil, data: $0, to: &bytes) }
        }
        update?.withBytes { ServerSentEvent.append("update", id: position, data: $0, to: &bytes) }
        return bytes
    }
}

/// Events as they are sent: the same bytes for all who read them.
final class EventBytes: Sendable {
    let bytes: [UInt8]
    private let known = Mutex(WeakLease())

    private struct WeakLease {
        weak var lease: Budget.Lease?
    }

    init(_ bytes: [UInt8]) { self.bytes = bytes }

    /// A lease of the memory for answers, for as long as the bytes wait for any reader; nil if they are few. The first
    /// reader pays for all. Throws if there is no memory for them.
    func lease(_ limits: StreamLimits, for account: Budget.Account) throws(Budget.Refusal) -> Budget.Lease? {
        guard bytes.count > limits.largeBytes else { return nil }
        return try known.withLock { weak throws(Budget.Refusal) in
            if let lease = weak.lease { return lease }
            let lease = try limits.buffers.lease(bytes.count, to: account)
            weak.lease = lease
            return lease
        }
    }
}

// A revision as the journal has it.
extension JournalRecord {
    /// The same bytes as `Change.events`.
    func events(_ form: StreamForm, epoch: String) throws -> EventBytes {
        EventBytes(
            Change.events(
                epoch: epoch, revision: revision,
                update: changedTheTable ? try updateText(sequential: form.isSequential) : nil,
                rowEvents: form.hasRowEvents ? rowEvents?.elements() ?? [] : []))
    }

    /// The update in a form.
    func updateText(sequential: Bool) throws -> JSONText {
        sequential ? try BatchUpdate(json: update).sequentialJSON : update
    }

    private var changedTheTable: Bool {
        update["stages"] != .emptyArray || update["state"] != nil || update["empty"] != nil
    }
}
