import BraidEngine

/// A session that is about to be stored for the first time. All times are in milliseconds since 1970.
public struct NewSession: Sendable {
    public var id: String
    /// The name of the table description with which the session was opened. `nil` for a session that was opened without
    /// a table description.
    public var table: String?
    /// The version of the registered table description. `nil` if the opening request itself contained the description,
    /// or if the session has no description.
    public var tableVersion: Int?
    /// The text of the session's table description, whether registered or contained in the request. If the session has
    /// no description, this is the JSON that the session shows while it has no rows, or `nil`.
    public var description: JSONText?
    /// The new session's epoch, which distinguishes this session from earlier and later sessions with the same id.
    public var epoch: String
    public var created: Int
    /// The body of the request that opened the session. For a fork, a body with the copied table takes its place. The
    /// operation `reset` starts from this body, and so does `replay` unless the journal begins with a checkpoint.
    public var opening: JSONText
    public var state: JSONText
    /// The ids of the sections that a command has chosen to display, as a JSON array. `nil` if no command has chosen
    /// sections.
    public var displayedSections: JSONText?
    /// The session's own cells by model type, as JSON. `nil` if the session has none.
    public var cells: JSONText?
    /// The key that the session's next new row will get.
    public var nextKey: Int
    /// The number that the session's next new section will get.
    public var nextSection: Int
    /// The number of the session's rows that clients see.
    public var totalRowCount: Int
    public var sections: [StoredSectionSummary]
    /// The session's rows, each with the number of its section.
    public var rows: [(section: Int, row: StoredRow)]
    /// The table that this session shares with the session from which it was opened. If set, `opening` and `rows` are
    /// empty here, and the functions of `shared` return them. `nil` for a session that shares no table.
    public var shared: SharedTable?
    /// The answer to the request that opens the session, if the store keeps it for retries with the same
    /// `Idempotency-Key`.
    public var answer: KeptAnswer?
    /// The seconds after which the session ends when nobody uses it. `nil`: it stays.
    public var unusedLimit: Int?

    /// This session with its own opening and rows instead of a shared table, for a store that cannot share a table.
    package var copied: NewSession {
        get throws {
            guard let shared else { return self }
            var session = self
            session.opening = try shared.opening()
            session.rows = shared.rows()
            session.shared = nil
            return session
        }
    }

    /// The `description`, if the store keeps it with the session because no registered version contains it. Otherwise
    /// `nil`.
    package var inlineDescription: JSONText? { tableVersion == nil ? description : nil }

    /// When a session with an `unusedLimit` was last used. `nil` without one.
    package var used: Int? { unusedLimit == nil ? nil : created }

    package var isExhausted: Bool { nextKey > Key.largest || nextSection > Key.largest }

    public init(
        id: String, table: String?, tableVersion: Int?, description: JSONText?, epoch: String, created: Int,
        opening: JSONText, state: JSONText, displayedSections: JSONText?, cells: JSONText?, nextKey: Int,
        nextSection: Int,
        totalRowCount: Int, sections: [StoredSectionSummary], rows: [(section: Int, row: StoredRow)],
        shared: SharedTable? = nil, answer: KeptAnswer? = nil
    ) {
        self.shared = shared
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

/// The table of a session that was opened from another session. The functions capture values that share memory with the
/// other session.
///
/// A store in memory keeps the functions instead of copies of the rows. A store on disk calls the functions once and
/// stores the results.
public struct SharedTable: Sendable {
    /// Returns the body from which the session's `reset` starts, and `replay` unless the journal begins with a
    /// checkpoint. Throws a `StoreError` if the body would be too large.
    let opening: @Sendable () throws -> JSONText
    /// Returns the session's rows, each with the number of its section.
    let rows: @Sendable () -> [(section: Int, row: StoredRow)]

    public init(
        opening: @escaping @Sendable () throws -> JSONText,
        rows: @escaping @Sendable () -> [(section: Int, row: StoredRow)]
    ) {
        self.opening = opening
        self.rows = rows
    }
}

/// A session's identity, revision and times, as they appear in the list of sessions.
public struct SessionSummary: Sendable, Equatable {
    public var id: String
    /// The number that the store gave the session. No later session gets this number.
    public var number: Int
    /// The name of the session's table description. `nil` for a session that was opened without a table description.
    public var table: String?
    /// The version of the registered table description. `nil` if a request contained the description, or if the session
    /// has no description.
    public var tableVersion: Int?
    /// The session's epoch. The epoch ends with the database's epoch suffix if the session is older than this suffix.
    public var epoch: String
    public var revision: Int
    /// The time at which the session was opened, in milliseconds since 1970.
    public var created: Int
    /// The time of the session's last revision, in milliseconds since 1970.
    public var updated: Int
    /// The number of the session's rows that clients see.
    public var totalRowCount: Int

    public init(
        id: String, number: Int, table: String?, tableVersion: Int?, epoch: String, revision: Int, created: Int,
        updated: Int, totalRowCount: Int
    ) {
        self.id = id
        self.number = number
        self.table = table
        self.tableVersion = tableVersion
        self.epoch = epoch
        self.revision = revision
        self.created = created
        self.updated = updated
        self.totalRowCount = totalRowCount
    }
}

/// A session that ends when nobody uses it.
public struct UnusedSession: Sendable {
    public var facts: SessionSummary
    /// Seconds.
    public var limit: Int
    /// Milliseconds since 1970: the session's opening or its last renewal.
    public var used: Int
}

extension UnusedSession {
    /// The columns that `init(_:)` reads, for a query in which `s` is the table `session`.
    package static let columns = "\(SessionSummary.columns), s.unused_limit, s.used"

    /// An SQL condition: the initializer `init(_:)` accepts the row.
    package static let isSound = [
        SessionSummary.isSound, StoredNumber.unusedLimit.condition("s.unused_limit"),
        StoredNumber.time.condition("s.used"),
    ].joined(separator: " AND ")

    package init(_ columns: some StoredColumns) throws {
        self.init(
            facts: try SessionSummary(columns), limit: try columns.number(9, .unusedLimit, "unused_limit"),
            used: try columns.number(10, .time, "used"))
    }
}

/// The data with which a session was opened: the request's body and the table description. This data can be as large as
/// the session itself.
public struct StoredOpening: Sendable {
    public var facts: SessionSummary
    /// The table description with which the session was opened. The session may have been bound to another version
    /// since then, which `StoredSession.description` contains. For a session without a description, this property has
    /// the same value as `StoredSession.description`.
    public var description: JSONText?
    /// The body of the request that opened the session. For a fork, a body with the copied table takes its place.
    public var body: JSONText

    public init(facts: SessionSummary, description: JSONText?, body: JSONText) {
        self.facts = facts
        self.description = description
        self.body = body
    }
}

/// The whole stored content of a session at one moment.
public struct StoredSession: Sendable {
    public var facts: SessionSummary
    /// The text of the session's table description, in the version to which the session is bound. If the session has no
    /// description, this is the JSON that the session shows while it has no rows, or `nil`.
    public var description: JSONText?
    public var state: JSONText
    /// The ids of the sections that a command has chosen to display, as a JSON array. `nil` if no command has chosen
    /// sections.
    public var displayedSections: JSONText?
    /// The session's own cells by model type, as JSON. `nil` if the session has none.
    public var cells: JSONText?
    /// The key that the session's next new row will get.
    public var nextKey: Int
    /// The number that the session's next new section will get.
    public var nextSection: Int
    /// The session's sections by ascending ordinal, each with its rows by ascending rank.
    public var sections: [(facts: StoredSectionSummary, rows: [StoredRow])]
    /// The table that clients see, if it differs from the stored table because some stored changes are unpublished.
    /// `nil` if all stored changes are published.
    public var published: PublishedTable?

    public init(
        facts: SessionSummary, description: JSONText?, state: JSONText,
        displayedSections: JSONText?, cells: JSONText?, nextKey: Int, nextSection: Int,
        sections: [(facts: StoredSectionSummary, rows: [StoredRow])], published: PublishedTable? = nil
    ) {
        self.facts = facts
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

/// The table that clients see while the session has changes that are stored but not yet published.
public struct PublishedTable: Sendable {
    /// The time at which this table was published, in milliseconds since 1970.
    public var updated: Int
    /// The ids of the sections that a command had chosen to display in the published table, as a JSON array. `nil` if
    /// no command had chosen sections.
    public var displayedSections: JSONText?
    /// The published table's sections by ascending ordinal, each with its rows by ascending rank.
    public var sections: [(facts: StoredSectionSummary, rows: [StoredRow])]

    public init(
        updated: Int, displayedSections: JSONText?, sections: [(facts: StoredSectionSummary, rows: [StoredRow])]
    ) {
        self.updated = updated
        self.displayedSections = displayedSections
        self.sections = sections
    }
}

/// Everything that the store writes for one new revision of a session: the changes and the journal record.
public struct SessionCommit: Sendable {
    /// The number that the store gave the session when it was opened.
    public var session: Int
    /// The revision that the stored session must have before this commit. If the session has another revision, the
    /// store refuses the commit.
    public var from: Int
    /// The time that the stored revision `from` must have, in milliseconds since 1970. `nil` accepts any time.
    ///
    /// If the stored revision has another time, the database has lost the expected revision and later reused its
    /// number.
    public var fromTime: Int?
    /// The number of the new revision, `from + 1`.
    public var to: Int
    /// The time at which the session committed the command, in milliseconds since 1970.
    public var at: Int
    public var change: TableChange
    /// The table description to which this commit binds the session. `nil` if the session keeps its description.
    public var binding: StoredBinding?
    /// Whether this commit publishes the stored table. If not, clients continue to see the table that was published
    /// before, even after a restart of the server.
    public var publishes: Bool
    /// The key that the session's next new row will get after this commit.
    public var nextKey: Int
    /// The number that the session's next new section will get after this commit.
    public var nextSection: Int
    /// The number of the session's rows that clients see after this commit.
    public var totalRowCount: Int
    /// The command that led to this revision, as JSON. The journal stores it.
    public var command: JSONText
    /// The update from the previous revision to this one, as JSON. The journal stores it.
    public var update: JSONText
    /// The command's taps, cell events and emitted events, as a JSON array, in the form in which controllers receive
    /// them. `nil` if the command has none.
    public var controllerEvents: JSONText?
    /// The rows and sections that the update removes from the display or replaces there, with their ids, as JSON. `nil`
    /// if there are none. Rebasing a command on an older position needs these ids.
    public var hidden: JSONText?
    /// The undo record of this commit, which leads the session back to the revision `from`: a `StoredUndo` as JSON.
    public var undo: JSONText
    /// The answer to the command, if the store keeps it for retries with the same `Idempotency-Key`.
    public var answer: KeptAnswer?

    public init(
        session: Int, from: Int, fromTime: Int? = nil, to: Int, at: Int, change: TableChange,
        binding: StoredBinding? = nil, publishes: Bool, nextKey: Int, nextSection: Int,
        totalRowCount: Int, command: JSONText, update: JSONText, controllerEvents: JSONText? = nil,
        hidden: JSONText? = nil,
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
        self.binding = binding
        self.publishes = publishes
        self.nextKey = nextKey
        self.nextSection = nextSection
        self.totalRowCount = totalRowCount
        self.command = command
        self.update = update
        self.controllerEvents = controllerEvents
    }
}

extension SessionCommit {
    package var isExhausted: Bool { to > Key.largest || nextKey > Key.largest || nextSection > Key.largest }

    /// The estimated cost of writing this commit, in rows: larger JSON texts count as further rows.
    package var cost: Int { change.rowCount + journalBytes / 1_000 }

    /// The size of this commit's journal record, its undo record included, in bytes.
    package var journalBytes: Int { record.bytes + undo.count }

    package var record: JournalRecord {
        JournalRecord(
            revision: to, at: at, command: command, update: update, controllerEvents: controllerEvents, hidden: hidden)
    }
}

/// The record of one revision in a session's journal: the command and the update.
public struct JournalRecord: Sendable, Equatable {
    public var revision: Int
    /// The time at which the revision was committed, in milliseconds since 1970.
    public var at: Int
    /// The command that led to the revision, as JSON.
    public var command: JSONText
    /// The update from the previous revision to this one, as JSON.
    public var update: JSONText
    /// The command's taps, cell events and emitted events, as a JSON array. `nil` if the command has none.
    public var controllerEvents: JSONText?
    /// The rows and sections that the update removes from the display or replaces there, with their ids, as JSON. `nil`
    /// if there are none. Rebasing a command on an older position needs these ids.
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

    /// The size of this journal record's JSON texts, in bytes.
    package var bytes: Int { command.count + update.count + (controllerEvents?.count ?? 0) + (hidden?.count ?? 0) }
}
