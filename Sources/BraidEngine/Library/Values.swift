/// The Swift values that a table contains, each represented by a number.
///
/// The engine stores, compares and diffs JSON. For a Swift program, the engine's JSON contains a number in place of
/// each model. A row keeps its number while the engine finds its model unchanged. A new, changed or not comparable
/// model gets a new number. The engine's functions for JSON therefore work for any Swift type without a second
/// implementation.
///
/// A command that succeeds retires the numbers that the table no longer uses. The next command that succeeds forgets
/// the retired numbers. Until then, a view can still make the cells of rows that the last update removes. If a command
/// fails, the numbers that it added are forgotten.
final class Values {
    private var values: [Int: Any] = [:]
    private var retired: [Int] = []
    /// The numbers that the last successful command retired and that the next successful command forgets.
    private var outgoing: [Int] = []
    private var added: [Int] = []
    private var next = 1

    /// Stores a Swift value that is new to the table, and returns the number that represents it.
    func add(_ value: Any) -> JSONText {
        defer { next += 1 }
        values[next] = value
        added.append(next)
        return .number(next)
    }

    /// The Swift value that a number represents. `nil` if the number is unknown or forgotten.
    subscript(number: JSONText) -> Any? { Self.integer(number).flatMap { values[$0] } }

    /// Marks a number as no longer used. The mark takes effect only if the running command succeeds.
    func retire(_ number: JSONText) {
        if let number = Self.integer(number) { retired.append(number) }
    }

    /// Returns a number's JSON text as an integer. `nil` if the text cannot be the number of a value.
    private static func integer(_ number: JSONText) -> Int? {
        number.withBytes { digits in
            guard digits.count < 19, digits.allSatisfy(\.isDigit) else { return nil }
            return digits.reduce(0) { 10 * $0 + Int($1 & 0xF) }
        }
    }

    func commit() {
        for number in outgoing { values[number] = nil }
        (outgoing, retired, added) = (retired, [], [])
    }

    /// Forgets a number and its value immediately, instead of at the next command.
    func forget(_ number: JSONText) {
        if let number = Self.integer(number) { values[number] = nil }
    }

    func rollBack() {
        for number in added { values[number] = nil }
        (retired, added) = ([], [])
    }
}

/// A wrapper that lets a `Sendable` type contain a program's closures and values.
///
/// `Confined` is safe because ``TableBinder`` and ``SectionedTableBinder``, which call a program's closures, are not
/// `Sendable`. At any time, only one actor or task can therefore use a binder, and the closures need not be `Sendable`.
struct Confined<Value>: @unchecked Sendable {
    let value: Value
    init(_ value: Value) { self.value = value }
}
