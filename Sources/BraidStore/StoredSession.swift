import BraidEngine

package typealias SectionRows = (summary: StoredSectionSummary, rows: [StoredRow])

/// Times are milliseconds since 1970.
package struct NewSession: Sendable {
    /// Its number and its revision are 0.
    package var summary: SessionSummary
    /// The table description. For a session without one, the JSON that it shows while it has no rows.
    package var description: JSONText?
    /// Where `reset` starts, and `replay` unless the journal begins with a checkpoint: the request's body or, for a
    /// fork, one with the copied table.
    package var opening: JSONText
    package var state: JSONText
    /// Ids that a command has chosen.
    package var displayedSections: JSONText?
    /// By model type.
    package var cells: JSONText?
    /// For the next new row, as `nextSection`.
    package var nextKey: Int
    package var nextSection: Int
    package var sections: [StoredSectionSummary]
    package var rows: [(section: Int, row: StoredRow)]
    /// Of a fork, in place of `opening` and `rows`, which are empty.
    package var shared: SharedTable?
    package var answer: KeptAnswer?
    /// Seconds without use until the session ends.
    package var unusedLimit: Int?

    /// With its own rows, for stores that cannot share a table.
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

    package init(
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
package struct SharedTable: Sendable {
    /// Throws a `StoreError` if the body would be too large.
    let opening: @Sendable () throws -> JSONText
    let rows: @Sendable () -> [(section: Int, row: StoredRow)]

    package init(
        opening: @escaping @Sendable () throws -> JSONText,
        rows: @escaping @Sendable () -> [(section: Int, row: StoredRow)]
    ) {
        self.opening = opening
        self.rows = rows
    }
}

/// Times are milliseconds since 1970.
package struct SessionSummary: Sendable, Equatable {
    package var id: String
    /// Never used again.
    package var number: Int
    package var table: String?
    /// `nil` without a registered description.
    package var tableVersion: Int?
    /// Distinguishes sessions with the same id. Ends with the database's suffix if the session is older than that.
    package var epoch: String
    package var revision: Int
    package var created: Int
    /// When the last revision was made.
    package var updated: Int
    /// Visible to clients.
    package var totalRowCount: Int

    package init(
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

package struct UnusedSession: Sendable {
    package var summary: SessionSummary
    /// Seconds.
    package var limit: Int
    /// Milliseconds since 1970: the opening or the last renewal.
    package var used: Int
}

package struct StoredOpening: Sendable {
    package var summary: SessionSummary
    /// As of the opening.
    package var description: JSONText?
    package var body: JSONText
}

package struct StoredSession: Sendable {
    package var summary: SessionSummary
    /// As of now.
    package var description: JSONText?
    // As in `NewSession`:
    package var state: JSONText
    package var displayedSections: JSONText?
    package var cells: JSONText?
    package var nextKey: Int
    package var nextSection: Int
    /// By ordinal, with rows by rank.
    package var sections: [SectionRows]
    /// `nil` if all is published.
    package var published: PublishedTable?

    package init(
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
package struct PublishedTable: Sendable {
    /// Milliseconds since 1970.
    package var updated: Int
    package var displayedSections: JSONText?
    package var sections: [SectionRows]

    package init(updated: Int, displayedSections: JSONText?, sections: [SectionRows]) {
        self.updated = updated
        self.displayedSections = displayedSections
        self.sections = sections
    }
}
