import BraidEngine

// Sessions that were opened from another session, in a database in memory.
//
// A database in memory does not copy the rows of such a session. The connection keeps the session's `SharedTable`,
// whose values share memory with the other session. The database table `shared_row` contains the session's rows that
// were added, changed or removed since the session was opened.
//
// The database table `shared_table` says which of these sessions exist. A transaction that is rolled back can leave a
// `SharedTable` in the connection that no row of `shared_table` names. Nothing reads such a `SharedTable`. A later
// session with the same number replaces it if the later session shares a table.

extension SQLiteConnection {
    /// Prepares a database in memory for sessions that share their table with another session.
    func prepareSharedTables() throws {
        sharedTables = [:]
        try execute(
            """
            CREATE TABLE shared_table (
                session INTEGER PRIMARY KEY,
                first_own_key INTEGER NOT NULL, -- keys from this one on are of rows that the shared table does not contain
                has_rows INTEGER NOT NULL -- 0: the session's rows were copied to `model`. Only the opening is shared
            ) STRICT;
            -- As `model`. section null: the session has removed the row. body null: id and body are as in the shared table
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
        try run("INSERT INTO shared_table (session, first_own_key, has_rows) VALUES (?, ?, 1)", session, firstOwnKey)
    }

    /// Returns the table that a session shares with the session from which it was opened. Returns `nil` for sessions
    /// that share no table.
    func sharedTable(of session: Int) throws -> SharedTable? { try shared(session)?.table }

    private func shared(_ session: Int) throws -> (table: SharedTable, firstOwnKey: Int, hasRows: Bool)? {
        guard let table = sharedTables?[session] else { return nil }
        return try first("SELECT first_own_key, has_rows FROM shared_table WHERE session = ?", session) {
            (table, $0.int(0), $0.int(1) != 0)
        }
    }

    /// Returns the given sections of a session with the rows that the session shares. Returns `nil` if the session
    /// shares no rows.
    func sharedSections(
        _ sections: [(facts: StoredSectionSummary, rows: [StoredRow])], of session: Int
    ) throws -> [(facts: StoredSectionSummary, rows: [StoredRow])]? {
        guard let shared = try shared(session), shared.hasRows else { return nil }
        var content = StoredContent(sections), change = TableChange()
        for (section, row) in shared.table.rows() { content.rows[row.key] = (section, row) }
        let keys = Key.all(of: session)
        try query(
            "SELECT key, section, rank, id, body FROM shared_row WHERE key BETWEEN ? AND ?", keys.lowerBound,
            keys.upperBound
        ) {
            let key = Key.number(in: $0.int(0))
            switch ($0.optionalInt(1), $0.isNull(4)) {
            case (nil, _): change.removedRows.append(key)
            case (let section?, true): change.placedRows.append((section, key, $0.int(2)))
            case (let section?, false): change.writtenRows.append((section, try Self.row($0)))
            }
        }
        content.apply(change)
        return try content.sorted(session)
    }

    /// Writes the changed rows of a session that shares rows. For sessions that share no rows, returns `false` and
    /// writes nothing.
    func writeSharedRows(_ change: TableChange, of session: Int) throws -> Bool {
        guard let shared = try shared(session), shared.hasRows else { return false }
        for key in change.removedRows {
            try run(
                key < shared.firstOwnKey
                    ? "INSERT OR REPLACE INTO shared_row (key) VALUES (?)" : "DELETE FROM shared_row WHERE key = ?",
                Key.of(session, key))
        }
        for (section, row) in change.writtenRows {
            try run(
                "INSERT OR REPLACE INTO shared_row (key, section, rank, id, body) VALUES (?, ?, ?, ?, ?)",
                Key.of(session, row.key), section, row.rank, row.id?.text, row.model)
        }
        for (section, key, rank) in change.placedRows {
            try run(
                """
                INSERT INTO shared_row (key, section, rank) VALUES (?, ?, ?)
                ON CONFLICT (key) DO UPDATE SET section = excluded.section, rank = excluded.rank
                """,
                Key.of(session, key), section, rank)
        }
        return true
    }

    /// Copies the rows that a session shares to the database table `model`, for a change that needs all of the
    /// session's rows there.
    func copySharedRows(of session: Int) throws {
        guard let shared = try shared(session), shared.hasRows else { return }
        for (facts, rows) in try sections(of: session) {
            for row in rows { try write(row, in: facts.number, of: session) }
        }
        try deleteSharedRows(of: session)
        try run("UPDATE shared_table SET has_rows = 0 WHERE session = ?", session)
    }

    /// Deletes the shared rows and the row of `shared_table` of a session that is being deleted.
    func unshare(_ session: Int) throws {
        guard sharedTables?[session] != nil else { return }
        try run("DELETE FROM shared_table WHERE session = ?", session)
        try deleteSharedRows(of: session)
    }

    /// Frees the memory of the shared tables whose sessions do not exist any more.
    func forgetUnusedSharedTables() throws {
        guard let tables = sharedTables else { return }
        var used: Set<Int> = []
        try query("SELECT session FROM shared_table") { used.insert($0.int(0)) }
        sharedTables = tables.filter { used.contains($0.key) }
    }

    private func deleteSharedRows(of session: Int) throws {
        let keys = Key.all(of: session)
        try run("DELETE FROM shared_row WHERE key BETWEEN ? AND ?", keys.lowerBound, keys.upperBound)
    }
}
