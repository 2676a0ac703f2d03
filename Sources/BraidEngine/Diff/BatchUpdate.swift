/// The change of a table between two revisions, as stages of UITableView-style operations.
///
/// **Index spaces** of a stage: deletes, reloads, updates and the `from` of moves refer to the table *before* the
/// stage, inserts and the `to` of moves to the table *after* it.
///
/// Source: the wire contract, "Update"; `UITableView.performBatchUpdates`.
public struct BatchUpdate: Sendable {
    /// The revision of the table to which the update is applied.
    public var from: Int
    /// The revision of the table after the update.
    public var to: Int
    /// In order. Empty if no displayed row or section changed.
    public var stages: [Stage]
    /// The number of displayed rows in all sections after the update.
    public var totalRowCount: Int
    /// The session's state after the update. `nil` if the state did not change.
    public var state: JSONText?
    /// The snapshot's `empty`, if it changed: JSON `null` if there is none any more.
    public var empty: JSONText?

    /// Creates an update from its parts, without checking them. `applied(to:)` checks them.
    public init(
        from: Int, to: Int, stages: [Stage] = [], totalRowCount: Int, state: JSONText? = nil, empty: JSONText? = nil
    ) {
        self.from = from
        self.to = to
        self.stages = stages
        self.totalRowCount = totalRowCount
        self.state = state
        self.empty = empty
    }

    /// No stages, and neither `state` nor `empty` changed.
    public var isEmpty: Bool { stages.isEmpty && state == nil && empty == nil }

    /// What a view performs in one `performBatchUpdates`. Indexes count from 0, among what is displayed.
    public struct Stage: Sendable {
        /// Before the stage. Their rows go with them.
        public var deleteSections: [Int] = []
        /// The sections to insert, with their rows and their indexes after the stage.
        public var insertSections: [(at: Int, section: Section)] = []
        /// With their rows: `from` before the stage, `to` after it.
        public var moveSections: [(from: Int, to: Int)] = []
        /// The sections whose whole content, including rows, is replaced, with their indexes before the stage.
        public var reloadSections: [(at: Int, section: Section)] = []
        /// The sections whose header, footer or `movesTo` changed, but that are not reloaded.
        public var updateSections: [SectionUpdate] = []
        /// The index paths, before the stage, of the rows to delete.
        public var deleteRows: [RowPath] = []
        /// The rows to insert, with their index paths after the stage.
        public var insertRows: [PlacedRow] = []
        /// The rows to move, within their section or to another section.
        public var moveRows: [MovedRow] = []
        /// Changed rows whose cells are reloaded visually, by their paths before the stage.
        public var reloadRows: [PlacedRow] = []
        /// Changed rows whose cells are not reloaded, by their paths before the stage.
        public var updateRows: [PlacedRow] = []

        /// Creates a stage without operations.
        public init() {}

        /// Whether the stage has no operations. An update must not contain such a stage.
        public var isEmpty: Bool {
            deleteSections.isEmpty && insertSections.isEmpty && moveSections.isEmpty && reloadSections.isEmpty
                && updateSections.isEmpty && deleteRows.isEmpty && insertRows.isEmpty && moveRows.isEmpty
                && reloadRows.isEmpty && updateRows.isEmpty
        }
    }

    /// A row and its path, before or after the stage as the list has it.
    public struct PlacedRow: Sendable {
        /// Before the stage for a reload or update, after it for an insert.
        public var at: RowPath
        /// The row's content after the stage.
        public var row: Row

        /// Creates a row with its index path.
        public init(at: RowPath, row: Row) {
            self.at = at
            self.row = row
        }
    }

    /// A row that a stage moves, within its section or to another section.
    public struct MovedRow: Sendable {
        /// The moved row's index path before the stage.
        public var from: RowPath
        /// The moved row's index path after the stage.
        public var to: RowPath
        /// The moved row's new content, if the content changed without a visual reload. `nil` otherwise.
        public var row: Row?

        /// Creates the move of a row, with the row's new content if it changed.
        public init(from: RowPath, to: RowPath, row: Row? = nil) {
            self.from = from
            self.to = to
            self.row = row
        }
    }

    /// What changed of a section that is not reloaded. `nil` is unchanged, JSON `null` removed.
    public struct SectionUpdate: Sendable {
        /// The section's index before the stage.
        public var at: Int
        /// `nil` if unchanged, JSON `null` for none any more.
        public var header: JSONText?
        /// `nil` if unchanged, JSON `null` for none any more.
        public var footer: JSONText?
        /// `nil` if unchanged, JSON `null` if rows may no longer move.
        public var movesTo: JSONText?

        /// Creates an update of a section's header, footer or `movesTo`.
        public init(at: Int, header: JSONText? = nil, footer: JSONText? = nil, movesTo: JSONText? = nil) {
            self.at = at
            self.header = header
            self.footer = footer
            self.movesTo = movesTo
        }

        var isEmpty: Bool { header == nil && footer == nil && movesTo == nil }
    }
}
