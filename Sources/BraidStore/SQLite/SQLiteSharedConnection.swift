import BraidRuntime

/// A connection that threads use in turn.
///
/// Unchecked: `connection` is only used while `lock` is held.
final class SQLiteSharedConnection: @unchecked Sendable {
    private let connection: SQLiteConnection
    private let lock = Condition()

    /// - Parameter connection: the connection, which is used only through this object from now on.
    init(_ connection: sending SQLiteConnection) { self.connection = connection }

    /// Calls `body` with the connection, once no other thread uses it. Calls must not be nested.
    ///
    /// The connection and its statements must not leave `body`.
    func withConnection<Value>(_ body: (SQLiteConnection) throws -> Value) rethrows -> Value {
        try lock.withLock { try body(connection) }
    }

    /// Closes the connection; see ``SQLiteConnection/close()``.
    func close() { withConnection { $0.close() } }
}
