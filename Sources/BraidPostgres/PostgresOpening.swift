#if PostgreSQL
import BraidStore
import Glibc

/// Makes, upgrades and checks the tables in the first schema of the search path (by default `public`).
enum PostgresOpening {
    /// The key of an advisory lock, for servers that start together. Arbitrary.
    static let lock = 1_114_792_297

    /// Returns the schema version found, 0 without tables.
    static func prepare(
        _ connection: PostgresConnection, name: String, before: ((Int) throws -> Void)? = nil
    ) throws -> Int {
        let schema = try check(connection, name: name)
        _ = try connection.all(["BEGIN", "SELECT pg_advisory_xact_lock(\(lock))"])
        do {
            let found = try version(connection, schema: schema, name: name)
            if let found {
                let check = { try checkShape(connection, schema: schema, name: name, version: found) }
                if found < PostgresSchema.version {
                    let statements =
                        PostgresSchema.steps[(found - 1)...].joined()
                        + ["UPDATE braid_server SET version = \(PostgresSchema.version)"]
                    try SchemaShape.upgrade(
                        by: statements, before: before, execute: { try connection.script($0) }, check: check)
                } else {
                    try check()
                }
            } else {
                try connection.script(PostgresSchema.text)
            }
            _ = try connection.all(["COMMIT"])
            return found ?? 0
        } catch {
            try? connection.endTransaction()
            throw error
        }
    }

    /// Throws `differentSchema`.
    static func checkShape(_ connection: PostgresConnection, schema: String, name: String, version: Int) throws {
        try PostgresSchema.expected.check(
            try PostgresQueries(db: connection).shape(of: schema), path: name, version: version)
    }

    static func check(_ connection: PostgresConnection, name: String) throws -> String {
        guard connection.serverVersion >= 120_000 else {
            throw StoreError.io("\(name) is PostgreSQL \(connection.serverVersion / 10_000); 12 or later is needed")
        }
        let found = try connection.query(
            "SELECT current_setting('server_encoding'), current_schema()::text, current_setting('transaction_read_only')"
        )
        guard let found = found.first, let schema = found.optionalText(1) else {
            throw StoreError.io("\(name) has no schema to keep tables in")
        }
        guard found.text(0) == "UTF8" else {
            throw StoreError.io("\(name) keeps texts as \(found.text(0)); make one with ENCODING 'UTF8'")
        }
        guard found.text(2) == "off" else { throw StoreError.readOnly(path: name) }
        return schema
    }

    /// `nil` without tables. Throws for another application's.
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
            // A newer server's table has `minimum_version`, which this reads; otherwise another program has made it.
            if version > PostgresSchema.version { _ = try PostgresQueries(db: connection).sharedAnswerTime() }
            return version
        } catch let error as PostgresError where error.code == "42703" {  // a column of a query does not exist
            throw StoreError.wrongApplication(path: name)
        }
    }
}
#endif
