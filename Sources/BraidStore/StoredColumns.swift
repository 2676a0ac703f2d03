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

    /// Returns a stored integer. Throws `corrupt`, which says `name`, if the integer is not in the range of its kind.
    package func number(_ column: CInt, _ kind: StoredNumber, _ name: String) throws -> Int {
        try kind.checked(int(column), name)
    }

    package func optionalNumber(_ column: CInt, _ kind: StoredNumber, _ name: String) throws -> Int? {
        isNull(column) ? nil : try number(column, kind, name)
    }

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

    /// An SQL condition: the initializer `init(_:)` accepts the row. Lists leave out damaged sessions.
    package static let isSound = [
        StoredNumber.session.condition("s.number"), StoredNumber.revision.condition("s.revision"),
        StoredNumber.time.condition("s.created"), StoredNumber.time.condition("s.updated"),
        StoredNumber.count.condition("s.total_row_count"),
        "coalesce(\(StoredNumber.version.condition("s.table_version")), true)",
    ].joined(separator: " AND ")

    package init(_ columns: some StoredColumns) throws {
        self.init(
            id: columns.text(0), number: try columns.number(1, .session, "number"), table: columns.optionalText(2),
            tableVersion: try columns.optionalNumber(8, .version, "table_version"), epoch: columns.text(3),
            revision: try columns.number(4, .revision, "revision"), created: try columns.number(5, .time, "created"),
            updated: try columns.number(6, .time, "updated"),
            totalRowCount: try columns.number(7, .count, "total_row_count"))
    }
}

extension StoredToken {
    /// The columns that the initializer `init(_:)` reads, as an SQL list. In a query, `t` must be the table `token`,
    /// and `s` the table `session`.
    package static let columns = "t.id, t.role, t.created, t.expires, t.hash, t.session, s.id"

    /// An SQL condition: the initializer `init(_:)` accepts the row. Lists leave out damaged tokens.
    package static let isSound = [
        StoredNumber.session.condition("t.session"), StoredNumber.time.condition("t.created"),
        StoredNumber.time.condition("t.expires"),
    ].joined(separator: " AND ")

    package init(_ columns: some StoredColumns) throws {
        self.init(
            token: NewToken(
                id: columns.text(0), role: columns.text(1), created: try columns.number(2, .time, "created"),
                expires: try columns.number(3, .time, "expires"), hash: columns.text(4)),
            session: try columns.number(5, .session, "session"), sessionID: columns.text(6))
    }
}
