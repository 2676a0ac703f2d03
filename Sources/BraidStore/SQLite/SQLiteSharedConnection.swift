import BraidRuntime

/// An SQLite connection that several threads share, although only one thread at a time uses it.
///
/// Unchecked: `connection` is only used while `lock` is held.
final class SQLiteSharedConnection: @unchecked Sendable {
    private let connection: SQLiteConnection
    private let lock = Condition()

    /// - Parameter connection: the connection. The caller must not use it any more except through this object.
    init(_ connection: sending SQLiteConnection) { self.connection = connection }

    /// Waits until no other thread uses the connection, and then calls `body` with the connection. Calls of this method
    /// must not be nested.
    ///
    /// `body` must not keep the connection or its statements for later use.
    func withConnection<Value>(_ body: (SQLiteConnection) throws -> Value) rethrows -> Value {
        try lock.withLock { try body(connection) }
    }

    /// Waits until no thread uses the connection, and then closes the connection, see ``SQLiteConnection/close()``.
    func close() { withConnection { $0.close() } }
}
