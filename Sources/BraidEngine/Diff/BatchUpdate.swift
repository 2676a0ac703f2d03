/// A table's change between two revisions, as stages for `UITableView.performBatchUpdates`. Source: the wire contract,
/// "Update".
public struct BatchUpdate: Sendable {
    /// The revision before.
    public var from: Int
    /// The revision after.
    public var to: Int
    /// Empty if no displayed row or section changed.
    public var stages: [Stage]
    /// After the update, of all sections.
    public var totalRowCount: Int
    /// `nil` if unchanged.
    public var state: JSONText?
    /// `nil` if unchanged, JSON `null` if there is none any more.
    public var empty: JSONText?
    /// Who made it, `{"id", "name"}`, if it is of one revision and the table's description says `authors`.
    public var by: JSONText?

    /// Unchecked; ``applied(to:)`` checks.
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

    /// No stages, `state` or `empty`.
    public var isEmpty: Bool { stages.isEmpty && state == nil && empty == nil }

    /// One `performBatchUpdates`. Indexes are among what is displayed: `at` of inserts and `to` of moves after the
    /// stage, all others before it.
    public struct Stage: Sendable {
        /// With their rows.
        public var deleteSections: [Int] = []
        /// With their rows.
        public var insertSections: [(at: Int, section: Section)] = []
        /// With their rows.
        public var moveSections: [(from: Int, to: Int)] = []
        /// Replaced with their rows.
        public var reloadSections: [(at: Int, section: Section)] = []
        /// Header, footer or `movesTo`.
        public var updateSections: [SectionUpdate] = []
        /// Single rows, not those of deleted sections.
        public var deleteRows: [RowPath] = []
        /// Single rows, not those of inserted sections.
        public var insertRows: [PlacedRow] = []
        /// Within a section or to another.
        public var moveRows: [MovedRow] = []
        /// Changed, with a visual reload of the cell.
        public var reloadRows: [PlacedRow] = []
        /// Changed, without a visual reload.
        public var updateRows: [PlacedRow] = []

        /// Empty.
        public init() {}

        /// Whether it has no operations, which is not allowed in an update.
        public var isEmpty: Bool {
            deleteSections.isEmpty && insertSections.isEmpty && moveSections.isEmpty && reloadSections.isEmpty
                && updateSections.isEmpty && deleteRows.isEmpty && insertRows.isEmpty && moveRows.isEmpty
                && reloadRows.isEmpty && updateRows.isEmpty
        }
    }

    /// A row and its path.
    public struct PlacedRow: Sendable {
        /// After the stage for an insert, otherwise before it.
        public var at: RowPath
        /// After the stage.
        public var row: Row
    }

    /// A row that changes its place.
    public struct MovedRow: Sendable {
        /// Before the stage.
        public var from: RowPath
        /// After the stage.
        public var to: RowPath
        /// The new content, if it changed without a visual reload.
        public var row: Row?
    }

    /// Changes of a section that is not reloaded. `nil` is unchanged, JSON `null` removed.
    public struct SectionUpdate: Sendable {
        /// Before the stage.
        public var at: Int
        /// As in ``Section``.
        public var header: JSONText?
        /// As in ``Section``.
        public var footer: JSONText?
        /// As in ``Section``.
        public var movesTo: JSONText?

        var isEmpty: Bool { header == nil && footer == nil && movesTo == nil }
    }
}
