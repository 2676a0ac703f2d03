#if PostgreSQL
internal import CAssets

/// The schema of the PostgreSQL database, and the SQL scripts that upgrade older schemas to it.
enum PostgresSchema {
    static let application = "Braid Server"
    static let version = 1

    /// The SQL scripts that upgrade the schema by one version each: `steps[0]` upgrades version 1 to 2.
    ///
    /// To change the schema, follow the procedure for the SQLite schema, but with `schema-postgres.sql` and
    /// `Schemas/postgres-….sql`.
    static let steps: [String] = []

    static func upgrade(_ connection: PostgresConnection, from version: Int) throws {
        for step in steps[(version - 1)...] { try connection.script(step) }
        _ = try connection.all(["UPDATE braid_server SET version = \(Self.version)"])
    }

    /// The text of the file `schema-postgres.sql`, which creates the current schema.
    static let text = String(
        decoding: UnsafeBufferPointer(start: cassets_schema_postgres.bytes, count: cassets_schema_postgres.count),
        as: UTF8.self)
}
#endif
