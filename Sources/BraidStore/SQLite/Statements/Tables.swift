import BraidEngine

extension SQLiteQueries {
    func putTable(_ name: String, description: JSONText, after expected: Int?, at: Int) throws -> Int {
        let latest =
            try db.first("SELECT max(version) FROM table_description WHERE name = ?", name) {
                try $0.optionalNumber(0, .version, "version") ?? 0
            } ?? 0
        guard expected == nil || expected == latest else { throw StoreError.tableChanged }
        let version = try StoredNumber.version.checked(latest + 1, "version")
        try db.run(
            "INSERT INTO table_description (name, version, updated, description) VALUES (?, ?, ?, ?)",
            name, version, at, description)
        try dropUnusedVersions(of: name)
        return version
    }

    func deleteTable(_ name: String) throws -> TableDeletion {
        let sessions =
            try db.first(
                "SELECT count(*) FROM session WHERE table_name = ? AND table_version IS NOT NULL", name
            ) { $0.int(0) } ?? 0
        if sessions > 0 { return .inUse(sessions: sessions) }
        return try db.run("DELETE FROM table_description WHERE name = ?", name) > 0 ? .deleted : .missing
    }

    /// Keeps the latest `StoredTable.keptVersions`, and those of sessions.
    func dropUnusedVersions(of table: String) throws {
        try db.run(
            """
            DELETE FROM table_description AS old WHERE name = ?1
            AND version <= (SELECT max(version) FROM table_description WHERE name = ?1) - ?2
            AND NOT EXISTS (SELECT 1 FROM session WHERE table_name = ?1 AND table_version = old.version)
            """,
            table, StoredTable.keptVersions)
    }

    /// Stores a version again that was dropped as old and unused. Throws `tableMissing` if the whole description was
    /// deleted.
    func keepVersion(_ version: Int, of table: String, _ description: JSONText?, at: Int) throws {
        let next =
            try db.first("SELECT min(version) FROM table_description WHERE name = ? AND version >= ?", table, version) {
                $0.optionalInt(0)
            } ?? nil
        if next == version { return }
        guard let description, next != nil else { throw StoreError.tableMissing }
        try db.run(
            "INSERT INTO table_description (name, version, updated, description) VALUES (?, ?, ?, ?)", table, version,
            at, description)
    }

    func table(_ name: String, version: Int?) throws -> StoredTable? {
        try db.first(
            """
            SELECT \(StoredTable.columns) FROM table_description
            WHERE name = ?1 AND version = coalesce(?2, (SELECT max(version) FROM table_description WHERE name = ?1))
            """,
            name, version
        ) {
            try StoredTable($0, name: name)
        }
    }

    func versions(ofTable name: String) throws -> [TableSummary] {
        try db.rows("SELECT \(TableSummary.columns) FROM table_description WHERE name = ? ORDER BY version", name) {
            try TableSummary($0)
        }
    }

    func tables() throws -> [TableSummary] {
        // With `max(version)`, SQLite takes the other columns from the same row (lang_select, "Bare columns").
        try db.rows(
            "SELECT name, max(version), updated FROM table_description WHERE \(TableSummary.isSound) GROUP BY name ORDER BY name"
        ) { try TableSummary($0) }
    }
}
