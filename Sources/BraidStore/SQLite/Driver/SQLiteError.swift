internal import CSQLite

/// https://sqlite.org/rescode.html: a primary code in the low byte, details above it.
struct SQLiteResultCode: RawRepresentable, Hashable, Sendable {
    let rawValue: CInt

    init(rawValue: CInt) { self.rawValue = rawValue }

    private init(_ primary: CInt, _ detail: CInt) { rawValue = primary | detail << 8 }

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

    /// A flush of the database or its log failed.
    static let ioErrorFsync = Self(SQLITE_IOERR, 4)
    static let ioErrorDirectoryFsync = Self(SQLITE_IOERR, 5)
    static let ioErrorSharedMemorySize = Self(SQLITE_IOERR, 19)
}

extension SQLiteResultCode: CustomStringConvertible {
    var description: String { sqlite3_errstr(rawValue).map { String(cString: $0) } ?? "unknown error" }
}

struct SQLiteError: Error, Hashable, Sendable {
    let code: SQLiteResultCode
    let message: String

    init(code: SQLiteResultCode, message: String? = nil) {
        self.code = code
        self.message = message ?? code.description
    }

    init(code: CInt, of connection: OpaquePointer) {
        let code = SQLiteResultCode(rawValue: code)
        // For a damaged schema, SQLite's message quotes the bytes found there, which can be a row's.
        self.init(
            code: code,
            message: code.primary == .corrupt ? nil : sqlite3_errmsg(connection).map { String(cString: $0) })
    }

    static let closed = SQLiteError(code: .misuse, message: "the connection is closed")
}

extension SQLiteError: CustomStringConvertible {
    var description: String { "\(message) (SQLite \(code.rawValue))" }
}
