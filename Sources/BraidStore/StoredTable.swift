import BraidEngine

public struct StoredTable: Sendable {
    /// The latest versions, which stay without sessions.
    public static let keptVersions = 20

    public var name: String
    public var version: Int
    /// Milliseconds since 1970.
    public var updated: Int
    public var description: JSONText

    public init(name: String, version: Int, updated: Int, description: JSONText) {
        self.name = name
        self.version = version
        self.updated = updated
        self.description = description
    }
}

public struct TableSummary: Sendable, Equatable {
    public var name: String
    public var version: Int
    /// Milliseconds since 1970.
    public var updated: Int
}

public struct SessionDescription: Sendable, Equatable {
    public var table: String
    /// `nil` if not registered, but stored with the session.
    public var version: Int?
    public var text: JSONText

    public init(table: String, version: Int?, text: JSONText) {
        self.table = table
        self.version = version
        self.text = text
    }

    package var inlineText: JSONText? { version == nil ? text : nil }
}

public enum TableDeletion: Sendable, Equatable {
    case deleted
    case missing
    case inUse(sessions: Int)
}
