internal import CSQLite

/// A connection to an SQLite database.
///
/// A connection and its statements belong to one thread at a time. The type is not `Sendable`, so the compiler checks
/// that only one thread uses a connection. ``SQLiteSharedConnection`` hands a connection from thread to thread.
/// SQLite's own locks for threads are off (`SQLITE_OPEN_NOMUTEX`).
///
/// Errors have extended result codes. SQLite does not enforce foreign keys on this connection. A name in double quotes
/// that does not exist is an error, not a string.
final class SQLiteConnection {
    /// How a database is opened.
    enum Mode {
        /// Opens a file for reading and writing, and creates the file if it does not exist. SQLite opens a
        /// write-protected file for reading only, see ``SQLiteConnection/isReadOnly``.
        case readWrite
        /// Opens an existing file for reading only.
        case readOnly
        /// Creates a database in memory, whose content is lost when the connection closes.
        case inMemory
    }

    let handle: SQLiteHandle
    /// The connection's cache of prepared statements. Swift's exclusivity check is off for this property. A connection
    /// belongs to one thread at a time, and the cache calls no code that could use the cache again.
    @exclusivity(unchecked) private var statements: SQLiteStatementCache
    /// The tables that sessions share with the sessions from which they were opened, by session number. `nil` for a
    /// database in a file, which copies these tables. See `SharedTables.swift`.
    var sharedTables: [Int: SharedTable]?
    /// The shared tables (see `sharedTables`) at the time when test mode kept a copy of the database's content. See
    /// `Restoring.swift`.
    var keptSharedTables: [Int: SharedTable] = [:]

    /// Opens a database.
    ///
    /// SQLite reads the file only when the first statement runs. So the initializer does not find out whether the file
    /// is a database.
    ///
    /// - Parameters:
    ///   - path: the file. SQLite reads a path that begins with `file:` as a URI.
    ///   - busyTimeout: the number of milliseconds that a statement waits for another connection's lock before the
    ///     statement fails with `SQLITE_BUSY`.
    ///   - cachedStatements: the largest number of statements that the connection keeps prepared.
    /// - Throws: `SQLITE_CANTOPEN` if the file cannot be opened.
    init(path: String, mode: Mode, busyTimeout: CInt = 0, cachedStatements: Int = 128) throws(SQLiteError) {
        _ = Self.reportsFullDisk
        let flags =
            SQLITE_OPEN_NOMUTEX
            | (mode == .readOnly ? SQLITE_OPEN_READONLY : SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE)
        var pointer: OpaquePointer?
        let code = sqlite3_open_v2(mode == .inMemory ? ":memory:" : path, &pointer, flags, nil)
        guard let pointer else { throw SQLiteError(code: .noMemory) }
        guard code == SQLITE_OK else {
            sqlite3_extended_result_codes(pointer, 1)
            let error = SQLiteError(code: sqlite3_extended_errcode(pointer), of: pointer)
            sqlite3_close_v2(pointer)
            throw error
        }
        sqlite3_extended_result_codes(pointer, 1)
        sqlite3_busy_timeout(pointer, busyTimeout)
        for option in [SQLITE_DBCONFIG_ENABLE_FKEY, SQLITE_DBCONFIG_DQS_DML, SQLITE_DBCONFIG_DQS_DDL] {
            _ = csqlite_set(pointer, option, 0)
        }
        handle = SQLiteHandle(pointer)
        statements = SQLiteStatementCache(capacity: cachedStatements)
    }

    /// Runs once, before the first connection is opened.
    private static let reportsFullDisk: Void = csqlite_report_full_disk()

    /// Closes the connection and finalizes its statements. If a transaction is under way, it is rolled back.
    ///
    /// Every later statement on the connection throws ``SQLiteError/closed``. Closing the connection twice does
    /// nothing. A connection that is not closed explicitly is closed when the last reference to it and to its
    /// statements is released.
    func close() {
        statements.removeAll()
        handle.close()
    }

    /// The connection's `sqlite3` pointer of SQLite's C interface.
    ///
    /// - Throws: ``SQLiteError/closed`` after the connection is closed.
    @inline(__always)
    var pointer: OpaquePointer {
        get throws(SQLiteError) {
            guard let pointer = handle.pointer else { throw .closed }
            return pointer
        }
    }

    /// Throws the connection's last error if `code`, the result of an SQLite call, is not `SQLITE_OK`.
    private func check(_ code: CInt, _ pointer: OpaquePointer) throws(SQLiteError) {
        if code != SQLITE_OK { throw SQLiteError(code: code, of: pointer) }
    }
}

// Statements.
extension SQLiteConnection {
    /// Prepares one SQL statement without adding it to the connection's cache.
    ///
    /// - Parameter persistent: whether the caller keeps the statement for long, as the cache does
    ///   (`SQLITE_PREPARE_PERSISTENT`).
    /// - Throws: `SQLITE_ERROR` for a fault in the SQL; `SQLITE_MISUSE` if the text has no statement or more than one.
    func prepare(_ sql: String, persistent: Bool = false) throws(SQLiteError) -> SQLiteStatement {
        let (statement, rest) = try prepareFirst(of: Array(sql.utf8)[...], key: persistent ? sql : nil)
        guard let statement, try prepareFirst(of: rest).statement == nil else {
            throw SQLiteError(code: .misuse, message: "the text must have one statement: \(sql)")
        }
        return statement
    }

    /// Prepares the first statement of an SQL text. Returns this statement and the rest of the text. The statement is
    /// `nil` if the text contains only white space and comments.
    ///
    /// - Parameter key: the SQL text under which the cache keeps the statement. `nil` for a statement that is not
    ///   cached.
    private func prepareFirst(
        of sql: ArraySlice<UInt8>, key: String? = nil
    ) throws(SQLiteError) -> (statement: SQLiteStatement?, rest: ArraySlice<UInt8>) {
        let connection = try pointer
        // Refuse an SQL text with a NUL character, because SQLite would ignore the text after the NUL.
        if sql.contains(0) { throw SQLiteError(code: .misuse, message: "the SQL contains a NUL") }
        if sql.isEmpty { return (nil, sql) }
        guard sql.count < Int(CInt.max) else { throw SQLiteError(code: .tooBig) }
        var statement: OpaquePointer?
        let (code, read) = sql.withUnsafeBytes { bytes -> (CInt, Int) in
            guard let start = bytes.assumingMemoryBound(to: CChar.self).baseAddress else { return (SQLITE_OK, 0) }
            var tail: UnsafePointer<CChar>?
            let code = sqlite3_prepare_v3(
                connection, start, CInt(bytes.count), key == nil ? 0 : UInt32(SQLITE_PREPARE_PERSISTENT), &statement,
                &tail)
            return (code, tail.map { $0 - start } ?? bytes.count)
        }
        try check(code, connection)
        let rest = sql.dropFirst(read)
        if let statement { return (SQLiteStatement(statement, sql: key ?? "", of: handle), rest) }
        // If SQLite has read text without preparing a statement, the text was only a comment or a semicolon. So
        // continue with the rest of the text.
        return read == 0 ? (nil, rest) : try prepareFirst(of: rest, key: key)
    }

    /// Runs every statement of an SQL text, and ignores the rows that the statements return.
    ///
    /// If a statement fails, the statements before it stay in effect, unless the caller rolls back the transaction that
    /// contains them.
    ///
    /// - Throws: the error of the first statement that fails.
    func execute(_ sql: String) throws(SQLiteError) {
        var rest = Array(sql.utf8)[...]
        while case (let statement?, let tail) = try prepareFirst(of: rest) {
            while try statement.step() {}
            rest = tail
        }
    }

    /// Takes the statement for an SQL text from the connection's cache, or prepares the statement. The caller must give
    /// the statement back to the connection with ``release(_:)``.
    ///
    /// If the cached statement is in use, this method prepares a second statement of the same text. This happens if a
    /// query runs inside the loop over the rows of the same query.
    ///
    /// - Complexity: O(1) if the statement is cached. The cache finds the SQL text of a string literal by its address.
    @inline(__always)
    func take(_ sql: String) throws(SQLiteError) -> SQLiteStatement {
        if let statement = statements.statement(for: sql), !statement.isTaken {
            statement.isTaken = true
            return statement
        }
        return try takeNew(sql)
    }

    private func takeNew(_ sql: String) throws(SQLiteError) -> SQLiteStatement {
        let statement = try prepare(sql, persistent: true)
        statements.insertIfMissing(statement)
        statement.isTaken = true
        return statement
    }

    /// Ends the use of a statement from `take`, so that the cache can hand it out again. The statement's bound values
    /// are removed, and a read that the statement began ends.
    @inline(__always)
    func release(_ statement: SQLiteStatement) {
        statement.reset()
        statement.isTaken = false
    }

    /// The number of prepared statements in the connection's cache.
    var cachedStatementCount: Int { statements.count }
}

// Facts about a connection, and settings of it.
extension SQLiteConnection {
    /// The number of rows that the last INSERT, UPDATE or DELETE on this connection changed.
    var changedRowCount: Int { handle.pointer.map { Int(sqlite3_changes64($0)) } ?? 0 }

    /// The SQLite rowid of the row that this connection inserted last.
    var lastInsertedRowID: Int { handle.pointer.map { Int(sqlite3_last_insert_rowid($0)) } ?? 0 }

    /// Whether the database can only be read, because it was opened for reading or because the file system does not
    /// allow writing.
    var isReadOnly: Bool { handle.pointer.map { sqlite3_db_readonly($0, "main") != 0 } ?? true }

    /// Sets the longest time that a statement waits for another connection's lock, in milliseconds.
    func setBusyTimeout(_ milliseconds: CInt) {
        if let pointer = handle.pointer { sqlite3_busy_timeout(pointer, milliseconds) }
    }

    /// Frees memory that the connection does not need at the moment, above all the pages in its page cache.
    func releaseMemory() {
        if let pointer = handle.pointer { sqlite3_db_release_memory(pointer) }
    }

    /// Limits the size of a single text or blob in the database, in bytes, and so also the size of a row.
    ///
    /// SQLite lowers a limit above 1,000,000,000 to this number.
    func setLengthLimit(_ bytes: CInt) {
        if let pointer = handle.pointer { sqlite3_limit(pointer, SQLITE_LIMIT_LENGTH, bytes) }
    }
}

// Transactions.
extension SQLiteConnection {
    /// When a transaction takes its locks on the database: at its first use of the database, or at once.
    enum TransactionKind {
        /// The transaction takes a read lock at its first read, and the write lock at its first write.
        case deferred
        /// The transaction takes the write lock when it begins. So no later statement of it can fail because another
        /// connection holds the lock.
        case immediate
    }

    /// Whether a transaction of this connection is under way. Some errors, such as a full disk, end a transaction.
    var isInTransaction: Bool { handle.pointer.map { sqlite3_get_autocommit($0) == 0 } ?? false }

    /// Begins a transaction.
    ///
    /// - Throws: `SQLITE_BUSY` if another connection keeps the write lock for longer than the busy timeout.
    ///   `SQLITE_ERROR` if a transaction is already under way.
    func begin(_ kind: TransactionKind) throws(SQLiteError) {
        switch kind {
        case .deferred: try runOnce("BEGIN")
        case .immediate: try runOnce("BEGIN IMMEDIATE")
        }
    }

    /// Commits the connection's transaction. If this method throws, the transaction may still be under way, so the
    /// caller must roll it back.
    func commit() throws(SQLiteError) { try runOnce("COMMIT") }

    /// Rolls the connection's transaction back. Does nothing if no transaction is under way.
    func rollback() throws(SQLiteError) {
        if isInTransaction { try runOnce("ROLLBACK") }
    }

    /// Runs `body` in a transaction, commits the transaction, and returns the result of `body`. If `body` or the commit
    /// throws, the transaction is rolled back.
    func inTransaction<Value>(_ kind: TransactionKind, _ body: () throws -> Value) throws -> Value {
        try begin(kind)
        do {
            let value = try body()
            try commit()
            return value
        } catch {
            try? rollback()
            throw error
        }
    }

    private func runOnce(_ sql: String) throws(SQLiteError) {
        let statement = try take(sql)
        defer { release(statement) }
        _ = try statement.step()
    }
}

// Methods for the write-ahead log.
extension SQLiteConnection {
    /// How thoroughly a checkpoint copies the write-ahead log into the database.
    enum CheckpointMode {
        /// Copies as many pages of the write-ahead log as possible without waiting for other connections.
        case passive
        /// Waits for readers, copies the whole write-ahead log into the database, and empties the log file.
        case truncate
    }

    /// Copies pages of the write-ahead log into the database (a checkpoint).
    ///
    /// - Returns: the number of pages in the log, and the number of these pages that are copied to the database now.
    ///   Both numbers are -1 if the database has no write-ahead log.
    /// - Throws: `SQLITE_BUSY` if another connection's read or write prevents the mode `truncate`.
    @discardableResult
    func checkpoint(_ mode: CheckpointMode) throws(SQLiteError) -> (log: Int, copied: Int) {
        let connection = try pointer
        var log: CInt = -1, copied: CInt = -1
        let mode = mode == .passive ? SQLITE_CHECKPOINT_PASSIVE : SQLITE_CHECKPOINT_TRUNCATE
        try check(sqlite3_wal_checkpoint_v2(connection, nil, mode, &log, &copied), connection)
        return (Int(log), Int(copied))
    }

    /// Makes every later commit of this connection store the number of pages of the write-ahead log in `length`.
    ///
    /// SQLite offers only one hook for commits to the log, and its automatic checkpoints also use this hook. After this
    /// call, the connection makes no automatic checkpoints any more.
    func follow(with length: LogLength) {
        guard let pointer = handle.pointer else { return }
        // The handle of the connection keeps a strong reference to `length` for as long as SQLite can call the hook.
        handle.logLength = length
        sqlite3_wal_hook(
            pointer,
            { context, _, _, pages in
                if let context { Unmanaged<LogLength>.fromOpaque(context).takeUnretainedValue().pages = Int(pages) }
                return SQLITE_OK
            }, Unmanaged.passUnretained(length).toOpaque())
    }
}

// Progress.
extension SQLiteConnection {
    /// Calls `handler` repeatedly while `body` runs statements of this connection.
    ///
    /// - Parameters:
    ///   - instructions: the approximate number of instructions of SQLite's virtual machine between two calls.
    ///   - handler: returns `false` to end the running statement with `SQLITE_INTERRUPT`. The handler must not use the
    ///     connection.
    @discardableResult
    func withProgress<Value>(
        every instructions: CInt, _ handler: @escaping () -> Bool, _ body: () throws -> Value
    ) throws -> Value {
        let pointer = try pointer
        let box = ProgressHandler(handler)
        sqlite3_progress_handler(
            pointer, instructions,
            { context in
                guard let context else { return 0 }
                return Unmanaged<ProgressHandler>.fromOpaque(context).takeUnretainedValue().call() ? 0 : 1
            }, Unmanaged.passUnretained(box).toOpaque())
        defer {
            if let pointer = handle.pointer { sqlite3_progress_handler(pointer, 0, nil, nil) }
        }
        return try withExtendedLifetime(box) { try body() }
    }

    private final class ProgressHandler {
        let call: () -> Bool
        init(_ call: @escaping () -> Bool) { self.call = call }
    }
}

/// The `sqlite3` connection of the C interface. A ``SQLiteConnection`` and its statements share this object. The
/// connection is closed at the latest when all of them are released.
final class SQLiteHandle {
    /// The connection's `sqlite3` pointer of the C interface. `nil` after the connection is closed. Swift's exclusivity
    /// check is off, because each access only reads or writes the pointer.
    @exclusivity(unchecked) private(set) var pointer: OpaquePointer?
    fileprivate var logLength: LogLength?

    fileprivate init(_ pointer: OpaquePointer) { self.pointer = pointer }

    deinit { close() }

    fileprivate func close() {
        guard let connection = pointer else { return }
        pointer = nil
        // Finalize the connection's remaining statements. Their Swift objects check `pointer` before each use, so
        // nobody uses a finalized statement.
        while let statement = sqlite3_next_stmt(connection, nil) { sqlite3_finalize(statement) }
        sqlite3_close_v2(connection)
    }
}
