import BraidEngine

/// Columns count from 0. The extensions are the decoding and the SQL that the stores share.
package protocol StoredColumns {
    func int(_ column: CInt) -> Int
    func isNull(_ column: CInt) -> Bool
    /// Valid as long as the row.
    func bytes(_ column: CInt) -> UnsafeRawBufferPointer
}

/// Deeper than a request: an update contains models.
private let storedDepth = 1000

extension StoredColumns {
    package func optionalInt(_ column: CInt) -> Int? { isNull(column) ? nil : int(column) }

    /// Throws `corrupt`, which quotes `name`, if it is out of range.
    package func number(_ column: CInt, _ kind: StoredNumber, _ name: String) throws -> Int {
        try kind.checked(int(column), name)
    }

    package func optionalNumber(_ column: CInt, _ kind: StoredNumber, _ name: String) throws -> Int? {
        isNull(column) ? nil : try number(column, kind, name)
    }

    package func text(_ column: CInt) -> String { String(decoding: bytes(column), as: UTF8.self) }

    package func optionalText(_ column: CInt) -> String? { isNull(column) ? nil : text(column) }

    /// Validates again, because the disk may return other bytes than were written.
    package func json(_ column: CInt) throws -> JSONText {
        do {
            return try JSONText(parsing: [UInt8](bytes(column)), depthLimit: storedDepth)
        } catch {
            throw StoreError.corrupt("a stored text is not JSON: \(error)")
        }
    }

    package func optionalJSON(_ column: CInt) throws -> JSONText? { isNull(column) ? nil : try json(column) }
}

// `s` is the table `session`, `t` the table `token`. `isSound` is SQL for rows that the initializer accepts; lists
// leave out damaged ones.

extension SessionSummary {
    package static let columns = """
        s.id, s.number, s.table_name, (SELECT s.epoch || CASE WHEN s.number <= last_session THEN suffix ELSE '' END FROM epoch_suffix),
        s.revision, s.created, s.updated, s.total_row_count, s.table_version
        """

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

extension UnusedSession {
    package static let columns = "\(SessionSummary.columns), s.unused_limit, s.used"

    package static let isSound = [
        SessionSummary.isSound, StoredNumber.unusedLimit.condition("s.unused_limit"),
        StoredNumber.time.condition("s.used"),
    ].joined(separator: " AND ")

    package init(_ columns: some StoredColumns) throws {
        self.init(
            summary: try SessionSummary(columns), limit: try columns.number(9, .unusedLimit, "unused_limit"),
            used: try columns.number(10, .time, "used"))
    }
}

extension StoredSession {
    /// The caller adds WHERE.
    package static let select = """
        SELECT \(SessionSummary.columns), coalesce(st.description, t.description, o.description),
               st.state, st.displayed_sections, st.cells, s.next_key, s.next_section, s.journal_bytes
        FROM session s JOIN opening o ON o.session = s.number JOIN state st ON st.session = s.number
        LEFT JOIN table_description t ON t.name = s.table_name AND t.version = s.table_version
        """

    package init(_ columns: some StoredColumns) throws {
        // Checked, though not kept: the next commit adds to it.
        _ = try columns.number(15, .bytes, "journal_bytes")
        self.init(
            summary: try SessionSummary(columns), description: try columns.optionalJSON(9),
            state: try columns.json(10), displayedSections: try columns.optionalJSON(11),
            cells: try columns.optionalJSON(12), nextKey: try columns.number(13, .nextKey, "next_key"),
            nextSection: try columns.number(14, .nextKey, "next_section"), sections: [])
    }
}

extension StoredOpening {
    /// The caller adds WHERE.
    package static let select = """
        SELECT \(SessionSummary.columns), coalesce(o.description, t.description), o.body
        FROM session s JOIN opening o ON o.session = s.number
        LEFT JOIN table_description t ON t.name = s.table_name AND t.version = s.table_version
        """

    package init(_ columns: some StoredColumns) throws {
        self.init(
            summary: try SessionSummary(columns), description: try columns.optionalJSON(9),
            body: try columns.json(10))
    }
}

extension PublishedTable {
    /// Columns: updated, displayed_sections.
    package init(_ columns: some StoredColumns) throws {
        self.init(
            updated: try columns.number(0, .time, "updated"), displayedSections: try columns.optionalJSON(1),
            sections: [])
    }
}

extension StoredSectionSummary {
    package static let columns = "key, id, ordinal, header, footer, prefetched"

    package init(_ columns: some StoredColumns, number: Int) throws {
        self.init(
            number: number, id: SectionID(columns.text(1)), ordinal: try columns.number(2, .place, "ordinal"),
            header: try columns.optionalJSON(3), footer: try columns.optionalJSON(4),
            prefetched: try columns.optionalNumber(5, .count, "prefetched"))
    }
}

extension StoredRow {
    package static let columns = "key, section, rank, id, body"

    package init(_ columns: some StoredColumns, key: Int) throws {
        let rank = try columns.number(2, .place, "rank"), hasID = !columns.isNull(3)
        do {
            try self.init(
                key: key, rank: rank, id: hasID ? columns.bytes(3) : nil, model: columns.bytes(4),
                depthLimit: storedDepth)
        } catch {
            throw StoreError.corrupt("a stored text is not JSON: \(error)")
        }
    }
}

extension JournalRecord {
    /// Columns: revision, at, command, changes, cell_events, hidden, author.
    package init(_ columns: some StoredColumns, revision: Int) throws {
        self.init(
            revision: revision, at: try columns.number(1, .time, "at"), command: try columns.json(2),
            update: try columns.json(3), controllerEvents: try columns.optionalJSON(4),
            hidden: try columns.optionalJSON(5), by: try columns.optionalJSON(6))
    }
}

extension JournalUndo {
    /// Columns: revision, command, undo, author.
    package init(_ columns: some StoredColumns, revision: Int) throws {
        self.init(
            revision: revision, command: try columns.json(1), undo: try columns.json(2),
            by: try columns.optionalJSON(3))
    }
}

extension KeptAnswer {
    /// Columns: at, request, answer.
    package init(_ columns: some StoredColumns, key: String, requester: String, session: Int) throws {
        self.init(
            session: session, requester: requester, key: key, at: try columns.number(0, .time, "at"),
            request: columns.int(1), answer: try columns.json(2))
    }
}

extension StoredTable {
    package static let columns = "version, updated, description"

    package init(_ columns: some StoredColumns, name: String) throws {
        self.init(
            name: name, version: try columns.number(0, .version, "version"),
            updated: try columns.number(1, .time, "updated"), description: try columns.json(2))
    }
}

extension TableSummary {
    package static let columns = "name, version, updated"

    package static let isSound =
        "\(StoredNumber.version.condition("version")) AND \(StoredNumber.time.condition("updated"))"

    package init(_ columns: some StoredColumns) throws {
        self.init(
            name: columns.text(0), version: try columns.number(1, .version, "version"),
            updated: try columns.number(2, .time, "updated"))
    }
}

extension StoredToken {
    package static let columns = "t.id, t.role, t.created, t.expires, t.hash, t.session, s.id, t.grants"

    /// Without tokens of sessions that have ended.
    package static let tables = "token t LEFT JOIN session s ON s.number = t.session"
    package static let isOfASession = "(t.session = 0 OR s.number IS NOT NULL)"

    package static let isSound = [
        StoredNumber.answeredSession.condition("t.session"), StoredNumber.time.condition("t.created"),
        StoredNumber.time.condition("t.expires"),
    ].joined(separator: " AND ")

    package init(_ columns: some StoredColumns) throws {
        self.init(
            token: NewToken(
                id: columns.text(0), role: columns.text(1), created: try columns.number(2, .time, "created"),
                expires: try columns.number(3, .time, "expires"), hash: columns.text(4),
                grants: try columns.optionalJSON(7)),
            session: try columns.number(5, .answeredSession, "session"), sessionID: columns.optionalText(6) ?? "")
    }
}
