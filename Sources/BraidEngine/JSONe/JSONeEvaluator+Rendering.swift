/// Rendering. `nil` is an absent value, which arrays and objects leave out.
extension JSONeEvaluator {
    mutating func render(_ node: JSONeNode) throws(JSONeError) -> JSONValue? {
        if case .literal(let value) = node { return value }
        try budget.spend()
        switch node {
        case .literal(let value): return value
        case .text(let text): return .string(try render(text))
        case .array(let nodes): return try render(nodes)
        case .object(let members): return try render(members)
        case .eval(let expression): return try at("$eval") { (it) throws(JSONeError) in try it.json(expression) }
        case .condition(let condition, let then, let otherwise):
            let isTrue = try at("$if") { (it) throws(JSONeError) in try it.isTruthy(condition) }
            guard let branch = isTrue ? then : otherwise else { return nil }
            return try render(branch, at: isTrue ? "then" : "else")
        case .json(let value): return try renderJSON(value)
        case .list(let list, let value): return try apply(list, value)
        case .fromNow(let offset, let from): return try renderFromNow(offset, from)
        case .binding(let values, let body): return try renderLet(values, body)
        case .map(let value, let each, let body): return try map(value, each, body)
        case .reduce(let value, let initial, let each, let body): return try reduce(value, initial, each, body)
        case .find(let value, let each, let condition): return try find(value, each, condition)
        case .match(let cases): return .array(try matches(cases, atMost: nil).values)
        case .choice(let cases, let otherwise): return try renderSwitch(cases, otherwise)
        case .sort(let value, let by): return try sort(value, by)
        case .named(let template):
            do { return try render(template.node) } catch { throw error.inside(templateAt: template.place) }
        }
    }

    /// Puts `token` before an error's pointer.
    mutating func at<Result>(
        _ token: String, _ body: (inout JSONeEvaluator) throws(JSONeError) -> Result
    ) throws(JSONeError) -> Result {
        do { return try body(&self) } catch { throw error.inside(token) }
    }

    mutating func render(_ node: JSONeNode, at token: String) throws(JSONeError) -> JSONValue? {
        do { return try render(node) } catch { throw error.inside(token) }
    }

    private mutating func render(_ text: InterpolatedText) throws(JSONeError) -> String {
        var rendered = ""
        for part in text.parts {
            switch part {
            case .text(let text):
                try budget.spend(output: text.utf8.count)
                rendered += text
            case .expression(let node, let source):
                let operand: Operand
                do { operand = try evaluate(node) } catch { throw error.inside(expression: source) }
                if case .json(.null) = operand { continue }
                guard let text = operand.text else {
                    throw .template("interpolation of '\(source)' produced an array or object")
                }
                try budget.spend(output: text.utf8.count)
                rendered += text
            }
        }
        return rendered
    }

    private mutating func render(_ nodes: [JSONeNode]) throws(JSONeError) -> JSONValue {
        try budget.spend(building: nodes.count)
        var elements: [JSONValue] = []
        elements.reserveCapacity(nodes.count)
        for (position, node) in nodes.enumerated() {
            do {
                if let element = try render(node) { elements.append(element) }
            } catch { throw error.inside(String(position)) }
        }
        return .array(elements)
    }

    private mutating func render(_ members: [JSONeMember]) throws(JSONeError) -> JSONValue {
        try budget.spend(building: members.count)
        var object = JSONObject(capacity: members.count)
        for member in members {
            do {
                let key: String
                if let constant = member.key.constant { key = constant } else { key = try render(member.key) }
                if let value = try render(member.value) { object[key] = value }
            } catch { throw error.inside(member.name) }
        }
        return .object(object)
    }

    private mutating func renderJSON(_ node: JSONeNode) throws(JSONeError) -> JSONValue {
        guard let value = try render(node, at: "$json") else { throw .template("$json value must not be absent") }
        var writer = JSONWriter()
        try value.writeSorted(to: &writer, &budget)
        return .string(writer.text.text)
    }

    private mutating func renderFromNow(
        _ offset: JSONeNode, _ from: JSONeNode?
    ) throws(JSONeError) -> JSONValue {
        let text = try render(offset, at: "$fromNow")
        var reference: JSONValue?
        if let from {
            reference = try render(from, at: "from")
            guard reference != nil else { throw .template("$fromNow expects a reference time") }
            if reference == .null { reference = .string(context.now) }
        }
        guard case .string(let text)? = text else { throw .template("$fromNow expects a string") }
        return .string(try fromNow(text, reference))
    }

    // MARK: Local names, and the operator $let

    /// `names` are local to `body`, and go also after an error.
    mutating func with<Result>(
        _ names: [(name: String, value: JSONValue)], _ body: (inout JSONeEvaluator) throws(JSONeError) -> Result
    ) throws(JSONeError) -> Result {
        let count = locals.count
        locals.append(contentsOf: names)
        defer { locals.removeLast(locals.count - count) }
        return try body(&self)
    }

    private mutating func renderLet(_ values: JSONeNode, _ body: JSONeNode) throws(JSONeError) -> JSONValue? {
        guard case .object(let object)? = try render(values, at: "$let") else {
            throw .template("$let value must be an object")
        }
        if let name = object.members.first(where: { !$0.name.isTemplateIdentifier })?.name {
            throw JSONeError.template("top level keys of $let must follow /[a-zA-Z_][a-zA-Z0-9_]*/").inside(name)
                .inside("$let")
        }
        if !values.givesPathsOnly { try budget.admit(.object(object), counting: false) }
        return try with(object.members.map { ($0.name, $0.value) }) { (it) throws(JSONeError) in
            try it.render(body, at: "in")
        }
    }

    // MARK: $match and $switch

    /// How many conditions are true, and their present values. Throws if more than `limit` are.
    private mutating func matches(
        _ cases: [JSONeCase], atMost limit: Int?
    ) throws(JSONeError) -> (found: Int, values: [JSONValue]) {
        let name = limit == nil ? "$match" : "$switch"
        var found = 0
        var values: [JSONValue] = []
        for branch in cases {
            do {
                guard try isTruthy(branch.condition) else { continue }
                found += 1
                if let limit, found > limit { break }
                if let value = try render(branch.value) { values.append(value) }
            } catch { throw error.inside(branch.source).inside(name) }
        }
        if let limit, found > limit { throw .template("$switch can only have one truthy condition") }
        try budget.spend(building: values.count)
        return (found, values)
    }

    private mutating func renderSwitch(
        _ cases: [JSONeCase], _ otherwise: JSONeNode?
    ) throws(JSONeError) -> JSONValue? {
        let (found, values) = try matches(cases, atMost: 1)
        if found > 0 { return values.first }
        guard let otherwise else { return nil }
        return try at("$switch") { (it) throws(JSONeError) in try it.render(otherwise, at: "$default") }
    }
}

extension JSONeNode {
    /// The names stand only for literals and parts of the context.
    fileprivate var givesPathsOnly: Bool {
        switch self {
        case .object(let members): members.allSatisfy { $0.value.isPath }
        default: isPath
        }
    }
}

/// Operators on arrays and objects (json-e.js.org/operators.html).
extension JSONeEvaluator {
    /// Renders what an operator works on; checks its size and depth once, if the template built it.
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

    /// As in the reference implementation, `initial` is a plain value. A step without a result keeps the accumulator.
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

    /// The first match as it is: data is no template.
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

    /// Merges objects, concatenates arrays, replaces the rest. In place: no copy per object.
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

    /// Stable. All keys are numbers, or all strings.
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
        // Each key is compared, and charged, about log n times.
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
