internal import CSQLite

/// A connection to an SQLite database.
///
///     let db = try SQLiteConnection(path: "list.sqlite", mode: .readWrite)
///     try db.run("INSERT INTO item (key, title) VALUES (?, ?)", 1, "Milk")
///     let title = try db.first("SELECT title FROM item WHERE key = ?", 1) { $0.text(0) }
///
/// For one thread at a time, with its statements: SQLite's own locks are off (`SQLITE_OPEN_NOMUTEX`). Foreign keys are
/// not enforced, and an unknown name in double quotes is an error.
final class SQLiteConnection {
    enum Mode {
        /// Creates a missing file. A write-protected one opens for reading (`isReadOnly`).
        case readWrite
        case readOnly
        case inMemory
    }

    let handle: SQLiteHandle
    /// Unchecked: one thread at a time, and the cache calls no code that could use it again.
    @exclusivity(unchecked) private var statements: SQLiteStatementCache

    /// SQLite reads the file only for the first statement. A `path` that begins with `file:` is a URI. `busyTimeout`
    /// is in milliseconds.
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

    /// Runs once, before the first connection.
    private static let reportsFullDisk: Void = csqlite_report_full_disk()

    /// Rolls back; later statements throw ``SQLiteError/closed``.
    func close() {
        statements.removeAll()
        handle.close()
    }

    @inline(__always)
    private var pointer: OpaquePointer {
        get throws(SQLiteError) {
            guard let pointer = handle.pointer else { throw .closed }
            return pointer
        }
    }

    private func check(_ code: CInt, _ pointer: OpaquePointer) throws(SQLiteError) {
        if code != SQLITE_OK { throw SQLiteError(code: code, of: pointer) }
    }
}

// MARK: Statements with their values

protocol SQLiteBindable {
    /// `index` counts from 1. The statement may use the value's own memory: whoever binds it keeps it until the
    /// statement is released.
    func bind(to statement: SQLiteStatement, at index: CInt) throws(SQLiteError)
}

extension SQLiteConnection {
    @discardableResult
    func run<each Value: SQLiteBindable>(_ sql: String, _ values: repeat each Value) throws(SQLiteError) -> Int {
        let statement = try bound(sql, repeat each values)
        defer { release(statement) }
        while try statement.step() {}
        return changedRowCount
    }

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

    func queryRows<each Value: SQLiteBindable>(
        of sql: String, _ values: repeat each Value, while wantsMore: (SQLiteRow) throws -> Bool
    ) throws {
        let statement = try bound(sql, repeat each values)
        defer { release(statement) }
        while try statement.step(), try wantsMore(SQLiteRow(of: statement)) {}
    }

    func first<each Value: SQLiteBindable, Result>(
        _ sql: String, _ values: repeat each Value, value: (SQLiteRow) throws -> Result
    ) throws -> Result? {
        let statement = try bound(sql, repeat each values)
        defer { release(statement) }
        return try statement.step() ? try value(SQLiteRow(of: statement)) : nil
    }

    func rows<each Value: SQLiteBindable, Result>(
        _ sql: String, _ values: repeat each Value, value: (SQLiteRow) throws -> Result
    ) throws -> [Result] {
        var results: [Result] = []
        try query(sql, repeat each values) { results.append(try value($0)) }
        return results
    }

    func texts(_ sql: String) throws -> [String] { try rows(sql) { $0.text(0) } }

    /// -1 if the pragma returns nothing.
    func pragma(_ name: String) throws -> Int { try first("PRAGMA \(name)") { $0.int(0) } ?? -1 }

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

    /// Ignores rows. A failing statement leaves the earlier ones in effect.
    func execute(_ sql: String) throws(SQLiteError) {
        var rest = Array(sql.utf8)[...]
        while case (let statement?, let tail) = try prepareFirst(of: rest) {
            while try statement.step() {}
            rest = tail
        }
    }
}

// MARK: Prepared statements

extension SQLiteConnection {
    /// Throws `SQLITE_MISUSE` unless there is exactly one statement. `persistent`: kept for long.
    func prepare(_ sql: String, persistent: Bool = false) throws(SQLiteError) -> SQLiteStatement {
        let (statement, rest) = try prepareFirst(of: Array(sql.utf8)[...], key: persistent ? sql : nil)
        guard let statement, try prepareFirst(of: rest).statement == nil else {
            throw SQLiteError(code: .misuse, message: "the text must have one statement: \(sql)")
        }
        return statement
    }

    /// Prepares the first statement, `nil` if there are only white space and comments. `key` is the cache's, `nil` for
    /// a statement that is not kept.
    private func prepareFirst(
        of sql: ArraySlice<UInt8>, key: String? = nil
    ) throws(SQLiteError) -> (statement: SQLiteStatement?, rest: ArraySlice<UInt8>) {
        let connection = try pointer
        // SQLite would ignore what follows a NUL.
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
        // This was only a comment or a semicolon.
        return read == 0 ? (nil, rest) : try prepareFirst(of: rest, key: key)
    }

    /// While a statement is taken, the same text gets another one: a query inside the loop over its own rows.
    ///
    /// - Complexity: O(1) if cached: a string literal is found by its address.
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

    /// Also ends the statement's read.
    @inline(__always)
    func release(_ statement: SQLiteStatement) {
        statement.reset()
        statement.isTaken = false
    }

    var cachedStatementCount: Int { statements.count }
}

// MARK: Properties and settings

extension SQLiteConnection {
    var changedRowCount: Int { handle.pointer.map { Int(sqlite3_changes64($0)) } ?? 0 }

    var lastInsertedRowID: Int { handle.pointer.map { Int(sqlite3_last_insert_rowid($0)) } ?? 0 }

    var isReadOnly: Bool { handle.pointer.map { sqlite3_db_readonly($0, "main") != 0 } ?? true }

    func setBusyTimeout(_ milliseconds: CInt) {
        if let pointer = handle.pointer { sqlite3_busy_timeout(pointer, milliseconds) }
    }

    func releaseMemory() {
        if let pointer = handle.pointer { sqlite3_db_release_memory(pointer) }
    }

    /// For a text, a blob or a row. SQLite's own limit is 1,000,000,000.
    func setLengthLimit(_ bytes: CInt) {
        if let pointer = handle.pointer { sqlite3_limit(pointer, SQLITE_LIMIT_LENGTH, bytes) }
    }
}

// MARK: Transactions

extension SQLiteConnection {
    enum TransactionKind {
        /// Takes its locks at the first read and the first write.
        case deferred
        /// Takes the write lock, so that no later statement finds it taken.
        case immediate
    }

    /// Some errors, such as a full disk, end a transaction.
    var isInTransaction: Bool { handle.pointer.map { sqlite3_get_autocommit($0) == 0 } ?? false }

    func begin(_ kind: TransactionKind) throws(SQLiteError) {
        switch kind {
        case .deferred: try runOnce("BEGIN")
        case .immediate: try runOnce("BEGIN IMMEDIATE")
        }
    }

    /// After an error, roll back.
    func commit() throws(SQLiteError) { try runOnce("COMMIT") }

    func rollback() throws(SQLiteError) {
        if isInTransaction { try runOnce("ROLLBACK") }
    }

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

// MARK: The write-ahead log

extension SQLiteConnection {
    enum CheckpointMode {
        /// Copies as much as possible without waiting.
        case passive
        /// Waits for readers, copies all, and empties the log file.
        case truncate
    }

    /// Returns the pages in the log and those copied, -1 without a log. `truncate` throws `SQLITE_BUSY` if another
    /// connection is in the way.
    @discardableResult
    func checkpoint(_ mode: CheckpointMode) throws(SQLiteError) -> (log: Int, copied: Int) {
        let connection = try pointer
        var log: CInt = -1, copied: CInt = -1
        let mode = mode == .passive ? SQLITE_CHECKPOINT_PASSIVE : SQLITE_CHECKPOINT_TRUNCATE
        try check(sqlite3_wal_checkpoint_v2(connection, nil, mode, &log, &copied), connection)
        return (Int(log), Int(copied))
    }

    /// As of this connection's last commit.
    var logPages: Int { handle.logPages }

    /// Ends automatic checkpoints: SQLite has one hook for both.
    func countLogPages() {
        guard let pointer = handle.pointer else { return }
        // Unretained: the handle outlives the connection, and so the hook.
        sqlite3_wal_hook(
            pointer,
            { context, _, _, pages in
                if let context {
                    Unmanaged<SQLiteHandle>.fromOpaque(context).takeUnretainedValue().logPages = Int(pages)
                }
                return SQLITE_OK
            }, Unmanaged.passUnretained(handle).toOpaque())
    }
}

// MARK: Progress

extension SQLiteConnection {
    /// Calls `handler` about every `instructions` steps of SQLite's virtual machine. It must not use the connection;
    /// `false` ends the statement with `SQLITE_INTERRUPT`.
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

/// Shared by a connection and its statements.
final class SQLiteHandle {
    /// `nil` once closed. Unchecked: an access only reads or writes the pointer.
    @exclusivity(unchecked) private(set) var pointer: OpaquePointer?
    fileprivate var logPages = 0

    fileprivate init(_ pointer: OpaquePointer) { self.pointer = pointer }

    deinit { close() }

    fileprivate func close() {
        guard let connection = pointer else { return }
        pointer = nil
        // The statements' Swift objects check `pointer` before each use.
        while let statement = sqlite3_next_stmt(connection, nil) { sqlite3_finalize(statement) }
        sqlite3_close_v2(connection)
    }
}
