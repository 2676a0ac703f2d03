import BraidEngine

/// A Swift type whose values can be bound to the parameters of an SQLite statement, such as `Int` or `String`.
protocol SQLiteBindable {
    /// Binds this value to a parameter of the statement. `index` is the parameter's number, which counts from 1.
    func bind(to statement: SQLiteStatement, at index: CInt) throws(SQLiteError)
}

// Methods that run an SQL text with values for its parameters in one call. The prepared statements come from the
// connection's cache.
extension SQLiteConnection {
    /// Runs an SQL statement, and ignores rows that the statement returns.
    ///
    /// - Returns: the number of rows that an INSERT, UPDATE or DELETE changed.
    @discardableResult
    func run<each Value: SQLiteBindable>(_ sql: String, _ values: repeat each Value) throws(SQLiteError) -> Int {
        let statement = try bound(sql, repeat each values)
        defer { release(statement) }
        while try statement.step() {}
        return changedRowCount
    }

    /// Runs an SQL statement and calls `row` with each row that the statement returns.
    func query<each Value: SQLiteBindable>(
        _ sql: String, _ values: repeat each Value, row: (SQLiteRow) throws -> Void
    ) throws {
        try queryRows(
            of: sql, repeat each values,
            while: { columns in
                try row(columns)
                return true
            })
    }

    /// Runs an SQL statement and calls `wantsMore` with each row that the statement returns, until `wantsMore` returns
    /// `false`.
    func queryRows<each Value: SQLiteBindable>(
        of sql: String, _ values: repeat each Value, while wantsMore: (SQLiteRow) throws -> Bool
    ) throws {
        let statement = try bound(sql, repeat each values)
        defer { release(statement) }
        while try statement.step(), try wantsMore(SQLiteRow(of: statement)) {}
    }

    /// Runs an SQL statement, and returns the result of the closure `value` for the first row. Returns `nil` if the
    /// statement returns no row.
    func first<each Value: SQLiteBindable, Result>(
        _ sql: String, _ values: repeat each Value, value: (SQLiteRow) throws -> Result
    ) throws -> Result? {
        let statement = try bound(sql, repeat each values)
        defer { release(statement) }
        return try statement.step() ? try value(SQLiteRow(of: statement)) : nil
    }

    /// Takes the statement for an SQL text from the cache and binds its values. The caller must release the statement.
    private func bound<each Value: SQLiteBindable>(
        _ sql: String, _ values: repeat each Value
    ) throws(SQLiteError) -> SQLiteStatement {
        let statement = try take(sql)
        do {
            var index: CInt = 0
            for value in repeat each values {
                index += 1
                try value.bind(to: statement, at: index)
            }
            return statement
        } catch {
            release(statement)
            throw error
        }
    }

    /// Returns the value of an SQLite PRAGMA whose value is an integer. Returns -1 if the PRAGMA returns no row.
    func pragma(_ name: String) throws -> Int { try first("PRAGMA \(name)") { $0.int(0) } ?? -1 }
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

extension JSONText: SQLiteBindable {
    func bind(to statement: SQLiteStatement, at index: CInt) throws(SQLiteError) {
        let result = withBytes { bytes in
            Result { () throws(SQLiteError) in try statement.bindText(bytes, at: index) }
        }
        try result.get()
    }
}

/// Binds an array of bytes to a parameter as a blob.
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
