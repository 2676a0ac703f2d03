/// One stored model: the data behind a row, displayed or not.
public struct StoredRow: Sendable {
    /// In its session: 1, 2, 3, … Never changes, and is never used again.
    public var key: Int
    /// Orders the rows of a section. Ascends with gaps, so that most inserts write only one row.
    public var rank: Int
    /// The id and model, which may share the bytes of the displayed row, but never those of a request, which would stay
    /// in memory.
    var content: RowContent

    /// Creates a stored row. `id` is `nil` if the model has none.
    public init(key: Int, rank: Int, id: RowID?, model: JSONText) {
        self.key = key
        self.rank = rank
        content = RowContent(id: id, model: model)
    }

    /// `nil` if the model has no id. Each call parses it again.
    public var id: RowID? { content.id }

    /// JSON `null` for a row without a model.
    public var model: JSONText { content.model ?? .null }
}

/// What a store keeps of a section besides its rows.
public struct StoredSectionSummary: Sendable, Equatable {
    /// In its session: 1, 2, 3, … Never used again.
    public var number: Int
    /// The id.
    public var id: SectionID
    /// Orders the sections of the table. Ascends with gaps.
    public var ordinal: Int
    /// What a command set in place of the description's header; JSON `null` for none. `nil` leaves the description's.
    public var header: JSONText?
    /// The footer likewise.
    public var footer: JSONText?
    /// How many rows were displayed when `onPrefetch` last ran. It runs again only for more, or once this is `nil`.
    public var prefetched: Int?

    /// Creates a summary.
    public init(
        number: Int, id: SectionID, ordinal: Int, header: JSONText? = nil, footer: JSONText? = nil,
        prefetched: Int? = nil
    ) {
        self.number = number
        self.id = id
        self.ordinal = ordinal
        self.header = header
        self.footer = footer
        self.prefetched = prefetched
    }
}

/// The changes that one command made in the stored table: what a store writes, however large the table is.
public struct TableChange: Sendable {
    /// New rows and those with another model, each with its section's number.
    public var writtenRows: [(section: Int, row: StoredRow)] = []
    /// Rows with the same model in another section or at another rank, by the new section's number.
    public var placedRows: [(section: Int, key: Int, rank: Int)] = []
    /// The keys of removed rows.
    public var removedRows: [Int] = []
    /// New sections and those whose summary changed.
    public var writtenSections: [StoredSectionSummary] = []
    /// The numbers of removed sections, whose rows are in ``removedRows``.
    public var removedSections: [Int] = []
    /// `nil` if unchanged.
    public var state: JSONText?
    /// The ids that were set to be displayed, as a JSON array; JSON `null` if that was taken back. `nil` if unchanged.
    public var displayedSections: JSONText?
    /// The registered cells, as a JSON object by model type. `nil` if unchanged.
    public var cells: JSONText?

    /// No changes.
    public init() {}

    /// How many rows the store has to write, place or remove.
    public var rowCount: Int { writtenRows.count + placedRows.count + removedRows.count }

    /// Nothing to write.
    public var isEmpty: Bool {
        rowCount == 0 && writtenSections.isEmpty && removedSections.isEmpty && state == nil && displayedSections == nil
            && cells == nil
    }

    /// About the size as JSON, in bytes. O(rows and sections of the change).
    package var estimatedSize: Int {
        var size = 24 * (removedRows.count + removedSections.count) + 64 * placedRows.count
        for (_, row) in writtenRows { size += row.estimatedSize }
        for summary in writtenSections { size += summary.estimatedSize }
        return size + (state?.count ?? 0) + (displayedSections?.count ?? 0) + (cells?.count ?? 0)
    }
}

extension StoredRow {
    /// About the size as JSON, in bytes.
    var estimatedSize: Int { content.storedSize + 64 }
}

extension StoredSectionSummary {
    /// About the size as JSON, in bytes.
    var estimatedSize: Int { 128 + id.text.utf8.count + (header?.count ?? 0) + (footer?.count ?? 0) }
}
