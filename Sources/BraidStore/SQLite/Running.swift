import BraidEngine
internal import GRDB
internal import GRDBSQLite

// Statements are prepared and kept by GRDB, and run here: GRDB 7.10 binds and reads strings as C strings, so that an
// id with a NUL (legal in JSON, "\u0000") would lose all that follows it, and knows no way to bind bytes as text.

/// A value that a statement's parameter can take.
protocol SQLBindable {
    func bind(to statement: OpaquePointer, at index: CInt) -> CInt
}

extension Database {
    /// Runs a statement that returns no rows. Returns how many rows it changed.
    @discardableResult
    func run<each Value: SQLBindable>(_ sql: String, _ values: repeat each Value) throws -> Int {
        try query(sql, repeat each values) { _ in }
        return Int(sqlite3_changes(sqliteConnection))
    }

    /// Runs a statement and hands over its rows, one after the other.
    func query<each Value: SQLBindable>(
        _ sql: String, _ values: repeat each Value, row: (Columns) throws -> Void
    ) throws {
        try queryRows(
            of: sql, repeat each values,
            while: { columns in
                try row(columns)
                return true
            })
    }

    /// The same, until `wantsMore` has enough, and returns false.
    func queryRows<each Value: SQLBindable>(
        of sql: String, _ values: repeat each Value, while wantsMore: (Columns) throws -> Bool
    ) throws {
        let statement = try cachedStatement(sql: sql).sqliteStatement
        // Also lets go of the bound values, and ends a read that `row` broke off.
        defer {
            sqlite3_reset(statement)
            sqlite3_clear_bindings(statement)
        }
        var index: CInt = 0
        for value in repeat each values {
            index += 1
            guard value.bind(to: statement, at: index) == SQLITE_OK else { throw failure(of: sql) }
        }
        while true {
            switch sqlite3_step(statement) {
            case SQLITE_ROW: if try !wantsMore(Columns(statement: statement)) { return }
            case SQLITE_DONE: return
            default: throw failure(of: sql)
            }
        }
    }

    /// The first row's value.
    func first<each Value: SQLBindable, Result>(
        _ sql: String, _ values: repeat each Value, value: (Columns) throws -> Result
    ) throws -> Result? {
        var result: Result?
        try queryRows(
            of: sql, repeat each values,
            while: { columns in
                result = try value(columns)
                return false
            })
        return result
    }

    private func failure(of sql: String) -> DatabaseError {
        DatabaseError(
            resultCode: ResultCode(rawValue: sqlite3_extended_errcode(sqliteConnection)),
            message: lastErrorMessage, sql: sql)
    }
}

/// The columns of the row at which a statement stands; columns count from 0.
struct Columns: StoredColumns {
    let statement: OpaquePointer

    func int(_ column: CInt) -> Int { Int(sqlite3_column_int64(statement, column)) }

    func isNull(_ column: CInt) -> Bool { sqlite3_column_type(statement, column) == SQLITE_NULL }

    /// Valid until the next step.
    func bytes(_ column: CInt) -> UnsafeRawBufferPointer {
        UnsafeRawBufferPointer(
            start: sqlite3_column_blob(statement, column), count: Int(sqlite3_column_bytes(statement, column)))
    }
}

extension Int: SQLBindable {
    func bind(to statement: OpaquePointer, at index: CInt) -> CInt { sqlite3_bind_int64(statement, index, Int64(self)) }
}

extension String: SQLBindable {
    func bind(to statement: OpaquePointer, at index: CInt) -> CInt {
        var text = self
        return text.withUTF8 { bindText(UnsafeRawBufferPointer($0), to: statement, at: index) }
    }
}

extension JSONText: SQLBindable {
    func bind(to statement: OpaquePointer, at index: CInt) -> CInt {
        withBytes { bindText($0, to: statement, at: index) }
    }
}

extension Optional: SQLBindable where Wrapped: SQLBindable {
    func bind(to statement: OpaquePointer, at index: CInt) -> CInt {
        self?.bind(to: statement, at: index) ?? sqlite3_bind_null(statement, index)
    }
}

private func bindText(_ bytes: UnsafeRawBufferPointer, to statement: OpaquePointer, at index: CInt) -> CInt {
    // A null pointer would bind NULL, and an empty buffer may have one.
    guard let start = bytes.baseAddress, !bytes.isEmpty else { return sqlite3_bind_text(statement, index, "", 0, nil) }
    let copied = unsafeBitCast(-1, to: sqlite3_destructor_type.self)  // SQLITE_TRANSIENT
    return sqlite3_bind_text64(
        statement, index, start.assumingMemoryBound(to: CChar.self), UInt64(bytes.count), copied, UInt8(SQLITE_UTF8))
}
