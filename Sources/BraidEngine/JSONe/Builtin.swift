/// JSON-e's functions (json-e.js.org/built-ins.html) and our `uuid`.
enum Builtin: String, Sendable, CaseIterable {
    case min, max, sqrt, ceil, floor, abs, range
    case lowercase, uppercase, strip, lstrip, rstrip, split, join
    case len, str, number, typeof, defined, fromNow, uuid

    /// `uuid` needs a context with ids.
    var isEverywhere: Bool { self != .uuid }

    fileprivate var argumentCount: ClosedRange<Int> {
        switch self {
        case .min, .max: 1...Int.max
        case .range: 2...3
        case .split, .join: 2...2
        case .fromNow: 1...2
        case .uuid: 0...0
        default: 1...1
        }
    }

    fileprivate var badArguments: JSONeError { .interpreter("invalid arguments to builtin: \(rawValue)") }

    fileprivate func number(_ operand: Operand) throws(JSONeError) -> JSONeNumber {
        guard let number = try operand.number() else { throw badArguments }
        return number
    }

    fileprivate func string(_ operand: Operand) throws(JSONeError) -> String {
        guard let string = operand.string else { throw badArguments }
        return string
    }

    /// A string or number.
    fileprivate func separator(_ operand: Operand) throws(JSONeError) -> String {
        guard ["string", "number"].contains(operand.typeName), let text = operand.text else { throw badArguments }
        return text
    }
}

extension JSONeEvaluator {
    mutating func call(_ builtin: Builtin, _ arguments: [Operand]) throws(JSONeError) -> Operand {
        guard builtin.argumentCount.contains(arguments.count) else { throw builtin.badArguments }
        // Only `uuid` takes none.
        guard let first = arguments.first else { return try uuid() }
        switch builtin {
        case .min, .max, .sqrt, .ceil, .floor, .abs: return try callOnNumbers(builtin, arguments)
        case .lowercase, .uppercase, .strip, .lstrip, .rstrip, .number: return try callOnString(builtin, first)
        case .range: return try range(arguments)
        case .split: return try split(first, by: arguments[1])
        case .join: return try join(first, by: arguments[1])
        case .len: return try length(first)
        case .str:
            guard let text = first.text else { throw builtin.badArguments }
            try budget.spend(output: text.utf8.count)
            return .string(text)
        case .typeof: return .string(first.typeName)
        case .defined: return .bool(isDefined(try builtin.string(first)))
        case .fromNow:
            let reference = arguments.count > 1 ? try builtin.string(arguments[1]) : ""
            return .string(try fromNow(try builtin.string(first), reference.isEmpty ? nil : .string(reference)))
        case .uuid: return try uuid()
        }
    }

    private mutating func uuid() throws(JSONeError) -> Operand {
        guard let ids = context.ids else { throw .interpreter("unknown context value uuid") }
        // Slower than a usual step.
        try budget.spend(steps: 16)
        try budget.spend(output: 36)
        return .string(ids.next())
    }

    private mutating func callOnNumbers(
        _ builtin: Builtin, _ arguments: [Operand]
    ) throws(JSONeError) -> Operand {
        let first = try builtin.number(arguments[0])
        switch builtin {
        case .min, .max:
            // Returns the operand itself, which keeps its digits; of equal ones, the first.
            var (best, bestNumber) = (arguments[0], first)
            for operand in arguments.dropFirst() {
                let number = try builtin.number(operand)
                if builtin == .min ? number < bestNumber : bestNumber < number {
                    (best, bestNumber) = (operand, number)
                }
            }
            return best
        case .sqrt:
            guard first.double >= 0 else { throw builtin.badArguments }
            return .number(.double(first.double.squareRoot()))
        case .abs: return first.double < 0 ? .number(try first.negated()) : arguments[0]
        default:
            if case .json(.number(let number)) = arguments[0], number.isWholeLexeme { return arguments[0] }
            if case .int = first { return arguments[0] }
            return .number(JSONeNumber(whole: first.double.rounded(builtin == .ceil ? .up : .down)))
        }
    }

    private mutating func callOnString(_ builtin: Builtin, _ operand: Operand) throws(JSONeError) -> Operand {
        let string = try builtin.string(operand)
        try budget.spend(scanning: string.utf8.count)
        if builtin == .number {
            guard let number = string.templateNumber else { throw builtin.badArguments }
            return .number(.double(number))
        }
        let result: String
        switch builtin {
        case .lowercase: result = string.inLowerCase
        case .uppercase: result = string.uppercased()
        default:
            var scalars = string.unicodeScalars[...]
            if builtin != .rstrip { scalars = scalars.drop { $0.isWhitespace } }
            if builtin != .lstrip { while let last = scalars.last, last.isWhitespace { scalars.removeLast() } }
            result = String(scalars)
        }
        try budget.spend(output: result.utf8.count)
        return .string(result)
    }

    private mutating func length(_ operand: Operand) throws(JSONeError) -> Operand {
        switch operand {
        case .json(.array(let elements)): return .int(elements.count)
        case .json(.string(let string)):
            try budget.spend(scanning: string.utf8.count)
            return .int(string.unicodeScalars.count)
        default: throw Builtin.len.badArguments
        }
    }

    private mutating func range(_ arguments: [Operand]) throws(JSONeError) -> Operand {
        var bounds: [Int] = []
        for argument in arguments {
            guard let bound = try argument.number()?.int else { throw Builtin.range.badArguments }
            bounds.append(bound)
        }
        let step = bounds.count > 2 ? bounds[2] : 1
        guard step != 0 else { throw Builtin.range.badArguments }
        let (start, end) = (bounds[0], bounds[1])
        guard step > 0 ? start < end : start > end else { return .json(.array([])) }
        // Always fits into a `UInt`, maybe not into an `Int`.
        let distance =
            step > 0
            ? UInt(bitPattern: end) &- UInt(bitPattern: start)
            : UInt(bitPattern: start) &- UInt(bitPattern: end)
        let count = (distance - 1) / step.magnitude + 1
        try budget.spend(building: Int(clamping: count))
        return .json(.array(stride(from: start, to: end, by: step).map { .number(JSONNumber($0)) }))
    }

    /// As in the reference implementation, an empty separator or 0 splits into characters.
    private mutating func split(_ operand: Operand, by separator: Operand) throws(JSONeError) -> Operand {
        let string = try Builtin.split.string(operand)
        let text = try Builtin.split.separator(separator)
        try budget.spend(scanning: string.utf8.count + text.utf8.count)
        try budget.spend(output: string.utf8.count)
        let parts =
            separator.isTruthy
            ? string.split(separatedBy: text) : string.unicodeScalars.map { String($0) }
        try budget.spend(building: parts.count)
        return .json(.array(parts.map { .string($0) }))
    }

    private mutating func join(_ operand: Operand, by separator: Operand) throws(JSONeError) -> Operand {
        let separator = try Builtin.join.separator(separator)
        guard case .json(.array(let elements)) = operand else { throw Builtin.join.badArguments }
        try budget.spend(reading: elements.count)
        var joined = ""
        for (position, element) in elements.enumerated() {
            if case .number(let number) = element { try budget.spend(parsing: number) }
            guard let text = element.templateText else { throw Builtin.join.badArguments }
            try budget.spend(output: text.utf8.count + separator.utf8.count)
            if position > 0 { joined += separator }
            joined += text
        }
        return .string(joined)
    }
}
