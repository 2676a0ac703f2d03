#if PostgreSQL
import BraidEngine
import BraidStore

/// Braid's reads over one connection. Statements that must see one moment are one transaction in one round trip. The
/// writes are `PostgresStatement`s, which the writer collects.
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
