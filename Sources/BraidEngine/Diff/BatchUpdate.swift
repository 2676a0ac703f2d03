/// The change of a table between two revisions, as stages of operations of `UITableView.performBatchUpdates`. Source:
/// the wire contract, "Update".
public struct BatchUpdate: Sendable {
    /// The revision before.
    public var from: Int
    /// The revision after.
    public var to: Int
    /// In order. Empty if no displayed row or section changed.
    public var stages: [Stage]
    /// Of all sections, after the update.
    public var totalRowCount: Int
    /// The session's new state. `nil` if unchanged.
    public var state: JSONText?
    /// The snapshot's new `empty`: `nil` if unchanged, JSON `null` for none any more.
    public var empty: JSONText?

    /// Creates an update, without the checks of ``applied(to:)``.
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

    /// What a view performs in one `performBatchUpdates`. Indexes count from 0, among what is displayed: `at` of
    /// inserts and `to` of moves after the stage, all others before it.
    public struct Stage: Sendable {
        /// With their rows.
        public var deleteSections: [Int] = []
        /// With their rows.
        public var insertSections: [(at: Int, section: Section)] = []
        /// With their rows.
        public var moveSections: [(from: Int, to: Int)] = []
        /// Their whole content, rows included, is replaced.
        public var reloadSections: [(at: Int, section: Section)] = []
        /// Their header, footer or `movesTo` changed.
        public var updateSections: [SectionUpdate] = []
        /// The rows to delete.
        public var deleteRows: [RowPath] = []
        /// The rows to insert.
        public var insertRows: [PlacedRow] = []
        /// Within their section or to another.
        public var moveRows: [MovedRow] = []
        /// Changed rows whose cells are reloaded visually.
        public var reloadRows: [PlacedRow] = []
        /// Changed rows whose cells are not reloaded.
        public var updateRows: [PlacedRow] = []

        /// Creates a stage without operations.
        public init() {}

        /// Without operations. An update must not contain such a stage.
        public var isEmpty: Bool {
            deleteSections.isEmpty && insertSections.isEmpty && moveSections.isEmpty && reloadSections.isEmpty
                && updateSections.isEmpty && deleteRows.isEmpty && insertRows.isEmpty && moveRows.isEmpty
                && reloadRows.isEmpty && updateRows.isEmpty
        }
    }

    /// A row and its path.
    public struct PlacedRow: Sendable {
        /// Before the stage for a reload or update, after it for an insert.
        public var at: RowPath
        /// After the stage.
        public var row: Row
    }

    /// A row that a stage moves.
    public struct MovedRow: Sendable {
        /// Before the stage.
        public var from: RowPath
        /// After the stage.
        public var to: RowPath
        /// The new content, if it changed without a visual reload.
        public var row: Row?
    }

    /// What changed of a section that is not reloaded. `nil` is unchanged, JSON `null` removed.
    public struct SectionUpdate: Sendable {
        /// Before the stage.
        public var at: Int
        /// `nil` if unchanged, JSON `null` for none any more.
        public var header: JSONText?
        /// `nil` if unchanged, JSON `null` for none any more.
        public var footer: JSONText?
        /// `nil` if unchanged, JSON `null` if rows may no longer move.
        public var movesTo: JSONText?

        var isEmpty: Bool { header == nil && footer == nil && movesTo == nil }
    }
}
