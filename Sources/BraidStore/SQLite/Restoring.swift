// Test mode copies the content to `kept`, a database in the memory of the connection that writes.

extension SQLiteStore: TestableStore {
    package func keepContent() throws {
        do {
            try database.use { try $0.keepContent() }
        } catch {
            throw StoreError(error, path: path)
        }
    }

    package func restoreContent(beginsEpochs: Bool) async throws {
        try await write(makesRoom: true) { [options] queries in
            try queries.restoreContent()
            if beginsEpochs { try queries.replaceEpochs(options) }
        }
        database.use { try? $0.forgetUnusedSharedTables() }
    }

    package func setEpoch(_ epoch: String, of sessionNumber: Int) async throws {
        try await write {
            _ = try $0.db.run("UPDATE session SET epoch = ? WHERE number = ?", epoch, sessionNumber)
        }
    }
}

extension SQLiteQueries {
    fileprivate func keepContent() throws {
        if try !db.texts("SELECT name FROM pragma_database_list").contains("kept") {
            try db.execute("ATTACH ':memory:' AS kept")
        }
        try db.inTransaction(.deferred) {
            for name in try db.texts("SELECT name FROM kept.sqlite_master WHERE type = 'table'") {
                try db.execute("DROP TABLE kept.\(name)")
            }
            for name in try restoredTables() {
                try db.execute("CREATE TABLE kept.\(name) AS SELECT * FROM main.\(name)")
            }
            try db.execute("CREATE TABLE kept.sequence AS SELECT * FROM main.sqlite_sequence")
        }
        keptSharedTables = sharedTables ?? [:]
    }

    fileprivate func restoreContent() throws {
        for name in try restoredTables() {
            try db.run("DELETE FROM main.\(name)")
            try db.run("INSERT INTO main.\(name) SELECT * FROM kept.\(name)")
        }
        // AUTOINCREMENT: the next session gets the number of the first one after the copy.
        try db.run("DELETE FROM main.sqlite_sequence")
        try db.run("INSERT INTO main.sqlite_sequence SELECT * FROM kept.sequence")
        // Other sessions' tables stay until the commit: a rollback would bring the sessions back.
        sharedTables?.merge(keptSharedTables) { _, kept in kept }
    }

    private func restoredTables() throws -> [String] {
        try db.texts(
            "SELECT name FROM main.sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite~_%' ESCAPE '~'")
    }
}
