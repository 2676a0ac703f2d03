/// Prepared statements by their SQL. When full, a new statement replaces the least recently used.
struct SQLiteStatementCache {
    private var chains: [SQLiteStatement?]
    private(set) var count = 0
    private let capacity: Int
    private var takes: UInt = 0

    private static var chainCount: Int { 256 }

    init(capacity: Int) {
        self.capacity = capacity
        chains = Array(repeating: nil, count: Self.chainCount)
    }

    /// - Complexity: O(1) for a string literal, which keeps its address; otherwise O(length of the SQL).
    @inline(__always)
    mutating func statement(for sql: String) -> SQLiteStatement? {
        var next = chains[Self.chain(of: sql)]
        while let statement = next {
            if statement.sql == sql {
                takes &+= 1
                statement.lastUse = takes
                return statement
            }
            next = statement.next
        }
        return nil
    }

    mutating func insertIfMissing(_ statement: SQLiteStatement) {
        guard capacity > 0, self.statement(for: statement.sql) == nil else { return }
        if count >= capacity { removeOldest() }
        takes &+= 1
        statement.lastUse = takes
        let chain = Self.chain(of: statement.sql)
        statement.next = chains[chain]
        chains[chain] = statement
        count += 1
    }

    private mutating func removeOldest() {
        let kept = all.sorted { $0.lastUse > $1.lastUse }.dropLast()
        removeAll()
        for statement in kept {
            let chain = Self.chain(of: statement.sql)
            statement.next = chains[chain]
            chains[chain] = statement
            count += 1
        }
    }

    private var all: [SQLiteStatement] {
        chains.flatMap { Array(sequence(first: $0, next: { $0?.next }).prefix { $0 != nil }).compactMap { $0 } }
    }

    mutating func removeAll() {
        for statement in all { statement.next = nil }
        chains = Array(repeating: nil, count: Self.chainCount)
        count = 0
    }

    /// Length and four words: faster than a whole long text.
    @inline(__always)
    private static func chain(of sql: String) -> Int {
        let count = sql.utf8.count
        var hash = UInt64(truncatingIfNeeded: count)
        guard count >= 8 else { return count }
        _ = sql.utf8.withContiguousStorageIfAvailable { text in
            let bytes = UnsafeRawBufferPointer(text)
            for quarter in 1...4 {
                let word = bytes.loadUnaligned(fromByteOffset: (count - 8) * quarter / 4, as: UInt64.self)
                hash = (hash ^ word) &* 0x9E37_79B9_7F4A_7C15
                hash ^= hash >> 32
            }
        }
        return Int(truncatingIfNeeded: hash % UInt64(chainCount))
    }
}
