/// One stored model: the data behind a row, displayed or not.
public struct StoredRow: Sendable {
    /// The row's number in its session: 1, 2, 3, … A row's number never changes, and no later row gets the same number.
    public var key: Int
    /// A number that orders the row among its section's rows. Ranks ascend with gaps, so that most inserts write only
    /// one row.
    public var rank: Int
    /// The id and model, which may share the bytes of the displayed row, but never those of a request, which would stay
    /// in memory.
    var content: RowContent

    /// Creates a stored row.
    ///
    /// - Parameters:
    ///   - key: the row's number in its session.
    ///   - rank: the number that orders the row in its section.
    ///   - id: `nil` if the model has none.
    ///   - model: the model.
    public init(key: Int, rank: Int, id: RowID?, model: JSONText) {
        self.key = key
        self.rank = rank
        content = RowContent(id: id, model: model)
    }

    /// The model's identity. `nil` if the model has no id. Each call parses the id again.
    public var id: RowID? { content.id }

    /// The row's model. JSON `null` for a row without a model.
    public var model: JSONText { content.model ?? .null }
}

/// What a store keeps of a section in addition to its rows: number, id, ordinal, titles and the count for `onPrefetch`.
public struct StoredSectionSummary: Sendable, Equatable {
    /// The section's number in its session: 1, 2, 3, … No later section gets the same number.
    public var number: Int
    /// The section's id.
    public var id: SectionID
    /// A number that orders the section among the table's sections. Ordinals ascend with gaps.
    public var ordinal: Int
    /// What a command set in place of the description's header; JSON `null` for none. `nil` leaves the description's.
    public var header: JSONText?
    /// The footer that a command set in place of the description's, of the same form as ``header``.
    public var footer: JSONText?
    /// How many rows were displayed when `onPrefetch` last ran. It runs again only for more, or once this is `nil`.
    public var prefetched: Int?

    /// Creates a section's summary. The parameters are described at the properties.
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

/// The changes that one command made in the stored table. A store writes exactly these changes, however large the table
/// is.
public struct TableChange: Sendable {
    /// The rows that are new or whose model changed, each with its section's number.
    public var writtenRows: [(section: Int, row: StoredRow)] = []
    /// The rows with the same model in another section or at another rank, by the number of the new section.
    public var placedRows: [(section: Int, key: Int, rank: Int)] = []
    /// The keys of the rows that the command removed.
    public var removedRows: [Int] = []
    /// The summaries of sections that are new or whose summary changed.
    public var writtenSections: [StoredSectionSummary] = []
    /// The numbers of the removed sections. ``removedRows`` contains the keys of the removed sections' rows.
    public var removedSections: [Int] = []
    /// The session's new state. `nil` if the state did not change.
    public var state: JSONText?
    /// The ids that were set to be displayed, as a JSON array; JSON `null` if that was taken back. `nil` if unchanged.
    public var displayedSections: JSONText?
    /// All registered cells, as a JSON object by model type. `nil` if unchanged.
    public var cells: JSONText?

    /// Creates an empty change.
    public init() {}

    /// The number of rows that the store has to write, place or remove.
    public var rowCount: Int { writtenRows.count + placedRows.count + removedRows.count }

    /// Whether the change is empty, so that the store has nothing to write.
    public var isEmpty: Bool {
        rowCount == 0 && writtenSections.isEmpty && removedSections.isEmpty && state == nil && displayedSections == nil
            && cells == nil
    }

    /// The approximate size of the changed rows, sections and other values as JSON, in bytes. O(rows and sections of
    /// the change).
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
