import BraidEngine
import BraidRuntime

/// What Braid asks of an SQLite database, over one connection.
///
/// The reads and writes run in the transaction of their caller. A write decides whether to refuse *before* it changes
/// anything: a refusal does not roll back the transaction, in which other requests take part.
final class SQLiteQueries {
    let db: SQLiteConnection
    /// The tables that forks share with their origins, by session number. `nil` for a database in a file, which copies
    /// them. See SharedTables.swift.
    var sharedTables: [Int: SharedTable]?
    /// `sharedTables` when test mode kept a copy of the content. See Restoring.swift.
    var keptSharedTables: [Int: SharedTable] = [:]

    init(_ db: SQLiteConnection) { self.db = db }

    /// Calls `row` with a session's rows of a table whose keys are `Key`s, in the order of their keys.
    func query(
        _ columns: String, of session: Int, in table: String, row: (SQLiteRow) throws -> Void
    ) throws {
        let keys = Key.all(of: session)
        try db.query(
            "SELECT \(columns) FROM \(table) WHERE key BETWEEN ? AND ?", keys.lowerBound, keys.upperBound, row: row)
    }

    func deleteRows(of session: Int, in table: String) throws {
        let keys = Key.all(of: session)
        try db.run("DELETE FROM \(table) WHERE key BETWEEN ? AND ?", keys.lowerBound, keys.upperBound)
    }
}

extension SQLiteRow: StoredColumns {}

extension JSONText: SQLiteBindable {
    func bind(to statement: SQLiteStatement, at index: CInt) throws(SQLiteError) {
        let result = withBytes { bytes in
            Result { () throws(SQLiteError) in try statement.bindText(bytes, at: index) }
        }
        try result.get()
    }
}

/// The connection that writes, which the threads of a process share: one of them at a time uses it.
///
/// Unchecked: `queries` is only used while `lock` is held.
final class SQLiteDatabase: @unchecked Sendable {
    private let queries: SQLiteQueries
    private let lock = Condition()

    init(_ connection: sending SQLiteConnection) { queries = SQLiteQueries(connection) }

    /// `body` must not keep the connection or its statements, nor call this method. Begins no transaction.
    func use<Value>(_ body: (SQLiteQueries) throws -> Value) rethrows -> Value {
        try lock.withLock { try body(queries) }
    }

    func close() { use { $0.db.close() } }
}
