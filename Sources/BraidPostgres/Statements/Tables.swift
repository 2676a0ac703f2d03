#if PostgreSQL
import BraidEngine
import BraidStore

// Writes first lock the table, so that no other server gives out the same version.
extension PostgresQueries {
    private static let lock: PostgresStatement = "LOCK TABLE table_description IN SHARE ROW EXCLUSIVE MODE"

    /// The second statement returns the new version, or no row if `latest` is another.
    static func putTable(_ name: String, _ description: JSONText, after latest: Int?, at: Int) -> [PostgresStatement] {
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

    /// The second statement returns the sessions that use a version, and the deleted versions.
    static func deleteTable(_ name: String) -> [PostgresStatement] {
        [
            lock,
            """
            WITH used AS MATERIALIZED (SELECT count(*) AS sessions FROM session WHERE table_name = \(name: name) AND table_version IS NOT NULL),
            gone AS (DELETE FROM table_description WHERE name = \(name: name) AND (SELECT sessions FROM used) = 0 RETURNING 1)
            SELECT (SELECT sessions FROM used), (SELECT count(*) FROM gone)
            """,
        ]
    }

    static func tableDeletion(_ rows: [PostgresRows]) -> TableDeletion {
        guard let row = rows.last?.first else { return .missing }
        return row.int(0) > 0 ? .inUse(sessions: row.int(0)) : row.int(1) > 0 ? .deleted : .missing
    }

    func table(_ name: String, version: Int?) throws -> StoredTable? {
        let rows = try db.query(
            """
            SELECT \(raw: StoredTable.columns) FROM table_description WHERE name = \(name: name)
            AND version = coalesce(\(version), (SELECT max(version) FROM table_description WHERE name = \(name: name)))
            """)
        return try rows.first.map { try StoredTable($0, name: name) }
    }

    func versions(ofTable name: String) throws -> [TableSummary] {
        try db.query(
            "SELECT \(raw: TableSummary.columns) FROM table_description WHERE name = \(name: name) ORDER BY version"
        )
        .map { try TableSummary($0) }
    }

    func tables() throws -> [TableSummary] {
        try db.query(
            "SELECT DISTINCT ON (name) \(raw: TableSummary.columns) FROM table_description WHERE \(raw: TableSummary.isSound) ORDER BY name, version DESC"
        )
        .map { try TableSummary($0) }
    }
}
#endif
