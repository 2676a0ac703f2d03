import BraidRuntime

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
