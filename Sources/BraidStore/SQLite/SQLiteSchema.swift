internal import CAssets
internal import GRDB

/// The schema and the way to it from older ones.
enum SQLiteSchema {
    static let applicationID = 1_114_792_297
    static let version = 1

    /// Steps from each version to the next: `steps[0]` leads from version 1 to 2.
    ///
    /// To change the schema: add a step here, change `schema.sql` with its `user_version`, raise `version`,
    /// and keep the schema of before in the tests' Schemas/, from where they check that the steps lead here.
    static let steps: [String] = []

    /// Makes the schema in an empty database, or leads an older one to it.
    static func prepare(_ db: Database, found: Int) throws {
        try db.inTransaction(.immediate) {
            if found == 0 { try db.execute(sql: text) } else { try upgrade(db, from: found) }
            return .commit
        }
    }

    private static func upgrade(_ db: Database, from version: Int) throws {
        for step in steps[(version - 1)...] { try db.execute(sql: step) }
        try db.execute(sql: "PRAGMA user_version = \(Self.version)")
    }

    /// For tests: a database in memory with a schema of before, led to the present one.
    static func upgraded<Value>(_ sql: String, from version: Int, read: (Database) throws -> Value) throws -> Value {
        try DatabaseQueue().writeWithoutTransaction { db in
            try db.execute(sql: sql)
            try upgrade(db, from: version)
            return try read(db)
        }
    }

    /// The text of `schema.sql`.
    static let text = String(
        decoding: UnsafeBufferPointer(start: cassets_schema.bytes, count: cassets_schema.count), as: UTF8.self)
}
