/// A compiled template: what is constant is one value, strings are split at their interpolations, operators are checked.
indirect enum TemplateNode: Sendable {
    /// Rendered as it is, shared and not copied.
    case literal(JSONValue)
    case text(InterpolatedText)
    case array([TemplateNode])
    case object([TemplateMember])
    case eval(ExpressionNode)
    case condition(ExpressionNode, then: TemplateNode?, otherwise: TemplateNode?)
    case json(TemplateNode)
    case list(ListOperator, TemplateNode)
    case fromNow(TemplateNode, from: TemplateNode?)
    case binding(TemplateNode, in: TemplateNode)
    case map(TemplateNode, each: EachClause, TemplateNode)
    case reduce(TemplateNode, initial: JSONValue, each: EachClause, TemplateNode)
    case find(TemplateNode, each: EachClause, ExpressionNode)
    case match([TemplateCase])
    case choice([TemplateCase], default: TemplateNode?)
    case sort(TemplateNode, by: (name: String, key: ExpressionNode)?)
}

/// `{key: value}`; `name` is the key as it is written, for pointers.
struct TemplateMember: Sendable {
    let name: String
    let key: InterpolatedText
    let value: TemplateNode
}

/// `{condition: value}` of `$match` and `$switch`; `source` is the condition as it is written.
struct TemplateCase: Sendable {
    let source: String
    let condition: ExpressionNode
    let value: TemplateNode
}

/// The names that `each(…)` gives; `key` is the property as it is written.
struct EachClause: Sendable {
    let key: String
    let names: [String]
}

/// The operators that take one array and work on nothing else.
enum ListOperator: String, Sendable {
    case flatten = "$flatten", flattenDeep = "$flattenDeep", merge = "$merge", mergeDeep = "$mergeDeep"
    case reverse = "$reverse"
}

/// A string with `${expression}`s in it.
struct InterpolatedText: Sendable {
    enum Part: Sendable {
        case text(String)
        case expression(ExpressionNode, source: String)
    }

    let parts: [Part]

    /// The text, if it has no expressions. `$${` has become `${`.
    var constant: String? {
        switch parts.count {
        case 0: return ""
        case 1: if case .text(let text) = parts[0] { return text } else { return nil }
        default: return nil
        }
    }

    private init(parts: [Part]) { self.parts = parts }

    init(constant: String) { self.init(parts: [.text(constant)]) }

    /// json-e.js.org/interpolation.html: `${…}` is an expression, `$${` is the text `${`.
    init(_ string: String) throws(TemplateError) {
        guard string.utf8.contains(UInt8(ascii: "$")) else {
            self.init(constant: string)
            return
        }
        let bytes = Array(string.utf8)
        let dollar = UInt8(ascii: "$"), brace = UInt8(ascii: "{")
        var parts: [Part] = [], text: [UInt8] = [], offset = 0, segmentStart = 0
        while offset < bytes.count {
            guard bytes[offset] == dollar, offset + 1 < bytes.count, bytes[offset + 1] == brace else {
                text.append(bytes[offset])
                offset += 1
                continue
            }
            offset += 2
            if offset - 3 >= segmentStart, bytes[offset - 3] == dollar {
                // The first of the two dollars is in the text already.
                text.append(brace)
            } else {
                if !text.isEmpty { parts.append(.text(String(decoding: text, as: UTF8.self))) }
                text = []
                let (node, end) = try ExpressionParser.parseInterpolated(bytes, from: offset)
                parts.append(.expression(node, source: String(decoding: bytes[offset..<end], as: UTF8.self)))
                offset = end + 1
            }
            segmentStart = offset
        }
        if !text.isEmpty { parts.append(.text(String(decoding: text, as: UTF8.self))) }
        self.init(parts: parts)
    }
}

extension TemplateNode {
    /// Nil where it can be any.
    var kind: JSONKind? {
        switch self {
        case .literal(.null): .null
        case .literal(.bool): .bool
        case .literal(.number): .number
        case .literal(.string): .string
        case .literal(.array): .array
        case .literal(.object): .object
        case .text: .string
        case .array: .array
        case .object: .object
        default: nil
        }
    }
}

// MARK: What a template reads

extension TemplateNode {
    /// Whether rendering may leave nothing: an `$if` without its branch, and what passes that on.
    var mayBeAbsent: Bool {
        switch self {
        case .condition(_, let then, let otherwise): (then?.mayBeAbsent ?? true) || (otherwise?.mayBeAbsent ?? true)
        case .find: true
        case .choice(let cases, let otherwise): 
            (otherwise?.mayBeAbsent ?? true) || cases.contains { $0.value.mayBeAbsent }
        case .binding(_, let body): body.mayBeAbsent
        default: false
        }
    }

    /// Whether the value can only be a part of the context: it is as small and shallow as the context then.
    var isPath: Bool {
        switch self {
        case .eval(let expression): expression.isPath
        case .literal: true
        default: false
        }
    }

    /// The context names that the template may read. Names that an operator surely gives are its own.
    var freeNames: Set<String> {
        var names: Set<String> = []
        switch self {
        case .literal: return []
        case .text(let text): text.collectNames(into: &names)
        case .array(let nodes):
            for node in nodes { names.formUnion(node.freeNames) }
        case .object(let members):
            for member in members {
                member.key.collectNames(into: &names)
                names.formUnion(member.value.freeNames)
            }
        case .eval(let expression): expression.collectNames(into: &names)
        case .condition(let condition, let then, let otherwise):
            condition.collectNames(into: &names)
            names.formUnion(then?.freeNames ?? [])
            names.formUnion(otherwise?.freeNames ?? [])
        case .json(let node), .list(_, let node): return node.freeNames
        case .fromNow(let node, let from):
            names = node.freeNames.union(from?.freeNames ?? ["now"])
        case .binding(let values, let body):
            names = values.freeNames.union(body.freeNames.subtracting(values.surelyPresentNames))
        case .map(let value, let each, let body):
            names = value.freeNames.union(body.freeNames.subtracting(each.names))
        case .reduce(let value, _, let each, let body):
            names = value.freeNames.union(body.freeNames.subtracting(each.names))
        case .find(let value, let each, let condition):
            condition.collectNames(into: &names)
            names = value.freeNames.union(names.subtracting(each.names))
        case .match(let cases), .choice(let cases, _):
            for branch in cases {
                branch.condition.collectNames(into: &names)
                names.formUnion(branch.value.freeNames)
            }
            if case .choice(_, let otherwise?) = self { names.formUnion(otherwise.freeNames) }
        case .sort(let value, let by):
            by?.key.collectNames(into: &names)
            names = value.freeNames.union(names.subtracting(by.map { [$0.name] } ?? []))
        }
        return names
    }

    private var surelyPresentNames: [String] {
        switch self {
        case .literal(.object(let object)): object.members.map(\.name)
        case .object(let members): members.compactMap { $0.value.mayBeAbsent ? nil : $0.key.constant }
        default: []
        }
    }
}

extension InterpolatedText {
    fileprivate func collectNames(into names: inout Set<String>) {
        for case .expression(let node, _) in parts { node.collectNames(into: &names) }
    }
}
