import Foundation

/// The change between two revisions of a table or of a window, as stages of table view operations.
/// docs/http-api/following.md explains updates.
public struct Update: Codable, Sendable, Hashable {
    /// The session's revision that the update starts from.
    public var from: Int
    /// The session's revision that the update leads to.
    public var to: Int
    /// The update's stages, applied one after the other. Empty if no row or section changed.
    public var stages: [Stage]
    /// The number of displayed rows after the update, in all sections of the table.
    public var totalRowCount: Int
    /// The session's state after the update. `nil` if the state did not change.
    public var state: JSON?
    /// The new value that the client shows instead of rows while the table is empty. `JSON.null` if there is no such
    /// value any more. `nil` if the value did not change.
    public var empty: JSON?
    /// The sections that stay in the window and whose `offset` or `rowCount` changed. `nil` if there are none, and in
    /// updates of the whole table.
    public var extents: [Extent]?
    /// The window's place after the update. `nil` if the place did not change, and in updates of the whole table.
    public var window: TableWindow.Place?

    /// The new `offset` and `rowCount` of a section in a window.
    public struct Extent: Codable, Sendable, Hashable {
        /// The section's index in the window after the update.
        public var section: Int
        /// The section's ``Snapshot/Section/offset`` after the update.
        public var offset: Int
        /// The section's ``Snapshot/Section/rowCount`` after the update.
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
    /// The operations of one `performBatchUpdates` call of a table view. Indexes count from 0 among the displayed
    /// sections and rows.
    ///
    /// In an update of a window, indexes count from 0 among the window's sections and rows.
    ///
    /// Deletes, reloads, updates and the `from` of moves refer to the table before the stage. Inserts and the `to` of
    /// moves refer to the table after the stage.
    public struct Stage: Codable, Sendable, Hashable {
        /// The indexes of deleted sections, before the stage. The rows of a deleted section are deleted with it.
        public var deleteSections: [Int] = []
        /// The inserted sections with their rows, and their indexes after the stage.
        public var insertSections: [PlacedSection] = []
        /// The old and new indexes of the sections that moved. A section's rows move with it.
        public var moveSections: [SectionMove] = []
        /// The sections whose whole content is replaced, with their indexes before the stage.
        public var reloadSections: [PlacedSection] = []
        /// The sections whose header, footer or `movesTo` changed.
        public var updateSections: [SectionUpdate] = []
        /// The index paths of deleted rows, before the stage.
        public var deleteRows: [RowPath] = []
        /// The inserted rows and their index paths after the stage.
        public var insertRows: [PlacedRow] = []
        /// The rows that moved within their section or to another section.
        public var moveRows: [RowMove] = []
        /// The rows whose content changed, with a visual reload. The index paths of these rows refer to the table
        /// before the stage.
        public var reloadRows: [PlacedRow] = []
        /// The rows whose content changed, without a visual reload. The index paths of these rows refer to the table
        /// before the stage.
        public var updateRows: [PlacedRow] = []

        /// Creates a stage without operations.
        public init() {}

        /// A section with its index.
        public struct PlacedSection: Codable, Sendable, Hashable {
            /// The section's index.
            public var at: Int
            /// The section's content after the stage.
            public var section: Snapshot.Section
        }

        /// The move of a section.
        public struct SectionMove: Codable, Sendable, Hashable {
            /// The section's index before the stage.
            public var from: Int
            /// The section's index after the stage.
            public var to: Int
        }

        /// A row with its index path. For an inserted row, the index path refers to the table after the stage. For a
        /// reloaded or updated row, the index path refers to the table before the stage.
        public struct PlacedRow: Codable, Sendable, Hashable {
            /// The row's index path.
            public var at: RowPath
            /// The row's content after the stage.
            public var row: Snapshot.Row
        }

        /// The move of a row.
        public struct RowMove: Codable, Sendable, Hashable {
            /// The row's index path before the stage.
            public var from: RowPath
            /// The row's index path after the stage.
            public var to: RowPath
            /// The row's new content, if the move also changed the content and the change needs no visual reload. `nil`
            /// otherwise.
            public var row: Snapshot.Row?
        }

        /// The change of the header, footer or `movesTo` of a section. The same stage can also change rows of this
        /// section. A member is `nil` if the update does not change it.
        public struct SectionUpdate: Codable, Sendable, Hashable {
            /// The section's index before the stage.
            public var at: Int
            /// The change of the header.
            public var header: Change<Snapshot.SectionTitle>?
            /// The change of the footer.
            public var footer: Change<Snapshot.SectionTitle>?
            /// The change of the list of sections that this section's rows may move to. `nil` if the list did not
            /// change.
            public var movesTo: Change<Snapshot.MovesTo>?
        }

        /// The change of a header, a footer or `movesTo`.
        public enum Change<Value: Codable & Sendable & Hashable>: Sendable, Hashable {
            /// The header, footer or `movesTo` has a new value.
            case set(Value)
            /// The header, footer or `movesTo` was removed.
            case removed

            /// The new value of the header, footer or `movesTo`. `nil` if it was removed.
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

// The wire format of a stage. Empty lists are omitted, and a removed header, footer or `movesTo` is `null`.
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

    /// Decodes a stage.
    ///
    /// - Throws: `DecodingError` for an unknown operation. If the client ignored the operation, its table would differ
    ///   from the server's table.
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
        // The member `null` means that the header, footer or `movesTo` was removed. So `null` differs from a missing
        // member, which means no change.
        func change<Value>(_ key: CodingKeys) throws -> Update.Stage.Change<Value>? {
            members.contains(key) ? try members.decode(Update.Stage.Change<Value>.self, forKey: key) : nil
        }
        at = try members.decode(Int.self, forKey: .at)
        header = try change(.header)
        footer = try change(.footer)
        movesTo = try change(.movesTo)
    }
}
