import BraidEngine
import BraidRuntime

/// One new revision. Times are milliseconds since 1970.
package struct SessionCommit: Sendable {
    package var session: Int
    /// The revision that must be stored.
    package var from: Int
    /// Its time, or `nil`. With another, the database has lost the revision and reused its number.
    package var fromTime: Int?
    /// The revision `from` is the commit given to the store before this one, in the same transaction. In a shared store,
    /// another server's may have the same number and time.
    package var followsInTransaction = false
    package var record: JournalRecord
    package var change: TableChange
    /// Used from now on. `nil`: unchanged.
    package var description: SessionDescription?
    /// Otherwise clients still see the last published table, even after a restart.
    package var publishes: Bool
    /// For the next new row, as `nextSection`.
    package var nextKey: Int
    package var nextSection: Int
    /// Visible to clients.
    package var totalRowCount: Int
    /// A `StoredUndo`.
    package var undo: JSONText
    package var answer: KeptAnswer?

    package init(
        session: Int, from: Int, fromTime: Int? = nil, record: JournalRecord, change: TableChange,
        description: SessionDescription? = nil, publishes: Bool, nextKey: Int, nextSection: Int, totalRowCount: Int,
        undo: JSONText, answer: KeptAnswer? = nil
    ) {
        self.session = session
        self.from = from
        self.fromTime = fromTime
        self.record = record
        self.change = change
        self.description = description
        self.publishes = publishes
        self.nextKey = nextKey
        self.nextSection = nextSection
        self.totalRowCount = totalRowCount
        self.undo = undo
        self.answer = answer
    }

    package var isExhausted: Bool {
        record.revision > Key.largest || nextKey > Key.largest || nextSection > Key.largest
    }

    /// About how many rows it writes; large texts count as rows.
    package var cost: Int { change.rowCount + journalBytes / 1_000 }

    /// Whether the writer gives it a queue of its own, so that it is not ordered with others.
    package var isLarge: Bool { cost >= Workers.shortRows }

    package var journalBytes: Int { record.bytes + undo.count }
}

package struct JournalRecord: Sendable, Equatable {
    package var revision: Int
    /// Milliseconds since 1970.
    package var at: Int
    package var command: JSONText
    package var update: JSONText
    /// The command's taps, cell events and emitted events.
    package var controllerEvents: JSONText?
    /// What the update removes or replaces, with the ids for rebasing.
    package var hidden: JSONText?
    /// Who sent it, a `User.by`.
    package var by: JSONText?

    package init(
        revision: Int, at: Int, command: JSONText, update: JSONText, controllerEvents: JSONText? = nil,
        hidden: JSONText? = nil, by: JSONText? = nil
    ) {
        self.hidden = hidden
        self.by = by
        self.revision = revision
        self.at = at
        self.command = command
        self.update = update
        self.controllerEvents = controllerEvents
    }

    package var bytes: Int {
        command.count + update.count + (controllerEvents?.count ?? 0) + (hidden?.count ?? 0) + (by?.count ?? 0)
    }
}

/// A journal record's command, and what undoes it.
package struct JournalUndo: Sendable {
    package var revision: Int
    package var command: JSONText
    /// A `StoredUndo`.
    package var undo: JSONText
    /// As `JournalRecord.by`.
    package var by: JSONText?

    package var bytes: Int { command.count + undo.count + (by?.count ?? 0) }
}

/// A delete touches other database pages than the commit, so only every *n*th commit trims the journal, *n* being a
/// 64th of the limit. In between, up to *n* − 1 revisions are too many.
package struct JournalTrimming {
    package let isDue: Bool
    /// Records to examine: enough for a lowered limit to take effect, but few, so that no commit takes long.
    package let recordCount: Int

    package init(with revision: Int, limit: Int) {
        let interval = max(1, limit / 64)
        isDue = revision > limit && revision % interval == 0
        recordCount = 4 * (isDue ? interval : 1)
    }
}
