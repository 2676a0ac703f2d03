/// What expressions read of values with known members, for warnings.
struct MembersRead {
    /// `model.a.b`, or the `b` for which `'b' in model.a` asks.
    struct Path: Hashable {
        var root: String
        var members: [String]

        /// `model.a`.
        func text(_ count: Int) -> String { ([root] + members.prefix(count)).joined(separator: ".") }
    }

    struct Read: Hashable {
        var path: Path
        var place: JSONPointer
        /// The member of a binding, the named handler or the named template that it is in.
        var part: JSONPointer
    }

    private(set) var reads: [Read] = []
    private var known: Set<Read> = []
    private var asked: [Path: Set<JSONPointer>] = [:]
    /// By named handler or template: where it is used with the row's `model`.
    private(set) var uses: [JSONPointer: Set<JSONPointer>] = [:]
    /// Members that a `setState` sets by name.
    var setInState: Set<String> = []

    mutating func insert(_ path: Path, at place: JSONPointer, in pointer: JSONPointer) {
        guard place.isShort else { return }
        let read = Read(path: path, place: place, part: pointer.part)
        if known.insert(read).inserted { reads.append(read) }
    }

    /// What `shown` asks is true for the whole binding.
    mutating func insert(asked path: Path, in pointer: JSONPointer) {
        guard pointer.isShort else { return }
        let part = pointer.part
        asked[path, default: []].insert(part.tokens.last == "shown" ? part.prefix(2) : part)
    }

    mutating func insert(useOf named: JSONPointer, in pointer: JSONPointer) {
        if pointer.isShort { uses[named, default: []].insert(pointer.part) }
    }

    /// Whether `in` asks for this member in the same part. In a named one, the callers may have asked.
    func isAsked(_ count: Int, of read: Read) -> Bool {
        let path = Path(root: read.path.root, members: Array(read.path.members.prefix(count)))
        guard let parts = asked[path] else { return false }
        return read.part.tokens.first != "bindings" || parts.contains(read.part) || parts.contains(read.part.prefix(2))
    }
}

extension DescriptionReader {
    /// Notes which members a template reads, and warns about signs before an access. `hasModel`: it may read the row's
    /// model.
    mutating func noteMembers(of node: JSONeNode, at pointer: JSONPointer, hasModel: Bool) {
        guard warns else { return }
        node.forEachLeaf { leaf, place, locals in
            let place = place.reduce(pointer) { $0.appending($1) }
            switch leaf {
            case .literal: break
            case .expression(let expression):
                noteMembers(of: expression, at: place, in: pointer, except: hasModel ? locals : locals + ["model"])
            case .named(let template):
                if hasModel, !locals.contains("model") { members.insert(useOf: template.place, in: pointer) }
            }
        }
    }

    mutating func noteMembers(
        of node: ExpressionNode, at place: JSONPointer, in pointer: JSONPointer, except locals: [String]
    ) {
        guard warns else { return }
        if let path = node.question, !locals.contains(path.root) {
            members.insert(asked: path, in: pointer)
        } else if let path = node.path, !path.members.isEmpty, !locals.contains(path.root) {
            members.insert(path, at: place, in: pointer)
        }
        if case .access(.unary(let sign, let operand), let accesses) = node {
            let sign = sign.rawValue, value = operand.sketch, rest = accesses.map(\.sketch).joined()
            warn(
                place, .invalidValue,
                "`\(sign)\(value)\(rest)` means `(\(sign)\(value))\(rest)`, which fails: write `\(sign)(\(value)\(rest))`"
            )
        }
        for part in node.parts { noteMembers(of: part, at: place, in: pointer, except: locals) }
    }

    /// Warns about `root.x` if `x` is not declared.
    mutating func warnOfUndeclaredMembers(of root: String, declared: [String]) {
        let names = Set(declared)
        for read in members.reads where read.path.root == root && warnings.count < Self.faultLimit {
            let name = read.path.members[0]
            guard !names.contains(name), !members.isAsked(1, of: read) else { continue }
            let hint =
                Spelling.nearest(to: name, among: declared.prefix(Spelling.searchLimit)).map { "did you mean `\($0)`?" }
                ?? "declare it, ask `'\(name)' in \(root)` first, or write `\(root)['\(name)']`, null without it"
            warn(
                read.place, .unknownName,
                "`\(root)` of the description has no member `\(name)`, without which `\(root).\(name)` fails; \(hint)")
        }
    }

    /// Warns about reads that give everybody a table of their own, though a part would do.
    mutating func warnOfWholeUsers(_ paths: Set<[String]>, at pointer: JSONPointer) {
        for path in [["user"], ["user", "claims"]] where paths.contains(path) {
            let name = path.joined(separator: "."), part = path.count == 1 ? "user.role" : "user.claims.team"
            warn(
                pointer, .invalidValue,
                "this reads all of `\(name)`, so hardly two people share a table: read only what it needs, such as `\(part)`"
            )
        }
    }

    /// Warns about members of models that the type's schema does not require.
    mutating func warnOfAbsentMembers(_ type: (JSONPointer) -> ModelType?) {
        for read in members.reads where read.path.root == "model" && warnings.count < Self.faultLimit {
            guard let type = type(read.part), let schema = type.schema,
                let (count, declared) = schema.firstAbsent(read.path.members, except: { members.isAsked($0, of: read) })
            else { continue }
            let name = read.path.members[count - 1], object = read.path.text(count - 1)
            if let declared {
                let hint =
                    declared.isEmpty
                    ? "it has none" : Spelling.hint(for: name, among: declared, else: "it has", listing: 8)
                warn(
                    read.place, .unknownName,
                    "by the schema of the type \(type.nameForMessages), `\(object)` has no member `\(name)`; \(hint)")
            } else {
                warn(
                    read.place, .invalidValue,
                    "a model of the type \(type.nameForMessages) may lack `\(name)`, and then `\(object).\(name)` fails: ask `'\(name)' in \(object)` first, or write `\(object)['\(name)']`, null without it"
                )
            }
        }
    }
}

extension DescriptionCompiler {
    mutating func checkMembers(
        _ state: JSONValue?, view: [String], _ bindings: TableBindings, _ binder: Binder
    ) {
        guard reader.warns else { return }
        reader.warnOfUndeclaredMembers(of: "view", declared: view)
        let state = state?.objectValue?.members.map(\.name) ?? []
        reader.warnOfUndeclaredMembers(of: "state", declared: state + reader.members.setInState.sorted())
        var types = TypesOfParts(bindings, binder, uses: reader.members.uses)
        let modelTypes = modelTypes
        reader.warnOfAbsentMembers { part in
            let names = types.names(of: part)
            return names.count == 1 ? names.first.flatMap { $0 }.flatMap { modelTypes[$0] } : nil
        }
    }
}

/// The model types of the rows that the parts of a description are about; `nil` stands for no type.
private struct TypesOfParts {
    let bindings: TableBindings, binder: Binder, uses: [JSONPointer: Set<JSONPointer>]
    private let bindingAt: [JSONPointer: ScopeBinding]
    private var known: [JSONPointer: Set<UTF8Key?>] = [:]
    /// Many bindings can have one large scope.
    private var ofScope: [Scope: Set<UTF8Key?>] = [:]

    init(_ bindings: TableBindings, _ binder: Binder, uses: [JSONPointer: Set<JSONPointer>]) {
        (self.bindings, self.binder, self.uses) = (bindings, binder, uses)
        bindingAt = Dictionary(bindings.bindings.map { ($0.pointer, $0) }) { first, _ in first }
    }

    mutating func names(of part: JSONPointer) -> Set<UTF8Key?> {
        let part = part.prefix(2)
        if let names = known[part] { return names }
        var names: Set<UTF8Key?> = []
        if let binding = bindingAt[part] {
            names = self.names(of: binding)
        } else {
            for user in uses[part] ?? [] { names.formUnion(self.names(of: user)) }
        }
        known[part] = names
        return names
    }

    private mutating func names(of binding: ScopeBinding) -> Set<UTF8Key?> {
        if binding.cells != nil { return [binding.modelType?.name] }
        if let assumed = binding.assumedType { return [assumed] }
        let names =
            ofScope[binding.scope]
            ?? Set(bindings.sections(of: binding).compactMap { binder.binding(of: $0) }.map(\.modelType.name))
        ofScope[binding.scope] = names
        return names
    }
}

extension JTDSchema {
    /// The first of these members, each in the one before, that a value may lack: its number from 1, and the members
    /// that are declared if this one is not. `nil` also if the schema leaves it open.
    fileprivate func firstAbsent(
        _ members: [String], except isSure: (Int) -> Bool
    ) -> (count: Int, declared: [String]?)? {
        var position = 0
        for (index, name) in members.enumerated() {
            guard case .properties(let properties) = nodes[nodes[position].target(from: position)].form else {
                return nil
            }
            guard let found = properties.names.position(of: name) else {
                return properties.allowsAdditional || isSure(index + 1) ? nil : (index + 1, properties.names.list)
            }
            if found >= properties.requiredCount, !isSure(index + 1) { return (index + 1, nil) }
            position = properties.first + found
        }
        return nil
    }
}

extension JSONPointer {
    /// Many reads can be in a place with a long name, and would take long to hash.
    fileprivate var isShort: Bool { shortened.tokens.count == tokens.count }

    fileprivate func prefix(_ count: Int) -> JSONPointer { JSONPointer(tokens: Array(tokens.prefix(count))) }

    /// Of a binding, its member; otherwise the named handler or template.
    fileprivate var part: JSONPointer { prefix(tokens.first == "bindings" ? 3 : 2) }
}

extension JSONeNode {
    /// Members of the objects that it can give, as far as the template spells them out.
    var writtenMembers: [String] {
        switch self {
        case .literal(.object(let object)): object.members.map(\.name)
        case .literal(.array(let elements)): elements.flatMap { JSONeNode.literal($0).writtenMembers }
        case .object(let members): members.compactMap(\.key.constant)
        case .array(let nodes): nodes.flatMap(\.writtenMembers)
        case .condition(_, let then, let otherwise): [then, otherwise].flatMap { $0?.writtenMembers ?? [] }
        case .choice(let cases, let otherwise):
            cases.flatMap(\.value.writtenMembers) + (otherwise?.writtenMembers ?? [])
        case .list(_, let node), .binding(_, in: let node): node.writtenMembers
        case .named(let template): template.node.writtenMembers
        default: []
        }
    }
}

extension ExpressionNode {
    /// The accesses by name that it begins with. `['a']` is none: without the member it gives null.
    fileprivate var path: MembersRead.Path? {
        switch self {
        case .name(let name): MembersRead.Path(root: name, members: [])
        case .access(.name(let name), let accesses):
            MembersRead.Path(
                root: name,
                members: accesses.prefix { $0.member != nil }.compactMap(\.member))
        default: nil
        }
    }

    /// The member for which `'a' in model` asks.
    fileprivate var question: MembersRead.Path? {
        guard case .infix(.constant(.json(.string(let name))), let rest) = self, rest[0].symbol == .isIn,
            var path = rest[0].right.path
        else { return nil }
        path.members.append(name)
        return path
    }

    fileprivate var parts: [ExpressionNode] {
        switch self {
        case .constant, .name: []
        case .list(let nodes), .or(let nodes), .and(let nodes): nodes
        case .object(let members): members.map(\.value)
        case .unary(_, let node): [node]
        case .infix(let first, let rest): [first] + rest.map(\.right)
        case .power(let base, let exponent): [base, exponent]
        case .access(let base, let accesses): [base] + accesses.flatMap(\.parts)
        }
    }

    fileprivate var sketch: String {
        if case .name(let name) = self { name } else { "(…)" }
    }
}

extension ExpressionAccess {
    fileprivate var parts: [ExpressionNode] {
        switch self {
        case .member: []
        case .index(let index): [index]
        case .slice(let from, let to): [from, to].compactMap { $0 }
        case .call(let arguments): arguments
        }
    }

    fileprivate var sketch: String {
        switch self {
        case .member(let name): ".\(name)"
        case .index, .slice: "[…]"
        case .call: "(…)"
        }
    }
}
