import Foundation

/// The displayed table, or a window of it, at one revision: docs/http-api/sessions-and-snapshots.md.
public struct Snapshot: Codable, Sendable, Hashable {
    /// `nil` without a session.
    public var session: String?
    /// `nil` without a description.
    public var table: String?
    /// Changes when revisions may have been lost. `nil` without a session.
    public var epoch: String?
    /// Which one this shows.
    public var revision: Int
    /// In the whole table, even for a window.
    public var totalRowCount: Int
    /// `nil` for the whole table.
    public var window: TableWindow.Place?
    /// Displayed, in order; in a window, its rows' sections and empty ones between.
    public var sections: [Section]
    /// An object.
    public var state: JSON
    /// What to show while the table is empty.
    public var empty: JSON?

    /// Creates one of a whole table, and counts its rows.
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
        /// `nil` for none.
        public var header: SectionTitle?
        /// `nil` for none.
        public var footer: SectionTitle?
        /// All displayed rows, even for a window.
        public var rowCount: Int
        /// Of the window's first row; `nil` for the whole table.
        public var offset: Int?
        /// `nil` if rows may not move.
        public var movesTo: MovesTo?
        /// `false` if rows, or the model type, have no ids.
        public var isDiffable: Bool
        /// Displayed, in order; in a window, its own.
        public var rows: [Row]

        /// Counts its rows.
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
        /// Unique in its section; `nil` for none.
        public var id: String?
        /// Its reuse identifier.
        public var cell: String
        /// `nil` for none; `JSON.null` for `null`.
        public var model: JSON?
        /// For the cell; `nil` if the description makes none.
        public var viewModel: JSON?
        /// What a person may do.
        public var editing: Editing?
        /// Whether a person may move it.
        public var isMovable: Bool
        /// `nil` if undeclared.
        public var height: Height?
        /// `nil` if undeclared.
        public var estimatedHeight: Height?

        /// Delete it, or insert one before it.
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
            // `null` differs from no model.
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

/// A section and a row in it, from 0; in a window, among its own. On the wire `[section, row]`.
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

    /// For UIKit.
    public var indexPath: IndexPath { IndexPath(indexes: [section, row]) }
    public var description: String { "[\(section),\(row)]" }
}

extension Snapshot {
    /// A title, or a view.
    public struct SectionTitle: Codable, Sendable, Hashable {
        /// `nil` for a view.
        public var title: String?
        /// `nil` for a title.
        public var view: String?
        /// For the view.
        public var viewModel: JSON?
        /// `nil` if undeclared.
        public var height: Height?
        /// `nil` if undeclared.
        public var estimatedHeight: Height?

        /// A title or a view.
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

    /// A cell's or view's.
    public enum Height: Codable, Sendable, Hashable {
        /// In points.
        case points(Double)
        /// Measured by the client.
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
        /// Every section of the same model type.
        case anySection
        /// Those with these ids.
        case sections([String])

        /// Compared by bytes. `anySection` allows all here; the server refuses other model types.
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

/// A place in a session's history: `<epoch>.<revision>` or `<revision>`.
public struct Position: Sendable, Hashable, CustomStringConvertible, ExpressibleByIntegerLiteral {
    /// `nil` for just a revision.
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
    /// By bytes; `==` compares canonically equivalent text as equal.
    func isSame(as other: String) -> Bool { utf8.elementsEqual(other.utf8) }
}
