/// The prepared statements that a connection keeps, by their SQL.
///
/// It holds at most `capacity` statements: a new one replaces the one that was not used for the longest time.
struct SQLiteStatementCache {
    private var statements: [Key: SQLiteStatement] = [:]
    private let capacity: Int
    private var takes: UInt = 0

    init(capacity: Int) { self.capacity = capacity }

    var count: Int { statements.count }

    /// - Complexity: O(1) for a literal, which has the same address each time; otherwise O(length of the SQL).
    @inline(__always)
    mutating func statement(for sql: String) -> SQLiteStatement? {
        guard let statement = statements[Key(sql: sql)] else { return nil }
        takes &+= 1
        statement.lastUse = takes
        return statement
    }

    /// - Complexity: O(capacity) if the cache is full.
    mutating func insertIfMissing(_ statement: SQLiteStatement, for sql: String) {
        let key = Key(sql: sql)
        guard capacity > 0, statements[key] == nil else { return }
        if statements.count >= capacity, let oldest = statements.min(by: { $0.value.lastUse < $1.value.lastUse })?.key {
            statements[oldest] = nil
        }
        takes &+= 1
        statement.lastUse = takes
        statements[key] = statement
    }

    mutating func removeAll() { statements = [:] }

    /// A statement's text, with a hash of four words of it. The whole text would take longer to hash than a short
    /// statement takes to run. Equality compares the whole text.
    private struct Key: Hashable {
        let sql: String

        @inline(__always)
        func hash(into hasher: inout Hasher) {
            let count = sql.utf8.count
            hasher.combine(count)
            _ = sql.utf8.withContiguousStorageIfAvailable { text in
                let bytes = UnsafeRawBufferPointer(text)
                guard count >= 8 else { return hasher.combine(bytes: bytes) }
                for quarter in 1...4 {
                    hasher.combine(
                        bytes.loadUnaligned(fromByteOffset: (count - 8) * quarter / 4, as: UInt64.self))
                }
            }
        }
    }
}
