/// Compiles JSON into a template, and rejects malformed ones (json-e.js.org/operators.html).
struct JSONeCompiler {
    /// For `{"$template": name}`; `nil` in plain JSON-e, which has no such operator.
    let named: [UTF8Key: NamedTemplate]?

    func compile(_ value: JSONValue, depth: Int = 0) throws(JSONeError) -> JSONeNode {
        guard depth <= JSONeBudget.maximumDepth else {
            throw .syntax("the template is nested deeper than \(JSONeBudget.maximumDepth)")
        }
        switch value {
        case .null, .bool, .number: return .literal(value)
        case .string(let string):
            let text = try InterpolatedText(string)
            return text.constant.map { .literal(.string($0)) } ?? .text(text)
        case .array(let elements): return try compile(elements, depth)
        case .object(let object):
            let operators = object.members.filter {
                Self.operatorNames.contains($0.name) || named != nil && $0.name == Self.reference
            }
            guard let first = operators.first else { return try compile(object, depth) }
            guard operators.count == 1 else {
                throw .syntax("only one operator allowed: " + operators.map(\.name).joined(separator: " "))
            }
            return try OperatorCompiler(self, object, named: first.name, depth: depth).compile()
        }
    }

    private static let operatorNames: Set<String> = [
        "$eval", "$flatten", "$flattenDeep", "$fromNow", "$if", "$json", "$let", "$map", "$reduce", "$find", "$match",
        "$switch", "$merge", "$mergeDeep", "$sort", "$reverse",
    ]

    static let reference = "$template"

    /// The names that `$template` members give, with their places.
    static func references(in value: JSONValue) -> [(name: String, place: [String])] {
        switch value {
        case .array(let elements):
            elements.enumerated().flatMap { index, element in
                references(in: element).map { ($0.name, [String(index)] + $0.place) }
            }
        case .object(let object):
            object.members.flatMap { member, value -> [(name: String, place: [String])] in
                if member == reference, case .string(let name) = value { return [(name, [member])] }
                return references(in: value).map { ($0.name, [member] + $0.place) }
            }
        default: []
        }
    }

    private func compile(_ elements: [JSONValue], _ depth: Int) throws(JSONeError) -> JSONeNode {
        var nodes: [JSONeNode] = []
        for (position, element) in elements.enumerated() {
            nodes.append(try compile(element, at: String(position), depth))
        }
        let literals = nodes.compactMap(\.literal)
        return literals.count == nodes.count ? .literal(.array(literals)) : .array(nodes)
    }

    private func compile(_ object: JSONObject, _ depth: Int) throws(JSONeError) -> JSONeNode {
        var members: [JSONeMember] = []
        var literal: JSONObject? = JSONObject()
        for (name, value) in object.members {
            let key: InterpolatedText
            if name.utf8.starts(with: "$$".utf8) {
                key = InterpolatedText(constant: String(name.dropFirst()))
            } else if name.utf8.first == UInt8(ascii: "$"), String(name.dropFirst()).isTemplateIdentifier {
                throw JSONeError.syntax("$<identifier> is reserved; use $$<identifier>").inside(name)
            } else {
                do { key = try InterpolatedText(name) } catch { throw error.inside(name) }
            }
            let node = try compile(value, at: name, depth)
            members.append(JSONeMember(name: name, key: key, value: node))
            if let key = key.constant, let value = node.literal { literal?[key] = value } else { literal = nil }
        }
        return literal.map { .literal(.object($0)) } ?? .object(members)
    }

    fileprivate func compile(_ value: JSONValue, at token: String, _ depth: Int) throws(JSONeError) -> JSONeNode {
        do { return try compile(value, depth: depth + 1) } catch { throw error.inside(token) }
    }
}

extension JSONeNode {
    var literal: JSONValue? {
        if case .literal(let value) = self { value } else { nil }
    }
}

/// One operator, such as `$map`, with its properties.
private struct OperatorCompiler {
    let compiler: JSONeCompiler
    let object: JSONObject
    let name: String
    let operand: JSONValue
    let depth: Int

    init(_ compiler: JSONeCompiler, _ object: JSONObject, named name: String, depth: Int) {
        self.compiler = compiler
        self.object = object
        self.name = name
        self.depth = depth
        operand = object[name] ?? .null
    }

    func compile() throws(JSONeError) -> JSONeNode {
        if let list = ListOperator(rawValue: name) {
            try allow([])
            return .list(list, try template(name))
        }
        switch name {
        case "$eval":
            try allow([])
            return .eval(try expression(name, or: "$eval must be given a string expression"))
        case "$json":
            try allow([])
            return .json(try template(name))
        case "$fromNow":
            try allow(["from"])
            return .fromNow(try template(name), from: try optional("from"))
        case "$if":
            try allow(["then", "else"])
            let condition = try expression(name, or: "$if must be given a string expression")
            return .condition(condition, then: try optional("then"), otherwise: try optional("else"))
        case "$let":
            try allow(["in"])
            guard case .object = operand else { throw fails("$let value must be an object") }
            guard object["in"] != nil else { throw fails("$let operator requires an `in` clause") }
            return .binding(try template(name), in: try template("in"))
        case "$map":
            let each = try clause("each", names: 1...2)
            return .map(try template(name), each: each, try template(each.key))
        case "$find":
            let each = try clause("each", names: 1...2)
            let condition = try expression(each.key, or: "each can evaluate string expressions only")
            return .find(try template(name), each: each, condition)
        case "$reduce":
            let each = try clause("each", names: 2...3, beside: ["initial"])
            guard let initial = object["initial"] else { throw fails("$reduce must have exactly three properties") }
            return .reduce(try template(name), initial: initial, each: each, try template(each.key))
        case "$sort":
            guard object.count > 1 else { return .sort(try template(name), by: nil) }
            let by = try clause("by", names: 1...1)
            let key = try expression(by.key, or: "by must be given a string expression")
            return .sort(try template(name), by: (by.names[0], key))
        case JSONeCompiler.reference:
            try allow([])
            guard case .string(let name) = operand, let template = compiler.named?[UTF8Key(name)] else {
                throw fails("$template must be given the name of a template").inside(self.name)
            }
            guard depth + template.height <= JSONeBudget.maximumDepth else {
                throw fails("the template is nested deeper than \(JSONeBudget.maximumDepth)")
            }
            return template.node.literal.map { .literal($0) } ?? .named(template)
        case "$match":
            try allow([])
            // Results are in the order of the conditions' texts.
            return .match(try cases().sorted { $0.source.precedes($1.source) })
        default:
            try allow([])
            return try switchNode()
        }
    }

    // MARK: Properties

    private func fails(_ message: String) -> JSONeError { .syntax(message) }

    private func allow(_ names: [String]) throws(JSONeError) {
        let unknown = object.members.map(\.name).filter { $0 != name && !names.contains($0) }
        guard unknown.isEmpty else {
            let list = unknown.sorted { $0.precedes($1) }.joined(separator: " ")
            throw fails("\(name) has undefined properties: \(list)").inside(unknown[0])
        }
    }

    private func template(_ property: String) throws(JSONeError) -> JSONeNode {
        try compiler.compile(object[property] ?? .null, at: property, depth)
    }

    private func optional(_ property: String) throws(JSONeError) -> JSONeNode? {
        object[property] == nil ? nil : try template(property)
    }

    private func expression(_ property: String, or message: String) throws(JSONeError) -> ExpressionNode {
        guard case .string(let source)? = object[property] else { throw fails(message).inside(property) }
        do { return try ExpressionParser.parse(source) } catch { throw error.inside(property) }
    }

    /// The only property `word(name, …)`, such as `each(x, i)`; `beside` are allowed, too.
    private func clause(_ word: String, names count: ClosedRange<Int>, beside: [String] = []) throws(JSONeError)
        -> EachClause
    {
        let clauses = object.members.compactMap { member in
            Self.names(of: member.name, after: word).flatMap { names in
                count.contains(names.count) ? EachClause(key: member.name, names: names) : nil
            }
        }
        try allow(beside + clauses.map(\.key))
        guard clauses.count == 1 else { throw fails("\(name) requires exactly one \(word)(..)") }
        return clauses[0]
    }

    /// In `word(a, b)`; spaces only after commas.
    private static func names(of property: String, after word: String) -> [String]? {
        guard property.utf8.starts(with: "\(word)(".utf8), property.utf8.last == UInt8(ascii: ")") else { return nil }
        let inner = property.dropFirst(word.utf8.count + 1).dropLast()
        var names: [String] = []
        for (position, part) in inner.split(separator: ",", omittingEmptySubsequences: false).enumerated() {
            let name = position == 0 ? String(part) : String(part.unicodeScalars.drop(while: \.isWhitespace))
            guard name.isTemplateIdentifier else { return nil }
            names.append(name)
        }
        return names
    }

    // MARK: $match and $switch

    private func cases(except: String? = nil) throws(JSONeError) -> [JSONeCase] {
        guard case .object(let cases) = operand else { throw fails("\(name) can evaluate objects only") }
        var compiled: [JSONeCase] = []
        for (source, value) in cases.members where source != except {
            do {
                compiled.append(
                    JSONeCase(
                        source: source, condition: try ExpressionParser.parse(source),
                        value: try compiler.compile(value, depth: depth + 2)))
            } catch { throw error.inside(source).inside(name) }
        }
        return compiled
    }

    private func switchNode() throws(JSONeError) -> JSONeNode {
        let cases = try cases(except: "$default")
        guard case .object(let object) = operand, let value = object["$default"] else {
            return .choice(cases, default: nil)
        }
        do {
            return .choice(cases, default: try compiler.compile(value, at: "$default", depth + 1))
        } catch { throw error.inside(name) }
    }
}
