import BraidEngine
import BraidRuntime
import BraidStore
import Synchronization

/// The form in which a stream's reader receives a session's changes.
package struct StreamForm: Sendable, Hashable {
    /// Whether updates contain `operations`, one after the other, instead of `stages`.
    package var isSequential: Bool
    /// Whether the stream has taps, cell events and emitted events, which only controllers receive.
    package var hasControllerEvents: Bool

    package init(isSequential: Bool = false, hasControllerEvents: Bool = true) {
        self.isSequential = isSequential
        self.hasControllerEvents = hasControllerEvents
    }
}

/// One committed revision, encoded once for all subscribers that follow the whole table in the same form.
final class Change: Sendable {
    let epoch: String
    let revision: Int
    let update: BatchUpdate
    let controllerEvents: [JSONText]
    /// `nil` if no client followed a window when the change was published, or had read one in the last minute.
    let tables: ChangedTable?
    private let updateText: JSONText
    private let sequentialText = OnFirstUse<JSONText>()
    private let encoded = Mutex<[StreamForm: EventBytes]>([:])

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

    var position: Position { Position(epoch: epoch, revision: revision) }

    /// The approximate memory of this change, in bytes.
    var size: Int {
        controllerEvents.reduce(256 + updateText.count + (tables == nil ? 0 : ChangedTable.size)) { $0 + $1.count }
    }

    /// Returns the events of this revision: empty if it has none in this form.
    func events(_ form: StreamForm) -> EventBytes {
        if let events = encoded.withLock({ $0[form] }) { return events }
        // Encode outside of the lock, as `OnFirstUse` does.
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

/// The tables before and after a change, from which the updates of windows are computed.
final class ChangedTable: Sendable {
    let before: SessionTable
    private let after: SessionTable
    private let update: BatchUpdate
    private let prepared = OnFirstUse<(before: WindowSource, after: WindowSource, follower: RowFollower)>()

    /// The approximate memory of both tables in bytes: they share all rows except the changed ones.
    static let size = 12 * 1024

    init(before: SessionTable, after: SessionTable, update: BatchUpdate) {
        self.before = before
        self.after = after
        self.update = update
    }

    func windows(at place: WindowPlace) -> (before: WindowedSnapshot, after: WindowedSnapshot) {
        let tables = prepared.value {
            (before.windows, after.windows, RowFollower(update))
        }
        let window = tables.before.cut(place)
        return (window, window.following(tables.follower, to: tables.after))
    }
}

extension JournalRecord {
    /// Returns the same bytes as `Change.events`, for a revision that is no longer in memory.
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
