#if PostgreSQL
import BraidEngine
import BraidStore

/// Reads, those of one moment as one transaction in one round trip. Writes are `PostgresStatement`s, which the writer
/// collects.
struct PostgresQueries {
    let db: PostgresConnection
}

extension PostgresRow: StoredColumns {}

extension JSONText: SQLValue {
    func encode(into bytes: inout [UInt8]) { withBytes { bytes.append(contentsOf: $0) } }
}

extension PostgresStatement.StringInterpolation {
    mutating func appendInterpolation(_ value: JSONText?) { append(value, "::text") }

    mutating func appendInterpolation(_ values: [JSONText?]) { append(values, .text, "::text[]") }
}
#endif
