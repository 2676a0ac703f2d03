/// Keys from the session's number and a number within the session: of a row, a section, or a revision. Each number has
/// 32 bits.
package enum Key {
    static let bits = 32
    package static let largest = 1 << bits - 1

    static func of(_ session: Int, _ number: Int) -> Int { session << bits | number }

    /// Returns all keys that belong to a session.
    static func all(of session: Int) -> ClosedRange<Int> { of(session, 0)...of(session, largest) }

    static func number(in key: Int) -> Int { key & largest }
}
