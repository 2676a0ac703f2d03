import Synchronization

/// Limits rendering, so that no template blocks or exhausts the server.
///
/// - Steps bound time: one per node, per 16 values or 256 bytes walked over, per 8 digits of a long number; literals
///   cost none, some operations more.
/// - Output bounds memory, in bytes: built texts, 16 per built element or member, and the whole result once more.
///
/// Renderings can share one, one after another.
public struct JSONeBudget: Sendable {
    /// For further renderings.
    public private(set) var remainingSteps: Int
    /// For further renderings, in bytes.
    public private(set) var remainingOutput: Int

    /// Of built values; the parser's default.
    static let maximumDepth = 128
    /// Besides its text.
    static let bytesPerValue = 16

    /// Creates a budget.
    public init(steps: Int = 100_000, output: Int = 8_000_000) {
        remainingSteps = steps
        remainingOutput = output
    }

    @inline(__always)
    mutating func spend(steps: Int = 1) throws(JSONeError) {
        guard steps <= remainingSteps else { throw exceeded(\.remainingSteps, "steps") }
        remainingSteps -= steps
    }

    @inline(__always)
    mutating func spend(output bytes: Int) throws(JSONeError) {
        guard bytes <= remainingOutput else { throw exceeded(\.remainingOutput, "output") }
        remainingOutput -= bytes
    }

    mutating func spend(reading values: Int) throws(JSONeError) { try spend(steps: values / 16) }

    mutating func spend(scanning bytes: Int) throws(JSONeError) { try spend(steps: bytes / 256) }

    /// A long number is parsed at each use.
    mutating func spend(parsing number: JSONNumber) throws(JSONeError) {
        let length = number.lexeme.utf8.count
        if length > 32 { try spend(steps: length / 8) }
    }

    /// Elements or members.
    mutating func spend(building values: Int) throws(JSONeError) {
        try spend(reading: values)
        let (bytes, overflow) = values.multipliedReportingOverflow(by: Self.bytesPerValue)
        try spend(output: overflow ? .max : bytes)
    }

    /// At 0, a shared budget stays exceeded.
    private mutating func exceeded(_ what: WritableKeyPath<JSONeBudget, Int>, _ name: String) -> JSONeError {
        self[keyPath: what] = 0
        return JSONeError(.budget, "the template exceeds its budget of \(name)")
    }
}

extension JSONeBudget {
    /// Checks a built value's expanded size and depth before it gets a name or is returned: values are shared, so `[a,
    /// a]` is cheap, but each level doubles a reader's cost. A result (`counting`) is paid for and must contain no
    /// function. O(expanded size), up to the budget.
    mutating func admit(_ value: JSONValue, counting: Bool) throws(JSONeError) {
        var bytes = 0, values = 0
        try measure(value, 0, &bytes, &values, isResult: counting)
        try spend(reading: values)
        if counting { try spend(output: bytes) }
    }

    private mutating func measure(
        _ value: JSONValue, _ depth: Int, _ bytes: inout Int, _ values: inout Int, isResult: Bool
    ) throws(JSONeError) {
        values += 1
        bytes += Self.bytesPerValue
        switch value {
        case .number(let number):
            if isResult, number.function != nil { throw .function(number.lexeme) }
            // 16 are paid for with the value.
            bytes += max(0, number.lexeme.utf8.count - Self.bytesPerValue)
        case .null, .bool: return
        case .string(let string): bytes += string.utf8.count
        case .array(let elements):
            try checkNesting(depth, bytes, values)
            for element in elements { try measure(element, depth + 1, &bytes, &values, isResult: isResult) }
        case .object(let object):
            try checkNesting(depth, bytes, values)
            for (name, member) in object.members {
                bytes += name.utf8.count
                try measure(member, depth + 1, &bytes, &values, isResult: isResult)
            }
        }
    }

    private mutating func checkNesting(_ depth: Int, _ bytes: Int, _ values: Int) throws(JSONeError) {
        guard depth < Self.maximumDepth else {
            throw JSONeError(.budget, "the template builds a value nested deeper than \(Self.maximumDepth)")
        }
        guard bytes <= remainingOutput else { throw exceeded(\.remainingOutput, "output") }
        guard values / 16 <= remainingSteps else { throw exceeded(\.remainingSteps, "steps") }
    }
}

/// For several renderings together, besides their own budgets.
final class SharedJSONeBudget: Sendable {
    private let left: Mutex<(steps: Int, output: Int)>

    init(steps: Int, output: Int) { left = Mutex((steps, output)) }

    func add(steps: Int, output: Int) {
        left.withLock { $0 = ($0.steps.saturatingAdd(steps), $0.output.saturatingAdd(output)) }
    }

    /// The default, or what is left if less.
    var budget: JSONeBudget {
        let whole = JSONeBudget()
        return left.withLock { left in
            JSONeBudget(
                steps: min(whole.remainingSteps, max(0, left.steps)),
                output: min(whole.remainingOutput, max(0, left.output)))
        }
    }

    /// False, taking nothing, if less is left.
    func take(output bytes: Int) -> Bool {
        left.withLock { left in
            guard bytes <= left.output else { return false }
            left.output -= bytes
            return true
        }
    }

    /// Takes what a rendering used: `whole` before, `budget` after.
    func charge(_ budget: JSONeBudget, of whole: JSONeBudget) {
        left.withLock { left in
            left.steps -= whole.remainingSteps - budget.remainingSteps
            left.output -= whole.remainingOutput - budget.remainingOutput
        }
    }
}

extension Int {
    func saturatingAdd(_ other: Int) -> Int {
        let (sum, overflow) = addingReportingOverflow(other)
        return overflow ? .max : sum
    }
}
