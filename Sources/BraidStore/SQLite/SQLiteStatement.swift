internal import CSQLite

/// A prepared SQL statement of a connection.
///
/// To use a statement, bind values to its parameters, ``step()`` through its rows, and read the rows' columns. To run
/// the statement again, ``reset()`` it first. Parameters count from 1, columns from 0, as in SQLite.
///
/// A wrong parameter number is an error, and a wrong column reads as NULL. After the connection is closed, binding
/// values and ``step()`` throw ``SQLiteError/closed``, and every column reads as NULL.
final class SQLiteStatement {
    private let handle: SQLiteHandle
    /// The statement's `sqlite3_stmt` pointer of the C interface. The pointer is valid while the connection is open.
    private let pointer: OpaquePointer
    /// The SQL text under which the connection's cache keeps this statement. Empty for a statement that was prepared
    /// without the cache.
    let sql: String
    /// Whether the statement is in use, so that the connection's cache must not hand it out.
    ///
    /// Swift's exclusivity check is off here and for the variables below. A statement belongs to one thread at a time,
    /// and no access calls other code.
    @exclusivity(unchecked) var isTaken = false
    /// When the statement was last used: the number of statements that the cache had handed out by this use. The cache
    /// sets this number.
    @exclusivity(unchecked) var lastUse: UInt = 0
    /// The next statement in the same hash chain of the connection's statement cache. `nil` at the end of the chain.
    @exclusivity(unchecked) var next: SQLiteStatement?

    init(_ pointer: OpaquePointer, sql: String, of handle: SQLiteHandle) {
        self.pointer = pointer
        self.sql = sql
        self.handle = handle
    }

    deinit {
        // Finalize the statement only while the connection is open: closing the connection has already finalized it.
        if handle.pointer != nil { sqlite3_finalize(pointer) }
    }

    // MARK: Binding

    /// Throws an error if `code`, the result of a binding function of SQLite, is not `SQLITE_OK`.
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

    /// Binds NULL to the statement's parameter with the number `index`.
    ///
    /// - Throws: `SQLITE_RANGE` if the statement has no such parameter; `SQLITE_MISUSE` between ``step()`` and
    ///   ``reset()``. The other methods that bind a value throw the same errors.
    @inline(__always)
    func bindNull(at index: CInt) throws(SQLiteError) { try check(sqlite3_bind_null(open(), index)) }

    /// Binds an integer to the statement's parameter with the number `index`.
    @inline(__always)
    func bind(_ value: Int, at index: CInt) throws(SQLiteError) {
        try check(sqlite3_bind_int64(open(), index, Int64(value)))
    }

    /// Binds a floating-point number to the statement's parameter with the number `index`. SQLite stores NaN as NULL.
    @inline(__always)
    func bind(_ value: Double, at index: CInt) throws(SQLiteError) {
        try check(sqlite3_bind_double(open(), index, value))
    }

    /// Binds a text to the statement's parameter with the number `index`. SQLite receives the text's length, so the
    /// text may contain the character NUL. SQLite copies the bytes and does not check that they are UTF-8.
    ///
    /// - Throws: `SQLITE_TOOBIG` if the text is longer than the connection's limit.
    @inline(__always)
    func bindText(_ utf8: UnsafeRawBufferPointer, at index: CInt) throws(SQLiteError) {
        try check(csqlite_bind_text_copy(open(), index, utf8.baseAddress, UInt64(utf8.count)))
    }

    /// Binds bytes to the statement's parameter with the number `index`, as a blob. SQLite copies the bytes.
    ///
    /// - Throws: `SQLITE_TOOBIG` if the blob is longer than the connection's limit.
    @inline(__always)
    func bindBlob(_ bytes: UnsafeRawBufferPointer, at index: CInt) throws(SQLiteError) {
        try check(csqlite_bind_blob_copy(open(), index, bytes.baseAddress, UInt64(bytes.count)))
    }

    /// The number of parameters that the SQL statement has.
    var parameterCount: Int { handle.pointer == nil ? 0 : Int(sqlite3_bind_parameter_count(pointer)) }

    // MARK: Running

    /// Runs the statement until its next row.
    ///
    /// - Returns: whether the statement has a further row. `false` means that the statement is done; a further step
    ///   would run the statement again.
    /// - Throws: the error that SQLite reports. After an error, the statement must be reset.
    @inline(__always)
    func step() throws(SQLiteError) -> Bool {
        switch sqlite3_step(try open()) {
        case SQLITE_ROW: return true
        case SQLITE_DONE: return false
        case let code: throw failure(code)
        }
    }

    /// Ends the run of the statement, and removes the values that are bound to its parameters.
    @inline(__always)
    func reset() {
        guard handle.pointer != nil else { return }
        // Ignore the result of `sqlite3_reset`: it only repeats an error that the last call of `step` has already
        // thrown.
        sqlite3_reset(pointer)
        sqlite3_clear_bindings(pointer)
    }

    // MARK: Reading

    /// The SQLite type of a value in a result row.
    enum ValueType { case null, integer, double, text, blob }

    /// The number of columns of the current row, or 0 if the statement is not at a row.
    @inline(__always)
    var rowColumnCount: CInt { handle.pointer == nil ? 0 : sqlite3_data_count(pointer) }

    @inline(__always)
    private func has(_ column: CInt) -> Bool { column >= 0 && column < rowColumnCount }

    /// Returns the SQLite type of a column's value in the current row. If the row has no such column, the type is
    /// `null`.
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

    /// Returns whether a column's value in the current row is NULL. Also returns `true` if the row has no such column.
    @inline(__always)
    func isNull(_ column: CInt) -> Bool { !has(column) || sqlite3_column_type(pointer, column) == SQLITE_NULL }

    /// Returns a column of the current row as an integer. SQLite converts values of other types, as `CAST` does. For
    /// NULL, the result is 0.
    @inline(__always)
    func int(_ column: CInt) -> Int { has(column) ? Int(sqlite3_column_int64(pointer, column)) : 0 }

    /// Returns a column of the current row as a floating-point number. SQLite converts values of other types. For NULL,
    /// the result is 0.
    @inline(__always)
    func double(_ column: CInt) -> Double { has(column) ? sqlite3_column_double(pointer, column) : 0 }

    /// Returns the bytes of a text or a blob in the current row, without a copy. SQLite converts numbers to text. For
    /// NULL, the result is empty.
    ///
    /// The bytes are valid until the next ``step()`` or ``reset()``, and until the column is read as another type. The
    /// bytes of a text need not be valid UTF-8.
    @inline(__always)
    func bytes(_ column: CInt) -> UnsafeRawBufferPointer {
        guard has(column) else { return UnsafeRawBufferPointer(start: nil, count: 0) }
        // `sqlite3_column_blob` must be called first, because it can convert the value. `sqlite3_column_bytes` then
        // returns the length of the converted value.
        let start = sqlite3_column_blob(pointer, column)
        return UnsafeRawBufferPointer(
            start: start, count: start == nil ? 0 : Int(sqlite3_column_bytes(pointer, column)))
    }

    /// Returns a text column of the current row as a string. U+FFFD replaces bytes that are not UTF-8. For NULL, the
    /// result is the empty string.
    func text(_ column: CInt) -> String { String(decoding: bytes(column), as: UTF8.self) }
}

/// The current row of a running statement. Columns count from 0.
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

    /// Returns the bytes of a column of this row. The bytes are valid until the statement's next step.
    @inline(__always)
    func bytes(_ column: CInt) -> UnsafeRawBufferPointer { statement.bytes(column) }

    func double(_ column: CInt) -> Double { statement.double(column) }

    func type(_ column: CInt) -> SQLiteStatement.ValueType { statement.type(column) }
}
