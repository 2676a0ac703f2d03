/// A database's connections: one that writes and some that read.
struct SQLiteDatabase: Sendable {
    private let writer: SQLiteSharedConnection
    let readers: SQLiteReaderPool

    /// - Parameter readers: the connections that read. For a database in memory, `readers` also uses the connection of
    ///   `writer`.
    init(writer: SQLiteSharedConnection, readers: SQLiteReaderPool) {
        self.writer = writer
        self.readers = readers
    }

    /// Calls `body` with the connection that writes, outside of a transaction.
    func write<Value>(_ body: (SQLiteConnection) throws -> Value) rethrows -> Value {
        try writer.withConnection(body)
    }

    /// Finishes the waiting reads and closes all connections. The connection that writes is closed last, so that it can
    /// remove the write-ahead log.
    func close() {
        readers.close()
        writer.close()
    }
}
