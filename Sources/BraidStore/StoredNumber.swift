import BraidEngine

/// What a stored integer is, and so its range. A database or an archive may be damaged: check each integer that is read
/// from it, so that later arithmetic cannot overflow.
package enum StoredNumber: Sendable {
    case session
    /// As `session`, or 0: an answer to a request that opens a session belongs to none.
    case answeredSession
    /// Of a table description.
    case version
    case revision
    /// Of a row, or the number of a section.
    case key
    /// The key or number that the next row or section gets.
    case nextKey
    /// Of rows.
    case count
    /// The rank of a row, or the ordinal of a section.
    case place
    /// Milliseconds since 1970.
    case time
    /// A kept answer's time minus that of the newest one.
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

    /// The largest integer that every JSON reader reads exactly.
    private static let largest = 1 << 53
    private static let times =
        Instant(millisecondsSince1970: .min)
        .millisecondsSince1970...Instant(millisecondsSince1970: .max)
        .millisecondsSince1970

    /// Throws `corrupt`, with `name`, for a value outside the range.
    package func checked(_ value: Int, _ name: String) throws(StoreError) -> Int {
        if range.contains(value) { return value }
        throw .corrupt("\(name) is \(value), not \(rule)")
    }

    /// For messages: `an integer from 1 to 2147483647`.
    package var rule: String { "an integer from \(range.lowerBound) to \(range.upperBound)" }

    /// In SQL: the column's value is in the range.
    package func condition(_ column: String) -> String {
        "\(column) BETWEEN \(range.lowerBound) AND \(range.upperBound)"
    }
}

/// The integer keys of SQLite's tables of rows, sections and journal records: a session's number, and in the low 32
/// bits the number of a row, a section or a revision in that session.
package enum Key {
    static let bits = 32
    package static let largest = 1 << bits - 1
    /// Its keys do not overflow.
    package static let largestSession = Int(Int32.max)

    static func of(_ session: Int, _ number: Int) -> Int { session << bits | number }

    static func all(of session: Int) -> ClosedRange<Int> { of(session, 0)...of(session, largest) }

    static func number(in key: Int) -> Int { key & largest }
}
