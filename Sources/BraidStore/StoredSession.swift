import BraidEngine

public typealias SectionRows = (summary: StoredSectionSummary, rows: [StoredRow])

/// Times are milliseconds since 1970.
public struct NewSession: Sendable {
    /// With the number and the revision 0.
    public var summary: SessionSummary
    /// Without one, the JSON that the session shows while it has no rows.
    public var description: JSONText?
    /// Where `reset` starts, and `replay` unless the journal begins with a checkpoint: the request's body or, for a
    /// fork, one with the copied table.
    public var opening: JSONText
    public var state: JSONText
    /// Ids that a command has chosen.
    public var displayedSections: JSONText?
    /// By model type.
    public var cells: JSONText?
    /// For the next new row, as `nextSection`.
    public var nextKey: Int
    public var nextSection: Int
    public var sections: [StoredSectionSummary]
    public var rows: [(section: Int, row: StoredRow)]
    /// Of a fork, in place of `opening` and `rows`, which are empty.
    public var shared: SharedTable?
    public var answer: KeptAnswer?
    /// Seconds without use until the session ends.
    public var unusedLimit: Int?

    /// For stores that cannot share a table.
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

    package var inlineDescription: JSONText? { summary.tableVersion == nil ? description : nil }

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

/// A fork's table, whose functions capture values that share memory with the origin. A store in memory keeps them;
/// one on disk calls them once.
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

/// Times are milliseconds since 1970.
public struct SessionSummary: Sendable, Equatable {
    public var id: String
    /// Never used again.
    public var number: Int
    public var table: String?
    /// Of a registered description.
    public var tableVersion: Int?
    /// Distinguishes sessions with the same id. Ends with the database's suffix if the session is older than that.
    public var epoch: String
    public var revision: Int
    public var created: Int
    /// By the last revision.
    public var updated: Int
    /// Visible to clients.
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

public struct UnusedSession: Sendable {
    public var summary: SessionSummary
    /// Seconds.
    public var limit: Int
    /// Milliseconds since 1970: the opening or the last renewal.
    public var used: Int
}

public struct StoredOpening: Sendable {
    public var summary: SessionSummary
    /// As of the opening.
    public var description: JSONText?
    public var body: JSONText
}

public struct StoredSession: Sendable {
    public var summary: SessionSummary
    /// As of now.
    public var description: JSONText?
    // As in `NewSession`:
    public var state: JSONText
    public var displayedSections: JSONText?
    public var cells: JSONText?
    public var nextKey: Int
    public var nextSection: Int
    /// By ordinal, with rows by rank.
    public var sections: [SectionRows]
    /// `nil` if all is published.
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

/// What clients see while the session has unpublished changes.
public struct PublishedTable: Sendable {
    /// Milliseconds since 1970.
    public var updated: Int
    public var displayedSections: JSONText?
    public var sections: [SectionRows]

    public init(updated: Int, displayedSections: JSONText?, sections: [SectionRows]) {
        self.updated = updated
        self.displayedSections = displayedSections
        self.sections = sections
    }
}
