#if PostgreSQL
internal import CPostgreSQL

/// A statement's result, in PostgreSQL's binary format.
final class PostgresRows {
    fileprivate let result: OpaquePointer

    /// Takes `result` over, and frees it.
    init(result: OpaquePointer) { self.result = result }

    deinit { PQclear(result) }

    var count: Int { Int(PQntuples(result)) }

    /// `ROLLBACK` for a COMMIT that committed nothing.
    var command: String { PQcmdStatus(result).map { String(cString: $0) } ?? "" }

    var first: PostgresRow? { count > 0 ? PostgresRow(rows: self, row: 0) : nil }

    func forEach(_ body: (PostgresRow) throws -> Void) rethrows {
        for row in 0..<PQntuples(result) { try body(PostgresRow(rows: self, row: row)) }
    }

    func map<Value>(_ body: (PostgresRow) throws -> Value) rethrows -> [Value] {
        var values: [Value] = []
        values.reserveCapacity(count)
        try forEach { values.append(try body($0)) }
        return values
    }
}

/// Columns count from 0. A string is a `text`, or a `bytea` of UTF-8.
struct PostgresRow {
    fileprivate let rows: PostgresRows
    fileprivate let row: CInt

    var count: Int { Int(PQnfields(rows.result)) }

    /// The value of a `bigint`, 0 for NULL.
    func int(_ column: CInt) -> Int {
        let bytes = bytes(column)
        return bytes.count == 8 ? Int(Int64(bigEndian: bytes.loadUnaligned(as: Int64.self))) : 0
    }

    func bool(_ column: CInt) -> Bool { bytes(column).first == 1 }

    func isNull(_ column: CInt) -> Bool { PQgetisnull(rows.result, row, column) == 1 }

    /// Valid as long as the `PostgresRows`.
    func bytes(_ column: CInt) -> UnsafeRawBufferPointer {
        UnsafeRawBufferPointer(
            start: PQgetvalue(rows.result, row, column), count: Int(PQgetlength(rows.result, row, column)))
    }
}
#endif
