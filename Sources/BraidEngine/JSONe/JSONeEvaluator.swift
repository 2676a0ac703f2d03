/// Evaluates expressions in a rendering's state: context, local names (`$let`), budget.
struct JSONeEvaluator {
    let context: JSONeContext
    var budget: JSONeBudget
    /// Innermost last; shared, not copied.
    var locals: [(name: String, value: JSONValue)] = []

    init(_ context: consuming JSONeContext, _ budget: JSONeBudget) {
        self.context = context
        self.budget = budget
    }

    func value(of name: String) -> JSONValue? {
        locals.last { $0.name == name }?.value ?? context[name]
    }

    func isDefined(_ name: String) -> Bool {
        locals.contains { $0.name == name } || context.contains(name) || builtin(name) != nil
    }

    private func builtin(_ name: String) -> Builtin? {
        Builtin(rawValue: name).flatMap { $0.isEverywhere || context.ids != nil ? $0 : nil }
    }

    mutating func evaluate(_ node: ExpressionNode) throws(JSONeError) -> Operand {
        try budget.spend()
        switch node {
        case .constant(let operand): return try charged(operand)
        case .name(let name): return try charged(lookUp(name))
        case .access(let base, let accesses): return try charged(access(base, accesses))
        case .infix(let first, let rest): return try infix(first, rest)
        case .or(let nodes):
            for node in nodes where try evaluate(node).isTruthy { return .bool(true) }
            return .bool(false)
        case .and(let nodes):
            for node in nodes where try !evaluate(node).isTruthy { return .bool(false) }
            return .bool(true)
        case .unary(let sign, let node): return try unary(sign, node)
        case .power(let base, let exponent): return try power(base, exponent)
        case .list(let nodes): return .json(.array(try values(of: nodes)))
        case .object(let members): return try object(members)
        }
    }

    /// A function becomes a number: see ``Operand/json()``.
    mutating func json(_ node: ExpressionNode) throws(JSONeError) -> JSONValue { try evaluate(node).json() }

    mutating func isTruthy(_ node: ExpressionNode) throws(JSONeError) -> Bool { try evaluate(node).isTruthy }

    // MARK: Names, lists, objects

    private mutating func charged(_ operand: Operand) throws(JSONeError) -> Operand {
        if case .json(.number(let number)) = operand { try budget.spend(parsing: number) }
        return operand
    }

    private mutating func lookUp(_ name: String) throws(JSONeError) -> Operand {
        try budget.spend(reading: locals.count)
        if let value = value(of: name) { return Operand(value) }
        if let builtin = builtin(name) { return .function(builtin) }
        throw .interpreter("unknown context value \(name)")
    }

    private mutating func values(of nodes: [ExpressionNode]) throws(JSONeError) -> [JSONValue] {
        try budget.spend(building: nodes.count)
        var values: [JSONValue] = []
        values.reserveCapacity(nodes.count)
        for node in nodes { values.append(try json(node)) }
        return values
    }

    private mutating func object(_ members: [(key: String, value: ExpressionNode)]) throws(JSONeError) -> Operand {
        try budget.spend(building: members.count)
        var object = JSONObject()
        for (key, value) in members { object[key] = try json(value) }
        return .json(.object(object))
    }

    // MARK: Operators

    private mutating func unary(_ sign: UnaryOperator, _ node: ExpressionNode) throws(JSONeError) -> Operand {
        let operand = try evaluate(node)
        if sign == .not { return .bool(!operand.isTruthy) }
        guard let number = try operand.number() else { throw .interpreter("unary \(sign.rawValue) expects number") }
        return sign == .minus ? .number(try number.negated()) : operand
    }

    /// Evaluates the exponent first, as in the reference implementation.
    private mutating func power(_ base: ExpressionNode, _ exponent: ExpressionNode) throws(JSONeError) -> Operand {
        let exponent = try evaluate(exponent)
        let base = try evaluate(base)
        guard let exponent = try exponent.number(), let base = try base.number() else {
            throw .interpreter("infix: ** expects number ** number")
        }
        return .number(try base.raised(to: exponent))
    }

    private mutating func infix(
        _ first: ExpressionNode, _ rest: [(symbol: InfixOperator, right: ExpressionNode)]
    ) throws(JSONeError) -> Operand {
        var left = try evaluate(first)
        for (symbol, right) in rest {
            let right = try evaluate(right)
            switch symbol {
            case .equal: left = .bool(try areEqual(left, right))
            case .notEqual: left = .bool(try !areEqual(left, right))
            case .less, .greater, .lessOrEqual, .greaterOrEqual: left = .bool(try compare(symbol, left, right))
            case .add, .subtract, .multiply, .divide: left = try compute(symbol, left, right)
            case .isIn: left = .bool(try contains(left, in: right))
            }
        }
        return left
    }

    private mutating func compute(
        _ symbol: InfixOperator, _ left: Operand, _ right: Operand
    ) throws(JSONeError) -> Operand {
        if let left = try left.number(), let right = try right.number() {
            switch symbol {
            case .add: return .number(try left + right)
            case .subtract: return .number(try left - right)
            case .multiply: return .number(try left * right)
            default: return .number(try left / right)
            }
        }
        if symbol == .add, let left = left.string, let right = right.string {
            try budget.spend(output: left.utf8.count + right.utf8.count)
            return .string(left + right)
        }
        let kinds = symbol == .add ? "numbers/strings" : "number"
        throw .interpreter("infix: \(symbol.rawValue) expects \(kinds) \(symbol.rawValue) \(kinds)")
    }

    /// Numbers by value, strings by code points.
    private mutating func compare(
        _ symbol: InfixOperator, _ left: Operand, _ right: Operand
    ) throws(JSONeError) -> Bool {
        let isLess: Bool, isEqual: Bool
        if let left = try left.number(), let right = try right.number() {
            (isLess, isEqual) = (left < right, left == right)
        } else if let left = left.string, let right = right.string {
            try budget.spend(scanning: min(left.utf8.count, right.utf8.count))
            (isLess, isEqual) = (left.precedes(right), left.hasSameBytes(as: right))
        } else {
            let kinds = "numbers/strings"
            throw .interpreter("infix: \(symbol.rawValue) expects \(kinds) \(symbol.rawValue) \(kinds)")
        }
        switch symbol {
        case .less: return isLess
        case .greater: return !isLess && !isEqual
        case .lessOrEqual: return isLess || isEqual
        default: return !isLess
        }
    }

    private mutating func contains(_ left: Operand, in right: Operand) throws(JSONeError) -> Bool {
        switch right {
        case .json(.array(let elements)):
            try budget.spend(reading: elements.count)
            for element in elements where try areEqual(left, Operand(element)) { return true }
            return false
        case .json(.object(let object)):
            guard let name = left.string else {
                throw .interpreter("infix: in-object expects string on left side in-object string on left side")
            }
            try budget.spend(scanning: name.utf8.count)
            return object[name] != nil
        case .json(.string(let string)):
            guard let part = left.string else {
                throw .interpreter("infix: in-string expects string on left side in-string string on left side")
            }
            try budget.spend(scanning: string.utf8.count + part.utf8.count)
            return string.contains(bytesOf: part)
        default:
            throw .interpreter("infix: in expects Array, string, or object on right side")
        }
    }

    // MARK: Equality

    /// Deep. 64-bit integers exactly, other numbers as doubles; different types are never equal.
    mutating func areEqual(_ left: Operand, _ right: Operand) throws(JSONeError) -> Bool {
        switch (left, right) {
        case (.json(let left), .json(let right)): return try areEqual(left, right)
        case (.function(let left), .function(let right)): return left == right
        default:
            guard let left = try charged(left).number(), let right = try charged(right).number() else { return false }
            return left == right
        }
    }

    private mutating func areEqual(_ left: JSONValue, _ right: JSONValue) throws(JSONeError) -> Bool {
        switch (left, right) {
        case (.null, .null): return true
        case (.bool(let left), .bool(let right)): return left == right
        case (.number(let left), .number(let right)):
            try budget.spend(scanning: min(left.lexeme.utf8.count, right.lexeme.utf8.count))
            if left.lexeme.hasSameBytes(as: right.lexeme) { return true }
            if left.function != nil || right.function != nil { return false }
            try budget.spend(steps: (left.lexeme.utf8.count + right.lexeme.utf8.count) / 16)
            guard let left = JSONeNumber(left), let right = JSONeNumber(right) else { return false }
            return left == right
        case (.string(let left), .string(let right)):
            try budget.spend(scanning: min(left.utf8.count, right.utf8.count))
            return left.hasSameBytes(as: right)
        case (.array(let left), .array(let right)):
            guard left.count == right.count else { return false }
            try budget.spend(steps: 1 + left.count / 16)
            for (left, right) in zip(left, right) where try !areEqual(left, right) { return false }
            return true
        case (.object(let left), .object(let right)):
            guard left.count == right.count else { return false }
            try budget.spend(steps: 1 + left.count / 16)
            for (name, value) in left.members {
                try budget.spend(scanning: name.utf8.count)
                guard let other = right[name], try areEqual(value, other) else { return false }
            }
            return true
        default: return false
        }
    }
}

/// `.name`, `[index]`, `[from:to]`, `(arguments)` (json-e.js.org/expressions.html).
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

    /// A missing member is `null`; negative indices count from the end; an index beyond is an error.
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

    /// Clamps the bounds. As in the reference implementation, an object's `[name:]` is `[name]`.
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
