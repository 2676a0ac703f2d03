/// Swift values that stand in a table, each by a number.
///
/// The engine stores, compares and diffs JSON. A program's model stands in it as a number of its own: a row whose model
/// did not change keeps its number, and a new number means a changed model. So whatever the engine does for JSON it
/// does for any Swift type, without a second implementation.
///
/// Numbers that went out of use are retired. They are forgotten by the command after the one that retired them, so that
/// a view can still make the cells of rows that the last update takes away. Numbers that a command added are forgotten
/// if it fails.
final class Values {
    private var values: [Int: Any] = [:]
    private var retired: [Int] = []
    /// Retired by the last command that succeeded.
    private var outgoing: [Int] = []
    private var added: [Int] = []
    private var next = 1

    /// A number for a value that the table does not know yet.
    func add(_ value: Any) -> JSONText {
        defer { next += 1 }
        values[next] = value
        added.append(next)
        return .number(next)
    }

    /// The value that stands behind a number.
    subscript(number: JSONText) -> Any? { Self.integer(number).flatMap { values[$0] } }

    /// The number is of no more use, if the command under way succeeds.
    func retire(_ number: JSONText) {
        if let number = Self.integer(number) { retired.append(number) }
    }

    /// Nil for what is no number of a value.
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

    /// Forgets a number at once.
    func forget(_ number: JSONText) {
        if let number = Self.integer(number) { values[number] = nil }
    }

    func rollBack() {
        for number in added { values[number] = nil }
        (retired, added) = ([], [])
    }
}

/// What a program gives its binder stays with it: binders that run closures are not `Sendable`, so that these closures
/// are called where the program made them, and need not be `Sendable` either.
struct Confined<Value>: @unchecked Sendable {
    let value: Value
    init(_ value: Value) { self.value = value }
}
