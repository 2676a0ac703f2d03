import BraidEngine

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
