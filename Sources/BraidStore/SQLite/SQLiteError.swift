internal import CSQLite

/// A result code of SQLite: a primary code in the low byte, and details in the bytes above the low byte.
///
/// The list of codes is https://sqlite.org/rescode.html. Only codes that the store or its tests name have a constant in
/// this type.
struct SQLiteResultCode: RawRepresentable, Hashable, Sendable {
    let rawValue: CInt

    init(rawValue: CInt) { self.rawValue = rawValue }

    private init(_ primary: CInt, _ detail: CInt) { rawValue = primary | detail << 8 }

    /// The primary code in this extended code. For example, the primary code of `SQLITE_IOERR_FSYNC` is `SQLITE_IOERR`.
    var primary: SQLiteResultCode { SQLiteResultCode(rawValue: rawValue & 0xFF) }

    static let ok = Self(rawValue: SQLITE_OK)
    static let error = Self(rawValue: SQLITE_ERROR)
    static let busy = Self(rawValue: SQLITE_BUSY)
    static let locked = Self(rawValue: SQLITE_LOCKED)
    static let noMemory = Self(rawValue: SQLITE_NOMEM)
    static let readOnly = Self(rawValue: SQLITE_READONLY)
    static let interrupted = Self(rawValue: SQLITE_INTERRUPT)
    static let ioError = Self(rawValue: SQLITE_IOERR)
    static let corrupt = Self(rawValue: SQLITE_CORRUPT)
    static let full = Self(rawValue: SQLITE_FULL)
    static let cannotOpen = Self(rawValue: SQLITE_CANTOPEN)
    static let tooBig = Self(rawValue: SQLITE_TOOBIG)
    static let constraint = Self(rawValue: SQLITE_CONSTRAINT)
    static let mismatch = Self(rawValue: SQLITE_MISMATCH)
    static let misuse = Self(rawValue: SQLITE_MISUSE)
    static let range = Self(rawValue: SQLITE_RANGE)
    static let notADatabase = Self(rawValue: SQLITE_NOTADB)

    /// The error of a failed fsync(2) of the database file or of its log.
    static let ioErrorFsync = Self(SQLITE_IOERR, 4)
    /// The error of a failed fsync(2) of the database's directory.
    static let ioErrorDirectoryFsync = Self(SQLITE_IOERR, 5)
    /// The error when the shared-memory file `-shm`, the index of the write-ahead log, could not be lengthened.
    static let ioErrorSharedMemorySize = Self(SQLITE_IOERR, 19)
}

extension SQLiteResultCode: CustomStringConvertible {
    /// SQLite's English text for the code, without details of the call that failed.
    var description: String { sqlite3_errstr(rawValue).map { String(cString: $0) } ?? "unknown error" }
}

/// The error that SQLite reported for a call.
struct SQLiteError: Error, Hashable, Sendable {
    /// SQLite's extended result code, which says what failed as precisely as SQLite knows.
    let code: SQLiteResultCode
    /// The English description of the error, by SQLite or by ``SQLiteConnection``. SQLite's description does not
    /// contain the whole text of the SQL statement.
    let message: String

    init(code: SQLiteResultCode, message: String? = nil) {
        self.code = code
        self.message = message ?? code.description
    }

    /// Creates the error for a call on `connection` that has just returned `code`.
    init(code: CInt, of connection: OpaquePointer) {
        let code = SQLiteResultCode(rawValue: code)
        // For a damaged schema, SQLite's message quotes the bytes that it found there, which can be those of a row.
        self.init(
            code: code,
            message: code.primary == .corrupt ? nil : sqlite3_errmsg(connection).map { String(cString: $0) })
    }

    /// The error of an SQLite call on a connection that is closed.
    static let closed = SQLiteError(code: .misuse, message: "the connection is closed")
}

extension SQLiteError: CustomStringConvertible {
    var description: String { "\(message) (SQLite \(code.rawValue))" }
}
