import Foundation

/// A table as it is displayed at one revision. docs/http-api.md, "Snapshot".
public struct Snapshot: Codable, Sendable, Hashable {
    /// The session's id; nil for a snapshot that is none of a session's.
    public var session: String?
    /// The table description's name; nil for a session that was opened without one.
    public var table: String?
    public var epoch: String?
    public var revision: Int
    public var totalRowCount: Int
    public var sections: [Section]
    /// An object.
    public var state: JSON
    /// What to show in place of the table, where it has no rows and its description says so.
    public var empty: JSON?

    public init(
        session: String? = nil, table: String? = nil, epoch: String? = nil, revision: Int = 0, sections: [Section] = [], state: JSON = [:], empty: JSON? = nil
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

    /// Its place in the session's history.
    public var position: Position { Position(epoch: epoch, revision: revision) }
}

extension Snapshot {
    public struct Section: Codable, Sendable, Hashable {
        public var id: String
        public var header: SectionTitle?
        public var footer: SectionTitle?
        /// Of the section; a window of a snapshot has fewer `rows`.
        public var rowCount: Int
        /// Where its rows may be moved to; nil: they may not.
        public var movesTo: MovesTo?
        /// False where its rows have no ids.
        public var isDiffable: Bool
        public var rows: [Row]

        public init(id: String, header: SectionTitle? = nil, footer: SectionTitle? = nil, movesTo: MovesTo? = nil, isDiffable: Bool = true, rows: [Row] = []) {
            self.id = id
            self.header = header
            self.footer = footer
            self.movesTo = movesTo
            self.isDiffable = isDiffable
            self.rows = rows
            rowCount = rows.count
        }

        private enum CodingKeys: String, CodingKey {
            case id, header, footer, rowCount, movesTo, isDiffable = "diffable", rows
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
        }

        public func encode(to encoder: any Encoder) throws {
            var members = encoder.container(keyedBy: CodingKeys.self)
            try members.encode(id, forKey: .id)
            try members.encode(header, forKey: .header)
            try members.encode(footer, forKey: .footer)
            try members.encode(rowCount, forKey: .rowCount)
            try members.encodeIfPresent(movesTo, forKey: .movesTo)
            if !isDiffable { try members.encode(false, forKey: .isDiffable) }
            try members.encode(rows, forKey: .rows)
        }
    }

    public struct Row: Codable, Sendable, Hashable {
        /// Unique within its section; nil where rows have none.
        public var id: String?
        /// The name of the cell that shows it.
        public var cell: String
        public var model: JSON?
        public var viewModel: JSON?
        public var editing: Editing?
        public var isMovable: Bool
        public var height: Height?
        public var estimatedHeight: Height?

        public enum Editing: String, Codable, Sendable { case delete, insert }

        public init(
            id: String? = nil, cell: String, model: JSON? = nil, viewModel: JSON? = nil, editing: Editing? = nil, isMovable: Bool = false,
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
            // A model may be null, which is another thing than none.
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
