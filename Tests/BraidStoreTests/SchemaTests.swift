import Foundation
import Testing

@testable import BraidStore

@Suite struct SchemaTests {
    private static let tests = URL(fileURLWithPath: #filePath).deletingLastPathComponent()

    private static func schema(_ version: Int) throws -> String {
        try String(contentsOf: tests.appendingPathComponent("Schemas/\(version).sql"), encoding: .utf8)
    }

    /// Also the current one: a released schema changes only by a step.
    @Test(
        "From every released version of the SQLite schema, the upgrade steps lead to schema.sql",
        arguments: 1...SQLiteSchema.version)
    func upgrades(version: Int) throws {
        let old = try SQLiteConnection(path: "", mode: .inMemory), new = try SQLiteConnection(path: "", mode: .inMemory)
        try old.execute(Self.schema(version))
        try SQLiteSchema.prepare(old, found: version, path: "old")
        try new.execute(SQLiteSchema.text)
        #expect(try catalog(old) == catalog(new))
        #expect(try old.first("SELECT minimum_version FROM compatibility") { $0.int(0) } == 2)
    }

    /// As sorted text: the order of creation does not matter.
    private func catalog(_ db: SQLiteConnection) throws -> [String] {
        var lines: [String] = []
        try db.query(
            """
            SELECT t.name, t.strict, c.cid, c.name, c.type, c."notnull", c.dflt_value, c.pk
            FROM pragma_table_list t, pragma_table_xinfo(t.name) c WHERE t.schema = 'main' ORDER BY t.name, c.cid
            """
        ) { columns in lines.append((0..<8).map { columns.optionalText($0) ?? "-" }.joined(separator: " ")) }
        try db.query("SELECT name, sql FROM sqlite_master WHERE type <> 'table' ORDER BY name") {
            lines.append($0.text(0) + " " + ($0.optionalText(1) ?? "-"))
        }
        try db.query("SELECT * FROM pragma_user_version, pragma_application_id") {
            lines.append("\($0.int(0)) \($0.int(1))")
        }
        return lines
    }

    @Test("The SQLite schema that the server expects is the schema of a new database")
    func expectedShape() throws {
        let db = try SQLiteConnection(path: "", mode: .inMemory)
        try db.execute(SQLiteSchema.text)
        let shape = try SQLiteSchema.shape(of: db)
        #expect(shape.tables == SQLiteSchema.expected.tables)
        #expect(Set(shape.indexes.keys) == Set(SQLiteSchema.expected.indexes.keys))
        #expect(shape.tables.count == 14 && shape.indexes.count > 15)
    }

    @Test(
        "An SQLite database whose schema does not fit is refused and not changed, and the error names the difference",
        arguments: [
            ("DROP TABLE published_model", "the table published_model is missing"),
            ("ALTER TABLE model DROP COLUMN rank", "the column model.rank is missing"),
            (
                "ALTER TABLE state DROP COLUMN cells; ALTER TABLE state ADD COLUMN cells INTEGER",
                "the column state.cells is INTEGER instead of TEXT"
            ),
            (
                "DROP TABLE opening; CREATE TABLE opening (session INTEGER PRIMARY KEY, body TEXT, description TEXT)",
                "the column opening.body is TEXT instead of TEXT NOT NULL"
            ),
            (
                "DROP INDEX answer_by_age",
                "the table answer has no index on (at) (CREATE INDEX answer_by_age ON answer (at))"
            ),
            (
                "DROP INDEX session_of_table; CREATE INDEX session_of_table ON session (table_name, table_version)",
                "the table session has no index on (table_name, table_version) WHERE table_version IS NOT NULL"
                    + " (CREATE INDEX session_of_table ON session (table_name, table_version) WHERE table_version IS NOT NULL)"
            ),
        ])
    func lackingDatabases(change: String, difference: String) async throws {
        let path = TestDirectory.make() + "/braid.sqlite"
        try await SQLiteStore(path: path).close()
        let before = try changed(path, by: change)
        #expect(
            throws: StoreError.differentSchema(
                path: path, version: SQLiteSchema.version, differences: [difference])
        ) { try SQLiteStore(path: path) }
        #expect(try changed(path, by: "") == before)
    }

    @Test("Upgrading a database that lacks an index is refused, and the database keeps its old version")
    func lackingOldDatabases() async throws {
        let path = TestDirectory.make() + "/braid.sqlite"
        let before = try changed(path, by: Self.schema(1) + "DROP INDEX token_by_expiry")
        #expect { try SQLiteStore(path: path) } throws: {
            if case StoreError.differentSchema(_, version: 1, let differences) = $0 {
                differences.count == 1
            } else {
                false
            }
        }
        #expect(try changed(path, by: "") == before)
    }

    @Test(
        "A database may contain tables, columns and indexes that the server does not know",
        arguments: [0, SQLiteSchema.version + 7])
    func furtherThings(newer version: Int) async throws {
        let path = TestDirectory.make() + "/braid.sqlite"
        try await SQLiteStore(path: path).close()
        var change = "CREATE TABLE mine (id INTEGER); CREATE INDEX mine_too ON model (section);"
        change += "ALTER TABLE session ADD COLUMN note TEXT; ALTER TABLE token ADD COLUMN n INTEGER NOT NULL DEFAULT 0;"
        // Litestream's tables.
        change += "CREATE TABLE _litestream_seq (id INTEGER PRIMARY KEY, seq INTEGER);"
        change += "CREATE TABLE _litestream_lock (id INTEGER);"
        if version > 0 { change += "PRAGMA user_version = \(version)" }
        let before = try changed(path, by: change)
        let store = try SQLiteStore(path: path)
        _ = try await store.createSession(.make())
        #expect((store.schemaNotice != nil) == (version > 0))
        await store.close()
        #expect(try changed(path, by: "") == before)
    }

    @Test("A database whose minimum version is newer than the server is refused")
    func newerDatabases() async throws {
        let path = TestDirectory.make() + "/braid.sqlite", known = SQLiteSchema.version
        try await SQLiteStore(path: path).close()
        for change in ["UPDATE compatibility SET minimum_version = \(known + 1)", "DROP TABLE compatibility"] {
            let before = try changed(path, by: "PRAGMA user_version = \(known + 1); \(change)")
            #expect(throws: StoreError.newerVersion(found: known + 1, known: known)) { try SQLiteStore(path: path) }
            #expect(try changed(path, by: "") == before)
        }
    }

    /// Returns the schema afterwards.
    private func changed(_ path: String, by sql: String) throws -> [String] {
        let db = try SQLiteConnection(path: path, mode: .readWrite)
        defer { db.close() }
        try db.execute(sql)
        return try catalog(db)
    }
}
