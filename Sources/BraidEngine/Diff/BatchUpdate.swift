/// The change between two revisions, as stages of UITableView-style operations.
///
/// **Index spaces** of a stage: deletes, reloads, updates and the `from` of moves count in the table *before* the
/// stage; inserts and the `to` of moves count *after* it.
/// Source: the wire contract, "Update"; `UITableView.performBatchUpdates`.
public struct BatchUpdate: Sendable {
    /// The revision that the update starts from.
    public var from: Int
    /// The revision that the update leads to.
    public var to: Int
    /// The stages, applied one after the other. Empty if no row or section changed.
    public var stages: [Stage]
    /// The number of displayed rows after the update.
    public var totalRowCount: Int
    /// The state after the update. `nil` if it did not change.
    public var state: JSONText?
    /// The empty state after the update, `null` if none is shown any more. `nil` if it did not change.
    public var empty: JSONText?

    /// Creates an update from its parts. `applied(to:)` checks it.
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

    /// Whether nothing changed that a client shows.
    public var isEmpty: Bool { stages.isEmpty && state == nil && empty == nil }

    /// The operations of one `performBatchUpdates`. Indexes count from 0 among the displayed sections and rows.
    public struct Stage: Sendable {
        /// The indexes of deleted sections, before the stage. Deleting a section also deletes its rows.
        public var deleteSections: [Int] = []
        /// The inserted sections with their rows, and their indexes after the stage.
        public var insertSections: [(at: Int, section: Section)] = []
        /// The moved sections, with their rows: `from` before the stage, `to` after it.
        public var moveSections: [(from: Int, to: Int)] = []
        /// The sections whose whole content is replaced, with their indexes before the stage.
        public var reloadSections: [(at: Int, section: Section)] = []
        /// The sections whose header, footer or `movesTo` changed.
        public var updateSections: [SectionUpdate] = []
        /// The index paths of deleted rows, before the stage.
        public var deleteRows: [RowPath] = []
        /// The inserted rows and their index paths after the stage.
        public var insertRows: [PlacedRow] = []
        /// The moved rows, within their section or to another one.
        public var moveRows: [MovedRow] = []
        /// The rows whose content changed, with a visual reload. The rows' index paths count before the stage.
        public var reloadRows: [PlacedRow] = []
        /// The rows whose content changed, without a visual reload. The rows' index paths count before the stage.
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

    /// A row and its index path. The list that contains it defines whether the path counts before or after the stage.
    public struct PlacedRow: Sendable {
        /// The row's index path.
        public var at: RowPath
        /// The row's content after the stage.
        public var row: Row

        /// Creates a placed row.
        public init(at: RowPath, row: Row) {
            self.at = at
            self.row = row
        }
    }

    /// A row that moves, within its section or to another one.
    public struct MovedRow: Sendable {
        /// The row's index path before the stage.
        public var from: RowPath
        /// The row's index path after the stage.
        public var to: RowPath
        /// The row's new content, if it changed and the change needs no visual reload. `nil` otherwise.
        public var row: Row?

        /// Creates a moved row.
        public init(from: RowPath, to: RowPath, row: Row? = nil) {
            self.from = from
            self.to = to
            self.row = row
        }
    }

    /// The changed facts of a section whose rows stay. `nil` means unchanged, JSON `null` means removed.
    public struct SectionUpdate: Sendable {
        /// The section's index before the stage.
        public var at: Int
        /// The new header.
        public var header: JSONText?
        /// The new footer.
        public var footer: JSONText?
        /// The new targets of moves. JSON `null` if rows may no longer move.
        public var movesTo: JSONText?

        /// Creates a section's update.
        public init(at: Int, header: JSONText? = nil, footer: JSONText? = nil, movesTo: JSONText? = nil) {
            self.at = at
            self.header = header
            self.footer = footer
            self.movesTo = movesTo
        }

        var isEmpty: Bool { header == nil && footer == nil && movesTo == nil }
    }
}
