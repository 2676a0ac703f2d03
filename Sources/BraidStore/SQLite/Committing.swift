import BraidEngine

// The SQLite store's writes, which the writer's thread runs inside one transaction for a group of requests. Each write
// decides whether to refuse its request *before* it changes anything. A refusal does not roll the transaction back, so
// changes that were made before the refusal would be committed with the group.

extension SQLiteConnection {
    /// Stores a new session at revision 0, and returns the session's number.
    func create(_ session: NewSession) throws -> Int {
        guard !session.isExhausted else { throw StoreError.exhausted }
        if try number(of: session.id) != nil { throw StoreError.sessionExists }
        if let version = session.tableVersion {
            try keepVersion(version, of: session.table ?? "", session.description, at: session.created)
        }
        let number = try nextNumber()
        try run(
            """
            INSERT INTO session
            (number, id, table_name, table_version, epoch, revision, created, updated, next_key, next_section,
             total_row_count, unused_limit, used)
            VALUES (?, ?, ?, ?, ?, 0, ?, ?, ?, ?, ?, ?, ?)
            """,
            number, session.id, session.table, session.tableVersion, session.epoch, session.created, session.created,
            session.nextKey, session.nextSection, session.totalRowCount, session.unusedLimit, session.used)
        try run(
            "INSERT INTO opening (session, body, description) VALUES (?, ?, ?)", number, session.opening,
            session.inlineDescription)
        try run(
            "INSERT INTO state (session, state, displayed_sections, cells) VALUES (?, ?, ?, ?)",
            number, session.state, session.displayedSections, session.cells)
        for section in session.sections { try write(section, of: number) }
        for (section, row) in session.rows { try write(row, in: section, of: number) }
        if let shared = session.shared { try share(shared, with: number, firstOwnKey: session.nextKey) }
        if let answer = session.answer { try keep(answer) }
        return number
    }

    /// Returns the number of the next session. AUTOINCREMENT would choose it after the largest one, which may be
    /// damaged.
    private func nextNumber() throws -> Int {
        let last =
            try first(
                """
                SELECT max(coalesce((SELECT seq FROM sqlite_sequence WHERE name = 'session'), 0),
                    coalesce((SELECT max(number) FROM session WHERE number <= ?), 0))
                """,
                Key.largestSession
            ) { $0.int(0) } ?? 0
        guard last < Key.largestSession else {
            throw StoreError.corrupt("the last session has the number \(last), and no larger one is left")
        }
        return last + 1
    }

    /// Writes the changes of a command, and the command's journal record.
    func apply(_ commit: SessionCommit, journalLimit: Int, journalBytes: Int) throws {
        guard !commit.isExhausted else { throw StoreError.exhausted }
        guard
            let found = try first(
                """
                SELECT revision, updated, journal_bytes, EXISTS (SELECT 1 FROM published WHERE session = number)
                FROM session WHERE number = ?
                """,
                commit.session,
                value: {
                    (
                        revision: try $0.number(0, .revision, "revision"), updated: try $0.number(1, .time, "updated"),
                        journalBytes: try $0.number(2, .bytes, "journal_bytes"), hasPublished: $0.int(3) != 0
                    )
                })
        else { throw StoreError.sessionMissing }
        guard found.revision == commit.from, commit.fromTime == nil || commit.fromTime == found.updated else {
            throw StoreError.revisionConflict
        }
        if let binding = commit.binding { try bind(commit.session, to: binding, at: commit.at) }
        if commit.publishes {
            if found.hasPublished { try publish(commit.session) }
        } else {
            try keepPublished(commit.change, of: commit.session, updated: found.updated)
        }
        try write(commit.change, of: commit.session)
        try run(
            "INSERT INTO journal (key, at, command, changes, cell_events, hidden, undo) VALUES (?, ?, ?, ?, ?, ?, ?)",
            Key.of(commit.session, commit.to), commit.at, commit.command, commit.update, commit.controllerEvents,
            commit.hidden, commit.undo)
        if let answer = commit.answer { try keep(answer) }
        let bytes = try trimJournal(
            of: commit.session, before: commit.to, limit: journalLimit, bytes: found.journalBytes + commit.journalBytes,
            byteLimit: journalBytes)
        try run(
            "UPDATE session SET revision = ?, updated = ?, next_key = ?, next_section = ?, total_row_count = ?, journal_bytes = ? WHERE number = ?",
            commit.to, commit.at, commit.nextKey, commit.nextSection, commit.totalRowCount, bytes, commit.session)
    }

    /// Binds a session to another table description. Throws `tableMissing`, before anything is written, if all versions
    /// of the registered description were deleted.
    private func bind(_ session: Int, to binding: StoredBinding, at: Int) throws {
        if let version = binding.version {
            try keepVersion(version, of: binding.table, binding.description, at: at)
        }
        // Keep the table description with which the session was opened, because the session's journal starts with it.
        try run(
            """
            UPDATE opening SET description = (
                SELECT t.description FROM session s JOIN table_description t ON t.name = s.table_name AND t.version = s.table_version
                WHERE s.number = ?1)
            WHERE session = ?1 AND description IS NULL
            """,
            session)
        try run("UPDATE state SET description = ? WHERE session = ?", binding.inlineDescription, session)
        try run("UPDATE session SET table_version = ? WHERE number = ?", binding.version, session)
        try dropUnusedVersions(of: binding.table)
    }

    private func write(_ change: TableChange, of session: Int) throws {
        if try !writeSharedRows(change, of: session) {
            for key in change.removedRows { try run("DELETE FROM model WHERE key = ?", Key.of(session, key)) }
            for (section, row) in change.writtenRows { try write(row, in: section, of: session) }
            for (section, key, rank) in change.placedRows {
                try run("UPDATE model SET section = ?, rank = ? WHERE key = ?", section, rank, Key.of(session, key))
            }
        }
        for number in change.removedSections { try run("DELETE FROM section WHERE key = ?", Key.of(session, number)) }
        for section in change.writtenSections { try write(section, of: session) }
        if let state = change.state { try run("UPDATE state SET state = ? WHERE session = ?", state, session) }
        if let displayed = change.displayedSections {
            try run(
                "UPDATE state SET displayed_sections = ? WHERE session = ?", displayed.isNull ? nil : displayed, session
            )
        }
        if let cells = change.cells { try run("UPDATE state SET cells = ? WHERE session = ?", cells, session) }
    }

    func write(_ row: StoredRow, in section: Int, of session: Int) throws {
        // The table `model` has no index besides its primary key. So INSERT OR REPLACE overwrites an existing row in
        // its place.
        try run(
            "INSERT OR REPLACE INTO model (key, section, rank, id, body) VALUES (?, ?, ?, ?, ?)",
            Key.of(session, row.key), section, row.rank, row.id?.text, row.model)
    }

    private func write(_ section: StoredSectionSummary, of session: Int) throws {
        try run(
            "INSERT OR REPLACE INTO section (key, ordinal, id, header, footer, prefetched) VALUES (?, ?, ?, ?, ?, ?)",
            Key.of(session, section.number), section.ordinal, section.id.text, section.header, section.footer,
            section.prefetched)
    }

    /// Removes the oldest records of a session's journal if the journal exceeds its limit of records or of bytes. Each
    /// call removes only a few records, so that no commit waits for a long delete. Together, the calls of many commits
    /// shrink the journal to the limits, even after an operator has lowered the limits. The newest record always stays.
    ///
    /// `bytes` is the size of the journal's texts before the call. The method returns their size after the trimming.
    private func trimJournal(of session: Int, before newest: Int, limit: Int, bytes: Int, byteLimit: Int) throws -> Int
    {
        let trimming = JournalTrimming(with: newest, limit: limit)
        guard trimming.isDue || bytes > byteLimit else { return bytes }
        var oldest: [(key: Int, bytes: Int)] = []
        try query(
            """
            SELECT key, length(CAST(command AS BLOB)) + length(CAST(changes AS BLOB)) + coalesce(length(CAST(cell_events AS BLOB)), 0)
                   + coalesce(length(CAST(hidden AS BLOB)), 0) + length(CAST(undo AS BLOB))
            FROM journal WHERE key BETWEEN ? AND ? ORDER BY key LIMIT ?
            """,
            Key.of(session, 0), Key.of(session, newest - 1), trimming.recordCount
        ) { oldest.append(($0.int(0), $0.int(1))) }
        var left = bytes
        for record in oldest where Key.number(in: record.key) <= newest - limit || left > byteLimit {
            try run("DELETE FROM journal WHERE key = ?", record.key)
            left -= record.bytes
        }
        return max(0, left)
    }

    func renew(_ session: Int, at: Int) throws {
        try run("UPDATE session SET used = ? WHERE number = ? AND used IS NOT NULL", at, session)
    }

    /// Deletes a session with everything that belongs to it, and returns the session's number. Deletes nothing and
    /// returns `nil` if the session does not exist, or has another number or revision than `facts`.
    func deleteSession(_ id: String, as facts: SessionSummary?) throws -> Int? {
        guard let number = try number(of: id) else { return nil }
        if let facts, try number != facts.number || sessionSummary(id)?.revision != facts.revision { return nil }
        try publish(number)
        try unshare(number)
        let keys = Key.all(of: number)
        for table in ["model", "section", "journal"] {
            try run("DELETE FROM \(table) WHERE key BETWEEN ? AND ?", keys.lowerBound, keys.upperBound)
        }
        try run("DELETE FROM opening WHERE session = ?", number)
        try run("DELETE FROM state WHERE session = ?", number)
        try run("DELETE FROM answer WHERE session = ?", number)
        try run("DELETE FROM token WHERE session = ?", number)
        let table = try first("SELECT table_name FROM session WHERE number = ?", number) { $0.optionalText(0) } ?? nil
        try run("DELETE FROM session WHERE number = ?", number)
        if let table { try dropUnusedVersions(of: table) }
        return number
    }

    func number(of id: String) throws -> Int? {
        try first("SELECT number FROM session WHERE id = ?", id) { try $0.number(0, .session, "number") }
    }
}
