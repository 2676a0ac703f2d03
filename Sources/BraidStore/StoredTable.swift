import BraidEngine

/// One version of a registered table description.
public struct StoredTable: Sendable {
    /// How many of the latest versions a store keeps, besides those that sessions use.
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

/// A ``StoredTable`` without its text.
public struct TableSummary: Sendable, Equatable {
    public var name: String
    public var version: Int
    /// When this version was registered, in milliseconds since 1970.
    public var updated: Int
}

/// The table description that a session uses.
public struct SessionDescription: Sendable, Equatable {
    public var table: String
    /// `nil` if the description is not registered, and is stored with the session.
    public var version: Int?
    public var text: JSONText

    public init(table: String, version: Int?, text: JSONText) {
        self.table = table
        self.version = version
        self.text = text
    }

    /// The text that is stored with the session.
    package var inlineText: JSONText? { version == nil ? text : nil }
}

/// The outcome of deleting a table description.
public enum TableDeletion: Sendable, Equatable {
    case deleted
    case missing
    /// Nothing was deleted, because so many sessions use one of the versions.
    case inUse(sessions: Int)
}
