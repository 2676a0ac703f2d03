import BraidEngine

extension SQLiteQueries {
    func create(_ session: NewSession) throws -> Int {
        guard !session.isExhausted else { throw StoreError.exhausted }
        let summary = session.summary
        if try number(of: summary.id) != nil { throw StoreError.sessionExists }
        if let version = summary.tableVersion {
            try keepVersion(version, of: summary.table ?? "", session.description, at: summary.created)
        }
        let number = try nextNumber()
        try db.run(
            """
            INSERT INTO session
            (number, id, table_name, table_version, epoch, revision, created, updated, next_key, next_section,
             total_row_count, unused_limit, used)
            VALUES (?, ?, ?, ?, ?, 0, ?, ?, ?, ?, ?, ?, ?)
            """,
            number, summary.id, summary.table, summary.tableVersion, summary.epoch, summary.created, summary.created,
            session.nextKey, session.nextSection, summary.totalRowCount, session.unusedLimit, session.used)
        try db.run(
            "INSERT INTO opening (session, body, description) VALUES (?, ?, ?)", number, session.opening,
            session.inlineDescription)
        try db.run(
            "INSERT INTO state (session, state, displayed_sections, cells) VALUES (?, ?, ?, ?)",
            number, session.state, session.displayedSections, session.cells)
        for section in session.sections { try write(section, of: number) }
        for (section, row) in session.rows { try write(row, in: section, of: number) }
        if let shared = session.shared { try share(shared, with: number, firstOwnKey: session.nextKey) }
        if let answer = session.answer { try keep(answer) }
        return number
    }

    /// AUTOINCREMENT would follow the largest number, which may be damaged.
    private func nextNumber() throws -> Int {
        let last =
            try db.first(
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

    func apply(_ commit: SessionCommit, journalLimit: Int, journalBytes: Int) throws {
        guard !commit.isExhausted else { throw StoreError.exhausted }
        let record = commit.record
        guard
            let found = try db.first(
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
        if let description = commit.description { try describe(commit.session, by: description, at: commit.record.at) }
        if commit.publishes {
            if found.hasPublished { try publish(commit.session) }
        } else {
            try keepPublished(commit.change, of: commit.session, updated: found.updated)
        }
        try write(commit.change, of: commit.session)
        try db.run(
            "INSERT INTO journal (key, at, command, changes, cell_events, hidden, undo, author) VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
            Key.of(commit.session, record.revision), record.at, record.command, record.update, record.controllerEvents,
            record.hidden, commit.undo, record.by)
        if let answer = commit.answer { try keep(answer) }
        let bytes = try trimJournal(
            of: commit.session, before: record.revision, limit: journalLimit,
            bytes: found.journalBytes + commit.journalBytes,
            byteLimit: journalBytes)
        try db.run(
            "UPDATE session SET revision = ?, updated = ?, next_key = ?, next_section = ?, total_row_count = ?, journal_bytes = ? WHERE number = ?",
            record.revision, record.at, commit.nextKey, commit.nextSection, commit.totalRowCount, bytes, commit.session)
    }

    /// Throws `tableMissing`, before any write, if the whole description was deleted.
    private func describe(_ session: Int, by description: SessionDescription, at: Int) throws {
        if let version = description.version {
            try keepVersion(version, of: description.table, description.text, at: at)
        }
        // Before the version changes: the opening keeps the description with which the journal starts.
        try db.run(
            """
            UPDATE opening SET description = (
                SELECT t.description FROM session s JOIN table_description t ON t.name = s.table_name AND t.version = s.table_version
                WHERE s.number = ?1)
            WHERE session = ?1 AND description IS NULL
            """,
            session)
        try db.run("UPDATE state SET description = ? WHERE session = ?", description.inlineText, session)
        try db.run("UPDATE session SET table_version = ? WHERE number = ?", description.version, session)
        try dropUnusedVersions(of: description.table)
    }

    private func write(_ change: TableChange, of session: Int) throws {
        if try !writeSharedRows(change, of: session) {
            for key in change.removedRows { try db.run("DELETE FROM model WHERE key = ?", Key.of(session, key)) }
            for (section, row) in change.writtenRows { try write(row, in: section, of: session) }
            for (section, key, rank) in change.placedRows {
                try db.run("UPDATE model SET section = ?, rank = ? WHERE key = ?", section, rank, Key.of(session, key))
            }
        }
        for number in change.removedSections {
            try db.run("DELETE FROM section WHERE key = ?", Key.of(session, number))
        }
        for section in change.writtenSections { try write(section, of: session) }
        if let state = change.state { try db.run("UPDATE state SET state = ? WHERE session = ?", state, session) }
        if let displayed = change.displayedSections {
            try db.run(
                "UPDATE state SET displayed_sections = ? WHERE session = ?", displayed.isNull ? nil : displayed, session
            )
        }
        if let cells = change.cells { try db.run("UPDATE state SET cells = ? WHERE session = ?", cells, session) }
    }

    func write(_ row: StoredRow, in section: Int, of session: Int) throws {
        // REPLACE works in place: `model` has no index besides its primary key.
        try db.run(
            "INSERT OR REPLACE INTO model (key, section, rank, id, body) VALUES (?, ?, ?, ?, ?)",
            Key.of(session, row.key), section, row.rank, row.id?.text, row.model)
    }

    private func write(_ section: StoredSectionSummary, of session: Int) throws {
        try db.run(
            "INSERT OR REPLACE INTO section (key, ordinal, id, header, footer, prefetched) VALUES (?, ?, ?, ?, ?, ?)",
            Key.of(session, section.number), section.ordinal, section.id.text, section.header, section.footer,
            section.prefetched)
    }

    /// Deletes a few of the oldest records beyond the limits (`JournalTrimming`), never the newest. Returns the bytes
    /// left.
    private func trimJournal(of session: Int, before newest: Int, limit: Int, bytes: Int, byteLimit: Int) throws -> Int
    {
        let trimming = JournalTrimming(with: newest, limit: limit)
        guard trimming.isDue || bytes > byteLimit else { return bytes }
        let oldest = try db.rows(
            """
            SELECT key, length(CAST(command AS BLOB)) + length(CAST(changes AS BLOB)) + coalesce(length(CAST(cell_events AS BLOB)), 0)
                   + coalesce(length(CAST(hidden AS BLOB)), 0) + length(CAST(undo AS BLOB))
                   + coalesce(length(CAST(author AS BLOB)), 0)
            FROM journal WHERE key BETWEEN ? AND ? ORDER BY key LIMIT ?
            """,
            Key.of(session, 0), Key.of(session, newest - 1), trimming.recordCount
        ) { (key: $0.int(0), bytes: $0.int(1)) }
        var left = bytes
        for record in oldest where Key.number(in: record.key) <= newest - limit || left > byteLimit {
            try db.run("DELETE FROM journal WHERE key = ?", record.key)
            left -= record.bytes
        }
        return max(0, left)
    }

    func renew(_ session: Int, at: Int) throws {
        try db.run("UPDATE session SET used = ? WHERE number = ? AND used IS NOT NULL", at, session)
    }

    /// Returns the session's number, or `nil` if there is none with the number and revision of `summary`.
    func deleteSession(_ id: String, as summary: SessionSummary?) throws -> Int? {
        guard let number = try number(of: id) else { return nil }
        if let summary, try number != summary.number || sessionSummary(id)?.revision != summary.revision { return nil }
        try publish(number)
        try unshare(number)
        for table in ["model", "section", "journal"] { try deleteRows(of: number, in: table) }
        for table in ["opening", "state", "answer", "token"] {
            try db.run("DELETE FROM \(table) WHERE session = ?", number)
        }
        let table =
            try db.first("SELECT table_name FROM session WHERE number = ?", number) { $0.optionalText(0) } ?? nil
        try db.run("DELETE FROM session WHERE number = ?", number)
        if let table { try dropUnusedVersions(of: table) }
        return number
    }

    func number(of id: String) throws -> Int? {
        try db.first("SELECT number FROM session WHERE id = ?", id) { try $0.number(0, .session, "number") }
    }
}
