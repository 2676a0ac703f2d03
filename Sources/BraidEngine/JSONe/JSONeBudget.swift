import Synchronization

/// The limit on the cost of rendering JSON-e templates, so that no template can block or exhaust the server.
///
/// - Steps bound the time: one for each node of a template or expression that is evaluated, one for each 16 values or
///   256 bytes that a node walks over, and one for each 8 digits of a long number that a node uses. Literal parts of a
///   template cost no steps, and some operations, such as `uuid()`, cost further steps.
/// - Output bounds the memory, in bytes: the length of built texts, 16 for each element or member of built arrays and
///   objects, and the size of the whole result once more.
///
/// Several renderings can share one budget, one after another.
public struct JSONeBudget: Sendable {
    /// The number of steps that renderings may still take.
    public private(set) var remainingSteps: Int
    /// The number of bytes of output that renderings may still build.
    public private(set) var remainingOutput: Int

    /// The maximum depth of values that a template builds: the same as the parser's default limit of depth.
    static let maximumDepth = 128
    /// The number of output bytes that each built value costs, in addition to the bytes of its text.
    static let bytesPerValue = 16

    /// Creates a budget.
    ///
    /// - Parameters:
    ///   - steps: the number of steps.
    ///   - output: the number of bytes of output.
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

    /// Charges one step for each 16 values that an operation reads.
    mutating func spend(reading values: Int) throws(JSONeError) { try spend(steps: values / 16) }

    /// Charges one step for each 256 bytes of text that an operation reads.
    mutating func spend(scanning bytes: Int) throws(JSONeError) { try spend(steps: bytes / 256) }

    /// Charges extra steps for a long number, because the number's digits are parsed again at each use.
    mutating func spend(parsing number: JSONNumber) throws(JSONeError) {
        let length = number.lexeme.utf8.count
        if length > 32 { try spend(steps: length / 8) }
    }

    /// Charges steps and output for an operation that builds an array or object. `values` is the number of its elements
    /// or members.
    mutating func spend(building values: Int) throws(JSONeError) {
        try spend(reading: values)
        let (bytes, overflow) = values.multipliedReportingOverflow(by: Self.bytesPerValue)
        try spend(output: overflow ? .max : bytes)
    }

    /// Returns the error for an exceeded limit. Sets the limit to 0, so that a shared budget stays exceeded.
    private mutating func exceeded(_ what: WritableKeyPath<JSONeBudget, Int>, _ name: String) -> JSONeError {
        self[keyPath: what] = 0
        return JSONeError(.budget, "the template exceeds its budget of \(name)")
    }
}

extension JSONeBudget {
    /// Checks the size and depth of a value that a template built from other values, before the value gets a name or is
    /// returned.
    ///
    /// Values are shared, so `[a, a]` costs little to build. If `a` is itself `[b, b]` and so on, each level doubles
    /// the cost for a reader of the value. `admit` therefore checks the expanded size and the depth of the value.
    ///
    /// - Parameter counting: whether the value is the result of a whole template or expression. The bytes of a result
    ///   are charged to the output, and a result must not contain functions.
    /// - Complexity: O(expanded size). The walk stops at the first array or object at which the budget is exceeded.
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
            // A number of at most 16 characters costs no further bytes, because each value already costs 16 bytes.
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

/// The limit on the cost of several renderings together. Each rendering also has its own ``JSONeBudget``.
///
/// The shared limit bounds a template that is cheap once but is rendered for a hundred thousand rows.
final class SharedJSONeBudget: Sendable {
    private let left: Mutex<(steps: Int, output: Int)>

    init(steps: Int, output: Int) { left = Mutex((steps, output)) }

    /// Raises the shared limits by a number of steps and a number of bytes of output.
    func add(steps: Int, output: Int) {
        left.withLock { $0 = ($0.steps.saturatingAdd(steps), $0.output.saturatingAdd(output)) }
    }

    /// The budget for the next rendering: the default budget, or what remains of the shared limit if that is smaller.
    var budget: JSONeBudget {
        let whole = JSONeBudget()
        return left.withLock { left in
            JSONeBudget(
                steps: min(whole.remainingSteps, max(0, left.steps)),
                output: min(whole.remainingOutput, max(0, left.output)))
        }
    }

    /// Subtracts output from the shared limit. Returns false and subtracts nothing if less is left.
    func take(output bytes: Int) -> Bool {
        left.withLock { left in
            guard bytes <= left.output else { return false }
            left.output -= bytes
            return true
        }
    }

    /// Subtracts from the shared limit what a rendering has used of its own budget. `whole` is the rendering's own
    /// budget before the rendering, and `budget` is what remains of this budget.
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
