/// The limit of what rendering may cost. It ensures that no template can block or exhaust the server.
///
/// - Steps bound the time: one for each node that is evaluated, one for each 16 values or 256 bytes that a node walks
///   over, and one for each 8 digits of a long number that it uses.
/// - Output bounds the memory, in bytes: the bytes of every text, 16 for every value that is built, and the whole result
///   once more.
///
/// Several renderings can share one budget, one after another.
public struct TemplateBudget: Sendable {
    /// The number of steps that are left.
    public private(set) var remainingSteps: Int
    /// The number of bytes of output that are left.
    public private(set) var remainingOutput: Int

    /// Values deeper than this are not built: it is the limit of depth for JSON that comes in.
    static let maximumDepth = 128
    /// What one value counts for in the output, beside the bytes of its text.
    static let bytesPerValue = 16

    /// Creates a budget.
    ///
    /// - Parameters:
    ///   - steps: the number of steps. The default lasts for about 10 ms.
    ///   - output: the number of bytes of output.
    public init(steps: Int = 100_000, output: Int = 8_000_000) {
        remainingSteps = steps
        remainingOutput = output
    }

    @inline(__always)
    mutating func spend(steps: Int = 1) throws(TemplateError) {
        guard steps <= remainingSteps else { throw exceeded(\.remainingSteps, "steps") }
        remainingSteps -= steps
    }

    @inline(__always)
    mutating func spend(output bytes: Int) throws(TemplateError) {
        guard bytes <= remainingOutput else { throw exceeded(\.remainingOutput, "output") }
        remainingOutput -= bytes
    }

    /// For an operation that reads so many values.
    mutating func spend(reading values: Int) throws(TemplateError) { try spend(steps: values / 16) }

    /// For an operation that reads so many bytes of text.
    mutating func spend(scanning bytes: Int) throws(TemplateError) { try spend(steps: bytes / 256) }

    /// For an operation that builds an array or object of so many members.
    mutating func spend(building values: Int) throws(TemplateError) {
        try spend(reading: values)
        let (bytes, overflow) = values.multipliedReportingOverflow(by: Self.bytesPerValue)
        try spend(output: overflow ? .max : bytes)
    }

    /// What is left becomes nothing, so that a budget which is shared stays exceeded.
    private mutating func exceeded(_ what: WritableKeyPath<TemplateBudget, Int>, _ name: String) -> TemplateError {
        self[keyPath: what] = 0
        return TemplateError(.budget, "the template exceeds its budget of \(name)")
    }
}

extension TemplateBudget {
    /// Walks a value that was built out of others, before it is named or handed out. Values are shared, so
    /// `[a, a]` of `[a, a]` costs nothing to build, but doubles with each turn when somebody reads it: its size is
    /// checked here, as is its depth. Only results are counted as output. O(size), never beyond the budget.
    mutating func admit(_ value: JSONValue, counting: Bool) throws(TemplateError) {
        var bytes = 0, values = 0
        try measure(value, 0, &bytes, &values)
        try spend(reading: values)
        if counting { try spend(output: bytes) }
    }

    private mutating func measure(
        _ value: JSONValue, _ depth: Int, _ bytes: inout Int, _ values: inout Int
    ) throws(TemplateError) {
        values += 1
        bytes += Self.bytesPerValue
        switch value {
        case .null, .bool, .number: return
        case .string(let string): bytes += string.utf8.count
        case .array(let elements):
            try checkNesting(depth, bytes, values)
            for element in elements { try measure(element, depth + 1, &bytes, &values) }
        case .object(let object):
            try checkNesting(depth, bytes, values)
            for (name, member) in object.members {
                bytes += name.utf8.count
                try measure(member, depth + 1, &bytes, &values)
            }
        }
    }

    private mutating func checkNesting(_ depth: Int, _ bytes: Int, _ values: Int) throws(TemplateError) {
        guard depth < Self.maximumDepth else {
            throw TemplateError(.budget, "the template builds a value nested deeper than \(Self.maximumDepth)")
        }
        guard bytes <= remainingOutput else { throw exceeded(\.remainingOutput, "output") }
        guard values / 16 <= remainingSteps else { throw exceeded(\.remainingSteps, "steps") }
    }
}
