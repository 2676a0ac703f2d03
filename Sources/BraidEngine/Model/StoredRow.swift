/// A model: the data behind a row, displayed or not.
public struct StoredRow: Sendable {
    /// 1, 2, 3, … in its session. Never changes, never used again.
    public var key: Int
    /// Orders a section's rows. Has gaps, so that most inserts write only one row.
    public var rank: Int
    /// May share the displayed row's bytes, but never a request's, which would then stay in memory.
    var content: RowContent

    private init(key: Int, rank: Int, content: RowContent) {
        self.key = key
        self.rank = rank
        self.content = content
    }

    /// `id` is `nil` if the model has none.
    public init(key: Int, rank: Int, id: RowID?, model: JSONText) {
        self.init(key: key, rank: rank, content: RowContent(id: id, model: model))
    }

    /// From stored UTF-8, checked again, without a copy in between. Throws ``JSONError``.
    package init(
        key: Int, rank: Int, id: UnsafeRawBufferPointer?, model: UnsafeRawBufferPointer, depthLimit: Int
    ) throws(JSONError) {
        // The disk may return an id that is not UTF-8.
        if JSONText.isCompact(model, depthLimit: depthLimit), id?.allSatisfy({ $0 < 0x80 }) != false {
            self.init(key: key, rank: rank, content: RowContent(id: id, model: model))
        } else {
            self.init(
                key: key, rank: rank, id: id.map { RowID(String(decoding: $0, as: UTF8.self)) },
                model: try JSONText(parsing: [UInt8](model), depthLimit: depthLimit))
        }
    }

    /// Parsed at each call.
    public var id: RowID? { content.id }

    /// JSON `null` if there is none.
    public var model: JSONText { content.model ?? .null }
}

/// A section without its rows, as a store keeps it.
public struct StoredSectionSummary: Sendable, Equatable {
    /// 1, 2, 3, … in its session. Never used again.
    public var number: Int
    /// The section.
    public var id: SectionID
    /// Orders the sections. Has gaps.
    public var ordinal: Int
    /// Set by a command; JSON `null` for none. `nil` leaves the description's.
    public var header: JSONText?
    /// As ``header``.
    public var footer: JSONText?
    /// How many rows were displayed when `onPrefetch` last ran. It runs again for more, or if this is `nil`.
    public var prefetched: Int?

    /// From its parts.
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

/// What a store writes for one command, however large the table is.
public struct TableChange: Sendable {
    /// New or with another model, with their section's number.
    public var writtenRows: [(section: Int, row: StoredRow)] = []
    /// With the same model in another section (its number) or at another rank.
    public var placedRows: [(section: Int, key: Int, rank: Int)] = []
    /// By key.
    public var removedRows: [Int] = []
    /// New, or with another summary.
    public var writtenSections: [StoredSectionSummary] = []
    /// By number. Their rows are in ``removedRows``.
    public var removedSections: [Int] = []
    /// `nil` if unchanged.
    public var state: JSONText?
    /// An array of ids; JSON `null` if the choice was taken back, `nil` if unchanged.
    public var displayedSections: JSONText?
    /// By model type. `nil` if unchanged.
    public var cells: JSONText?
    /// Only of an undo: keys of rows that moved among the others. Those of ``placedRows`` may have new ranks only.
    public var movedRows: [Int] = []
    /// Only of an undo: numbers of the sections whose rows were replaced by a whole list.
    public var refilledSections: [Int] = []

    /// Empty.
    public init() {}

    /// Written, placed or removed.
    public var rowCount: Int { writtenRows.count + placedRows.count + removedRows.count }

    /// Nothing to write.
    public var isEmpty: Bool {
        rowCount == 0 && writtenSections.isEmpty && removedSections.isEmpty && state == nil && displayedSections == nil
            && cells == nil
    }

    package var estimatedSize: Int {
        var size = 24 * (removedRows.count + removedSections.count) + 64 * placedRows.count
        for (_, row) in writtenRows { size += row.estimatedSize }
        for summary in writtenSections { size += summary.estimatedSize }
        return size + (state?.count ?? 0) + (displayedSections?.count ?? 0) + (cells?.count ?? 0)
    }
}

extension StoredRow {
    var estimatedSize: Int { content.storedSize + 64 }
}

extension StoredSectionSummary {
    var estimatedSize: Int { 128 + id.text.utf8.count + (header?.count ?? 0) + (footer?.count ?? 0) }
}
