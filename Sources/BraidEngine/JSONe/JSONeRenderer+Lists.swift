/// Renders the JSON-e operators on arrays and objects, such as `$map` and `$sort` (json-e.js.org/operators.html).
extension JSONeEvaluator {
    /// Renders the operand of an operator on arrays or objects, such as `$map`. Checks the operand's size and depth
    /// once. A literal or a part of the context needs no check, because the template did not build it.
    private mutating func operand(_ node: JSONeNode, of name: String) throws(JSONeError) -> JSONValue? {
        let value = try render(node, at: name)
        if let value, !node.isPath { try budget.admit(value, counting: false) }
        return value
    }

    private mutating func array(
        _ node: JSONeNode, of name: String, or message: String
    ) throws(JSONeError) -> [JSONValue] {
        guard case .array(let elements)? = try operand(node, of: name) else { throw .template(message) }
        return elements
    }

    // MARK: $map, $reduce, $find

    mutating func map(_ node: JSONeNode, _ each: EachClause, _ body: JSONeNode) throws(JSONeError) -> JSONValue {
        switch try operand(node, of: "$map") {
        case .array(let elements)?:
            var results: [JSONValue] = []
            for (position, element) in elements.enumerated() {
                guard let result = try render(body, each, element, .number(JSONNumber(position))) else { continue }
                try budget.spend(building: 1)
                results.append(result)
            }
            return .array(results)
        case .object(let object)?:
            var results = JSONObject()
            for (name, value) in object.members {
                let element =
                    each.names.count > 1
                    ? value : JSONValue.object(JSONObject([("key", .string(name)), ("val", value)]))
                guard let result = try render(body, each, element, .string(name)) else { continue }
                guard case .object(let members) = result else {
                    throw .template("$map on objects expects \(each.key) to evaluate to an object")
                }
                try budget.spend(building: members.count)
                for (name, value) in members.members {
                    try budget.spend(scanning: name.utf8.count)
                    results[name] = value
                }
            }
            return .object(results)
        default: throw .template("$map value must evaluate to an array or object")
        }
    }

    private mutating func render(
        _ body: JSONeNode, _ each: EachClause, _ element: JSONValue, _ position: @autoclosure () -> JSONValue
    ) throws(JSONeError) -> JSONValue? {
        locals.append((each.names[0], element))
        if each.names.count > 1 { locals.append((each.names[1], position())) }
        defer { locals.removeLast(each.names.count) }
        return try render(body, at: each.key)
    }

    /// Renders `$reduce`. As in JSON-e's reference implementation, `initial` is a plain value and not a template. If a
    /// step's result is absent, the accumulator keeps its value.
    mutating func reduce(
        _ node: JSONeNode, _ initial: JSONValue, _ each: EachClause, _ body: JSONeNode
    ) throws(JSONeError) -> JSONValue {
        let elements = try array(node, of: "$reduce", or: "$reduce value must evaluate to an array")
        var accumulator = initial
        for (position, element) in elements.enumerated() {
            let names = zip(each.names, [accumulator, element, .number(JSONNumber(position))]).map { ($0, $1) }
            let result = try with(names) { (it) throws(JSONeError) in try it.render(body, at: each.key) }
            guard let result else { continue }
            try budget.admit(result, counting: false)
            accumulator = result
        }
        return accumulator
    }

    /// Renders `$find`: returns the first element that meets the condition, or `nil` if no element does. The element
    /// itself is not rendered, because data is never a template.
    mutating func find(
        _ node: JSONeNode, _ each: EachClause, _ condition: ExpressionNode
    ) throws(JSONeError) -> JSONValue? {
        let elements = try array(node, of: "$find", or: "$find value must evaluate to an array")
        for (position, element) in elements.enumerated() {
            let names = zip(each.names, [element, .number(JSONNumber(position))]).map { ($0, $1) }
            let passes = try with(names) { (it) throws(JSONeError) in
                try it.at(each.key) { (it) throws(JSONeError) in try it.isTruthy(condition) }
            }
            if passes { return element }
        }
        return nil
    }

    // MARK: $flatten, $flattenDeep, $merge, $mergeDeep, $reverse

    mutating func apply(_ list: ListOperator, _ node: JSONeNode) throws(JSONeError) -> JSONValue {
        let name = list.rawValue
        guard case .array(let elements)? = try operand(node, of: name) else {
            throw .template("\(name) value must evaluate to an array\(list.expectation)")
        }
        switch list {
        case .reverse:
            try budget.spend(building: elements.count)
            return .array(elements.reversed())
        case .flatten, .flattenDeep:
            var flat: [JSONValue] = []
            try flatten(elements, levels: list == .flatten ? 1 : .max, into: &flat)
            return .array(flat)
        case .merge, .mergeDeep:
            var merged = JSONObject()
            for element in elements {
                guard case .object(let object) = element else {
                    throw .template("\(name) value must evaluate to an array of objects")
                }
                if list == .mergeDeep {
                    try mergeDeep(object, into: &merged)
                } else {
                    try budget.spend(building: object.count)
                    for (name, value) in object.members {
                        try budget.spend(scanning: name.utf8.count)
                        merged[name] = value
                    }
                }
            }
            return .object(merged)
        }
    }

    private mutating func flatten(
        _ elements: [JSONValue], levels: Int, into flat: inout [JSONValue]
    ) throws(JSONeError) {
        try budget.spend(building: elements.count)
        for element in elements {
            if levels > 0, case .array(let inner) = element {
                try flatten(inner, levels: levels - 1, into: &flat)
            } else {
                flat.append(element)
            }
        }
    }

    /// Merges an object into `merged` for `$mergeDeep`: merges objects member by member, concatenates arrays and
    /// replaces all other values. Merges in place, so that the merged result is not copied for each further object.
    private mutating func mergeDeep(_ right: JSONObject, into merged: inout JSONObject) throws(JSONeError) {
        try budget.spend(building: right.count)
        for (name, value) in right.members {
            try budget.spend(scanning: name.utf8.count)
            if case .object(let addition) = value,
                try merged.changeObject(name, { (object) throws(JSONeError) in try mergeDeep(addition, into: &object) })
            {
                continue
            }
            if case .array(let addition) = value, case .array(let elements)? = merged[name] {
                try budget.spend(building: elements.count + addition.count)
                merged[name] = .array(elements + addition)
            } else {
                merged[name] = value
            }
        }
    }

    // MARK: $sort

    /// Renders `$sort`, which is stable. The keys must be all numbers or all strings.
    mutating func sort(
        _ node: JSONeNode, _ by: (name: String, key: ExpressionNode)?
    ) throws(JSONeError) -> JSONValue {
        let mismatch = "$sorted values to be sorted must have the same type"
        let elements = try array(node, of: "$sort", or: mismatch)
        var numbers: [(key: JSONeNumber, position: Int)] = [], strings: [(key: String, position: Int)] = []
        for (position, element) in elements.enumerated() {
            var key = Operand(element)
            if let by {
                key = try with([(by.name, element)]) { (it) throws(JSONeError) in
                    try it.at("by(\(by.name))") { (it) throws(JSONeError) in try it.evaluate(by.key) }
                }
            } else if case .number(let number) = element {
                try budget.spend(parsing: number)
            }
            if let number = try key.number() {
                numbers.append((number, position))
            } else if let string = key.string {
                strings.append((string, position))
            } else {
                throw .template(mismatch)
            }
        }
        guard numbers.isEmpty || strings.isEmpty else { throw .template(mismatch) }
        try budget.spend(building: elements.count)
        // Sorting n keys compares each key about log n times, so the bytes of each key are charged that many times.
        let comparisons = strings.count.bitWidth - strings.count.leadingZeroBitCount
        try budget.spend(scanning: strings.reduce(0) { $0 + $1.key.utf8.count } * comparisons)
        numbers.sort { $0.key < $1.key || ($0.key == $1.key && $0.position < $1.position) }
        strings.sort { $0.key.precedes($1.key) || ($0.key.hasSameBytes(as: $1.key) && $0.position < $1.position) }
        return .array((numbers.map(\.position) + strings.map(\.position)).map { elements[$0] })
    }
}

extension ListOperator {
    fileprivate var expectation: String {
        switch self {
        case .flatten, .flattenDeep: ""
        case .merge, .mergeDeep, .reverse: " of objects"
        }
    }
}
