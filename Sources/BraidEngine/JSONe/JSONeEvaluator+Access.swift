/// Evaluation of what can follow a value: `.name`, `[index]`, `[from:to]`, `(arguments)`
/// (json-e.js.org/expressions.html, "Object Property Access", "Array and String Indexing and Slicing", "Function
/// Invocation").
extension JSONeEvaluator {
    mutating func access(_ base: ExpressionNode, _ accesses: [ExpressionAccess]) throws(JSONeError) -> Operand {
        var value = try evaluate(base)
        for access in accesses {
            switch access {
            case .member(let name): value = try member(name, of: value)
            case .index(let index): value = try element(try evaluate(index), of: value)
            case .slice(let from, let to): value = try slice(of: value, from, to)
            case .call(let arguments): value = try call(value, arguments)
            }
        }
        return value
    }

    private func member(_ name: String, of value: Operand) throws(JSONeError) -> Operand {
        guard case .json(.object(let object)) = value else { throw .interpreter("infix: . expects objects") }
        guard let member = object[name] else { throw .interpreter("object has no property \"\(name)\"") }
        return Operand(member)
    }

    private mutating func call(_ value: Operand, _ nodes: [ExpressionNode]) throws(JSONeError) -> Operand {
        guard case .function(let builtin) = value else {
            throw .interpreter("\(value.text ?? "the \(value.typeName)") is not callable")
        }
        var arguments: [Operand] = []
        arguments.reserveCapacity(nodes.count)
        for node in nodes { arguments.append(try evaluate(node)) }
        return try call(builtin, arguments)
    }

    /// Evaluates `value[index]`. A missing member of an object is `null`. Negative indices count from the end, and an
    /// index beyond either end is an error.
    private mutating func element(_ index: Operand, of value: Operand) throws(JSONeError) -> Operand {
        switch value {
        case .json(.object(let object)):
            guard let name = index.string else { throw .interpreter("object keys must be strings") }
            try budget.spend(scanning: name.utf8.count)
            return Operand(object[name] ?? .null)
        case .json(.array(let elements)):
            return Operand(elements[try position(index, in: elements.count)])
        case .json(.string(let string)):
            try budget.spend(scanning: string.utf8.count)
            let scalars = string.unicodeScalars
            let position = try position(index, in: scalars.count)
            return .string(String(scalars[scalars.index(scalars.startIndex, offsetBy: position)]))
        default: throw .interpreter("infix: \"[..]\" expects object, array, or string")
        }
    }

    private func position(_ index: Operand, in count: Int) throws(JSONeError) -> Int {
        guard let index = try index.number()?.int else {
            throw .interpreter("should only use integers to access arrays or strings")
        }
        guard index < count, index >= -count else { throw .interpreter("index out of bounds") }
        return index < 0 ? index + count : index
    }

    /// Evaluates `value[from:to]`. Clamps both bounds to the ends. For an object, `[name:]` means the same as `[name]`,
    /// as in JSON-e's reference implementation.
    private mutating func slice(
        of value: Operand, _ from: ExpressionNode?, _ to: ExpressionNode?
    ) throws(JSONeError) -> Operand {
        let from = if let from { try evaluate(from) } else { Operand.int(0) }
        let to = if let to { try evaluate(to) } else { Operand.json(.null) }
        switch value {
        case .json(.array(let elements)):
            let range = try range(from, to, in: elements.count)
            try budget.spend(building: range.count)
            return .json(.array(Array(elements[range])))
        case .json(.string(let string)):
            try budget.spend(scanning: string.utf8.count)
            let scalars = string.unicodeScalars
            let range = try range(from, to, in: scalars.count)
            let start = scalars.index(scalars.startIndex, offsetBy: range.lowerBound)
            let part = String(scalars[start..<scalars.index(start, offsetBy: range.count)])
            try budget.spend(output: part.utf8.count)
            return .string(part)
        default: return try element(from, of: value)
        }
    }

    private func range(_ from: Operand, _ to: Operand, in count: Int) throws(JSONeError) -> Range<Int> {
        func bound(_ operand: Operand, _ missing: Int) throws(JSONeError) -> Int {
            if case .json(.null) = operand { return missing }
            guard let index = try operand.number()?.int else {
                throw .interpreter("cannot perform interval access with non-integers")
            }
            return index < 0 ? max(0, index + count) : min(index, count)
        }
        let start = try bound(from, 0)
        return start..<max(start, try bound(to, count))
    }
}
