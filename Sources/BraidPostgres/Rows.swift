#if PostgreSQL
import BraidEngine
import BraidStore
internal import CPostgreSQL

/// The result rows of a statement, in PostgreSQL's binary format.
final class Rows {
    fileprivate let result: OpaquePointer

    /// Creates the rows from a libpq result (`PGresult`). This object frees the result when it is released.
    init(result: OpaquePointer) { self.result = result }

    deinit { PQclear(result) }

    var count: Int { Int(PQntuples(result)) }

    /// PostgreSQL's command tag of the executed statement, such as `COMMIT`. The tag of a COMMIT is `ROLLBACK` if
    /// nothing was committed.
    var command: String { PQcmdStatus(result).map { String(cString: $0) } ?? "" }

    var first: Columns? { count > 0 ? Columns(rows: self, row: 0) : nil }

    func forEach(_ body: (Columns) throws -> Void) rethrows {
        for row in 0..<PQntuples(result) { try body(Columns(rows: self, row: row)) }
    }

    func map<Value>(_ body: (Columns) throws -> Value) rethrows -> [Value] {
        var values: [Value] = []
        values.reserveCapacity(count)
        try forEach { values.append(try body($0)) }
        return values
    }
}

/// The columns of one result row, which count from 0. A string is in a `text` column, or in a `bytea` column that
/// contains UTF-8.
struct Columns: StoredColumns {
    fileprivate let rows: Rows
    fileprivate let row: CInt

    var count: Int { Int(PQnfields(rows.result)) }

    /// Returns the value of a `bigint` column of this row.
    func int(_ column: CInt) -> Int {
        let bytes = bytes(column)
        return bytes.count == 8 ? Int(Int64(bigEndian: bytes.loadUnaligned(as: Int64.self))) : 0
    }

    func bool(_ column: CInt) -> Bool { bytes(column).first == 1 }

    func isNull(_ column: CInt) -> Bool { PQgetisnull(rows.result, row, column) == 1 }

    /// Returns the bytes of a column of this row. The bytes are valid as long as the `Rows` object of the row exists.
    func bytes(_ column: CInt) -> UnsafeRawBufferPointer {
        UnsafeRawBufferPointer(
            start: PQgetvalue(rows.result, row, column), count: Int(PQgetlength(rows.result, row, column)))
    }
}
#endif
