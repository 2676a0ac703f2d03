// The kept copy of a database's content is a second database, `kept`, in the memory of the connection that writes.

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
        // The next session gets the same number as after the moment of the copy (AUTOINCREMENT).
        try run("DELETE FROM main.sqlite_sequence")
        try run("INSERT INTO main.sqlite_sequence SELECT * FROM kept.sequence")
        // The others stay until the transaction is committed, because a rollback brings their sessions back.
        sharedTables?.merge(keptSharedTables) { _, kept in kept }
    }

    /// Returns the names of all tables except SQLite's own.
    private func restoredTables() throws -> [String] {
        try texts("SELECT name FROM main.sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite~_%' ESCAPE '~'")
    }
}
