internal import CAssets

/// The schema of the SQLite database, and the SQL scripts that upgrade older schemas to it.
enum SQLiteSchema {
    static let applicationID = 1_114_792_297
    static let version = 1

    /// The SQL scripts that upgrade the schema by one version each: `steps[0]` leads from version 1 to 2.
    ///
    /// To change the schema: add a step here, change `schema.sql` with its `user_version`, raise `version`, and copy
    /// the old schema to the tests' folder Schemas/. The tests check that the steps lead from each old schema to this
    /// one.
    static let steps: [String] = []

    /// Creates the schema in an empty database (`found` is 0), or upgrades the schema of version `found` to the current
    /// one.
    static func prepare(_ db: SQLiteConnection, found: Int) throws {
        try db.inTransaction(.immediate) {
            if found == 0 { try db.execute(text) } else { try upgrade(db, from: found) }
        }
    }

    private static func upgrade(_ db: SQLiteConnection, from version: Int) throws {
        for step in steps[(version - 1)...] { try db.execute(step) }
        try db.execute("PRAGMA user_version = \(Self.version)")
    }

    /// For tests: creates a database in memory with an older schema, upgrades it to the current schema, and calls
    /// `read`.
    static func upgraded<Value>(_ sql: String, from version: Int, read: (SQLiteConnection) throws -> Value) throws
        -> Value
    {
        let connection = try SQLiteConnection(path: "", mode: .inMemory)
        try connection.execute(sql)
        try upgrade(connection, from: version)
        return try read(connection)
    }

    /// The text of `schema.sql`.
    static let text = String(
        decoding: UnsafeBufferPointer(start: cassets_schema.bytes, count: cassets_schema.count), as: UTF8.self)
}
