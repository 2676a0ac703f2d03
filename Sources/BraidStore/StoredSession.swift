import BraidEngine

/// A new session. All times are in milliseconds since 1970.
public struct NewSession: Sendable {
    public var id: String
    /// The name of the session's table. `nil` for a session that was opened without a table description.
    public var table: String?
    /// The version of the registered description. `nil` if the description is inline or absent.
    public var tableVersion: Int?
    /// The inline or registered description. For a session without a description, the JSON that it shows while it has
    /// no rows, or `nil`.
    public var description: JSONText?
    /// The session's epoch, which identifies this session among all sessions with the same id.
    public var epoch: String
    public var created: Int
    /// The body of the request that opened the session, for `reset` and `replay`.
    public var opening: JSONText
    public var state: JSONText
    /// The ids of the displayed sections as a JSON array. `nil` if no list was set.
    public var displayedSections: JSONText?
    /// The cells that the session registered, or `nil`.
    public var cells: JSONText?
    /// The key of the next new row.
    public var nextKey: Int
    /// The number of the next new section.
    public var nextSection: Int
    /// The number of rows that clients see.
    public var totalRowCount: Int
    public var sections: [StoredSectionSummary]
    /// The rows, each with the number of its section.
    public var rows: [(section: Int, row: StoredRow)]
    /// The answer to the client, which is stored for repeated requests.
    public var answer: KeptAnswer?

    /// The description, if the session stores it itself.
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

/// The summary of a session, as a list of sessions contains it.
public struct SessionSummary: Sendable, Equatable {
    public var id: String
    /// The store's number of the session, which is never used again.
    public var number: Int
    /// The name of the session's table. `nil` for a session that was opened without a table description.
    public var table: String?
    /// The session's epoch, with the database's epoch suffix if the session is older than it.
    public var epoch: String
    public var revision: Int
    /// The time of the opening, in milliseconds since 1970.
    public var created: Int
    /// The time of the last revision, in milliseconds since 1970.
    public var updated: Int
    /// The number of rows that clients see.
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

/// The data with which a session was opened. This data can be as large as the session.
public struct StoredOpening: Sendable {
    public var facts: SessionSummary
    /// The description, as in `StoredSession.description`.
    public var description: JSONText?
    /// The body of the request that opened the session.
    public var body: JSONText

    public init(facts: SessionSummary, description: JSONText?, body: JSONText) {
        self.facts = facts
        self.description = description
        self.body = body
    }
}

/// The content of a session at one moment.
public struct StoredSession: Sendable {
    public var facts: SessionSummary
    /// The version of the registered description. `nil` if the description is inline or absent.
    public var tableVersion: Int?
    /// The inline or registered description, in the version with which the session was opened. For a session without a
    /// description, the JSON that it shows while it has no rows, or `nil`.
    public var description: JSONText?
    public var state: JSONText
    /// The ids of the displayed sections as a JSON array. `nil` if no list was set.
    public var displayedSections: JSONText?
    /// The cells that the session registered, or `nil`.
    public var cells: JSONText?
    /// The key of the next new row.
    public var nextKey: Int
    /// The number of the next new section.
    public var nextSection: Int
    /// The sections by ascending ordinal, each with its rows by ascending rank.
    public var sections: [(facts: StoredSectionSummary, rows: [StoredRow])]
    /// The table that clients see. `nil` if clients see the stored table.
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

/// The table that clients see while the session has unpublished changes.
public struct PublishedTable: Sendable {
    /// The time of publication, in milliseconds since 1970.
    public var updated: Int
    /// The ids of the displayed sections as a JSON array. `nil` if no list was set.
    public var displayedSections: JSONText?
    /// The sections by ascending ordinal, each with its rows by ascending rank.
    public var sections: [(facts: StoredSectionSummary, rows: [StoredRow])]

    public init(
        updated: Int, displayedSections: JSONText?, sections: [(facts: StoredSectionSummary, rows: [StoredRow])]
    ) {
        self.updated = updated
        self.displayedSections = displayedSections
        self.sections = sections
    }
}

/// A commit of one revision: its changes and its journal record.
public struct SessionCommit: Sendable {
    /// The session's number.
    public var session: Int
    /// The revision that the stored session must be at.
    public var from: Int
    /// The required time of the revision `from`, in milliseconds since 1970. `nil` accepts any time.
    ///
    /// Another time means that the database has lost the expected revision and later reused its number.
    public var fromTime: Int?
    /// The new revision, `from + 1`.
    public var to: Int
    /// The time of the commit, in milliseconds since 1970.
    public var at: Int
    public var change: TableChange
    /// Whether clients see the stored table after this commit. If not, clients continue to see the previously published
    /// table, also after a restart.
    public var publishes: Bool
    /// The key of the next new row.
    public var nextKey: Int
    /// The number of the next new section.
    public var nextSection: Int
    /// The number of rows that clients see.
    public var totalRowCount: Int
    /// The command in its JSON form, for the journal.
    public var command: JSONText
    /// The update for the journal.
    public var update: JSONText
    /// The command's taps and cell events as controllers receive them, an array. `nil` if the command has none.
    public var rowEvents: JSONText?
    /// The ids of rows and sections that the update hides, or `nil`.
    public var hidden: JSONText?
    /// The undo record that leads back to the revision `from`: a `StoredUndo` in JSON.
    public var undo: JSONText
    /// The answer to the client, which is stored for repeated requests.
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

    /// The estimated cost of the commit, in rows.
    package var cost: Int { change.rowCount + journalBytes / 1_000 }

    /// The size of the journal record with its undo record, in bytes.
    package var journalBytes: Int { record.bytes + undo.count }

    package var record: JournalRecord {
        JournalRecord(revision: to, at: at, command: command, update: update, rowEvents: rowEvents, hidden: hidden)
    }
}

/// The journal's record of one revision.
public struct JournalRecord: Sendable, Equatable {
    public var revision: Int
    /// The time of the commit, in milliseconds since 1970.
    public var at: Int
    /// The command in its JSON form.
    public var command: JSONText
    /// The update in its JSON form.
    public var update: JSONText
    /// The command's taps and cell events, as a JSON array. `nil` if the command has none.
    public var rowEvents: JSONText?
    /// The ids of rows and sections that the update hides, or `nil`.
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

    /// The size of the record's texts, in bytes.
    package var bytes: Int { command.count + update.count + (rowEvents?.count ?? 0) + (hidden?.count ?? 0) }
}
