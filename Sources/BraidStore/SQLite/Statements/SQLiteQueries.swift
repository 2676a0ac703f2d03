import BraidEngine
import BraidRuntime

/// SQL that runs in the caller's transaction. A write must decide whether to refuse *before* it changes anything: a
/// refusal does not roll back the transaction, which other requests share.
final class SQLiteQueries {
    let db: SQLiteConnection
    /// Of forks, by session number (SharedTables.swift). `nil` for a file, which copies them.
    var sharedTables: [Int: SharedTable]?
    /// As of test mode's copy (Restoring.swift).
    var keptSharedTables: [Int: SharedTable] = [:]

    init(_ db: SQLiteConnection) { self.db = db }

    /// For tables whose keys are `Key`s.
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

/// The connection that writes. Unchecked: `queries` is only used under `lock`.
final class SQLiteDatabase: @unchecked Sendable {
    private let queries: SQLiteQueries
    private let lock = Condition()

    init(_ connection: sending SQLiteConnection) { queries = SQLiteQueries(connection) }

    /// `body` must not keep the connection or its statements, nor call this method.
    func use<Value>(_ body: (SQLiteQueries) throws -> Value) rethrows -> Value {
        try lock.withLock { try body(queries) }
    }

    func close() { use { $0.db.close() } }
}
