import CSQLite
import Testing

@testable import BraidStore

@Suite("The cache of prepared SQLite statements") struct SQLiteStatementCacheTests {
    private let connection: SQLiteConnection

    init() throws { connection = try SQLiteConnection(path: "", mode: .inMemory, cachedStatements: 3) }

    private func statement(_ sql: String) throws -> SQLiteStatement {
        let statement = try connection.take(sql)
        connection.release(statement)
        return statement
    }

    @Test("The same SQL text is prepared once, even if two strings contain it") func sameText() throws {
        let first = try statement("SELECT 1 -- a text")
        #expect(try statement("SELECT 1 -- a text") === first)
        let number = Int.random(in: 1...1)
        #expect(try statement("SELECT \(number) -- a text") === first)
        #expect(connection.cachedStatementCount == 1)
    }

    @Test("SQL texts that differ in a single byte are different statements in the cache") func otherTexts() throws {
        let connection = try SQLiteConnection(path: "", mode: .inMemory, cachedStatements: 200)
        let text = Array("SELECT 'a text that has many bytes, of which the hash sees a few alone'".utf8)
        for index in 8..<text.count - 1 {
            var other = text
            other[index] = UInt8(ascii: "_")
            let sql = String(decoding: other, as: UTF8.self)
            #expect(try connection.first(sql) { Array($0.text(0).utf8) } == Array(other[8..<other.count - 1]))
        }
        #expect(connection.cachedStatementCount > 50)
    }

    @Test("A full cache removes the statement that has not been used for the longest time") func eviction() throws {
        let first = try statement("SELECT 1"), second = try statement("SELECT 2")
        _ = try statement("SELECT 3")
        #expect(try statement("SELECT 1") === first)
        _ = try statement("SELECT 4")
        #expect(connection.cachedStatementCount == 3)
        #expect(try statement("SELECT 1") === first)
        #expect(try statement("SELECT 2") !== second)
    }

    @Test("A query may run while the rows of the same query are being read") func nesting() throws {
        try connection.execute("CREATE TABLE t (v); INSERT INTO t VALUES (1), (2), (3)")
        var found: [String] = []
        try connection.query("SELECT v FROM t ORDER BY v") { outer in
            try connection.query("SELECT v FROM t ORDER BY v") { inner in
                found.append("\(outer.int(0))\(inner.int(0))")
            }
        }
        #expect(found == ["11", "12", "13", "21", "22", "23", "31", "32", "33"])
        #expect(connection.cachedStatementCount == 1)
    }

    @Test("A running statement that the cache removes continues to run") func evictionWhileRunning() throws {
        var found: [Int] = []
        try connection.query("SELECT 1 UNION ALL SELECT 2") { row in
            for number in 10..<20 { _ = try connection.first("SELECT \(number)") { $0.int(0) } }
            found.append(row.int(0))
        }
        #expect(found == [1, 2])
    }

    @Test("A cached statement that has failed can be used again") func failures() throws {
        try connection.execute("CREATE TABLE t (v INTEGER PRIMARY KEY)")
        for _ in 0..<3 {
            try connection.run("DELETE FROM t")
            try connection.run("INSERT INTO t VALUES (?)", 1)
            #expect { try connection.run("INSERT INTO t VALUES (?)", 1) } throws: { has($0, .constraint) }
            #expect(throws: CancellationError.self) {
                try connection.query("SELECT v FROM t") { _ in throw CancellationError() }
            }
        }
        #expect(try connection.first("SELECT v FROM t") { $0.int(0) } == 1)
    }

    @Test("A cached statement uses the new schema after a change of the schema") func schemaChanges() throws {
        try connection.execute("CREATE TABLE t (a); INSERT INTO t VALUES (1)")
        #expect(try connection.first("SELECT * FROM t") { $0.isNull(1) } == true)
        try connection.execute("ALTER TABLE t ADD b DEFAULT 5")
        #expect(try connection.first("SELECT * FROM t") { $0.int(1) } == 5)
    }

    @Test("With a cache of size 0, no statement is kept, and queries still work") func noRoom() throws {
        let connection = try SQLiteConnection(path: "", mode: .inMemory, cachedStatements: 0)
        #expect(try connection.first("SELECT 1") { $0.int(0) } == 1)
        #expect(try connection.first("SELECT 1") { $0.int(0) } == 1)
        #expect(connection.cachedStatementCount == 0)
    }
}
