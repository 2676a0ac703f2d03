internal import CSQLite

/// A copy of a database, page by page, while others use it (https://sqlite.org/backup.html).
///
/// A write of another connection to the source begins the copy again, and so does one from another process. For a
/// compact copy of one moment that no write disturbs, use `VACUUM INTO`.
final class SQLiteBackup {
    private let source: SQLiteConnection
    private let target: SQLiteConnection
    /// The `sqlite3_backup` object of SQLite's C interface. `nil` once the backup is finished.
    private var pointer: OpaquePointer?

    /// Begins to copy the main database of the connection `source` over that of the connection `target`.
    ///
    /// - Throws: `SQLITE_ERROR` if both are the same connection, or if `target` is in a transaction.
    init(from source: SQLiteConnection, to target: SQLiteConnection) throws(SQLiteError) {
        self.source = source
        self.target = target
        let destination = try target.pointer
        pointer = sqlite3_backup_init(destination, "main", try source.pointer, "main")
        if pointer == nil { throw SQLiteError(code: sqlite3_extended_errcode(destination), of: destination) }
    }

    deinit { sqlite3_backup_finish(pointer) }

    /// Copies the next pages of the database.
    ///
    /// - Parameter pages: the number of pages to copy; -1 copies all remaining pages.
    /// - Returns: whether there is more to copy.
    /// - Throws: `SQLITE_BUSY` or `SQLITE_LOCKED` if another connection holds a lock: try again. Any other error ends
    ///   the copy.
    func step(pages: CInt) throws(SQLiteError) -> Bool {
        guard let pointer, source.handle.pointer != nil, target.handle.pointer != nil else { throw .closed }
        switch sqlite3_backup_step(pointer, pages) {
        case SQLITE_OK: return true
        case SQLITE_DONE: return false
        case let code: throw SQLiteError(code: SQLiteResultCode(rawValue: code))
        }
    }

    /// The number of pages of the source database, as of the last step.
    var pageCount: Int { pointer.map { Int(sqlite3_backup_pagecount($0)) } ?? 0 }

    /// The number of pages that are left to copy, as of the last step.
    var remainingPageCount: Int { pointer.map { Int(sqlite3_backup_remaining($0)) } ?? 0 }

    /// Ends the copy. If the copy is not complete, the target is rolled back to its content before the copy.
    ///
    /// - Throws: the error of the step that ended the copy.
    func finish() throws(SQLiteError) {
        guard let pointer else { return }
        self.pointer = nil
        let code = sqlite3_backup_finish(pointer)
        if code != SQLITE_OK { throw SQLiteError(code: SQLiteResultCode(rawValue: code)) }
    }
}
