import BraidRuntime

/// An SQLite connection that several threads share, but use only one at a time.
///
/// Unchecked: `connection` is only used while `lock` is held.
final class SQLiteSharedConnection: @unchecked Sendable {
    private let connection: SQLiteConnection
    private let lock = Condition()

    /// - Parameter connection: the connection. From now on it must be used only through this object.
    init(_ connection: sending SQLiteConnection) { self.connection = connection }

    /// Waits until no other thread uses the connection, and calls `body` with it. Calls must not be nested.
    ///
    /// `body` must not keep the connection or its statements.
    func withConnection<Value>(_ body: (SQLiteConnection) throws -> Value) rethrows -> Value {
        try lock.withLock { try body(connection) }
    }

    /// Waits until no thread uses the connection, and closes it; see ``SQLiteConnection/close()``.
    func close() { withConnection { $0.close() } }
}
