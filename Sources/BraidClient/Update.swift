import Foundation

/// From one revision to another, as stages for a table view: docs/http-api/following.md.
public struct Update: Codable, Sendable, Hashable {
    /// The revision before.
    public var from: Int
    /// The revision after.
    public var to: Int
    /// In this order; empty if no row or section changed.
    public var stages: [Stage]
    /// Afterwards, in the whole table.
    public var totalRowCount: Int
    /// `nil` if unchanged.
    public var state: JSON?
    /// What to show while empty: `JSON.null` for nothing any more, `nil` if unchanged.
    public var empty: JSON?
    /// Who made it, if it is of one revision and the description has `authors`.
    public var by: BraidSession.User?
    /// Changed ones; `nil` for the whole table.
    public var extents: [Extent]?
    /// `nil` if unchanged, or for the whole table.
    public var window: TableWindow.Place?

    /// A section's new `offset` and `rowCount` in a window.
    public struct Extent: Codable, Sendable, Hashable {
        /// Its index after the update.
        public var section: Int
        /// As ``Snapshot/Section/offset``.
        public var offset: Int
        /// As ``Snapshot/Section/rowCount``.
        public var rowCount: Int
    }

    /// Creates an update.
    public init(
        from: Int, to: Int, stages: [Stage] = [], totalRowCount: Int, state: JSON? = nil, empty: JSON? = nil,
        by: BraidSession.User? = nil, extents: [Extent]? = nil, window: TableWindow.Place? = nil
    ) {
        self.from = from
        self.to = to
        self.stages = stages
        self.totalRowCount = totalRowCount
        self.state = state
        self.empty = empty
        self.by = by
        self.extents = extents
        self.window = window
    }

    public init(from decoder: any Decoder) throws {
        let members = try decoder.container(keyedBy: CodingKeys.self)
        from = try members.decode(Int.self, forKey: .from)
        to = try members.decode(Int.self, forKey: .to)
        stages = try members.decode([Stage].self, forKey: .stages)
        totalRowCount = try members.decode(Int.self, forKey: .totalRowCount)
        state = try members.decodeIfPresent(JSON.self, forKey: .state)
        empty = members.contains(.empty) ? try members.decode(JSON.self, forKey: .empty) : nil
        by = try members.decodeIfPresent(BraidSession.User.self, forKey: .by)
        extents = try members.decodeIfPresent([Extent].self, forKey: .extents)
        window = try members.decodeIfPresent(TableWindow.Place.self, forKey: .window)
    }
}

extension Update {
    /// One `performBatchUpdates`. Indexes count displayed sections and rows from 0; in a window, its own.
    ///
    /// Deletes, reloads, updates and `from` refer to the table before the stage; inserts and `to`, to the one after it.
    public struct Stage: Codable, Sendable, Hashable {
        /// Before the stage, with their rows.
        public var deleteSections: [Int] = []
        /// After the stage, with their rows.
        public var insertSections: [PlacedSection] = []
        /// With their rows.
        public var moveSections: [SectionMove] = []
        /// Before the stage, with all new content.
        public var reloadSections: [PlacedSection] = []
        /// Header, footer or `movesTo`.
        public var updateSections: [SectionUpdate] = []
        /// Before the stage.
        public var deleteRows: [RowPath] = []
        /// After the stage.
        public var insertRows: [PlacedRow] = []
        /// Within a section or to another.
        public var moveRows: [RowMove] = []
        /// Before the stage; redraw them.
        public var reloadRows: [PlacedRow] = []
        /// Before the stage; no redraw.
        public var updateRows: [PlacedRow] = []

        /// Without operations.
        public init() {}

        /// A section and its index.
        public struct PlacedSection: Codable, Sendable, Hashable {
            /// The index.
            public var at: Int
            /// After the stage.
            public var section: Snapshot.Section
        }

        /// A section's move.
        public struct SectionMove: Codable, Sendable, Hashable {
            /// Before the stage.
            public var from: Int
            /// After the stage.
            public var to: Int
        }

        /// A row: after the stage if inserted, before it if reloaded or updated.
        public struct PlacedRow: Codable, Sendable, Hashable {
            /// Where.
            public var at: RowPath
            /// After the stage.
            public var row: Snapshot.Row
        }

        /// A row's move.
        public struct RowMove: Codable, Sendable, Hashable {
            /// Before the stage.
            public var from: RowPath
            /// After the stage.
            public var to: RowPath
            /// The row's new content, if it changed. The cell is not reloaded.
            public var row: Snapshot.Row?
        }

        /// Other changes than of rows; `nil` members stay.
        public struct SectionUpdate: Codable, Sendable, Hashable {
            /// Before the stage.
            public var at: Int
            /// A change of it.
            public var header: Change<Snapshot.SectionTitle>?
            /// A change of it.
            public var footer: Change<Snapshot.SectionTitle>?
            /// A change of it.
            public var movesTo: Change<Snapshot.MovesTo>?
        }

        /// Of a header, footer or `movesTo`.
        public enum Change<Value: Codable & Sendable & Hashable>: Sendable, Hashable {
            /// A new value.
            case set(Value)
            /// None any more.
            case removed

            /// `nil` if removed.
            public var value: Value? {
                switch self {
                case .set(let value): value
                case .removed: nil
                }
            }
        }

        /// Without operations.
        public var isEmpty: Bool { self == Stage() }
    }
}

// On the wire, empty lists are left out; `null` means removed.
extension Update.Stage {
    private enum CodingKeys: String, CodingKey, CaseIterable {
        case deleteSections, insertSections, moveSections, reloadSections, updateSections, deleteRows, insertRows,
            moveRows, reloadRows, updateRows
    }

    private struct AnyKey: CodingKey {
        var stringValue: String
        var intValue: Int? { nil }
        init(stringValue: String) { self.stringValue = stringValue }
        init?(intValue: Int) { return nil }
    }

    /// Throws for an unknown operation: ignoring it would make the tables differ.
    public init(from decoder: any Decoder) throws {
        for key in try decoder.container(keyedBy: AnyKey.self).allKeys
        where CodingKeys(rawValue: key.stringValue) == nil {
            throw DecodingError.dataCorrupted(
                .init(
                    codingPath: decoder.codingPath + [key],
                    debugDescription: "There is no operation \(key.stringValue)."))
        }
        let members = try decoder.container(keyedBy: CodingKeys.self)
        func list<Element: Decodable>(_ key: CodingKeys) throws -> [Element] {
            try members.decodeIfPresent([Element].self, forKey: key) ?? []
        }
        deleteSections = try list(.deleteSections)
        insertSections = try list(.insertSections)
        moveSections = try list(.moveSections)
        reloadSections = try list(.reloadSections)
        updateSections = try list(.updateSections)
        deleteRows = try list(.deleteRows)
        insertRows = try list(.insertRows)
        moveRows = try list(.moveRows)
        reloadRows = try list(.reloadRows)
        updateRows = try list(.updateRows)
    }

    public func encode(to encoder: any Encoder) throws {
        var members = encoder.container(keyedBy: CodingKeys.self)
        func put(_ list: [some Encodable], _ key: CodingKeys) throws {
            if !list.isEmpty { try members.encode(list, forKey: key) }
        }
        try put(deleteSections, .deleteSections)
        try put(insertSections, .insertSections)
        try put(moveSections, .moveSections)
        try put(reloadSections, .reloadSections)
        try put(updateSections, .updateSections)
        try put(deleteRows, .deleteRows)
        try put(insertRows, .insertRows)
        try put(moveRows, .moveRows)
        try put(reloadRows, .reloadRows)
        try put(updateRows, .updateRows)
    }
}

extension Update.Stage.Change: Codable {
    public init(from decoder: any Decoder) throws {
        let container = try decoder.singleValueContainer()
        self = container.decodeNil() ? .removed : .set(try container.decode(Value.self))
    }

    public func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        if let value { try container.encode(value) } else { try container.encodeNil() }
    }
}

extension Update.Stage.SectionUpdate {
    public init(from decoder: any Decoder) throws {
        let members = try decoder.container(keyedBy: CodingKeys.self)
        // `null`: removed. Missing: no change.
        func change<Value>(_ key: CodingKeys) throws -> Update.Stage.Change<Value>? {
            members.contains(key) ? try members.decode(Update.Stage.Change<Value>.self, forKey: key) : nil
        }
        at = try members.decode(Int.self, forKey: .at)
        header = try change(.header)
        footer = try change(.footer)
        movesTo = try change(.movesTo)
    }
}
