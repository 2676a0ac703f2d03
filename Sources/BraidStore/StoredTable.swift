import BraidEngine

package struct StoredTable: Sendable {
    /// So many latest versions stay even if no session uses them.
    package static let keptVersions = 20

    package var name: String
    package var version: Int
    /// Milliseconds since 1970.
    package var updated: Int
    package var description: JSONText

    package init(name: String, version: Int, updated: Int, description: JSONText) {
        self.name = name
        self.version = version
        self.updated = updated
        self.description = description
    }
}

package struct TableSummary: Sendable, Equatable {
    package var name: String
    package var version: Int
    /// Milliseconds since 1970.
    package var updated: Int
}

package struct SessionDescription: Sendable, Equatable {
    package var table: String
    /// `nil` if not registered, but stored with the session.
    package var version: Int?
    package var text: JSONText

    package init(table: String, version: Int?, text: JSONText) {
        self.table = table
        self.version = version
        self.text = text
    }

    package var inlineText: JSONText? { version == nil ? text : nil }
}

package enum TableDeletion: Sendable, Equatable {
    case deleted
    case missing
    case inUse(sessions: Int)
}
