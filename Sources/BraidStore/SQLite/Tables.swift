import BraidEngine

// The storage of table descriptions in SQLite. The writing methods run inside the writer's transaction, like the writes
// in Committing.swift.

extension SQLiteConnection {
    func putTable(_ name: String, description: JSONText, after expected: Int?, at: Int) throws -> Int {
        let latest =
            try first("SELECT max(version) FROM table_description WHERE name = ?", name) {
                try $0.optionalNumber(0, .version, "version") ?? 0
            } ?? 0
        guard expected == nil || expected == latest else { throw StoreError.tableChanged }
        let version = try StoredNumber.version.checked(latest + 1, "version")
        try run(
            "INSERT INTO table_description (name, version, updated, description) VALUES (?, ?, ?, ?)",
            name, version, at, description)
        try dropUnusedVersions(of: name)
        return version
    }

    func deleteTable(_ name: String) throws -> TableDeletion {
        let sessions =
            try first(
                "SELECT count(*) FROM session WHERE table_name = ? AND table_version IS NOT NULL", name
            ) { $0.int(0) } ?? 0
        if sessions > 0 { return .inUse(sessions: sessions) }
        return try run("DELETE FROM table_description WHERE name = ?", name) > 0 ? .deleted : .missing
    }

    /// Removes those versions of a table description that are not among the latest versions
    /// (`StoredTable.keptVersions`) and that no stored session uses.
    func dropUnusedVersions(of table: String) throws {
        try run(
            """
            DELETE FROM table_description AS old WHERE name = ?1
            AND version <= (SELECT max(version) FROM table_description WHERE name = ?1) - ?2
            AND NOT EXISTS (SELECT 1 FROM session WHERE table_name = ?1 AND table_version = old.version)
            """,
            table, StoredTable.keptVersions)
    }

    /// Makes sure that the version of a table description that a session is about to use is stored. If the version was
    /// deleted, because newer versions exist and no session used it, this method stores it again. Throws `tableMissing`
    /// if the whole description was deleted.
    func keepVersion(_ version: Int, of table: String, _ description: JSONText?, at: Int) throws {
        let next =
            try first("SELECT min(version) FROM table_description WHERE name = ? AND version >= ?", table, version) {
                $0.optionalInt(0)
            } ?? nil
        if next == version { return }
        guard let description, next != nil else { throw StoreError.tableMissing }
        try run(
            "INSERT INTO table_description (name, version, updated, description) VALUES (?, ?, ?, ?)", table, version,
            at, description)
    }

    func table(_ name: String, version: Int?) throws -> StoredTable? {
        try first(
            """
            SELECT version, updated, description FROM table_description
            WHERE name = ?1 AND version = coalesce(?2, (SELECT max(version) FROM table_description WHERE name = ?1))
            """,
            name, version
        ) {
            StoredTable(
                name: name, version: try $0.number(0, .version, "version"), updated: try $0.number(1, .time, "updated"),
                description: try $0.json(2))
        }
    }

    func versions(ofTable name: String) throws -> [TableSummary] {
        var versions: [TableSummary] = []
        try query("SELECT version, updated FROM table_description WHERE name = ? ORDER BY version", name) {
            versions.append(
                TableSummary(
                    name: name, version: try $0.number(0, .version, "version"),
                    updated: try $0.number(1, .time, "updated")))
        }
        return versions
    }

    func tables() throws -> [TableSummary] {
        var tables: [TableSummary] = []
        // In a query with `max(version)`, SQLite takes the values of the other columns from the row with the largest
        // version (lang_select, "Bare columns").
        try query(
            "SELECT name, max(version), updated FROM table_description WHERE \(TableSummary.isSound) GROUP BY name ORDER BY name"
        ) {
            tables.append(
                TableSummary(
                    name: $0.text(0), version: try $0.number(1, .version, "version"),
                    updated: try $0.number(2, .time, "updated")))
        }
        return tables
    }
}
