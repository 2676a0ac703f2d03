/// The change between two revisions, as stages of UITableView-style operations.
///
/// **Index spaces** of a stage: deletes, reloads, updates and the `from` of moves count in the table *before* the
/// stage; inserts and the `to` of moves count *after* it.
/// Source: the wire contract, "Update"; `UITableView.performBatchUpdates`.
public struct BatchUpdate: Sendable {
    public var from: Int
    public var to: Int
    public var stages: [Stage]
    /// After the update.
    public var totalRowCount: Int
    /// The state, when it changed.
    public var state: JSONText?
    /// The empty state, when it changed (null when it went away).
    public var empty: JSONText?

    public init(from: Int, to: Int, stages: [Stage] = [], totalRowCount: Int, state: JSONText? = nil, empty: JSONText? = nil) {
        self.from = from
        self.to = to
        self.stages = stages
        self.totalRowCount = totalRowCount
        self.state = state
        self.empty = empty
    }

    /// Nothing that a client shows has changed.
    public var isEmpty: Bool { stages.isEmpty && state == nil && empty == nil }

    /// Operations for one `performBatchUpdates`.
    public struct Stage: Sendable {
        public var deleteSections: [Int] = []
        public var insertSections: [(at: Int, section: Section)] = []
        public var moveSections: [(from: Int, to: Int)] = []
        public var reloadSections: [(at: Int, section: Section)] = []
        public var updateSections: [SectionUpdate] = []
        public var deleteRows: [RowPath] = []
        public var insertRows: [PlacedRow] = []
        public var moveRows: [MovedRow] = []
        public var reloadRows: [PlacedRow] = []
        public var updateRows: [PlacedRow] = []

        public init() {}

        public var isEmpty: Bool {
            deleteSections.isEmpty && insertSections.isEmpty && moveSections.isEmpty && reloadSections.isEmpty
                && updateSections.isEmpty && deleteRows.isEmpty && insertRows.isEmpty && moveRows.isEmpty
                && reloadRows.isEmpty && updateRows.isEmpty
        }
    }

    /// A row and its place; in which table that counts, its list says. (A type of its own: to let go of a long list of tuples
    /// takes several times as long.)
    public struct PlacedRow: Sendable {
        public var at: RowPath
        public var row: Row

        public init(at: RowPath, row: Row) {
            self.at = at
            self.row = row
        }
    }

    public struct MovedRow: Sendable {
        public var from: RowPath
        public var to: RowPath
        /// When the row's content changed too and the change needs no visual reload.
        public var row: Row?

        public init(from: RowPath, to: RowPath, row: Row? = nil) {
            self.from = from
            self.to = to
            self.row = row
        }
    }

    /// A section's facts that changed; nil: unchanged. Null: it went away.
    public struct SectionUpdate: Sendable {
        public var at: Int
        public var header: JSONText?
        public var footer: JSONText?
        public var movesTo: JSONText?

        public init(at: Int, header: JSONText? = nil, footer: JSONText? = nil, movesTo: JSONText? = nil) {
            self.at = at
            self.header = header
            self.footer = footer
            self.movesTo = movesTo
        }

        var isEmpty: Bool { header == nil && footer == nil && movesTo == nil }
    }
}
