#if PostgreSQL
import BraidEngine
import BraidStore

/// The SQL statements that register, read and delete table descriptions.
///
/// A statement that registers or deletes a description first locks the database table `table_description`, so that no
/// other server gives out the same version number.
enum Tables {
    private static let lock: PostgresStatement = "LOCK TABLE table_description IN SHARE ROW EXCLUSIVE MODE"

    /// Returns the SQL statements that register a table description. The second of these statements returns the new
    /// version, or no row if `latest` is given and is not the latest version.
    static func put(_ name: String, _ description: JSONText, after latest: Int?, at: Int) -> [PostgresStatement] {
        [
            lock,
            """
            INSERT INTO table_description (name, version, updated, description)
            SELECT \(name: name), coalesce(max(version), 0) + 1, \(at), \(description) FROM table_description WHERE name = \(name: name)
            HAVING \(latest) IS NULL OR coalesce(max(version), 0) = \(latest)
            RETURNING version
            """,
            """
            DELETE FROM table_description old WHERE name = \(name: name)
            AND version <= (SELECT max(version) FROM table_description WHERE name = \(name: name)) - \(StoredTable.keptVersions)
            AND NOT EXISTS (SELECT FROM session WHERE table_name = old.name AND table_version = old.version)
            """,
        ]
    }

    /// Returns the SQL statements that delete a table description. The second of these statements returns two numbers:
    /// the sessions that use one of the description's versions, and the deleted versions.
    static func delete(_ name: String) -> [PostgresStatement] {
        [
            lock,
            """
            WITH used AS MATERIALIZED (SELECT count(*) AS sessions FROM session WHERE table_name = \(name: name) AND table_version IS NOT NULL),
            gone AS (DELETE FROM table_description WHERE name = \(name: name) AND (SELECT sessions FROM used) = 0 RETURNING 1)
            SELECT (SELECT sessions FROM used), (SELECT count(*) FROM gone)
            """,
        ]
    }

    static func deletion(_ rows: [Rows]) -> TableDeletion {
        guard let row = rows.last?.first else { return .missing }
        return row.int(0) > 0 ? .inUse(sessions: row.int(0)) : row.int(1) > 0 ? .deleted : .missing
    }
}

extension PostgresConnection {
    func table(_ name: String, version: Int?) throws -> StoredTable? {
        let rows = try query(
            """
            SELECT version, updated, description FROM table_description WHERE name = \(name: name)
            AND version = coalesce(\(version), (SELECT max(version) FROM table_description WHERE name = \(name: name)))
            """)
        return try rows.map {
            StoredTable(
                name: name, version: try $0.number(0, .version, "version"), updated: try $0.number(1, .time, "updated"),
                description: try $0.json(2))
        }.first
    }

    func versions(ofTable name: String) throws -> [TableSummary] {
        try query("SELECT version, updated FROM table_description WHERE name = \(name: name) ORDER BY version")
            .map {
                TableSummary(
                    name: name, version: try $0.number(0, .version, "version"),
                    updated: try $0.number(1, .time, "updated"))
            }
    }

    func tables() throws -> [TableSummary] {
        try query(
            "SELECT DISTINCT ON (name) name, version, updated FROM table_description WHERE \(raw: TableSummary.isSound) ORDER BY name, version DESC"
        )
        .map {
            TableSummary(
                name: $0.text(0), version: try $0.number(1, .version, "version"),
                updated: try $0.number(2, .time, "updated"))
        }
    }
}
#endif
