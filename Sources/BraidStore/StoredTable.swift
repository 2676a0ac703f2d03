import BraidEngine

/// One version of a registered table description.
public struct StoredTable: Sendable {
    /// The number of latest versions that a store keeps of each table description. A store also keeps each older
    /// version that a session uses.
    public static let keptVersions = 20

    public var name: String
    public var version: Int
    /// The time at which this version of the table description was registered, in milliseconds since 1970.
    public var updated: Int
    public var description: JSONText

    public init(name: String, version: Int, updated: Int, description: JSONText) {
        self.name = name
        self.version = version
        self.updated = updated
        self.description = description
    }
}

/// The name, version and time of one version of a registered table description, without its text.
public struct TableSummary: Sendable, Equatable {
    public var name: String
    public var version: Int
    /// The time at which this version of the table description was registered, in milliseconds since 1970.
    public var updated: Int

    /// An SQL condition: the numbers of a version are in their ranges. Lists leave out damaged versions.
    package static let isSound =
        "\(StoredNumber.version.condition("version")) AND \(StoredNumber.time.condition("updated"))"

    public init(name: String, version: Int, updated: Int) {
        self.name = name
        self.version = version
        self.updated = updated
    }
}

/// The table description to which a stored session is bound.
public struct StoredBinding: Sendable, Equatable {
    /// The name of the table description.
    public var table: String
    /// The version of the registered table description. `nil` if the description is not registered and is stored with
    /// the session.
    public var version: Int?
    public var description: JSONText

    public init(table: String, version: Int?, description: JSONText) {
        self.table = table
        self.version = version
        self.description = description
    }

    /// The text of the table description, if the store keeps it with the session because the description is not
    /// registered. Otherwise `nil`.
    package var inlineDescription: JSONText? { version == nil ? description : nil }
}

/// The outcome of a request to delete a table description.
public enum TableDeletion: Sendable, Equatable {
    case deleted
    case missing
    /// The store deleted nothing, because `sessions` sessions use one of the description's versions.
    case inUse(sessions: Int)
}
