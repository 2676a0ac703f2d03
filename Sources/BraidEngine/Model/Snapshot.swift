/// A section as it is displayed.
public struct Section: Sendable {
    public let id: SectionID
    /// `{"title": …}` or `{"view": …, "viewModel": …}`, with the heights that are declared; null for none.
    public var header: JSONText
    public var footer: JSONText
    /// `"anySection"` or the list of section ids that rows may move to; nil when rows may not move.
    public var movesTo: JSONText?
    /// False when the section's models are not identifiable: its rows have no ids.
    public var isDiffable: Bool
    public var rows: ChunkedList<Row> { didSet { idsWereChecked = false } }
    /// It is known that no two rows have the same id, and that all have one: a diff need not look for that again.
    var idsWereChecked = false

    public init(
        id: SectionID, header: JSONText = .null, footer: JSONText = .null, movesTo: JSONText? = nil,
        isDiffable: Bool = true, rows: ChunkedList<Row> = []
    ) {
        self.id = id
        self.header = header
        self.footer = footer
        self.movesTo = movesTo
        self.isDiffable = isDiffable
        self.rows = rows
    }
}

extension Section {
    /// The same section is the same before and after, as far as can be told without a look at its rows.
    func isShared(with other: Section) -> Bool {
        rows.isShared(with: other.rows) && isDiffable == other.isDiffable && header == other.header && footer == other.footer
            && movesTo == other.movesTo
    }
}

/// The whole displayed table at one revision.
public struct Snapshot: Sendable {
    public var revision: Int
    public var sections: ChunkedList<Section>
    public var totalRowCount: Int
    public var state: JSONText
    /// What stands in the place of the rows while there are none; nil while there are, or when none is described.
    public var empty: JSONText?
    /// The time that its rows and titles have read, where they read one.
    var now = ""
    /// Rows of sections that are not displayed, but whose rows had to be made to know that.
    var offstage: [SectionID: ChunkedList<Row>] = [:]
    /// The keys of the stored rows that are shown, of sections that hide some of their rows and whose rows have no ids.
    var shownKeys: [SectionID: [Int]] = [:]

    public init(revision: Int = 0, sections: [Section] = [], state: JSONText = .emptyObject, empty: JSONText? = nil) {
        self.revision = revision
        self.sections = ChunkedList(sections)
        self.totalRowCount = sections.reduce(0) { $0 + $1.rows.count }
        self.state = state
        self.empty = empty
    }
}
