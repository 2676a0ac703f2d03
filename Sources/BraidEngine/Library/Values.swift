/// A table's Swift values, by the numbers that stand for them: the engine diffs JSON, and so any type. An unchanged
/// model keeps its number; new, changed or incomparable ones get others.
///
/// A command that succeeds retires the numbers no longer used, and the next one forgets them: until then, a view can
/// make the cells of removed rows. One that fails forgets those it added.
final class Values {
    private var values: [Int: Any] = [:]
    private var retired: [Int] = []
    /// Retired by the last successful command; the next one forgets them.
    private var outgoing: [Int] = []
    private var added: [Int] = []
    private var next = 1

    func add(_ value: Any) -> JSONText {
        defer { next += 1 }
        values[next] = value
        added.append(next)
        return .number(next)
    }

    /// `nil` if unknown.
    subscript(number: JSONText) -> Any? { Self.integer(number).flatMap { values[$0] } }

    /// Says that a number is no longer used, if the command succeeds.
    func retire(_ number: JSONText) {
        if let number = Self.integer(number) { retired.append(number) }
    }

    private static func integer(_ number: JSONText) -> Int? {
        number.withBytes { Int(digits: $0) }
    }

    func commit() {
        for number in outgoing { values[number] = nil }
        (outgoing, retired, added) = (retired, [], [])
    }

    /// Forgets a value at once.
    func forget(_ number: JSONText) {
        if let number = Self.integer(number) { values[number] = nil }
    }

    func rollBack() {
        for number in added { values[number] = nil }
        (retired, added) = ([], [])
    }
}

/// Puts a program's closures into `Sendable` types. Safe: the binders that call them are not `Sendable`, so only one
/// actor or task does so at a time.
struct Confined<Value>: @unchecked Sendable {
    let value: Value
    init(_ value: Value) { self.value = value }
}
