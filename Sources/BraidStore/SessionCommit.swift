import BraidEngine

/// What the store writes for one new revision of a session. Times are in milliseconds since 1970.
public struct SessionCommit: Sendable {
    /// The session's number.
    public var session: Int
    /// The revision that the stored session must have.
    public var from: Int
    /// The time that it must have. With another time, the database has lost the revision and reused its number. `nil`
    /// accepts any time.
    public var fromTime: Int?
    /// Of revision `from + 1`.
    public var record: JournalRecord
    public var change: TableChange
    /// The description that the session uses from now on. `nil`: as before.
    public var description: SessionDescription?
    /// Whether clients see the stored table from now on. Otherwise they go on to see the last published one, even after
    /// a restart.
    public var publishes: Bool
    /// The key of the next new row, after this commit.
    public var nextKey: Int
    /// The number of the next new section, after this commit.
    public var nextSection: Int
    /// Of the rows that clients see.
    public var totalRowCount: Int
    /// A `StoredUndo`.
    public var undo: JSONText
    /// The answer to the command, for retries with its `Idempotency-Key`.
    public var answer: KeptAnswer?

    public init(
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

    /// About how many rows the commit writes. Large texts count as rows.
    package var cost: Int { change.rowCount + journalBytes / 1_000 }

    /// Of the journal record and the undo record.
    package var journalBytes: Int { record.bytes + undo.count }
}

/// One revision in a session's journal.
public struct JournalRecord: Sendable, Equatable {
    public var revision: Int
    /// When the command was committed, in milliseconds since 1970.
    public var at: Int
    /// As JSON, as are the next ones.
    public var command: JSONText
    /// From the revision before to this one.
    public var update: JSONText
    /// The command's taps, cell events and emitted events, as an array.
    public var controllerEvents: JSONText?
    /// The rows and sections that the update removes or replaces, with the ids that rebasing a command needs.
    public var hidden: JSONText?

    public init(
        revision: Int, at: Int, command: JSONText, update: JSONText, controllerEvents: JSONText? = nil,
        hidden: JSONText? = nil
    ) {
        self.hidden = hidden
        self.revision = revision
        self.at = at
        self.command = command
        self.update = update
        self.controllerEvents = controllerEvents
    }

    /// Of the texts.
    package var bytes: Int { command.count + update.count + (controllerEvents?.count ?? 0) + (hidden?.count ?? 0) }
}

/// Whether a commit also trims its session's journal to the limit of revisions.
///
/// A delete touches other database pages than the commit, so only every *n*th commit trims, where *n* is a 64th of the
/// limit. Between two of them, the journal exceeds the limit by up to *n* − 1 revisions.
package struct JournalTrimming {
    package let isDue: Bool
    /// How many of the oldest records a trimming examines: more than it needs, so that the journal also shrinks to a
    /// limit that was lowered, but few, so that no commit waits for a long delete.
    package let recordCount: Int

    /// - Parameter revision: the one that the commit creates.
    package init(with revision: Int, limit: Int) {
        let interval = max(1, limit / 64)
        isDue = revision > limit && revision % interval == 0
        recordCount = 4 * (isDue ? interval : 1)
    }
}
