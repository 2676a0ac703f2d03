import BraidEngine

// A database in memory does not copy a fork's rows. It keeps its `SharedTable`, whose values share memory with the
// origin, and in `shared_row` the rows that changed since.
//
// `shared_table` says which of these sessions exist. A `SharedTable` that a rollback left is not read, and a later
// fork with its number replaces it.

extension SQLiteQueries {
    func prepareSharedTables() throws {
        sharedTables = [:]
        try db.execute(
            """
            CREATE TABLE shared_table (
                session INTEGER PRIMARY KEY,
                first_own_key INTEGER NOT NULL, -- from here on, keys are of rows outside the shared table
                has_rows INTEGER NOT NULL -- 0: the rows were copied to `model`, and only the opening is shared
            ) STRICT;
            -- As `model`. section null: the row is removed. body null: id and body are as in the shared table
            CREATE TABLE shared_row (
                key INTEGER PRIMARY KEY,
                section INTEGER,
                rank INTEGER,
                id TEXT,
                body TEXT
            ) STRICT;
            """)
    }

    func share(_ table: SharedTable, with session: Int, firstOwnKey: Int) throws {
        sharedTables?[session] = table
        try db.run("INSERT INTO shared_table (session, first_own_key, has_rows) VALUES (?, ?, 1)", session, firstOwnKey)
    }

    func sharedTable(of session: Int) throws -> SharedTable? { try shared(session)?.table }

    private func shared(_ session: Int) throws -> (table: SharedTable, firstOwnKey: Int, hasRows: Bool)? {
        guard let table = sharedTables?[session] else { return nil }
        return try db.first("SELECT first_own_key, has_rows FROM shared_table WHERE session = ?", session) {
            (table, $0.int(0), $0.int(1) != 0)
        }
    }

    /// `nil` without shared rows.
    func sharedSections(_ sections: [SectionRows], of session: Int) throws -> [SectionRows]? {
        guard let shared = try shared(session), shared.hasRows else { return nil }
        var content = StoredContent(sections), change = TableChange()
        for (section, row) in shared.table.rows() { content.rows[row.key] = (section, row) }
        try query(StoredRow.columns, of: session, in: "shared_row") {
            let key = Key.number(in: $0.int(0))
            switch ($0.optionalInt(1), $0.isNull(4)) {
            case (nil, _): change.removedRows.append(key)
            case (let section?, true): change.placedRows.append((section, key, $0.int(2)))
            case (let section?, false): change.writtenRows.append((section, try StoredRow($0, key: key)))
            }
        }
        content.apply(change)
        return try content.sorted(session)
    }

    /// `false`, without a write, if there are no shared rows.
    func writeSharedRows(_ change: TableChange, of session: Int) throws -> Bool {
        guard let shared = try shared(session), shared.hasRows else { return false }
        for key in change.removedRows {
            try db.run(
                key < shared.firstOwnKey
                    ? "INSERT OR REPLACE INTO shared_row (key) VALUES (?)" : "DELETE FROM shared_row WHERE key = ?",
                Key.of(session, key))
        }
        for (section, row) in change.writtenRows {
            try db.run(
                "INSERT OR REPLACE INTO shared_row (key, section, rank, id, body) VALUES (?, ?, ?, ?, ?)",
                Key.of(session, row.key), section, row.rank, row.id?.text, row.model)
        }
        for (section, key, rank) in change.placedRows {
            try db.run(
                """
                INSERT INTO shared_row (key, section, rank) VALUES (?, ?, ?)
                ON CONFLICT (key) DO UPDATE SET section = excluded.section, rank = excluded.rank
                """,
                Key.of(session, key), section, rank)
        }
        return true
    }

    /// Before a change that needs all rows in `model`.
    func copySharedRows(of session: Int) throws {
        guard let shared = try shared(session), shared.hasRows else { return }
        for (summary, rows) in try sections(of: session) {
            for row in rows { try write(row, in: summary.number, of: session) }
        }
        try deleteRows(of: session, in: "shared_row")
        try db.run("UPDATE shared_table SET has_rows = 0 WHERE session = ?", session)
    }

    func unshare(_ session: Int) throws {
        guard sharedTables?[session] != nil else { return }
        try db.run("DELETE FROM shared_table WHERE session = ?", session)
        try deleteRows(of: session, in: "shared_row")
    }

    func forgetUnusedSharedTables() throws {
        guard let tables = sharedTables else { return }
        let used = Set(try db.rows("SELECT session FROM shared_table") { $0.int(0) })
        sharedTables = tables.filter { used.contains($0.key) }
    }
}
