import Foundation

/// The change between two revisions, as stages of table view operations. docs/http-api.md, "Update".
public struct Update: Codable, Sendable, Hashable {
    public var from: Int
    public var to: Int
    public var stages: [Stage]
    /// After the update.
    public var totalRowCount: Int
    /// The state, when it changed.
    public var state: JSON?
    /// The empty state, when it changed; `.null`: it went away.
    public var empty: JSON?

    public init(from: Int, to: Int, stages: [Stage] = [], totalRowCount: Int, state: JSON? = nil, empty: JSON? = nil) {
        self.from = from
        self.to = to
        self.stages = stages
        self.totalRowCount = totalRowCount
        self.state = state
        self.empty = empty
    }

    public init(from decoder: any Decoder) throws {
        let members = try decoder.container(keyedBy: CodingKeys.self)
        from = try members.decode(Int.self, forKey: .from)
        to = try members.decode(Int.self, forKey: .to)
        stages = try members.decode([Stage].self, forKey: .stages)
        totalRowCount = try members.decode(Int.self, forKey: .totalRowCount)
        state = try members.decodeIfPresent(JSON.self, forKey: .state)
        empty = members.contains(.empty) ? try members.decode(JSON.self, forKey: .empty) : nil
    }
}

extension Update {
    /// Operations for one `performBatchUpdates`. Deletes, reloads, updates and the `from` of moves count in the table before
    /// the stage; inserts and the `to` of moves after it.
    public struct Stage: Codable, Sendable, Hashable {
        public var deleteSections: [Int] = []
        public var insertSections: [PlacedSection] = []
        public var moveSections: [SectionMove] = []
        public var reloadSections: [PlacedSection] = []
        public var updateSections: [SectionUpdate] = []
        public var deleteRows: [RowPath] = []
        public var insertRows: [PlacedRow] = []
        public var moveRows: [RowMove] = []
        public var reloadRows: [PlacedRow] = []
        public var updateRows: [PlacedRow] = []

        public init() {}

        public struct PlacedSection: Codable, Sendable, Hashable {
            public var at: Int
            public var section: Snapshot.Section
        }

        public struct SectionMove: Codable, Sendable, Hashable {
            public var from: Int
            public var to: Int
        }

        public struct PlacedRow: Codable, Sendable, Hashable {
            public var at: RowPath
            public var row: Snapshot.Row
        }

        public struct RowMove: Codable, Sendable, Hashable {
            public var from: RowPath
            public var to: RowPath
            /// When its content changed too, and needs no visual reload.
            public var row: Snapshot.Row?
        }

        /// What of a section's own changed.
        public struct SectionUpdate: Codable, Sendable, Hashable {
            public var at: Int
            public var header: Change<Snapshot.SectionTitle>?
            public var footer: Change<Snapshot.SectionTitle>?
            public var movesTo: Change<Snapshot.MovesTo>?
        }

        /// A new value, or that it went away.
        public enum Change<Value: Codable & Sendable & Hashable>: Sendable, Hashable {
            case set(Value)
            case removed

            public var value: Value? {
                switch self {
                case .set(let value): value
                case .removed: nil
                }
            }
        }

        public var isEmpty: Bool { self == Stage() }
    }
}

// As on the wire: lists that are empty are left out, and what went away is null.
extension Update.Stage {
    private enum CodingKeys: String, CodingKey, CaseIterable {
        case deleteSections, insertSections, moveSections, reloadSections, updateSections, deleteRows, insertRows, moveRows, reloadRows, updateRows
    }

    private struct AnyKey: CodingKey {
        var stringValue: String
        var intValue: Int? { nil }
        init(stringValue: String) { self.stringValue = stringValue }
        init?(intValue: Int) { return nil }
    }

    /// Throws for an operation that it does not know: to leave it out would be to show another table.
    public init(from decoder: any Decoder) throws {
        for key in try decoder.container(keyedBy: AnyKey.self).allKeys where CodingKeys(rawValue: key.stringValue) == nil {
            throw DecodingError.dataCorrupted(.init(codingPath: decoder.codingPath + [key], debugDescription: "There is no operation \(key.stringValue)."))
        }
        let members = try decoder.container(keyedBy: CodingKeys.self)
        func list<Element: Decodable>(_ key: CodingKeys) throws -> [Element] { try members.decodeIfPresent([Element].self, forKey: key) ?? [] }
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
        func put(_ list: [some Encodable], _ key: CodingKeys) throws { if !list.isEmpty { try members.encode(list, forKey: key) } }
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
        // Null says something here.
        func change<Value>(_ key: CodingKeys) throws -> Update.Stage.Change<Value>? {
            members.contains(key) ? try members.decode(Update.Stage.Change<Value>.self, forKey: key) : nil
        }
        at = try members.decode(Int.self, forKey: .at)
        header = try change(.header)
        footer = try change(.footer)
        movesTo = try change(.movesTo)
    }
}
