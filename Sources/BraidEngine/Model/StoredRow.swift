/// One stored model: what stands behind a displayed row.
public struct StoredRow: Sendable {
    /// Names the row for as long as it lives, within its session: 1, 2, 3, … and never used again.
    public var key: Int
    /// Orders the rows of a section: ascending, with gaps, so that an insert writes one row and not all that follow.
    public var rank: Int
    /// Id and model, in bytes of their own, so that no row keeps a whole request in memory, or in those of the row that
    /// shows them.
    var content: RowContent

    public init(key: Int, rank: Int, id: RowID?, model: JSONText) {
        self.key = key
        self.rank = rank
        content = RowContent(id: id, model: model)
    }

    /// The model's identity; nil when its type is not identifiable. Made each time.
    public var id: RowID? { content.id }

    public var model: JSONText { content.model ?? .null }
}

/// A section's facts beside its rows.
public struct StoredSectionFacts: Sendable, Equatable {
    /// Names the section within its session, as `StoredRow.key` names a row: 1, 2, 3, …
    public var number: Int
    public var id: SectionID
    /// The place in the order of first appearance or declaration; ascending, gaps allowed.
    public var ordinal: Int
    /// The title or view that was set in place of the description's; nil: none was set. JSON null: set to none.
    public var header: JSONText?
    public var footer: JSONText?
    /// How many rows there were when `onPrefetch` was last called; nil: not since the section was filled.
    public var prefetched: Int?

    public init(
        number: Int, id: SectionID, ordinal: Int, header: JSONText? = nil, footer: JSONText? = nil, prefetched: Int? = nil
    ) {
        self.number = number
        self.id = id
        self.ordinal = ordinal
        self.header = header
        self.footer = footer
        self.prefetched = prefetched
    }
}

/// What one command changed in the stored table: exactly what a store has to write, however large the table is.
public struct TableChange: Sendable {
    /// Rows that are new, or whose model changed.
    public var writtenRows: [(section: Int, row: StoredRow)] = []
    /// Rows whose model is as it was, but whose section or rank changed.
    public var placedRows: [(section: Int, key: Int, rank: Int)] = []
    /// Keys of the rows that are gone.
    public var removedRows: [Int] = []
    /// Sections that are new or whose facts changed.
    public var writtenSections: [StoredSectionFacts] = []
    /// Numbers of the sections that are gone; their rows stand in `removedRows`.
    public var removedSections: [Int] = []
    /// The state, if it changed.
    public var state: JSONText?
    /// The manually displayed sections (an array of ids; null for none), if they changed.
    public var displayedSections: JSONText?
    /// The cells that the session registered (an object from model types to cells), if they changed.
    public var cells: JSONText?

    public init() {}

    /// How many rows are to be written, placed or removed.
    public var rowCount: Int { writtenRows.count + placedRows.count + removedRows.count }

    public var isEmpty: Bool {
        rowCount == 0 && writtenSections.isEmpty && removedSections.isEmpty && state == nil && displayedSections == nil && cells == nil
    }
}
