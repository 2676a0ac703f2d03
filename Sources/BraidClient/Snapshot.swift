import Foundation

/// The displayed table at one revision, or a window of it. See docs/http-api/sessions-and-snapshots.md.
public struct Snapshot: Codable, Sendable, Hashable {
    /// The session's id. `nil` for a snapshot without a session.
    public var session: String?
    /// The name of the session's table description. `nil` if the session was opened without a description.
    public var table: String?
    /// The session's epoch, which changes, for example, when the server may have lost revisions. `nil` for a snapshot
    /// without a session.
    public var epoch: String?
    /// The session's revision that the snapshot shows.
    public var revision: Int
    /// The number of displayed rows in all sections of the table, including rows outside of a window.
    public var totalRowCount: Int
    /// The window's place in the table. `nil` for a snapshot of the whole table.
    public var window: TableWindow.Place?
    /// The displayed sections, in order. In the snapshot of a window, these are the sections from which the window
    /// contains rows, and the empty sections that belong to the window.
    public var sections: [Section]
    /// The session's state, an object.
    public var state: JSON
    /// The value that the client shows instead of rows while the table is empty. `nil` if the table has rows or
    /// declares no such value.
    public var empty: JSON?

    /// Creates a snapshot of a whole table. The initializer sets ``totalRowCount`` to the number of rows in all
    /// sections.
    public init(
        session: String? = nil, table: String? = nil, epoch: String? = nil, revision: Int = 0, sections: [Section] = [],
        state: JSON = [:], empty: JSON? = nil
    ) {
        self.session = session
        self.table = table
        self.epoch = epoch
        self.revision = revision
        self.sections = sections
        self.state = state
        self.empty = empty
        totalRowCount = sections.reduce(0) { $0 + $1.rows.count }
    }

    /// The snapshot's position in the session's history.
    public var position: Position { Position(epoch: epoch, revision: revision) }
}

extension Snapshot {
    /// One displayed section.
    public struct Section: Codable, Sendable, Hashable {
        /// The section's id, unique in the table.
        public var id: String
        /// The section's header. `nil` if the section has none.
        public var header: SectionTitle?
        /// The section's footer. `nil` if the section has none.
        public var footer: SectionTitle?
        /// The number of the section's displayed rows, including rows outside of a window.
        public var rowCount: Int
        /// The index, among all rows of the section, of the first row that the window contains. `nil` in a snapshot of
        /// the whole table.
        public var offset: Int?
        /// The sections that this section's rows may move to. `nil` if the rows may not move.
        public var movesTo: MovesTo?
        /// Whether the section's rows have ids: `false` if some rows have none, or if the section's model type has no
        /// ids.
        public var isDiffable: Bool
        /// The section's displayed rows, in order. In the snapshot of a window, these are only the rows that the window
        /// contains.
        public var rows: [Row]

        /// Creates a section. The initializer sets ``rowCount`` to the number of rows.
        public init(
            id: String, header: SectionTitle? = nil, footer: SectionTitle? = nil, movesTo: MovesTo? = nil,
            isDiffable: Bool = true, rows: [Row] = []
        ) {
            self.id = id
            self.header = header
            self.footer = footer
            self.movesTo = movesTo
            self.isDiffable = isDiffable
            self.rows = rows
            rowCount = rows.count
        }

        private enum CodingKeys: String, CodingKey {
            case id, header, footer, rowCount, offset, movesTo, isDiffable = "diffable", rows
        }

        public init(from decoder: any Decoder) throws {
            let members = try decoder.container(keyedBy: CodingKeys.self)
            id = try members.decode(String.self, forKey: .id)
            header = try members.decodeIfPresent(SectionTitle.self, forKey: .header)
            footer = try members.decodeIfPresent(SectionTitle.self, forKey: .footer)
            movesTo = try members.decodeIfPresent(MovesTo.self, forKey: .movesTo)
            isDiffable = try members.decodeIfPresent(Bool.self, forKey: .isDiffable) ?? true
            rows = try members.decode([Row].self, forKey: .rows)
            rowCount = try members.decodeIfPresent(Int.self, forKey: .rowCount) ?? rows.count
            offset = try members.decodeIfPresent(Int.self, forKey: .offset)
        }

        public func encode(to encoder: any Encoder) throws {
            var members = encoder.container(keyedBy: CodingKeys.self)
            try members.encode(id, forKey: .id)
            try members.encode(header, forKey: .header)
            try members.encode(footer, forKey: .footer)
            try members.encode(rowCount, forKey: .rowCount)
            try members.encodeIfPresent(offset, forKey: .offset)
            try members.encodeIfPresent(movesTo, forKey: .movesTo)
            if !isDiffable { try members.encode(false, forKey: .isDiffable) }
            try members.encode(rows, forKey: .rows)
        }
    }

    /// One displayed row.
    public struct Row: Codable, Sendable, Hashable {
        /// The row's id, unique within its section. `nil` if the row has no id.
        public var id: String?
        /// The name of the cell that shows the row.
        public var cell: String
        /// The row's model. `nil` if the row has no model. `JSON.null` if the row's model is `null`.
        public var model: JSON?
        /// The view model that the row's cell receives. `nil` if the description makes no view model for the row.
        public var viewModel: JSON?
        /// The edit that a person may make to the row. `nil` for none.
        public var editing: Editing?
        /// Whether a person may move the row.
        public var isMovable: Bool
        /// The row's height. `nil` if none is declared.
        public var height: Height?
        /// The row's estimated height. `nil` if none is declared.
        public var estimatedHeight: Height?

        /// An edit that a person may make to a row: delete it, or insert a row before it.
        public enum Editing: String, Codable, Sendable { case delete, insert }

        /// Creates a row.
        public init(
            id: String? = nil, cell: String, model: JSON? = nil, viewModel: JSON? = nil, editing: Editing? = nil,
            isMovable: Bool = false,
            height: Height? = nil, estimatedHeight: Height? = nil
        ) {
            self.id = id
            self.cell = cell
            self.model = model
            self.viewModel = viewModel
            self.editing = editing
            self.isMovable = isMovable
            self.height = height
            self.estimatedHeight = estimatedHeight
        }

        private enum CodingKeys: String, CodingKey {
            case id, cell, model, viewModel, editing, isMovable = "movable", height, estimatedHeight
        }

        public init(from decoder: any Decoder) throws {
            let members = try decoder.container(keyedBy: CodingKeys.self)
            id = try members.decodeIfPresent(String.self, forKey: .id)
            cell = try members.decode(String.self, forKey: .cell)
            // Decoding must distinguish a row whose model is `null` from a row without a model.
            model = members.contains(.model) ? try members.decode(JSON.self, forKey: .model) : nil
            viewModel = members.contains(.viewModel) ? try members.decode(JSON.self, forKey: .viewModel) : nil
            editing = try members.decodeIfPresent(Editing.self, forKey: .editing)
            isMovable = try members.decodeIfPresent(Bool.self, forKey: .isMovable) ?? false
            height = try members.decodeIfPresent(Height.self, forKey: .height)
            estimatedHeight = try members.decodeIfPresent(Height.self, forKey: .estimatedHeight)
        }

        public func encode(to encoder: any Encoder) throws {
            var members = encoder.container(keyedBy: CodingKeys.self)
            try members.encodeIfPresent(id, forKey: .id)
            try members.encode(cell, forKey: .cell)
            try members.encodeIfPresent(model, forKey: .model)
            try members.encodeIfPresent(viewModel, forKey: .viewModel)
            try members.encodeIfPresent(editing, forKey: .editing)
            if isMovable { try members.encode(true, forKey: .isMovable) }
            try members.encodeIfPresent(height, forKey: .height)
            try members.encodeIfPresent(estimatedHeight, forKey: .estimatedHeight)
        }
    }
}
