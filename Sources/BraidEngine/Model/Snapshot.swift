/// One displayed section.
public struct Section: Sendable {
    /// Unique in the table.
    public internal(set) var id: SectionID
    /// The header: `{"title": …}` or `{"view": …, "viewModel"?: …}`, with the declared heights. `null` without a
    /// header.
    public var header: JSONText
    /// The footer, of the same form as ``header``. `null` without a footer.
    public var footer: JSONText
    /// Where the rows may move: `"anySection"` or an array of section ids. `nil` if they may not.
    public var movesTo: JSONText?
    /// Whether all rows have ids.
    public var isDiffable: Bool
    /// The displayed rows, in order.
    public var rows: PersistentList<Row> { didSet { idsWereChecked = false } }
    /// All rows have ids, no two of them equal, so that a diff need not check them again.
    var idsWereChecked = false
    /// Which of the section's displayed rows a window contains. `nil` for a whole section.
    public internal(set) var extent: Extent?

    /// Creates a section from its parts.
    public init(
        id: SectionID, header: JSONText = .null, footer: JSONText = .null, movesTo: JSONText? = nil,
        isDiffable: Bool = true, rows: PersistentList<Row> = []
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
    /// Without comparing rows, and apart from `id` and `extent`. If false, they may still be the same.
    func isShared(with other: Section) -> Bool {
        rows.isShared(with: other.rows) && isDiffable == other.isDiffable && header == other.header
            && footer == other.footer
            && movesTo == other.movesTo
    }

    /// Which rows of a section a window contains.
    public struct Extent: Sendable, Hashable {
        /// The index, in the section, of the first.
        public var offset: Int
        /// All displayed rows of the section, inside and outside of the window.
        public var rowCount: Int
    }
}

/// The displayed table at one revision, or the part of it that a window shows.
public struct Snapshot: Sendable {
    /// The session's revision: 0 at creation, one more for each applied command.
    public var revision: Int
    /// In order. Hidden sections are absent.
    public var sections: PersistentList<Section>
    /// Of all sections of the table, even in a window.
    public var totalRowCount: Int
    /// The session's state, a JSON object.
    public var state: JSONText
    /// What a client shows in place of rows while there are none.
    public var empty: JSONText?
    /// When this snapshot was rendered, in RFC 3339, as rows and titles read it.
    var now = ""
    /// The rows of hidden sections, where they had to be rendered to decide that.
    var offstage: [SectionID: PersistentList<Row>] = [:]
    /// The keys of displayed rows, for sections that can hide rows and do not have ids for all.
    var shownKeys: [SectionID: [Int]] = [:]

    /// Counts ``totalRowCount`` from the sections. O(sections).
    public init(revision: Int = 0, sections: [Section] = [], state: JSONText = .emptyObject, empty: JSONText? = nil) {
        self.revision = revision
        self.sections = PersistentList(sections)
        self.totalRowCount = sections.reduce(0) { $0 + $1.rows.count }
        self.state = state
        self.empty = empty
    }
}
