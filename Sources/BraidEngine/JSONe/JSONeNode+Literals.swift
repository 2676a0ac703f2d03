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
