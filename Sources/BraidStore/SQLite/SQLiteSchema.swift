internal import CAssets

/// The schema of the database, and the steps that change older schemas to it.
enum SQLiteSchema {
    static let applicationID = 1_114_792_297
    static let version = 1

    /// The steps from each version of the schema to the next: `steps[0]` leads from version 1 to 2.
    ///
    /// To change the schema: add a step here, change `schema.sql` with its `user_version`, raise `version`, and copy
    /// the old schema to the tests' folder Schemas/. The tests check that the steps lead from each old schema to this
    /// one.
    static let steps: [String] = []

    /// Creates the schema in an empty database, or changes an older schema to it.
    static func prepare(_ db: SQLiteConnection, found: Int) throws {
        try db.inTransaction(.immediate) {
            if found == 0 { try db.execute(text) } else { try upgrade(db, from: found) }
        }
    }

    private static func upgrade(_ db: SQLiteConnection, from version: Int) throws {
        for step in steps[(version - 1)...] { try db.execute(step) }
        try db.execute("PRAGMA user_version = \(Self.version)")
    }

    /// For tests: a database in memory with an older schema that was changed to the current one.
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
