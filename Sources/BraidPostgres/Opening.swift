#if PostgreSQL
import BraidStore
import Glibc

/// Checks whether a database's tables belong to Braid Server, and creates or upgrades these tables.
///
/// Braid Server's tables are in the first schema of the connection's search path, which is `public` by default.
enum Opening {
    /// The number of the advisory lock that a server holds while it prepares a database. All servers use the same
    /// arbitrary number, so servers that start together prepare the database one after the other.
    static let lock = 1_114_792_297

    /// Checks the database's tables, and creates or upgrades them. Returns the schema version that the database had
    /// before, or 0 if it had no tables.
    static func prepare(
        _ connection: PostgresConnection, name: String, before: ((Int) throws -> Void)? = nil
    ) throws -> Int {
        let schema = try check(connection, name: name)
        _ = try connection.all(["BEGIN", "SELECT pg_advisory_xact_lock(\(lock))"])
        do {
            let found = try version(connection, schema: schema, name: name)
            if let found, found < PostgresSchema.version {
                try PostgresSchema.upgrade(connection, from: found, before: before)
            } else if found == nil {
                try connection.script(PostgresSchema.text)
            }
            if let found { try checkShape(connection, schema: schema, name: name, version: found) }
            _ = try connection.all(["COMMIT"])
            return found ?? 0
        } catch {
            try? connection.endTransaction()
            throw error
        }
    }

    /// Throws `differentSchema` if a table, column or index that this server needs is missing or different, or if an
    /// unknown column needs a value.
    static func checkShape(_ connection: PostgresConnection, schema: String, name: String, version: Int) throws {
        let differences = PostgresSchema.expected.differences(in: try connection.schemaShape(schema))
        guard differences.isEmpty else {
            throw StoreError.differentSchema(path: name, version: version, differences: differences)
        }
    }

    /// Checks that the database can contain Braid Server's tables. Returns the name of the PostgreSQL schema that
    /// contains them.
    static func check(_ connection: PostgresConnection, name: String) throws -> String {
        guard connection.serverVersion >= 120_000 else {
            throw StoreError.io("\(name) is PostgreSQL \(connection.serverVersion / 10_000); 12 or later is needed")
        }
        let facts = try connection.query(
            "SELECT current_setting('server_encoding'), current_schema()::text, current_setting('transaction_read_only')"
        )
        guard let facts = facts.first, let schema = facts.optionalText(1) else {
            throw StoreError.io("\(name) has no schema to keep tables in")
        }
        guard facts.text(0) == "UTF8" else {
            throw StoreError.io("\(name) keeps texts as \(facts.text(0)); make one with ENCODING 'UTF8'")
        }
        guard facts.text(2) == "off" else { throw StoreError.readOnly(path: name) }
        return schema
    }

    /// Returns the schema version of Braid Server's tables, or `nil` if the PostgreSQL schema has no tables. Throws if
    /// the tables there belong to another application.
    static func version(_ connection: PostgresConnection, schema: String, name: String) throws -> Int? {
        let found = try connection.query(
            """
            SELECT to_regclass(quote_ident(\(schema)) || '.braid_server') IS NOT NULL, EXISTS (
                SELECT FROM pg_class c WHERE c.relnamespace = quote_ident(\(schema))::regnamespace AND c.relkind IN ('r', 'p')
                AND NOT EXISTS (SELECT FROM pg_depend d WHERE d.classid = 'pg_class'::regclass AND d.objid = c.oid AND d.deptype = 'e'))
            """)
        guard let found = found.first, found.bool(0) || found.bool(1) else { return nil }
        guard found.bool(0) else { throw StoreError.wrongApplication(path: name) }
        do {
            let mark = try connection.query("SELECT application::text, version::bigint FROM braid_server").first
            guard let mark, mark.text(0) == PostgresSchema.application else {
                throw StoreError.wrongApplication(path: name)
            }
            let version = mark.int(1)
            guard version > 0 else { throw StoreError.corrupt("\(name): table braid_server: version is \(version)") }
            // If the schema version is newer than this server's, the table `braid_server` must have the column
            // `minimum_version`, which `sharedAnswerTime` reads. Without this column, another program has made the
            // table.
            if version > PostgresSchema.version { _ = try connection.sharedAnswerTime() }
            return version
        } catch let error as ServerError where error.code == "42703" {  // a column of a query does not exist
            throw StoreError.wrongApplication(path: name)
        }
    }
}
#endif
