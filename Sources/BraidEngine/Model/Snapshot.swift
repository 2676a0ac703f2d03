/// One displayed section.
public struct Section: Sendable {
    /// Unique in the table.
    public internal(set) var id: SectionID
    /// `{"title": …}` or `{"view": …, "viewModel"?: …}`, with the declared heights; or `null`.
    public var header: JSONText
    /// As ``header``.
    public var footer: JSONText
    /// `"anySection"` or an array of ids. `nil` if rows may not move.
    public var movesTo: JSONText?
    /// All rows have ids.
    public var isDiffable: Bool
    /// Displayed, in order.
    public var rows: PersistentList<Row> { didSet { idsWereChecked = false } }
    /// Which stored rows they are, if the section can hide or sort some.
    var places: RowPlaces?
    /// All have ids, all different: a diff need not check.
    var idsWereChecked = false
    /// The part of the rows that a window contains; `nil` for all.
    public internal(set) var extent: Extent?

    /// From its parts.
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
    /// Whether all but `id` and `extent` is surely the same, without comparing rows. If false, it may still be.
    func isShared(with other: Section) -> Bool {
        rows.isShared(with: other.rows) && isDiffable == other.isDiffable && header == other.header
            && footer == other.footer
            && movesTo == other.movesTo
    }

    /// The rows that a window contains.
    public struct Extent: Sendable, Hashable {
        /// The first row's index in the section.
        public var offset: Int
        /// Displayed rows of the section, in the window or not.
        public var rowCount: Int
    }
}

/// The displayed table at one revision, or a window's part of it.
public struct Snapshot: Sendable {
    /// 0 at creation, one more for each applied command.
    public var revision: Int
    /// Displayed ones, in order.
    public var sections: PersistentList<Section>
    /// Of all sections, even in a window.
    public var totalRowCount: Int
    /// A JSON object.
    public var state: JSONText
    /// What to show while there are no rows.
    public var empty: JSONText?
    /// When it was rendered, in RFC 3339.
    var now = ""
    /// Rows of hidden sections, if they had to be rendered to decide that.
    var offstage: [SectionID: SectionRows] = [:]

    /// O(sections).
    public init(revision: Int = 0, sections: [Section] = [], state: JSONText = .emptyObject, empty: JSONText? = nil) {
        self.revision = revision
        self.sections = PersistentList(sections)
        self.totalRowCount = sections.reduce(0) { $0 + $1.rows.count }
        self.state = state
        self.empty = empty
    }
}
