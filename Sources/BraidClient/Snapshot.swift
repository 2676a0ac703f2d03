import Foundation

/// The displayed table at one revision, or a window of it. See docs/http-api/sessions-and-snapshots.md.
public struct Snapshot: Codable, Sendable, Hashable {
    /// `nil` without a session.
    public var session: String?
    /// `nil` if the session was opened without a description.
    public var table: String?
    /// Changes when the server may have lost revisions. `nil` without a session.
    public var epoch: String?
    /// The revision that this shows.
    public var revision: Int
    /// In all sections of the table, also outside of a window.
    public var totalRowCount: Int
    /// `nil` for the whole table.
    public var window: TableWindow.Place?
    /// The displayed sections, in order; in a window, those of its rows and the empty ones between.
    public var sections: [Section]
    /// The session's state, an object.
    public var state: JSON
    /// What to show instead of rows while the table is empty, if it declares that.
    public var empty: JSON?

    /// Creates a snapshot of a whole table, with ``totalRowCount`` from its sections.
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

    /// Where this is in the session's history.
    public var position: Position { Position(epoch: epoch, revision: revision) }
}

extension Snapshot {
    /// One displayed section.
    public struct Section: Codable, Sendable, Hashable {
        /// Unique in the table.
        public var id: String
        /// `nil` if there is none.
        public var header: SectionTitle?
        /// `nil` if there is none.
        public var footer: SectionTitle?
        /// The section's displayed rows, also outside of a window.
        public var rowCount: Int
        /// The window's first row among all of the section; `nil` for the whole table.
        public var offset: Int?
        /// Where the rows may move; `nil` if they may not.
        public var movesTo: MovesTo?
        /// `false` if some rows have no ids, or if the model type has none.
        public var isDiffable: Bool
        /// The displayed rows, in order; in a window, its rows.
        public var rows: [Row]

        /// Creates a section, with ``rowCount`` from its rows.
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
        /// Unique in its section; `nil` if there is none.
        public var id: String?
        /// The cell that shows the row.
        public var cell: String
        /// `nil` without a model; `JSON.null` if it is `null`.
        public var model: JSON?
        /// What the cell receives; `nil` if the description makes none.
        public var viewModel: JSON?
        /// The edit that a person may make.
        public var editing: Editing?
        /// Whether a person may move the row.
        public var isMovable: Bool
        /// `nil` if none is declared.
        public var height: Height?
        /// `nil` if none is declared.
        public var estimatedHeight: Height?

        /// Delete the row, or insert one before it.
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
            // A model `null` differs from no model.
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

/// The indexes of a section and of a row in it, from 0; in a window, of what it contains. On the wire, `[section,
/// row]`.
public struct RowPath: Codable, Sendable, Hashable, CustomStringConvertible {
    /// From 0.
    public var section: Int
    /// In the section, from 0.
    public var row: Int

    /// Creates an index path.
    public init(section: Int, row: Int) {
        self.section = section
        self.row = row
    }

    public init(from decoder: any Decoder) throws {
        var elements = try decoder.unkeyedContainer()
        section = try elements.decode(Int.self)
        row = try elements.decode(Int.self)
    }

    public func encode(to encoder: any Encoder) throws {
        var elements = encoder.unkeyedContainer()
        try elements.encode(section)
        try elements.encode(row)
    }

    /// For table and collection views.
    public var indexPath: IndexPath { IndexPath(indexes: [section, row]) }
    public var description: String { "[\(section),\(row)]" }
}

extension Snapshot {
    /// A header or footer: a title, or a view with its view model.
    public struct SectionTitle: Codable, Sendable, Hashable {
        /// `nil` for a view.
        public var title: String?
        /// `nil` for a title.
        public var view: String?
        /// What the view receives.
        public var viewModel: JSON?
        /// `nil` if none is declared.
        public var height: Height?
        /// `nil` if none is declared.
        public var estimatedHeight: Height?

        /// Creates a header or footer.
        public init(
            title: String? = nil, view: String? = nil, viewModel: JSON? = nil, height: Height? = nil,
            estimatedHeight: Height? = nil
        ) {
            self.title = title
            self.view = view
            self.viewModel = viewModel
            self.height = height
            self.estimatedHeight = estimatedHeight
        }
    }

    /// Of a row, header or footer.
    public enum Height: Codable, Sendable, Hashable {
        /// A height in points.
        case points(Double)
        /// The client measures it.
        case automatic

        public init(from decoder: any Decoder) throws {
            let container = try decoder.singleValueContainer()
            if let points = try? container.decode(Double.self) {
                self = .points(points)
            } else if try container.decode(String.self) == "automatic" {
                self = .automatic
            } else {
                throw DecodingError.dataCorruptedError(
                    in: container, debugDescription: "A height is a number or \"automatic\".")
            }
        }

        public func encode(to encoder: any Encoder) throws {
            var container = encoder.singleValueContainer()
            switch self {
            case .points(let points): try container.encode(points)
            case .automatic: try container.encode("automatic")
            }
        }
    }

    /// Where a section's rows may move.
    public enum MovesTo: Codable, Sendable, Hashable {
        /// Every section with stored rows of the same model type.
        case anySection
        /// The sections with these ids.
        case sections([String])

        /// Whether rows may move to the section with an id, compared by bytes. Always true for `anySection`, although
        /// the server refuses another model type.
        public func allows(_ section: String) -> Bool {
            switch self {
            case .anySection: true
            case .sections(let ids): ids.contains { $0.isSame(as: section) }
            }
        }

        public init(from decoder: any Decoder) throws {
            let container = try decoder.singleValueContainer()
            if let ids = try? container.decode([String].self) {
                self = .sections(ids)
            } else if try container.decode(String.self) == "anySection" {
                self = .anySection
            } else {
                throw DecodingError.dataCorruptedError(
                    in: container, debugDescription: "Rows move to \"anySection\", or to a list of sections.")
            }
        }

        public func encode(to encoder: any Encoder) throws {
            var container = encoder.singleValueContainer()
            switch self {
            case .anySection: try container.encode("anySection")
            case .sections(let ids): try container.encode(ids)
            }
        }
    }
}

/// A position in a session's history, written `<epoch>.<revision>` or `<revision>`.
public struct Position: Sendable, Hashable, CustomStringConvertible, ExpressibleByIntegerLiteral {
    /// `nil` for a revision alone.
    public var epoch: String?
    /// The revision.
    public var revision: Int

    /// Creates a position.
    public init(epoch: String? = nil, revision: Int) {
        self.epoch = epoch
        self.revision = revision
    }

    public init(integerLiteral revision: Int) { self.init(revision: revision) }

    public var description: String { epoch.map { "\($0).\(revision)" } ?? String(revision) }
}

extension String {
    /// Ids are compared by their bytes; `==` compares by canonical equivalence.
    func isSame(as other: String) -> Bool { utf8.elementsEqual(other.utf8) }
}
