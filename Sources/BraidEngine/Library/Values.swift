/// The Swift values of a table, each represented by a number: the engine stores, compares and diffs JSON, so it works
/// for any Swift type. A row keeps its number while its model is unchanged; a new, changed or incomparable one gets
/// another.
///
/// A command that succeeds retires the numbers that the table no longer uses, and the next one forgets them: until
/// then, a view can still make the cells of rows that the last update removes. A command that fails forgets those that
/// it added.
final class Values {
    private var values: [Int: Any] = [:]
    private var retired: [Int] = []
    /// Retired by the last successful command, forgotten by the next.
    private var outgoing: [Int] = []
    private var added: [Int] = []
    private var next = 1

    func add(_ value: Any) -> JSONText {
        defer { next += 1 }
        values[next] = value
        added.append(next)
        return .number(next)
    }

    /// `nil` if the number is unknown or forgotten.
    subscript(number: JSONText) -> Any? { Self.integer(number).flatMap { values[$0] } }

    /// Takes effect only if the command succeeds.
    func retire(_ number: JSONText) {
        if let number = Self.integer(number) { retired.append(number) }
    }

    /// `nil` for what can be no number of a value.
    private static func integer(_ number: JSONText) -> Int? {
        number.withBytes { Int(digits: $0) }
    }

    func commit() {
        for number in outgoing { values[number] = nil }
        (outgoing, retired, added) = (retired, [], [])
    }

    /// At once, not at the next command.
    func forget(_ number: JSONText) {
        if let number = Self.integer(number) { values[number] = nil }
    }

    func rollBack() {
        for number in added { values[number] = nil }
        (retired, added) = ([], [])
    }
}

/// Lets a `Sendable` type contain a program's closures. Safe, because the binders that call them are not `Sendable`:
/// only one actor or task uses one at a time.
struct Confined<Value>: @unchecked Sendable {
    let value: Value
    init(_ value: Value) { self.value = value }
}
