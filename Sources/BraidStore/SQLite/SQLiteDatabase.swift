/// A database's connections: one that writes and some that read.
struct SQLiteDatabase: Sendable {
    private let writer: SQLiteSharedConnection
    let readers: SQLiteReaderPool

    /// - Parameter readers: for a database in memory its connection is `writer`, too.
    init(writer: SQLiteSharedConnection, readers: SQLiteReaderPool) {
        self.writer = writer
        self.readers = readers
    }

    /// Calls `body` with the connection that writes, outside of a transaction.
    func write<Value>(_ body: (SQLiteConnection) throws -> Value) rethrows -> Value {
        try writer.withConnection(body)
    }

    /// Finishes the reads that wait, and closes all connections. The connection that writes is last: it can remove the
    /// write-ahead log.
    func close() {
        readers.close()
        writer.close()
    }
}
