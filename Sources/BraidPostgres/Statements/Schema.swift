#if PostgreSQL
import BraidStore
internal import CAssets

enum PostgresSchema {
    static let application = "Braid Server"
    static let version = 2

    /// `steps[0]` upgrades version 1 to 2. To change the schema, see `SQLiteSchema.steps`, with `schema-postgres.sql`
    /// and `Schemas/postgres-….sql`. Older servers may use the database during and after the upgrade: if they cannot
    /// use the new schema, the step raises `braid_server.minimum_version`.
    static let steps: [[String]] = [
        [
            "ALTER TABLE braid_server ADD COLUMN minimum_version BIGINT, ADD COLUMN answer_time BIGINT",
            // Servers of version 1 may still run, and use the machine's time for answers. So the new clock starts
            // with the database's machine, or with the newest answer if that is later.
            """
            UPDATE braid_server SET minimum_version = 2, answer_time = greatest(
                (SELECT max(at) FROM answer), extract(epoch FROM clock_timestamp()) * 1000)
            """,
            "ALTER TABLE braid_server ALTER COLUMN minimum_version SET NOT NULL, ALTER COLUMN answer_time SET NOT NULL",
            "ALTER TABLE session ADD COLUMN unused_limit BIGINT",
            "ALTER TABLE session ADD COLUMN used BIGINT",
            "CREATE INDEX session_by_use ON session (used) WHERE used IS NOT NULL",
            "ALTER TABLE journal ADD COLUMN author TEXT",
            "ALTER TABLE token ADD COLUMN grants TEXT",
            "ALTER TABLE braid_server ADD COLUMN ticket_secret TEXT",
            "CREATE TABLE last_commit (connection BIGINT PRIMARY KEY, number BIGINT NOT NULL, at BIGINT NOT NULL)",
        ]
    ]

    static let expected = SchemaShape(schema: text)

    /// `schema-postgres.sql`.
    static let text = String(
        decoding: UnsafeBufferPointer(start: cassets_schema_postgres.bytes, count: cassets_schema_postgres.count),
        as: UTF8.self)
}

extension PostgresQueries {
    /// The `AnswerClock` that the servers share. Throws `newerVersion` if a newer server's schema is beyond this one.
    func sharedAnswerTime() throws -> Int {
        let row = try db.query("SELECT version, minimum_version, answer_time FROM braid_server").first
        guard let row else { throw StoreError.corrupt("it has no braid_server") }
        guard row.int(1) <= PostgresSchema.version else {
            throw StoreError.newerVersion(found: row.int(0), known: PostgresSchema.version)
        }
        return try row.number(2, .time, "answer_time")
    }

    func shape(of schema: String) throws -> SchemaShape {
        var shape = SchemaShape()
        let columns = try db.query(
            """
            SELECT c.relname::text, a.attname::text, format_type(a.atttypid, a.atttypmod), a.attnotnull,
                a.atthasdef OR a.attidentity <> ''
            FROM pg_attribute a JOIN pg_class c ON c.oid = a.attrelid
            WHERE c.relnamespace = quote_ident(\(schema))::regnamespace AND c.relkind IN ('r', 'p') AND a.attnum > 0
            AND NOT a.attisdropped
            """)
        columns.forEach {
            shape.add(
                SchemaShape.Column(type: $0.text(2), isRequired: $0.bool(3), hasDefault: $0.bool(4)),
                named: $0.text(1), to: $0.text(0))
        }
        let indexes = try db.query(
            """
            SELECT c.relname::text, i.indisunique, pg_get_expr(i.indpred, i.indrelid), (
                SELECT string_agg(a.attname::text, ', ' ORDER BY k.position)
                FROM unnest(i.indkey::int2[]) WITH ORDINALITY k (number, position)
                JOIN pg_attribute a ON a.attrelid = i.indrelid AND a.attnum = k.number WHERE k.position <= i.indnkeyatts)
            FROM pg_index i JOIN pg_class c ON c.oid = i.indrelid
            WHERE c.relnamespace = quote_ident(\(schema))::regnamespace AND i.indisvalid
            """)
        indexes.forEach {
            let condition = $0.optionalText(2).map { $0.hasPrefix("(") ? String($0.dropFirst().dropLast()) : $0 }
            let index = SchemaShape.Index(
                table: $0.text(0), columns: $0.optionalText(3) ?? "", isUnique: $0.bool(1), condition: condition)
            shape.indexes[index] = .some(nil)
        }
        return shape
    }
}
#endif
