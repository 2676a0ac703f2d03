/// One displayed section: its id, its header and footer, and its rows.
public struct Section: Sendable {
    /// The section's id, unique in the table.
    public let id: SectionID
    /// The header: `{"title": …}` or `{"view": …, "viewModel"?: …}`, with the declared heights. `null` without a
    /// header.
    public var header: JSONText
    /// The footer, of the same form as ``header``. `null` without a footer.
    public var footer: JSONText
    /// The sections that this section's rows may move to: `"anySection"` or an array of section ids. `nil` if the rows
    /// may not move.
    public var movesTo: JSONText?
    /// Whether all rows of the section have ids. `false` if some rows have none, or if the section's models have no
    /// ids.
    public var isDiffable: Bool
    /// The section's displayed rows, in order.
    public var rows: PersistentList<Row> { didSet { idsWereChecked = false } }
    /// All rows have ids, no two of them equal, so that a diff need not check them again.
    var idsWereChecked = false
    /// If the section is a part of a window, says which of the section's displayed rows ``rows`` contains. `nil` for a
    /// whole section.
    public internal(set) var extent: Extent?

    /// Creates a section from its parts. A ``Binder`` makes the sections of a snapshot; tests and decoders use this
    /// initializer.
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
}

extension Section {
    /// The place of a window's rows in a section: the index of the window's first row, and the section's number of
    /// displayed rows.
    public struct Extent: Sendable, Hashable {
        /// The index, in the section, of the first row that the window contains.
        public var offset: Int
        /// The number of all displayed rows of the section, in the window and outside of the window.
        public var rowCount: Int

        /// Creates an extent.
        public init(offset: Int, rowCount: Int) {
            self.offset = offset
            self.rowCount = rowCount
        }
    }
}

/// The displayed table at one revision: the whole table, or the part of the table that a window shows.
public struct Snapshot: Sendable {
    /// The session's revision that this snapshot shows: 0 at creation, one more for each applied command.
    public var revision: Int
    /// The displayed sections, in order. Hidden sections are absent.
    public var sections: PersistentList<Section>
    /// The number of displayed rows in all sections of the table, even if the snapshot shows only a window.
    public var totalRowCount: Int
    /// The session's state: a JSON object that templates and handlers read and write.
    public var state: JSONText
    /// What a client shows in place of rows while there are none.
    public var empty: JSONText?
    /// When this snapshot was rendered, in RFC 3339, as rows and titles read it.
    var now = ""
    /// The rows of hidden sections, where they had to be rendered to decide that.
    var offstage: [SectionID: PersistentList<Row>] = [:]
    /// The keys of displayed rows, for sections that can hide rows and do not have ids for all.
    var shownKeys: [SectionID: [Int]] = [:]

    /// Creates a snapshot from its parts. ``totalRowCount`` is counted from the sections.
    ///
    /// - Complexity: O(sections).
    public init(revision: Int = 0, sections: [Section] = [], state: JSONText = .emptyObject, empty: JSONText? = nil) {
        self.revision = revision
        self.sections = PersistentList(sections)
        self.totalRowCount = sections.reduce(0) { $0 + $1.rows.count }
        self.state = state
        self.empty = empty
    }
}
