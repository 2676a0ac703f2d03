internal import CAssets

enum SQLiteSchema {
    static let applicationID = 1_114_792_297
    static let version = 2

    /// `steps[0]` upgrades version 1 to 2.
    ///
    /// To change the schema: add a step, change `schema.sql` with its `user_version`, raise `version`, and copy the
    /// new schema to the tests' Schemas/; the tests check that the steps lead from each old one to the current one.
    /// If older servers cannot use the new schema, the step also raises `compatibility.minimum_version`.
    static let steps: [[String]] = [
        [
            "CREATE TABLE compatibility (minimum_version INTEGER NOT NULL) STRICT",
            "INSERT INTO compatibility (minimum_version) VALUES (2)",
            "ALTER TABLE session ADD COLUMN unused_limit INTEGER",
            "ALTER TABLE session ADD COLUMN used INTEGER",
            "CREATE INDEX session_by_use ON session (used) WHERE used IS NOT NULL",
            "ALTER TABLE journal ADD COLUMN author TEXT",
            "ALTER TABLE token ADD COLUMN grants TEXT",
        ]
    ]

    /// Creates, or upgrades and checks in one transaction. `found` is 0 for an empty database. `before` runs before
    /// each statement of an upgrade and before COMMIT, with the number of earlier calls.
    static func prepare(
        _ db: SQLiteConnection, found: Int, path: String, before: ((Int) throws -> Void)? = nil
    ) throws {
        guard found < version else { return try check(db, path: path, version: found) }
        try db.inTransaction(.immediate) {
            if found == 0 {
                try db.execute(text)
            } else {
                let statements = steps[(found - 1)...].joined() + ["PRAGMA user_version = \(version)"]
                try SchemaShape.upgrade(by: statements, before: before, execute: { try db.execute($0) }) {
                    try check(db, path: path, version: found)
                }
            }
        }
    }

    static func check(_ db: SQLiteConnection, path: String, version: Int) throws {
        try expected.check(try shape(of: db), path: path, version: version)
    }

    /// `schema.sql`.
    static let text = String(
        decoding: UnsafeBufferPointer(start: cassets_schema.bytes, count: cassets_schema.count), as: UTF8.self)

    static let expected = SchemaShape(schema: text)

    /// The oldest version that a server must know to use this newer database, if it says.
    static func minimumVersion(of db: SQLiteConnection) throws -> Int? {
        let isKnown = try db.first("SELECT 1 FROM sqlite_master WHERE name = 'compatibility'") { _ in true }
        return isKnown == true ? try db.first("SELECT minimum_version FROM compatibility") { $0.int(0) } : nil
    }

    static func shape(of db: SQLiteConnection) throws -> SchemaShape {
        var shape = SchemaShape()
        var keys: [String: [(Int, String)]] = [:]
        try db.query(
            """
            SELECT t.name, c.name, lower(c.type), c."notnull", c.dflt_value IS NOT NULL, c.pk
            FROM pragma_table_list t, pragma_table_xinfo(t.name) c
            WHERE t.schema = 'main' AND t.type = 'table' AND t.name NOT LIKE 'sqlite~_%' ESCAPE '~'
            """
        ) {
            let table = $0.text(0), column = $0.text(1), key = $0.int(5)
            shape.add(
                SchemaShape.Column(
                    type: $0.text(2), isRequired: $0.int(3) != 0 || key > 0, hasDefault: $0.int(4) != 0),
                named: column, to: table)
            if key > 0 { keys[table, default: []].append((key, column)) }
        }
        for (table, columns) in keys {
            let names = columns.sorted { $0.0 < $1.0 }.map(\.1).joined(separator: ", ")
            shape.indexes[.init(table: table, columns: names, isUnique: true, condition: nil)] = .some(nil)
        }
        try db.query(
            """
            SELECT m.tbl_name, i."unique", m.sql,
                (SELECT group_concat(name, ', ') FROM (SELECT name FROM pragma_index_info(i.name) ORDER BY seqno))
            FROM sqlite_master m, pragma_index_list(m.tbl_name) i WHERE m.type = 'index' AND i.name = m.name
            """
        ) {
            let sql = $0.optionalText(2)
            let index = SchemaShape.Index(
                table: $0.text(0), columns: $0.optionalText(3) ?? "", isUnique: $0.int(1) != 0,
                condition: sql.flatMap { SchemaShape.condition(of: $0) })
            shape.indexes[index] = .some(sql)
        }
        return shape
    }
}
