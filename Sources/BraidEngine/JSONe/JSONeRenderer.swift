/// Rendering of compiled templates. A result of `nil` is an absent value: arrays and objects leave it out.
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

    /// Runs a closure, and adds the member name `token` at the start of the pointer of an error that the closure
    /// throws.
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
        var object = JSONObject()
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

    /// Runs a closure that can read additional local names. Removes the names when the closure returns or throws.
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

    /// Evaluates the conditions of `$match` or `$switch`.
    ///
    /// - Parameter limit: the number of conditions that may be true, or `nil` for any number.
    /// - Returns: the number of true conditions, and the rendered values that belong to the true conditions. Absent
    ///   values are left out.
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
    /// Whether a `$let` with these values gives names only to parts of the context and to literals.
    fileprivate var givesPathsOnly: Bool {
        switch self {
        case .object(let members): members.allSatisfy { $0.value.isPath }
        default: isPath
        }
    }
}
