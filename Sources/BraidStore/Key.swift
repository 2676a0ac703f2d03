/// The integer keys of the SQLite tables that contain rows, sections or journal records, such as `model`. Such a key
/// combines the session's number with a number within the session: of a row, a section or a revision. Each of the two
/// numbers has 32 bits.
package enum Key {
    static let bits = 32
    package static let largest = 1 << bits - 1
    /// The largest number of a session, whose keys do not overflow.
    package static let largestSession = Int(Int32.max)

    static func of(_ session: Int, _ number: Int) -> Int { session << bits | number }

    /// Returns the range of all keys that can belong to the rows, sections or revisions of a session.
    static func all(of session: Int) -> ClosedRange<Int> { of(session, 0)...of(session, largest) }

    static func number(in key: Int) -> Int { key & largest }
}
