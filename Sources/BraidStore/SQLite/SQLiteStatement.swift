internal import CSQLite

/// A prepared statement.
///
/// Bind values to its parameters, ``step()`` through its rows, read their columns, and ``reset()`` it to run it again.
/// Parameters count from 1, columns from 0, as in SQLite. Wrong numbers are errors or NULL, and a statement of a closed
/// connection throws ``SQLiteError/closed``: no misuse is undefined behavior.
final class SQLiteStatement {
    private let handle: SQLiteHandle
    /// The C interface's statement, which is valid while the connection is open.
    private let pointer: OpaquePointer
    /// The key in the cache. Empty for a statement that was prepared outside of the cache.
    let sql: String
    /// Whether the statement is taken out of its connection's cache.
    ///
    /// Exclusivity is unchecked here and for the variables below: a statement belongs to one thread at a time, and no
    /// access calls other code.
    @exclusivity(unchecked) var isTaken = false
    /// When the statement was last taken from the cache, in takes. Maintained by the cache.
    @exclusivity(unchecked) var lastUse: UInt = 0
    /// The next statement in the same chain of the cache.
    @exclusivity(unchecked) var next: SQLiteStatement?

    init(_ pointer: OpaquePointer, sql: String, of handle: SQLiteHandle) {
        self.pointer = pointer
        self.sql = sql
        self.handle = handle
    }

    deinit {
        // If the connection is closed, closing it has finalized the statement.
        if handle.pointer != nil { sqlite3_finalize(pointer) }
    }

    // MARK: Binding

    /// Throws what a call of SQLite's binding functions returned.
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

    /// Binds NULL.
    ///
    /// - Throws: `SQLITE_RANGE` if the statement has no such parameter; `SQLITE_MISUSE` between ``step()`` and
    ///   ``reset()``. The other methods that bind a value throw the same errors.
    @inline(__always)
    func bindNull(at index: CInt) throws(SQLiteError) { try check(sqlite3_bind_null(open(), index)) }

    /// Binds an integer.
    @inline(__always)
    func bind(_ value: Int, at index: CInt) throws(SQLiteError) {
        try check(sqlite3_bind_int64(open(), index, Int64(value)))
    }

    /// Binds a floating-point number. SQLite stores NaN as NULL.
    @inline(__always)
    func bind(_ value: Double, at index: CInt) throws(SQLiteError) {
        try check(sqlite3_bind_double(open(), index, value))
    }

    /// Binds a text by its length, so that it may contain NUL. SQLite copies the bytes and does not check that they are
    /// UTF-8.
    ///
    /// - Throws: `SQLITE_TOOBIG` if the text is longer than the connection's limit.
    @inline(__always)
    func bindText(_ utf8: UnsafeRawBufferPointer, at index: CInt) throws(SQLiteError) {
        try check(csqlite_bind_text_copy(open(), index, utf8.baseAddress, UInt64(utf8.count)))
    }

    /// Binds a blob. SQLite copies the bytes.
    ///
    /// - Throws: `SQLITE_TOOBIG` if the blob is longer than the connection's limit.
    @inline(__always)
    func bindBlob(_ bytes: UnsafeRawBufferPointer, at index: CInt) throws(SQLiteError) {
        try check(csqlite_bind_blob_copy(open(), index, bytes.baseAddress, UInt64(bytes.count)))
    }

    /// How many parameters the statement has.
    var parameterCount: Int { handle.pointer == nil ? 0 : Int(sqlite3_bind_parameter_count(pointer)) }

    // MARK: Running

    /// Runs the statement until its next row.
    ///
    /// - Returns: whether there is a row. `false` means that the statement is done; the next step runs the statement
    ///   again.
    /// - Throws: whatever can go wrong in SQLite. After an error, the statement must be reset.
    @inline(__always)
    func step() throws(SQLiteError) -> Bool {
        switch sqlite3_step(try open()) {
        case SQLITE_ROW: return true
        case SQLITE_DONE: return false
        case let code: throw failure(code)
        }
    }

    /// Ends the run of the statement and removes the bound values.
    @inline(__always)
    func reset() {
        guard handle.pointer != nil else { return }
        // `sqlite3_reset` returns the error of the last step, which that step has thrown already.
        sqlite3_reset(pointer)
        sqlite3_clear_bindings(pointer)
    }

    // MARK: Reading

    /// The type of a value in a row.
    enum ValueType { case null, integer, double, text, blob }

    /// How many columns the present row has: 0 if the statement is not at a row.
    @inline(__always)
    var rowColumnCount: CInt { handle.pointer == nil ? 0 : sqlite3_data_count(pointer) }

    @inline(__always)
    private func has(_ column: CInt) -> Bool { column >= 0 && column < rowColumnCount }

    /// The type of a column's value. If the row has no such column, the type is `null`.
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

    /// Whether a column's value is NULL, or the row has no such column.
    @inline(__always)
    func isNull(_ column: CInt) -> Bool { !has(column) || sqlite3_column_type(pointer, column) == SQLITE_NULL }

    /// A column as an integer. SQLite converts other types (`CAST`); NULL is 0.
    @inline(__always)
    func int(_ column: CInt) -> Int { has(column) ? Int(sqlite3_column_int64(pointer, column)) : 0 }

    /// A column as a floating-point number. SQLite converts other types; NULL is 0.
    @inline(__always)
    func double(_ column: CInt) -> Double { has(column) ? sqlite3_column_double(pointer, column) : 0 }

    /// The bytes of a text or a blob, without a copy. SQLite converts numbers to text; NULL has no bytes.
    ///
    /// The bytes are valid until the next ``step()`` or ``reset()``, and until the column is read as another type. A
    /// text need not be valid UTF-8.
    @inline(__always)
    func bytes(_ column: CInt) -> UnsafeRawBufferPointer {
        guard has(column) else { return UnsafeRawBufferPointer(start: nil, count: 0) }
        // The order of the calls matters: the first can convert the value, and the second returns the length of the
        // result.
        let start = sqlite3_column_blob(pointer, column)
        return UnsafeRawBufferPointer(
            start: start, count: start == nil ? 0 : Int(sqlite3_column_bytes(pointer, column)))
    }

    /// A text column as a string. Bytes that are not UTF-8 are repaired with U+FFFD; NULL is empty.
    func text(_ column: CInt) -> String { String(decoding: bytes(column), as: UTF8.self) }
}

/// The row at which a statement is. Columns count from 0.
///
/// A row is only valid until the statement's next step. A row that is kept longer shows the statement's later rows, or
/// NULL.
struct SQLiteRow: StoredColumns {
    private let statement: SQLiteStatement

    init(of statement: SQLiteStatement) { self.statement = statement }

    @inline(__always)
    func int(_ column: CInt) -> Int { statement.int(column) }

    @inline(__always)
    func isNull(_ column: CInt) -> Bool { statement.isNull(column) }

    /// The bytes of the column, which are valid until the statement's next step.
    @inline(__always)
    func bytes(_ column: CInt) -> UnsafeRawBufferPointer { statement.bytes(column) }

    func double(_ column: CInt) -> Double { statement.double(column) }

    func type(_ column: CInt) -> SQLiteStatement.ValueType { statement.type(column) }
}
