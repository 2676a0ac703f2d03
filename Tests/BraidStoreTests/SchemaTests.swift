import Foundation
import Testing

@testable import BraidStore

@Suite struct SchemaTests {
    private static let tests = URL(fileURLWithPath: #filePath).deletingLastPathComponent()

    /// From every version there ever was, the steps lead to schema.sql. Also of the present version: a schema that has
    /// been given out is changed by a step, not by hand.
    @Test(arguments: 1...SQLiteSchema.version)
    func everyVersionLeadsToTheSchema(version: Int) async throws {
        let old = try String(contentsOf: Self.tests.appendingPathComponent("Schemas/\(version).sql"), encoding: .utf8)
        #expect(try shape(old, from: version) == shape(SQLiteSchema.text, from: SQLiteSchema.version))
    }

    /// Tables, columns and indexes, however they came about.
    private func shape(_ sql: String, from version: Int) throws -> [String] {
        try SQLiteSchema.upgraded(sql, from: version) { db in
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
    }
}
