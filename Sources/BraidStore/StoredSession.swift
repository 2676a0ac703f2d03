import BraidEngine

/// A session to be stored. All times are milliseconds since 1970.
public struct NewSession: Sendable {
    public var id: String
    /// The table's name; nil for a session opened without one.
    public var table: String?
    /// The version of the registered description; nil: the description is inline, or there is none.
    public var tableVersion: Int?
    /// Inline, or as it was registered. For a session opened without one, what it shows while it has no rows; nil:
    /// nothing.
    public var description: JSONText?
    public var epoch: String
    public var created: Int
    /// The body that it was opened with, for `reset` and `replay`.
    public var opening: JSONText
    public var state: JSONText
    public var displayedSections: JSONText?
    /// The cells that the session registered; nil: none.
    public var cells: JSONText?
    public var nextKey: Int
    public var nextSection: Int
    public var totalRowCount: Int
    public var sections: [StoredSectionSummary]
    public var rows: [(section: Int, row: StoredRow)]
    /// What the client is answered, for when it asks again.
    public var answer: KeptAnswer?

    /// What the session keeps of the description itself.
    package var inlineDescription: JSONText? { tableVersion == nil ? description : nil }

    package var isExhausted: Bool { nextKey > Key.largest }

    public init(
        id: String, table: String?, tableVersion: Int?, description: JSONText?, epoch: String, created: Int,
        opening: JSONText, state: JSONText, displayedSections: JSONText?, cells: JSONText?, nextKey: Int,
        nextSection: Int,
        totalRowCount: Int, sections: [StoredSectionSummary], rows: [(section: Int, row: StoredRow)],
        answer: KeptAnswer? = nil
    ) {
        self.answer = answer
        self.id = id
        self.table = table
        self.tableVersion = tableVersion
        self.description = description
        self.epoch = epoch
        self.created = created
        self.opening = opening
        self.state = state
        self.displayedSections = displayedSections
        self.cells = cells
        self.nextKey = nextKey
        self.nextSection = nextSection
        self.totalRowCount = totalRowCount
        self.sections = sections
        self.rows = rows
    }
}

/// What a list of sessions says about each.
public struct SessionSummary: Sendable, Equatable {
    public var id: String
    /// The store's own name for it, never used again.
    public var number: Int
    public var table: String?
    public var epoch: String
    public var revision: Int
    public var created: Int
    public var updated: Int
    public var totalRowCount: Int

    public init(
        id: String, number: Int, table: String?, epoch: String, revision: Int, created: Int, updated: Int,
        totalRowCount: Int
    ) {
        self.id = id
        self.number = number
        self.table = table
        self.epoch = epoch
        self.revision = revision
        self.created = created
        self.updated = updated
        self.totalRowCount = totalRowCount
    }
}

/// What a session was opened with: it can be as large as the session.
public struct StoredOpening: Sendable {
    public var facts: SessionSummary
    /// As `StoredSession.description`.
    public var description: JSONText?
    /// The body of the request that opened it.
    public var body: JSONText

    public init(facts: SessionSummary, description: JSONText?, body: JSONText) {
        self.facts = facts
        self.description = description
        self.body = body
    }
}

/// One session as it is now, all of one moment.
public struct StoredSession: Sendable {
    public var facts: SessionSummary
    /// The version of the registered description; nil: it was inline.
    public var tableVersion: Int?
    /// The description's text, inline or registered, in the version that the session was opened with. For a session
    /// opened without one, what it shows while it has no rows; nil: nothing.
    public var description: JSONText?
    public var state: JSONText
    public var displayedSections: JSONText?
    /// The cells that the session registered; nil: none.
    public var cells: JSONText?
    public var nextKey: Int
    public var nextSection: Int
    /// By ordinal ascending; rows by rank ascending.
    public var sections: [(facts: StoredSectionSummary, rows: [StoredRow])]
    /// What clients see, while that is not what is stored.
    public var published: PublishedTable?

    public init(
        facts: SessionSummary, tableVersion: Int?, description: JSONText?, state: JSONText,
        displayedSections: JSONText?, cells: JSONText?, nextKey: Int, nextSection: Int,
        sections: [(facts: StoredSectionSummary, rows: [StoredRow])], published: PublishedTable? = nil
    ) {
        self.facts = facts
        self.tableVersion = tableVersion
        self.description = description
        self.state = state
        self.displayedSections = displayedSections
        self.cells = cells
        self.nextKey = nextKey
        self.nextSection = nextSection
        self.sections = sections
        self.published = published
    }
}

/// A session's table as clients see it, where changes to it were stored and not published.
public struct PublishedTable: Sendable {
    /// When it was published, in milliseconds since 1970.
    public var updated: Int
    public var displayedSections: JSONText?
    /// By ordinal ascending; rows by rank ascending.
    public var sections: [(facts: StoredSectionSummary, rows: [StoredRow])]

    public init(
        updated: Int, displayedSections: JSONText?, sections: [(facts: StoredSectionSummary, rows: [StoredRow])]
    ) {
        self.updated = updated
        self.displayedSections = displayedSections
        self.sections = sections
    }
}

/// One revision of one session: what it changes, and its journal record.
public struct SessionCommit: Sendable {
    /// The session's number.
    public var session: Int
    /// The revision that the stored session must be at.
    public var from: Int
    /// When it must have come to that, in milliseconds since 1970: at another time it was another revision of that
    /// number, and the database has lost the one that is meant. Nil: at any time.
    public var fromTime: Int?
    /// `from + 1`.
    public var to: Int
    public var at: Int
    public var change: TableChange
    /// Whether clients see what is stored now. If not, they see what they saw before, after a restart as well.
    public var publishes: Bool
    public var nextKey: Int
    public var nextSection: Int
    /// Of the rows that clients see.
    public var totalRowCount: Int
    public var command: JSONText
    /// The update, as it is journalled.
    public var update: JSONText
    /// The command's taps and cell events as controllers receive them, an array. `nil` if the command has none.
    public var rowEvents: JSONText?
    /// The ids of what the update took out of sight; nil: nothing.
    public var hidden: JSONText?
    /// What leads back to `from`: a `StoredUndo` in JSON.
    public var undo: JSONText
    /// What the client is answered, for when it asks again.
    public var answer: KeptAnswer?

    public init(
        session: Int, from: Int, fromTime: Int? = nil, to: Int, at: Int, change: TableChange, publishes: Bool,
        nextKey: Int, nextSection: Int,
        totalRowCount: Int, command: JSONText, update: JSONText, rowEvents: JSONText? = nil, hidden: JSONText? = nil,
        undo: JSONText,
        answer: KeptAnswer? = nil
    ) {
        self.hidden = hidden
        self.undo = undo
        self.answer = answer
        self.session = session
        self.from = from
        self.fromTime = fromTime
        self.to = to
        self.at = at
        self.change = change
        self.publishes = publishes
        self.nextKey = nextKey
        self.nextSection = nextSection
        self.totalRowCount = totalRowCount
        self.command = command
        self.update = update
        self.rowEvents = rowEvents
    }
}

extension SessionCommit {
    package var isExhausted: Bool { to > Key.largest || nextKey > Key.largest || nextSection > Key.largest }

    /// About how many rows it writes, or as much else.
    package var cost: Int { change.rowCount + journalBytes / 1_000 }

    /// Bytes of what the journal keeps of it.
    package var journalBytes: Int { record.bytes + undo.count }

    package var record: JournalRecord {
        JournalRecord(revision: to, at: at, command: command, update: update, rowEvents: rowEvents, hidden: hidden)
    }
}

/// What the journal keeps of one revision.
public struct JournalRecord: Sendable, Equatable {
    public var revision: Int
    public var at: Int
    public var command: JSONText
    public var update: JSONText
    public var rowEvents: JSONText?
    /// The ids of what the update took out of sight; nil: nothing.
    public var hidden: JSONText?

    public init(
        revision: Int, at: Int, command: JSONText, update: JSONText, rowEvents: JSONText? = nil, hidden: JSONText? = nil
    ) {
        self.hidden = hidden
        self.revision = revision
        self.at = at
        self.command = command
        self.update = update
        self.rowEvents = rowEvents
    }

    /// Bytes of its texts.
    package var bytes: Int { command.count + update.count + (rowEvents?.count ?? 0) + (hidden?.count ?? 0) }
}
