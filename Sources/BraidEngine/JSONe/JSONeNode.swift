/// A compiled template: constants are values, strings split at interpolations, operators checked.
indirect enum JSONeNode: Sendable {
    /// No expressions: rendered as it is, shared.
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

/// `name` is as written, for pointers.
struct JSONeMember: Sendable {
    let name: String
    let key: InterpolatedText
    let value: JSONeNode
}

/// `source` is the condition as written.
struct JSONeCase: Sendable {
    let source: String
    let condition: ExpressionNode
    let value: JSONeNode
}

/// The names in `each(x, i)` or `by(x)`; `key` is the clause as written.
struct EachClause: Sendable {
    let key: String
    let names: [String]
}

enum ListOperator: String, Sendable {
    case flatten = "$flatten", flattenDeep = "$flattenDeep", merge = "$merge", mergeDeep = "$mergeDeep"
    case reverse = "$reverse"
}

struct InterpolatedText: Sendable {
    enum Part: Sendable {
        case text(String)
        case expression(ExpressionNode, source: String)
    }

    let parts: [Part]

    /// The whole text, in which `$${` is `${` already; `nil` if there are expressions.
    var constant: String? {
        switch parts.count {
        case 0: return ""
        case 1: if case .text(let text) = parts[0] { return text } else { return nil }
        default: return nil
        }
    }

    private init(parts: [Part]) { self.parts = parts }

    init(constant: String) { self.init(parts: [.text(constant)]) }

    /// `${…}` is an expression, `$${` is `${` (json-e.js.org/interpolation.html).
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
                // The first dollar is in `text` already.
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
    /// `nil` for an operator.
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

/// Compiled once; where `$template` uses it, it reads the names of that place.
final class NamedTemplate: Sendable {
    let node: JSONeNode
    let names: NamesRead
    let mayBeAbsent: Bool
    /// Levels of nesting, with those of the templates that it uses.
    let height: Int
    /// In the table description.
    let place: JSONPointer

    init(_ value: JSONValue, named: [UTF8Key: NamedTemplate], height: Int, place: JSONPointer) throws(JSONeError) {
        node = try JSONeCompiler(named: named).compile(value)
        names = node.names
        mayBeAbsent = node.mayBeAbsent
        self.height = height
        self.place = place
    }
}

// MARK: What a template reads

extension JSONeNode {
    /// Such as `$if` without `else`.
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

    /// A literal or a part of the context, whose size and depth need no check.
    var isPath: Bool {
        switch self {
        case .eval(let expression): expression.isPath
        case .literal: true
        default: false
        }
    }

    /// The context names that it may read, without local names that its operators certainly define.
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
                // A null `from` means the context's time; an empty text fails.
                if from.kind == nil || from.kind == .null { names.insertTime() }
            } else {
                names.insert("now")
            }
        case .binding(let values, let body):
            names = body.names
            let (sure, possible) = values.memberNames
            // Before the values' names are added: the values do not see what they define.
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

    /// Members of the object that this gives: those always there, and those maybe there (`nil`: any).
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

/// The context names that may be read.
struct NamesRead {
    private(set) var all: Set<String> = []
    /// Those of which more than members may be read.
    private var wholes: Set<String> = []
    private var members: [String: Set<String>] = [:]
    /// What is read of `user` and `view`, such as `["user", "claims", "team"]`.
    private(set) var viewerPaths: Set<[String]> = []
    /// May be missing: `defined` asks, or a `$let` may define them.
    private(set) var tolerated: Set<String> = []

    /// The time is read even past a local `now`: a null reference time, or a function called outside the scope.
    private(set) var readsTime = false
    /// `defined` may ask for a computed name.
    private(set) var asksForAnyName = false

    mutating func insert(_ name: String) {
        all.insert(name)
        wholes.insert(name)
        insert(path: [], of: name)
    }

    mutating func insert(path: [String], of name: String) {
        if name == "user" || name == "view" { viewerPaths.insert([name] + path) }
    }

    mutating func insert(member: String, of name: String) {
        all.insert(name)
        members[name, default: []].insert(member)
    }

    /// `nil`: maybe all, or more than a search of the names is worth.
    func members(of name: String) -> [String]? {
        let found = members[name] ?? []
        return wholes.contains(name) || found.count > 8 ? nil : Array(found)
    }

    /// Even if an operator defines a local `now`.
    mutating func insertTime() {
        insert("now")
        readsTime = true
    }

    mutating func insertAsked(_ name: String) {
        insert(name)
        tolerated.insert(name)
    }

    mutating func insertAnyAsked() { asksForAnyName = true }

    mutating func formUnion(_ other: NamesRead) {
        all.formUnion(other.all)
        wholes.formUnion(other.wholes)
        members.merge(other.members) { $0.union($1) }
        viewerPaths.formUnion(other.viewerPaths)
        tolerated.formUnion(other.tolerated)
        readsTime = readsTime || other.readsTime
        asksForAnyName = asksForAnyName || other.asksForAnyName
    }

    mutating func subtract(_ names: [String]) {
        all.subtract(names)
        tolerated.subtract(names)
        if readsTime { all.insert("now") }
    }

    /// `nil` stands for all names.
    mutating func tolerate(_ names: [String]?) { tolerated.formUnion(names.map { all.intersection($0) } ?? all) }
}

extension InterpolatedText {
    fileprivate func collectNames(into names: inout NamesRead) {
        for case .expression(let node, _) in parts { node.collectNames(into: &names) }
    }
}

/// A part of a template without nodes of its own.
enum JSONeLeaf {
    case literal(String)
    case expression(ExpressionNode)
    case named(NamedTemplate)
}

extension JSONeNode {
    /// Visits constant strings, expressions and uses of named templates, with their places and the names that operators
    /// define there; not what is in the named templates.
    func forEachLeaf(
        at place: [String] = [], names: [String] = [],
        _ visit: (JSONeLeaf, _ place: [String], _ names: [String]) -> Void
    ) {
        func walk(_ node: JSONeNode?, _ tokens: String..., names more: [String] = []) {
            node?.forEachLeaf(at: place + tokens, names: names + more, visit)
        }
        func walk(_ value: JSONValue, at place: [String]) {
            switch value {
            case .string(let string): visit(.literal(string), place, names)
            case .array(let elements):
                for (index, element) in elements.enumerated() { walk(element, at: place + [String(index)]) }
            case .object(let object):
                for (name, member) in object.members { walk(member, at: place + [name]) }
            default: break
            }
        }
        func walk(_ expression: ExpressionNode, _ tokens: String..., names more: [String] = []) {
            visit(.expression(expression), place + tokens, names + more)
        }
        func walk(_ text: InterpolatedText, _ tokens: String...) {
            for case .expression(let node, _) in text.parts { visit(.expression(node), place + tokens, names) }
        }
        switch self {
        case .literal(let value): walk(value, at: place)
        case .text(let text): walk(text)
        case .eval(let expression): walk(expression, "$eval")
        case .named(let template): visit(.named(template), place, names)
        case .array(let nodes): for (index, node) in nodes.enumerated() { walk(node, String(index)) }
        case .object(let members):
            for member in members {
                walk(member.key, member.name)
                walk(member.value, member.name)
            }
        case .condition(let condition, let then, let otherwise):
            walk(condition, "$if")
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
        case .find(let node, let each, let condition):
            walk(node, "$find")
            walk(condition, each.key, names: each.names)
        case .match(let cases):
            for branch in cases {
                walk(branch.condition, "$match", branch.source)
                walk(branch.value, "$match", branch.source)
            }
        case .choice(let cases, let otherwise):
            for branch in cases {
                walk(branch.condition, "$switch", branch.source)
                walk(branch.value, "$switch", branch.source)
            }
            walk(otherwise, "$switch", "$default")
        case .sort(let node, let by):
            walk(node, "$sort")
            if let by { walk(by.key, "by(\(by.name))", names: [by.name]) }
        }
    }
}
