import BraidEngine

/// One row of a store's database, with columns that count from 0. Extensions of this protocol contain the decoding that
/// the SQLite store and the PostgreSQL store share.
package protocol StoredColumns {
    func int(_ column: CInt) -> Int
    func isNull(_ column: CInt) -> Bool
    /// Returns the bytes of a text column. The bytes are valid as long as the row is valid.
    func bytes(_ column: CInt) -> UnsafeRawBufferPointer
}

extension StoredColumns {
    package func optionalInt(_ column: CInt) -> Int? { isNull(column) ? nil : int(column) }

    package func text(_ column: CInt) -> String { String(decoding: bytes(column), as: UTF8.self) }

    package func optionalText(_ column: CInt) -> String? { isNull(column) ? nil : text(column) }

    /// Returns the JSON in a column. The JSON is validated again, because the disk may return other bytes than were
    /// written.
    ///
    /// The JSON may be nested deeper than the JSON of a request, because a stored update is nested deeper than the
    /// models in it.
    package func json(_ column: CInt) throws -> JSONText {
        do {
            return try JSONText(parsing: [UInt8](bytes(column)), depthLimit: 1000)
        } catch {
            throw StoreError.corrupt("a stored text is not JSON: \(error)")
        }
    }

    package func optionalJSON(_ column: CInt) throws -> JSONText? { isNull(column) ? nil : try json(column) }
}

extension SessionSummary {
    /// The columns that the initializer `init(_:)` reads, as an SQL list. In a query, `s` must be the table `session`,
    /// and these columns must come first.
    package static let columns = """
        s.id, s.number, s.table_name, (SELECT s.epoch || CASE WHEN s.number <= last_session THEN suffix ELSE '' END FROM epoch_suffix),
        s.revision, s.created, s.updated, s.total_row_count, s.table_version
        """

    package init(_ columns: some StoredColumns) {
        self.init(
            id: columns.text(0), number: columns.int(1), table: columns.optionalText(2),
            tableVersion: columns.optionalInt(8), epoch: columns.text(3), revision: columns.int(4),
            created: columns.int(5), updated: columns.int(6), totalRowCount: columns.int(7))
    }
}

extension StoredToken {
    /// The columns that the initializer `init(_:)` reads, as an SQL list. In a query, `t` must be the table `token`,
    /// and `s` the table `session`.
    package static let columns = "t.id, t.role, t.created, t.expires, t.hash, t.session, s.id"

    package init(_ columns: some StoredColumns) {
        self.init(
            token: NewToken(
                id: columns.text(0), role: columns.text(1), created: columns.int(2), expires: columns.int(3),
                hash: columns.text(4)),
            session: columns.int(5), sessionID: columns.text(6))
    }
}
