import BraidEngine

/// What a stored integer is, and so which values it can have. A database or an archive may be damaged: whoever reads
/// an integer from it checks the range first, so that later arithmetic cannot overflow.
package enum StoredNumber: Sendable {
    /// The number of a session, from 1.
    case session
    /// The same for a kept answer, which can also belong to no session: 0.
    case answeredSession
    /// The version of a table description, from 1.
    case version
    case revision
    /// The key of a row, or the number of a section.
    case key
    /// The key or number that the next row or section gets.
    case nextKey
    /// A number of rows.
    case count
    /// The rank of a row, or the ordinal of a section.
    case place
    /// Milliseconds since 1970.
    case time
    /// The difference of a kept answer's time from that of the newest one.
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

    /// Returns a stored value. Throws `corrupt`, which says `name`, if the value is not in the range.
    package func checked(_ value: Int, _ name: String) throws(StoreError) -> Int {
        if range.contains(value) { return value }
        throw .corrupt("\(name) is \(value), not \(rule)")
    }

    /// What a value must be, for messages: `an integer from 1 to 2147483647`.
    package var rule: String { "an integer from \(range.lowerBound) to \(range.upperBound)" }

    /// An SQL condition: the column's value is in the range.
    package func condition(_ column: String) -> String {
        "\(column) BETWEEN \(range.lowerBound) AND \(range.upperBound)"
    }
}
