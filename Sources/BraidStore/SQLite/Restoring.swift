// In test mode, `keepContent` keeps a copy of the database's content. The copy is a second database with the name
// `kept`, in the memory of the connection that writes.

extension SQLiteStore: TestableStore {
    public func keepContent() throws {
        do {
            try database.write { try $0.keepContent() }
        } catch {
            throw StoreError(error, path: path)
        }
    }

    public func restoreContent(beginsEpochs: Bool) async throws {
        try await writer.write(makesRoom: true) { [options] db in
            try db.restoreContent()
            if beginsEpochs { try db.replaceEpochs(options) }
        }
        database.write { try? $0.forgetUnusedSharedTables() }
    }

    public func setEpoch(_ epoch: String, of sessionNumber: Int) async throws {
        try await writer.write {
            _ = try $0.run("UPDATE session SET epoch = ? WHERE number = ?", epoch, sessionNumber)
        }
    }
}

extension SQLiteConnection {
    fileprivate func keepContent() throws {
        if try !texts("SELECT name FROM pragma_database_list").contains("kept") {
            try execute("ATTACH ':memory:' AS kept")
        }
        try inTransaction(.deferred) {
            for name in try texts("SELECT name FROM kept.sqlite_master WHERE type = 'table'") {
                try execute("DROP TABLE kept.\(name)")
            }
            for name in try restoredTables() { try execute("CREATE TABLE kept.\(name) AS SELECT * FROM main.\(name)") }
            try execute("CREATE TABLE kept.sequence AS SELECT * FROM main.sqlite_sequence")
        }
        keptSharedTables = sharedTables ?? [:]
    }

    fileprivate func restoreContent() throws {
        for name in try restoredTables() {
            try run("DELETE FROM main.\(name)")
            try run("INSERT INTO main.\(name) SELECT * FROM kept.\(name)")
        }
        // After the restore, the next new session gets the same number as the first session that was opened after the
        // copy was kept (AUTOINCREMENT).
        try run("DELETE FROM main.sqlite_sequence")
        try run("INSERT INTO main.sqlite_sequence SELECT * FROM kept.sequence")
        // Shared tables of sessions that are not in the copy stay until the transaction is committed, because a
        // rollback would bring these sessions back.
        sharedTables?.merge(keptSharedTables) { _, kept in kept }
    }

    /// Returns the names of all tables of the database except SQLite's own tables.
    private func restoredTables() throws -> [String] {
        try texts("SELECT name FROM main.sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite~_%' ESCAPE '~'")
    }
}
