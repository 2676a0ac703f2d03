/// The connections to one database: one connection that writes, and several connections that only read.
struct SQLiteDatabase: Sendable {
    private let writer: SQLiteSharedConnection
    let readers: SQLiteReaderPool
    /// The schema version that the database had when it was opened, or 0 if it was new.
    let schemaVersion: Int

    /// - Parameter readers: the pool of connections that read. For a database in memory, this pool uses the connection
    ///   `writer` as well.
    init(writer: SQLiteSharedConnection, readers: SQLiteReaderPool, schemaVersion: Int) {
        self.writer = writer
        self.readers = readers
        self.schemaVersion = schemaVersion
    }

    /// Calls `body` with the connection that writes. The method itself begins no transaction.
    func write<Value>(_ body: (SQLiteConnection) throws -> Value) rethrows -> Value {
        try writer.withConnection(body)
    }

    /// Finishes the waiting reads and closes all connections. The writing connection is closed last, so that SQLite can
    /// remove the write-ahead log then.
    func close() {
        readers.close()
        writer.close()
    }
}
