import BraidEngine

/// The kind and so the range of a stored integer. Check what a database or an archive returns: a damaged one could
/// overflow later arithmetic.
package enum StoredNumber: Sendable {
    case session
    /// Or 0: a request that opens a session, no session yet, or a token for several.
    case answeredSession
    /// Of a table description.
    case version
    case revision
    /// Of a row, or the number of a section.
    case key
    case nextKey
    /// Of rows.
    case count
    /// The rank of a row, or the ordinal of a section.
    case place
    /// Milliseconds since 1970.
    case time
    /// Of an answer: its time minus the newest one's.
    case age
    case bytes
    case hash
    /// Seconds, from a minute to a year.
    case unusedLimit

    package var range: ClosedRange<Int> {
        switch self {
        case .session: 1...Key.largestSession
        case .answeredSession: 0...Key.largestSession
        case .version: 1...Self.largest
        case .revision, .key, .count: 0...Key.largest
        case .nextKey: 1...Key.largest
        case .place: StoredSection.places
        case .time: Self.times
        case .age: Self.times.lowerBound - Self.times.upperBound...0
        case .bytes: 0...Self.largest
        case .hash: .min...(.max)
        case .unusedLimit: 60...31_536_000
        }
    }

    /// The largest that every JSON reader reads exactly.
    private static let largest = 1 << 53
    private static let times =
        Instant(millisecondsSince1970: .min)
        .millisecondsSince1970...Instant(millisecondsSince1970: .max)
        .millisecondsSince1970

    package func checked(_ value: Int, _ name: String) throws(StoreError) -> Int {
        if range.contains(value) { return value }
        throw .corrupt("\(name) is \(value), not \(rule)")
    }

    package var rule: String { "an integer from \(range.lowerBound) to \(range.upperBound)" }

    /// An SQL condition.
    package func condition(_ column: String) -> String {
        "\(column) BETWEEN \(range.lowerBound) AND \(range.upperBound)"
    }
}

/// SQLite's keys of rows, sections and journal records: the session's number, and in the low 32 bits the number in
/// it.
package enum Key {
    static let bits = 32
    /// 2^32 − 1: `<<` binds tighter than `-`.
    package static let largest = 1 << bits - 1
    /// So that a key fits into 64 bits.
    package static let largestSession = Int(Int32.max)

    static func of(_ session: Int, _ number: Int) -> Int { session << bits | number }

    static func all(of session: Int) -> ClosedRange<Int> { of(session, 0)...of(session, largest) }

    static func number(in key: Int) -> Int { key & largest }
}
