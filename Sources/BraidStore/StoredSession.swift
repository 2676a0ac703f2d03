import BraidEngine

/// A section's summary with its rows.
public typealias SectionRows = (summary: StoredSectionSummary, rows: [StoredRow])

/// A session that is about to be stored. Times are in milliseconds since 1970.
public struct NewSession: Sendable {
    /// With the number and the revision 0.
    public var summary: SessionSummary
    /// The text of the description, registered or not. Without one, the JSON that the session shows while it has no
    /// rows.
    public var description: JSONText?
    /// The body from which `reset` starts, and `replay` unless the journal begins with a checkpoint: that of the request
    /// or, for a fork, one with the copied table.
    public var opening: JSONText
    public var state: JSONText
    /// The ids that a command has chosen, as a JSON array.
    public var displayedSections: JSONText?
    /// The session's own cells by model type, as JSON.
    public var cells: JSONText?
    /// The key of the next new row.
    public var nextKey: Int
    /// The number of the next new section.
    public var nextSection: Int
    public var sections: [StoredSectionSummary]
    /// Each with the number of its section.
    public var rows: [(section: Int, row: StoredRow)]
    /// The table of a fork. It takes the place of `opening` and `rows`, which are empty then.
    public var shared: SharedTable?
    /// The answer to the request, for retries with its `Idempotency-Key`.
    public var answer: KeptAnswer?
    /// The seconds after which the session ends when nobody uses it.
    public var unusedLimit: Int?

    /// With an opening and rows of its own, for a store that cannot share a table.
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

    /// The description that is stored with the session, because no registered version contains it.
    package var inlineDescription: JSONText? { summary.tableVersion == nil ? description : nil }

    /// When a session with an `unusedLimit` was last used.
    package var used: Int? { unusedLimit == nil ? nil : summary.created }

    package var isExhausted: Bool { nextKey > Key.largest || nextSection > Key.largest }

    public init(
        summary: SessionSummary, description: JSONText?, opening: JSONText, state: JSONText,
        displayedSections: JSONText?, cells: JSONText?, nextKey: Int, nextSection: Int,
        sections: [StoredSectionSummary], rows: [(section: Int, row: StoredRow)], shared: SharedTable? = nil,
        answer: KeptAnswer? = nil
    ) {
        self.summary = summary
        self.description = description
        self.opening = opening
        self.state = state
        self.displayedSections = displayedSections
        self.cells = cells
        self.nextKey = nextKey
        self.nextSection = nextSection
        self.sections = sections
        self.rows = rows
        self.shared = shared
        self.answer = answer
    }
}

/// The table of a fork, whose functions capture values that share memory with the origin. A store in memory keeps the
/// functions; a store on disk calls them once and stores the results.
public struct SharedTable: Sendable {
    /// Throws a `StoreError` if the body would be too large.
    let opening: @Sendable () throws -> JSONText
    let rows: @Sendable () -> [(section: Int, row: StoredRow)]

    public init(
        opening: @escaping @Sendable () throws -> JSONText,
        rows: @escaping @Sendable () -> [(section: Int, row: StoredRow)]
    ) {
        self.opening = opening
        self.rows = rows
    }
}

/// A session as it appears in the list of sessions. Times are in milliseconds since 1970.
public struct SessionSummary: Sendable, Equatable {
    public var id: String
    /// Given by the store, and never used again.
    public var number: Int
    /// The name of the table description, or `nil` without one.
    public var table: String?
    /// The version of the registered description. `nil` if a request contained the description, or without one.
    public var tableVersion: Int?
    /// Distinguishes this session from others with the same id. Ends with the database's epoch suffix if the session is
    /// older than this suffix.
    public var epoch: String
    public var revision: Int
    public var created: Int
    /// The time of the last revision.
    public var updated: Int
    /// Of the rows that clients see.
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
    public var summary: SessionSummary
    /// Seconds.
    public var limit: Int
    /// Milliseconds since 1970: the session's opening or its last renewal.
    public var used: Int
}

/// With what a session was opened. It can be as large as the session.
public struct StoredOpening: Sendable {
    public var summary: SessionSummary
    /// As `NewSession.description`. `StoredSession.description` contains what the session uses now.
    public var description: JSONText?
    /// As `NewSession.opening`.
    public var body: JSONText
}

/// The whole content of a session at one moment.
public struct StoredSession: Sendable {
    public var summary: SessionSummary
    /// The description that the session uses now. Without one, the JSON that it shows while it has no rows.
    public var description: JSONText?
    // As in `NewSession`:
    public var state: JSONText
    public var displayedSections: JSONText?
    public var cells: JSONText?
    public var nextKey: Int
    public var nextSection: Int
    /// By ascending ordinal, each with its rows by ascending rank.
    public var sections: [SectionRows]
    /// The table that clients see, if some stored changes are unpublished.
    public var published: PublishedTable?

    public init(
        summary: SessionSummary, description: JSONText?, state: JSONText,
        displayedSections: JSONText?, cells: JSONText?, nextKey: Int, nextSection: Int,
        sections: [SectionRows], published: PublishedTable? = nil
    ) {
        self.summary = summary
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
    /// When it was published, in milliseconds since 1970.
    public var updated: Int
    public var displayedSections: JSONText?
    public var sections: [SectionRows]

    public init(updated: Int, displayedSections: JSONText?, sections: [SectionRows]) {
        self.updated = updated
        self.displayedSections = displayedSections
        self.sections = sections
    }
}
