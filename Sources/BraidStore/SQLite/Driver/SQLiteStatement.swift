internal import CSQLite

/// A prepared statement: bind values, ``step()`` through the rows and read their columns, then ``reset()``.
///
/// Parameters count from 1, columns from 0. A wrong parameter is an error, a wrong column reads as NULL. Once the
/// connection is closed, binding and ``step()`` throw ``SQLiteError/closed``, and columns read as NULL.
final class SQLiteStatement {
    private let handle: SQLiteHandle
    /// Dangling once the connection is closed.
    private let pointer: OpaquePointer
    /// The cache's key, or empty.
    let sql: String
    // The next three are the connection's and its cache's. Unchecked: one thread at a time, and no access calls other
    // code.
    @exclusivity(unchecked) var isTaken = false
    /// The cache's count of takes.
    @exclusivity(unchecked) var lastUse: UInt = 0
    /// The next in its chain of the cache.
    @exclusivity(unchecked) var next: SQLiteStatement?

    init(_ pointer: OpaquePointer, sql: String, of handle: SQLiteHandle) {
        self.pointer = pointer
        self.sql = sql
        self.handle = handle
    }

    deinit {
        // Closing the connection has finalized its statements.
        if handle.pointer != nil { sqlite3_finalize(pointer) }
    }

    // MARK: Binding

    @inline(__always)
    private func check(_ code: CInt) throws(SQLiteError) {
        if code != SQLITE_OK { throw failure(code) }
    }

    @inline(never)
    private func failure(_ code: CInt) -> SQLiteError {
        handle.pointer.map { SQLiteError(code: code, of: $0) } ?? .closed
    }

    @inline(__always)
    private func open() throws(SQLiteError) -> OpaquePointer {
        guard handle.pointer != nil else { throw .closed }
        return pointer
    }

    /// All methods that bind throw `SQLITE_RANGE` for an unknown parameter, and `SQLITE_MISUSE` between ``step()`` and
    /// ``reset()``.
    @inline(__always)
    func bindNull(at index: CInt) throws(SQLiteError) { try check(sqlite3_bind_null(open(), index)) }

    @inline(__always)
    func bind(_ value: Int, at index: CInt) throws(SQLiteError) {
        try check(sqlite3_bind_int64(open(), index, Int64(value)))
    }

    /// SQLite stores NaN as NULL.
    @inline(__always)
    func bind(_ value: Double, at index: CInt) throws(SQLiteError) {
        try check(sqlite3_bind_double(open(), index, value))
    }

    /// Copies the bytes, which may contain NUL, and does not check them. Throws `SQLITE_TOOBIG` beyond the
    /// connection's limit, as `bindBlob` does.
    @inline(__always)
    func bindText(_ utf8: UnsafeRawBufferPointer, at index: CInt) throws(SQLiteError) {
        try check(csqlite_bind_text_copy(open(), index, utf8.baseAddress, UInt64(utf8.count)))
    }

    @inline(__always)
    func bindBlob(_ bytes: UnsafeRawBufferPointer, at index: CInt) throws(SQLiteError) {
        try check(csqlite_bind_blob_copy(open(), index, bytes.baseAddress, UInt64(bytes.count)))
    }

    var parameterCount: Int { handle.pointer == nil ? 0 : Int(sqlite3_bind_parameter_count(pointer)) }

    // MARK: Running

    /// Returns whether there is a row. After the last, a step runs the statement again; after an error, reset first.
    @inline(__always)
    func step() throws(SQLiteError) -> Bool {
        switch sqlite3_step(try open()) {
        case SQLITE_ROW: return true
        case SQLITE_DONE: return false
        case let code: throw failure(code)
        }
    }

    /// Also removes the bound values.
    @inline(__always)
    func reset() {
        guard handle.pointer != nil else { return }
        sqlite3_reset(pointer)
        sqlite3_clear_bindings(pointer)
    }

    // MARK: Reading

    enum ValueType { case null, integer, double, text, blob }

    @inline(__always)
    var rowColumnCount: CInt { handle.pointer == nil ? 0 : sqlite3_data_count(pointer) }

    @inline(__always)
    private func has(_ column: CInt) -> Bool { column >= 0 && column < rowColumnCount }

    func type(_ column: CInt) -> ValueType {
        guard has(column) else { return .null }
        switch sqlite3_column_type(pointer, column) {
        case SQLITE_INTEGER: return .integer
        case SQLITE_FLOAT: return .double
        case SQLITE_TEXT: return .text
        case SQLITE_BLOB: return .blob
        default: return .null
        }
    }

    @inline(__always)
    func isNull(_ column: CInt) -> Bool { !has(column) || sqlite3_column_type(pointer, column) == SQLITE_NULL }

    // SQLite converts other types, as `CAST` does. NULL is 0 or empty.

    @inline(__always)
    func int(_ column: CInt) -> Int { has(column) ? Int(sqlite3_column_int64(pointer, column)) : 0 }

    @inline(__always)
    func double(_ column: CInt) -> Double { has(column) ? sqlite3_column_double(pointer, column) : 0 }

    /// A text, perhaps not UTF-8, or a blob, uncopied. Valid until ``step()``, ``reset()`` or a read as another type.
    @inline(__always)
    func bytes(_ column: CInt) -> UnsafeRawBufferPointer {
        guard has(column) else { return UnsafeRawBufferPointer(start: nil, count: 0) }
        // Before `sqlite3_column_bytes`, because it can convert the value and change its length.
        let start = sqlite3_column_blob(pointer, column)
        return UnsafeRawBufferPointer(
            start: start, count: start == nil ? 0 : Int(sqlite3_column_bytes(pointer, column)))
    }

    func text(_ column: CInt) -> String { String(decoding: bytes(column), as: UTF8.self) }
}

/// Valid until the next step.
struct SQLiteRow {
    private let statement: SQLiteStatement

    init(of statement: SQLiteStatement) { self.statement = statement }

    @inline(__always)
    func int(_ column: CInt) -> Int { statement.int(column) }

    @inline(__always)
    func isNull(_ column: CInt) -> Bool { statement.isNull(column) }

    @inline(__always)
    func bytes(_ column: CInt) -> UnsafeRawBufferPointer { statement.bytes(column) }

    func text(_ column: CInt) -> String { statement.text(column) }

    func double(_ column: CInt) -> Double { statement.double(column) }

    func type(_ column: CInt) -> SQLiteStatement.ValueType { statement.type(column) }
}

extension Int: SQLiteBindable {
    func bind(to statement: SQLiteStatement, at index: CInt) throws(SQLiteError) {
        try statement.bind(self, at: index)
    }
}

extension Double: SQLiteBindable {
    func bind(to statement: SQLiteStatement, at index: CInt) throws(SQLiteError) {
        try statement.bind(self, at: index)
    }
}

extension String: SQLiteBindable {
    func bind(to statement: SQLiteStatement, at index: CInt) throws(SQLiteError) {
        var text = self
        let result = text.withUTF8 { utf8 in
            Result { () throws(SQLiteError) in try statement.bindText(UnsafeRawBufferPointer(utf8), at: index) }
        }
        try result.get()
    }
}

extension Array: SQLiteBindable where Element == UInt8 {
    func bind(to statement: SQLiteStatement, at index: CInt) throws(SQLiteError) {
        let result = withUnsafeBytes { bytes in
            Result { () throws(SQLiteError) in try statement.bindBlob(bytes, at: index) }
        }
        try result.get()
    }
}

extension Optional: SQLiteBindable where Wrapped: SQLiteBindable {
    func bind(to statement: SQLiteStatement, at index: CInt) throws(SQLiteError) {
        if let value = self {
            try value.bind(to: statement, at: index)
        } else {
            try statement.bindNull(at: index)
        }
    }
}
