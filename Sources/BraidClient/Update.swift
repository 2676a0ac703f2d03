import Foundation

/// From one revision of a table or window to another, as stages of table view operations. See
/// docs/http-api/following.md.
public struct Update: Codable, Sendable, Hashable {
    /// The revision that it starts from.
    public var from: Int
    /// The revision that it leads to.
    public var to: Int
    /// One after the other; empty if no row or section changed.
    public var stages: [Stage]
    /// Afterwards, in all sections of the table.
    public var totalRowCount: Int
    /// `nil` if it did not change.
    public var state: JSON?
    /// What to show instead of rows while the table is empty: `JSON.null` for nothing any more, `nil` for no change.
    public var empty: JSON?
    /// The window's sections whose `offset` or `rowCount` changed; `nil` in updates of the whole table.
    public var extents: [Extent]?
    /// `nil` if it did not change, and in updates of the whole table.
    public var window: TableWindow.Place?

    /// The new `offset` and `rowCount` of a section in a window.
    public struct Extent: Codable, Sendable, Hashable {
        /// In the window after the update.
        public var section: Int
        /// The section's new ``Snapshot/Section/offset``.
        public var offset: Int
        /// The section's new ``Snapshot/Section/rowCount``.
        public var rowCount: Int
    }

    /// Creates an update.
    public init(
        from: Int, to: Int, stages: [Stage] = [], totalRowCount: Int, state: JSON? = nil, empty: JSON? = nil,
        extents: [Extent]? = nil, window: TableWindow.Place? = nil
    ) {
        self.from = from
        self.to = to
        self.stages = stages
        self.totalRowCount = totalRowCount
        self.state = state
        self.empty = empty
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
        extents = try members.decodeIfPresent([Extent].self, forKey: .extents)
        window = try members.decodeIfPresent(TableWindow.Place.self, forKey: .window)
    }
}

extension Update {
    /// The operations of one `performBatchUpdates` call. Indexes count displayed sections and rows from 0, in a window
    /// only its own.
    ///
    /// Deletes, reloads, updates and the `from` of moves refer to the table before the stage; inserts and the `to` of
    /// moves, to the table after it.
    public struct Stage: Codable, Sendable, Hashable {
        /// Before the stage, with their rows.
        public var deleteSections: [Int] = []
        /// After the stage, with their rows.
        public var insertSections: [PlacedSection] = []
        /// Their rows move with them.
        public var moveSections: [SectionMove] = []
        /// Before the stage, with all of their new content.
        public var reloadSections: [PlacedSection] = []
        /// Changed headers, footers or `movesTo`.
        public var updateSections: [SectionUpdate] = []
        /// Before the stage.
        public var deleteRows: [RowPath] = []
        /// After the stage.
        public var insertRows: [PlacedRow] = []
        /// Within their section, or to another.
        public var moveRows: [RowMove] = []
        /// Changed rows, with a visual reload, before the stage.
        public var reloadRows: [PlacedRow] = []
        /// Changed rows, without a visual reload, before the stage.
        public var updateRows: [PlacedRow] = []

        /// Creates a stage without operations.
        public init() {}

        /// A section with its index.
        public struct PlacedSection: Codable, Sendable, Hashable {
            /// The section's index.
            public var at: Int
            /// Its content after the stage.
            public var section: Snapshot.Section
        }

        /// The move of a section.
        public struct SectionMove: Codable, Sendable, Hashable {
            /// Before the stage.
            public var from: Int
            /// After the stage.
            public var to: Int
        }

        /// A row with its index path: after the stage if it is inserted, before it if it is reloaded or updated.
        public struct PlacedRow: Codable, Sendable, Hashable {
            /// The row's index path.
            public var at: RowPath
            /// Its content after the stage.
            public var row: Snapshot.Row
        }

        /// The move of a row.
        public struct RowMove: Codable, Sendable, Hashable {
            /// Before the stage.
            public var from: RowPath
            /// After the stage.
            public var to: RowPath
            /// The new content, if it changed without need of a visual reload.
            public var row: Snapshot.Row?
        }

        /// What changes of a section besides its rows; `nil` members stay.
        public struct SectionUpdate: Codable, Sendable, Hashable {
            /// Before the stage.
            public var at: Int
            /// The change of the header.
            public var header: Change<Snapshot.SectionTitle>?
            /// The change of the footer.
            public var footer: Change<Snapshot.SectionTitle>?
            /// The change of where its rows may move.
            public var movesTo: Change<Snapshot.MovesTo>?
        }

        /// The change of a header, a footer or `movesTo`.
        public enum Change<Value: Codable & Sendable & Hashable>: Sendable, Hashable {
            /// A new value.
            case set(Value)
            /// No value any more.
            case removed

            /// `nil` if it was removed.
            public var value: Value? {
                switch self {
                case .set(let value): value
                case .removed: nil
                }
            }
        }

        /// Whether the stage has no operations.
        public var isEmpty: Bool { self == Stage() }
    }
}

// On the wire, empty lists are left out, and `null` means removed.
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

    /// Throws for an unknown operation: a client that ignored it would have another table than the server.
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
        // `null` means removed; a missing member, no change.
        func change<Value>(_ key: CodingKeys) throws -> Update.Stage.Change<Value>? {
            members.contains(key) ? try members.decode(Update.Stage.Change<Value>.self, forKey: key) : nil
        }
        at = try members.decode(Int.self, forKey: .at)
        header = try change(.header)
        footer = try change(.footer)
        movesTo = try change(.movesTo)
    }
}
