import BraidEngine
import CSQLite
import Testing

@testable import BraidStore

@Suite("Binding and reading values of SQLite statements") struct SQLiteStatementTests {
    private let connection: SQLiteConnection

    init() throws {
        connection = try SQLiteConnection(path: "", mode: .inMemory)
        try connection.execute("CREATE TABLE t (v)")
    }

    /// Returns its type, its length in bytes by SQL, and `read`'s value.
    private func stored<Value, Result>(
        _ value: Value, _ read: (SQLiteRow) throws -> Result
    ) throws -> (type: SQLiteStatement.ValueType, count: Int?, value: Result) where Value: SQLiteBindable {
        try connection.run("DELETE FROM t")
        #expect(try connection.run("INSERT INTO t VALUES (?)", value) == 1)
        let found = try connection.first("SELECT v, length(CAST(v AS BLOB)) FROM t") { row in
            (row.type(0), row.optionalInt(1), try read(row))
        }
        return try #require(found)
    }

    @Test("Integers keep all 64 bits", arguments: [0, 1, -1, Int(Int32.max) + 1, 1 << 53 + 1, .max, .min])
    func integers(value: Int) throws {
        let found = try stored(value) { $0.int(0) }
        #expect(found.type == .integer && found.value == value)
    }

    @Test(
        "Floating-point numbers keep their values, including infinity",
        arguments: [0, -0.0, 0.1, .pi, .leastNonzeroMagnitude, .greatestFiniteMagnitude, .infinity, -.infinity])
    func doubles(value: Double) throws {
        let found = try stored(value) { $0.double(0) }
        #expect(found.type == .double)
        // SQLite need not keep the sign of negative zero; `==` ignores it.
        #expect(found.value == value)
    }

    @Test("NaN is stored as NULL") func notANumber() throws {
        #expect(try stored(Double.nan) { $0.isNull(0) } == (.null, nil, true))
    }

    @Test("NULL is read as `nil`, or as 0 or an empty value of any type") func null() throws {
        let found = try stored(Int?.none) { ($0.isNull(0), $0.int(0), $0.double(0), $0.text(0), $0.bytes(0).count) }
        #expect(found.type == .null)
        #expect(found.value == (true, 0, 0, "", 0))
        #expect(try stored(String?.none) { $0.optionalText(0) }.value == nil)
        #expect(try stored(String?.some("x")) { $0.optionalText(0) }.value == "x")
    }

    @Test(
        "Texts keep every byte, including NUL, combining characters, noncharacters and texts larger than a page",
        arguments: [
            "", "a", "\0", "a\0b", "\0\0", "15 bytes: small", "16 bytes: large!", "é", "e\u{301}", "\u{FFFF}", "😀",
            String(repeating: "long ", count: 10_000),
        ])
    func texts(value: String) throws {
        let found = try stored(value) { $0.text(0) }
        #expect(found.type == .text && found.count == value.utf8.count)
        #expect(Array(found.value.utf8) == Array(value.utf8))
    }

    @Test("A JSON text that is a slice of a larger text is bound without the bytes around it") func slices() throws {
        let element = try #require(try JSONText(parsing: #"["before",{"a":1},"behind"]"#).elements()?[1])
        let found = try stored(element) { try $0.json(0).text }
        #expect(found.type == .text && found.count == 7 && found.value == #"{"a":1}"#)
    }

    @Test("Blobs keep every byte, and an empty blob is not NULL", arguments: [[], [0], [0, 255, 0], Array(0...255)])
    func blobs(value: [UInt8]) throws {
        let found = try stored(value) { [UInt8]($0.bytes(0)) }
        #expect(found.type == .blob && found.count == value.count && found.value == value)
    }

    @Test("Bytes that are not UTF-8 are stored unchanged, and repaired only when a string is read") func invalidText()
        throws
    {
        let bytes: [UInt8] = [0x61, 0xFF, 0xC3, 0x00, 0xED, 0xA0, 0x80]
        let statement = try connection.prepare("INSERT INTO t VALUES (?)")
        try bytes.withUnsafeBytes { try statement.bindText($0, at: 1) }
        #expect(try !statement.step())
        let found = try connection.first("SELECT v FROM t") { ($0.type(0), [UInt8]($0.bytes(0)), $0.text(0)) }
        #expect(found?.0 == .text && found?.1 == bytes)
        #expect(found?.2.hasPrefix("a\u{FFFD}") == true)
        #expect(throws: StoreError.self) { try connection.first("SELECT v FROM t") { try $0.json(0) } }
    }

    @Test("A column's value is converted to the type that is read") func conversions() throws {
        let found = try connection.first("SELECT '12', 3.9, 7, x'3135', 'x'") {
            ($0.int(0), $0.int(1), $0.text(2), $0.int(3), $0.int(4))
        }
        #expect(try #require(found) == (12, 3, "7", 15, 0))
    }

    @Test("A value may be changed or freed as soon as it is bound to a statement") func boundValuesAreCopies() throws {
        let statement = try connection.prepare("INSERT INTO t VALUES (?)")
        let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: 4000, alignment: 1)
        for index in buffer.indices { buffer[index] = 7 }
        try statement.bindBlob(UnsafeRawBufferPointer(buffer), at: 1)
        for index in buffer.indices { buffer[index] = 9 }
        buffer.deallocate()
        #expect(try !statement.step())
        #expect(try connection.first("SELECT v FROM t") { $0.bytes(0).allSatisfy { $0 == 7 } } == true)
    }

    @Test("A value longer than the connection's limit is refused with SQLITE_TOOBIG") func tooLong() throws {
        connection.setLengthLimit(1000)
        let long = String(repeating: "x", count: 1001)
        #expect { try connection.run("INSERT INTO t VALUES (?)", long) } throws: { has($0, .tooBig) }
        #expect(try connection.run("INSERT INTO t VALUES (?)", String(long.dropLast(100))) == 1)
    }

    // MARK: Running

    @Test("A reset statement no longer has its bound values") func resetForgets() throws {
        let statement = try connection.prepare("SELECT ?")
        try statement.bind(5, at: 1)
        #expect(try statement.step() && statement.int(0) == 5)
        statement.reset()
        #expect(try statement.step() && statement.isNull(0))
    }

    @Test(
        "Parameters count from 1, and a number without a parameter is refused with SQLITE_RANGE",
        arguments: [-1, 0, 3, CInt.max])
    func parameterNumbers(index: CInt) throws {
        let statement = try connection.prepare("SELECT ?, ?")
        #expect(statement.parameterCount == 2)
        #expect { try statement.bind(1, at: index) } throws: { has($0, .range) }
        #expect { try statement.bindNull(at: index) } throws: { has($0, .range) }
        #expect { try "x".bind(to: statement, at: index) } throws: { has($0, .range) }
        #expect { try [1].bind(to: statement, at: index) } throws: { has($0, .range) }
    }

    @Test("Binding more values than a statement has parameters is refused, and missing values are NULL")
    func valueCounts() throws {
        #expect { try connection.run("INSERT INTO t VALUES (?)", 1, 2) } throws: { has($0, .range) }
        #expect(try connection.first("SELECT ?, ?", 1) { $0.isNull(1) } == true)
    }

    @Test("A column that does not exist reads as NULL", arguments: [-1, 2, CInt.max, .min])
    func columnNumbers(column: CInt) throws {
        let found = try connection.first("SELECT 1, 'x'") {
            ($0.type(column), $0.isNull(column), $0.int(column), $0.double(column), $0.bytes(column).count)
        }
        #expect(try #require(found) == (.null, true, 0, 0, 0))
    }

    @Test("A row that is used after its query has ended reads as NULL") func keptRows() throws {
        let row = try #require(try connection.first("SELECT 'x'") { $0 })
        #expect(row.isNull(0) && row.text(0).isEmpty && row.int(0) == 0)
        connection.close()
        #expect(row.isNull(0) && row.text(0).isEmpty && row.type(0) == .null)
    }

    @Test("Binding a value while the statement runs is refused") func bindingWhileRunning() throws {
        let statement = try connection.prepare("SELECT ? UNION ALL SELECT 2")
        #expect(try statement.step())
        #expect { try statement.bind(1, at: 1) } throws: { has($0, .misuse) }
        statement.reset()
        try statement.bind(1, at: 1)
    }

    @Test("After the connection is closed, its statements throw errors, and each is freed once")
    func closedConnections() throws {
        let statement = try connection.prepare("SELECT ?")
        try statement.bind(1, at: 1)
        #expect(try statement.step())
        connection.close()
        #expect(throws: SQLiteError.closed) { try statement.step() }
        #expect(throws: SQLiteError.closed) { try statement.bind(1, at: 1) }
        #expect(throws: SQLiteError.closed) { try "x".bind(to: statement, at: 1) }
        #expect(statement.int(0) == 0 && statement.parameterCount == 0 && statement.rowColumnCount == 0)
        statement.reset()
    }

    @Test("A statement can be used after the last reference to its connection is gone") func orphans() throws {
        var statement: SQLiteStatement?
        do {
            let connection = try SQLiteConnection(path: "", mode: .inMemory)
            statement = try connection.prepare("SELECT 7")
        }
        #expect(try statement?.step() == true && statement?.int(0) == 7)
    }
}

func has(_ error: any Error, _ code: SQLiteResultCode) -> Bool { (error as? SQLiteError)?.code.primary == code }
