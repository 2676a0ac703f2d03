/// A compiled template. Constant parts are single values, strings are split at their interpolations, and operators are
/// checked.
indirect enum JSONeNode: Sendable {
    /// A part of the template without expressions. The part's value is rendered as it is, and shared instead of copied.
    case literal(JSONValue)
    case text(InterpolatedText)
    case array([JSONeNode])
    case object([JSONeMember])
    case eval(ExpressionNode)
    case condition(ExpressionNode, then: JSONeNode?, otherwise: JSONeNode?)
    case json(JSONeNode)
    case list(ListOperator, JSONeNode)
    case fromNow(JSONeNode, from: JSONeNode?)
    case binding(JSONeNode, in: JSONeNode)
    case map(JSONeNode, each: EachClause, JSONeNode)
    case reduce(JSONeNode, initial: JSONValue, each: EachClause, JSONeNode)
    case find(JSONeNode, each: EachClause, ExpressionNode)
    case match([JSONeCase])
    case choice([JSONeCase], default: JSONeNode?)
    case sort(JSONeNode, by: (name: String, key: ExpressionNode)?)
    case named(NamedTemplate)
}

/// A member `key: value` of an object in a template. `name` is the key as written, for pointers in errors.
struct JSONeMember: Sendable {
    let name: String
    let key: InterpolatedText
    let value: JSONeNode
}

/// A member `condition: value` of `$match` or `$switch`. `source` is the condition as written.
struct JSONeCase: Sendable {
    let source: String
    let condition: ExpressionNode
    let value: JSONeNode
}

/// The names that `each(…)` or `by(…)` declares. `key` is the property as written.
struct EachClause: Sendable {
    let key: String
    let names: [String]
}

/// The operators whose only operand is an array.
enum ListOperator: String, Sendable {
    case flatten = "$flatten", flattenDeep = "$flattenDeep", merge = "$merge", mergeDeep = "$mergeDeep"
    case reverse = "$reverse"
}

/// A string with `${expression}` interpolations.
struct InterpolatedText: Sendable {
    enum Part: Sendable {
        case text(String)
        case expression(ExpressionNode, source: String)
    }

    let parts: [Part]

    /// The whole text, or `nil` if the text contains expressions. `$${` is already replaced by `${`.
    var constant: String? {
        switch parts.count {
        case 0: return ""
        case 1: if case .text(let text) = parts[0] { return text } else { return nil }
        default: return nil
        }
    }

    private init(parts: [Part]) { self.parts = parts }

    init(constant: String) { self.init(parts: [.text(constant)]) }

    /// Parses a string: `${…}` is an expression, and `$${` is the text `${` (json-e.js.org/interpolation.html).
    init(_ string: String) throws(JSONeError) {
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
                // The first dollar of `$${` is already in `text`.
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

extension JSONeNode {
    /// The JSON kind of the value that the node renders to, or `nil` if the node is an operator, such as `$map`.
    var kind: JSONKind? {
        switch self {
        case .literal(let value): value.kind
        case .text: .string
        case .array: .array
        case .object: .object
        case .named(let template): template.node.kind
        default: nil
        }
    }
}

/// A template that other templates use by its name. The template is compiled once. A use of the template reads the
/// names that exist at the place of the use.
final class NamedTemplate: Sendable {
    let node: JSONeNode
    let names: NamesRead
    let mayBeAbsent: Bool
    /// The nesting depth of the template, including the templates that it uses.
    let height: Int
    /// The template's position in the table description.
    let place: JSONPointer

    /// Compiles a template.
    ///
    /// - Parameters:
    ///   - named: the named templates that this template may use.
    ///   - height: the nesting depth of the template, including the templates that it uses.
    ///   - place: the template's position in the table description.
    init(
        _ value: JSONValue, named: [UTF8Key: NamedTemplate], height: Int, place: JSONPointer
    ) throws(JSONeError) {
        node = try JSONeCompiler(named: named).compile(value)
        names = node.names
        mayBeAbsent = node.mayBeAbsent
        self.height = height
        self.place = place
    }
}

// MARK: What a template reads

extension JSONeNode {
    /// Whether the node can render to an absent value, for example because it is an `$if` without `else`.
    var mayBeAbsent: Bool {
        switch self {
        case .condition(_, let then, let otherwise): (then?.mayBeAbsent ?? true) || (otherwise?.mayBeAbsent ?? true)
        case .find: true
        case .choice(let cases, let otherwise):
            (otherwise?.mayBeAbsent ?? true) || cases.contains { $0.value.mayBeAbsent }
        case .binding(_, let body): body.mayBeAbsent
        case .named(let template): template.mayBeAbsent
        default: false
        }
    }

    /// Whether the node's value can only be a literal or a part of the context. Such a value needs no check of its size
    /// and depth, because the template did not build it.
    var isPath: Bool {
        switch self {
        case .eval(let expression): expression.isPath
        case .literal: true
        default: false
        }
    }

    /// The context names that the template may read, without the local names that its own operators certainly define.
    var names: NamesRead {
        var names = NamesRead()
        switch self {
        case .literal: break
        case .text(let text): text.collectNames(into: &names)
        case .array(let nodes):
            for node in nodes { names.formUnion(node.names) }
        case .object(let members):
            for member in members {
                member.key.collectNames(into: &names)
                names.formUnion(member.value.names)
            }
        case .eval(let expression): expression.collectNames(into: &names)
        case .condition(let condition, let then, let otherwise):
            condition.collectNames(into: &names)
            for branch in [then, otherwise] { if let branch { names.formUnion(branch.names) } }
        case .json(let node), .list(_, let node): names = node.names
        case .fromNow(let node, let from):
            names = node.names
            if let from {
                names.formUnion(from.names)
                // If the member `from` of `$fromNow` renders to null, the operator uses the context's time. If `from`
                // renders to an empty text, the operator fails.
                if from.kind == nil || from.kind == .null { names.insertTime() }
            } else {
                names.insert("now")
            }
        case .binding(let values, let body):
            names = body.names
            let (sure, possible) = values.memberNames
            names.tolerate(possible)
            names.subtract(sure)
            names.formUnion(values.names)
        case .map(let value, let each, let body), .reduce(let value, _, let each, let body):
            names = body.names
            names.subtract(each.names)
            names.formUnion(value.names)
        case .find(let value, let each, let condition):
            condition.collectNames(into: &names)
            names.subtract(each.names)
            names.formUnion(value.names)
        case .match(let cases), .choice(let cases, _):
            for branch in cases {
                branch.condition.collectNames(into: &names)
                names.formUnion(branch.value.names)
            }
            if case .choice(_, let otherwise?) = self { names.formUnion(otherwise.names) }
        case .named(let template): names = template.names
        case .sort(let value, let by):
            by?.key.collectNames(into: &names)
            if let by { names.subtract([by.name]) }
            names.formUnion(value.names)
        }
        return names
    }

    /// The members of the object that this node renders to: the names that are always present, and the names that may
    /// be present. `possible` is `nil` if any name may be present.
    var memberNames: (sure: [String], possible: [String]?) {
        switch self {
        case .literal(.object(let object)): (object.members.map(\.name), [])
        case .object(let members):
            (
                members.compactMap { $0.value.mayBeAbsent ? nil : $0.key.constant },
                members.contains { $0.key.constant == nil } ? nil : members.compactMap(\.key.constant)
            )
        default: ([], nil)
        }
    }
}

/// The context names that a template or an expression may read.
struct NamesRead {
    private(set) var all: Set<String> = []
    /// The names of `all` that may be missing: the template asks with `defined` whether they exist, or a `$let` of the
    /// template may define them.
    private(set) var tolerated: Set<String> = []

    /// Whether the template may read the context's time even where the template itself defines `now`. A reference time
    /// of null always means the context's time, and a function can be called outside of the scope of the local `now`.
    private(set) var readsTime = false
    /// Whether the template may ask with `defined` for a name that an expression computes, which can be any name.
    private(set) var asksForAnyName = false

    mutating func insert(_ name: String) { all.insert(name) }

    /// Adds the name `now`. The name stays added even if an operator of the template defines a local name `now`.
    mutating func insertTime() {
        insert("now")
        readsTime = true
    }

    mutating func insertAsked(_ name: String) {
        all.insert(name)
        tolerated.insert(name)
    }

    mutating func insertAnyAsked() { asksForAnyName = true }

    mutating func formUnion(_ other: NamesRead) {
        all.formUnion(other.all)
        tolerated.formUnion(other.tolerated)
        readsTime = readsTime || other.readsTime
        asksForAnyName = asksForAnyName || other.asksForAnyName
    }

    mutating func subtract(_ names: [String]) {
        all.subtract(names)
        tolerated.subtract(names)
        if readsTime { all.insert("now") }
    }

    /// Marks those of `names` that are in `all` as allowed to be missing from the context. If `names` is `nil`, marks
    /// all names in `all`.
    mutating func tolerate(_ names: [String]?) { tolerated.formUnion(names.map { all.intersection($0) } ?? all) }
}

extension InterpolatedText {
    fileprivate func collectNames(into names: inout NamesRead) {
        for case .expression(let node, _) in parts { node.collectNames(into: &names) }
    }
}

extension JSONeNode {
    /// Calls a closure for each literal string in a template, with the string's place in the template and the names that
    /// operators define at this place.
    ///
    /// Uses of named templates are left out, because the named templates are visited separately.
    func forEachLiteral(
        at place: [String] = [], names: [String] = [], _ visit: (String, _ place: [String], _ names: [String]) -> Void
    ) {
        func walk(_ node: JSONeNode?, _ tokens: String..., names more: [String] = []) {
            node?.forEachLiteral(at: place + tokens, names: names + more, visit)
        }
        func walk(_ value: JSONValue, at place: [String]) {
            switch value {
            case .string(let string): visit(string, place, names)
            case .array(let elements):
                for (index, element) in elements.enumerated() { walk(element, at: place + [String(index)]) }
            case .object(let object):
                for (name, member) in object.members { walk(member, at: place + [name]) }
            default: break
            }
        }
        switch self {
        case .literal(let value): walk(value, at: place)
        case .text, .eval, .named: break
        case .array(let nodes): for (index, node) in nodes.enumerated() { walk(node, String(index)) }
        case .object(let members): for member in members { walk(member.value, member.name) }
        case .condition(_, let then, let otherwise):
            walk(then, "then")
            walk(otherwise, "else")
        case .json(let node): walk(node, "$json")
        case .list(let list, let node): walk(node, list.rawValue)
        case .fromNow(let node, let from):
            walk(node, "$fromNow")
            walk(from, "from")
        case .binding(let values, let body):
            walk(values, "$let")
            walk(body, "in", names: values.memberNames.sure)
        case .map(let node, let each, let body):
            walk(node, "$map")
            walk(body, each.key, names: each.names)
        case .reduce(let node, let initial, let each, let body):
            walk(node, "$reduce")
            walk(initial, at: place + ["initial"])
            walk(body, each.key, names: each.names)
        case .find(let node, _, _): walk(node, "$find")
        case .match(let cases): for branch in cases { walk(branch.value, "$match", branch.source) }
        case .choice(let cases, let otherwise):
            for branch in cases { walk(branch.value, "$switch", branch.source) }
            walk(otherwise, "$switch", "$default")
        case .sort(let node, _): walk(node, "$sort")
        }
    }
}
