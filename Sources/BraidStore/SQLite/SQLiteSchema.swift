internal import CAssets

/// The schema of the SQLite database, and the SQL statements that upgrade older schemas to it.
enum SQLiteSchema {
    static let applicationID = 1_114_792_297
    static let version = 2

    /// The SQL statements that upgrade the schema, one list for each version: `steps[0]` upgrades version 1 to 2.
    ///
    /// To change the schema: add a step here, change `schema.sql` with its `user_version`, raise `version`, and copy
    /// the new schema to the tests' folder Schemas/. The tests check that the steps lead from each old schema to the
    /// current one. If an older server cannot use the new schema, the step also raises `compatibility.minimum_version`.
    static let steps: [[String]] = [
        [
            "CREATE TABLE compatibility (minimum_version INTEGER NOT NULL) STRICT",
            "INSERT INTO compatibility (minimum_version) VALUES (2)",
            "ALTER TABLE session ADD COLUMN unused_limit INTEGER",
            "ALTER TABLE session ADD COLUMN used INTEGER",
            "CREATE INDEX session_by_use ON session (used) WHERE used IS NOT NULL",
        ]
    ]

    /// Creates the schema in an empty database (`found` is 0), or upgrades the schema of version `found` to the current
    /// one. Checks the tables, columns and indexes of a database that was not empty: after an upgrade, before the end
    /// of the transaction.
    ///
    /// - Parameters:
    ///   - path: the path of the database, for messages.
    ///   - before: called before each statement of an upgrade and before COMMIT, with the number of earlier calls.
    static func prepare(
        _ db: SQLiteConnection, found: Int, path: String, before: ((Int) throws -> Void)? = nil
    ) throws {
        guard found < version else { return try check(db, path: path, version: found) }
        try db.inTransaction(.immediate) {
            if found == 0 {
                try db.execute(text)
            } else {
                let statements = steps[(found - 1)...].joined() + ["PRAGMA user_version = \(version)"]
                for (index, statement) in statements.enumerated() {
                    try before?(index)
                    try db.execute(statement)
                }
                try check(db, path: path, version: found)
                try before?(statements.count)
            }
        }
    }

    /// Throws `differentSchema` if a table, column or index that this server needs is missing or different, or if an
    /// unknown column needs a value.
    static func check(_ db: SQLiteConnection, path: String, version: Int) throws {
        let differences = expected.differences(in: try db.schemaShape())
        guard differences.isEmpty else {
            throw StoreError.differentSchema(path: path, version: version, differences: differences)
        }
    }

    /// The text of the file `schema.sql`, which creates the current schema.
    static let text = String(
        decoding: UnsafeBufferPointer(start: cassets_schema.bytes, count: cassets_schema.count), as: UTF8.self)

    /// The tables, columns and indexes that a database with the schema of `schema.sql` has.
    static let expected = SchemaShape(schema: text)
}

extension SQLiteConnection {
    /// Returns the oldest schema version that a server must know to use this database. Called for a database with a
    /// newer schema version than this server's. Returns `nil` if the database does not contain this number.
    func minimumVersion() throws -> Int? {
        let isKnown = try first("SELECT 1 FROM sqlite_master WHERE name = 'compatibility'") { _ in true }
        return isKnown == true ? try first("SELECT minimum_version FROM compatibility") { $0.int(0) } : nil
    }

    /// Reads the tables, columns and indexes of the database from its catalog.
    func schemaShape() throws -> SchemaShape {
        var shape = SchemaShape()
        var keys: [String: [(Int, String)]] = [:]
        try query(
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
        try query(
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
