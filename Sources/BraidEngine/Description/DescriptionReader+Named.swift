/// Named handlers or templates, each compiled once.
struct NamedParts<Part> {
    /// The description's member (`handlers`), the word in messages, the member that uses a part (`run`).
    let place: String, what: String, reference: String
    var sources: [UTF8Key: JSONValue] = [:]
    var made: [UTF8Key: Part] = [:]
    /// Those that do not compile.
    var faulty: Set<UTF8Key> = []
    /// How deep each nests, with what it uses.
    var heights: [UTF8Key: Int] = [:]
    /// Being compiled, each used by the one before; with the depth of the use.
    var open: [(name: String, depth: Int)] = []
    /// Made for the first message.
    private var sortedNames: [String]?

    init(place: String, what: String, reference: String) {
        (self.place, self.what, self.reference) = (place, what, reference)
    }

    mutating func names() -> [String] {
        let names = sortedNames ?? sources.keys.map(\.string).sorted()
        sortedNames = names
        return names
    }

    func pointer(of name: String) -> JSONPointer { JSONPointer.root.appending(place).appending(name) }

    /// How deep a value nests, with the named parts that it uses.
    func height(of value: JSONValue) -> Int {
        switch value {
        case .array(let elements): 1 + (elements.lazy.map { height(of: $0) }.max() ?? 0)
        case .object(let object):
            1
                + (object.members.lazy.map { member, value in
                    if member == reference, case .string(let name) = value { return heights[UTF8Key(name)] ?? 0 }
                    return height(of: value)
                }.max() ?? 0)
        default: 0
        }
    }
}

struct NamedHandler {
    var steps: [HandlerStep]
    /// Which of `event` and `reason`.
    var reads: Set<String>
    /// An action has no target, and so changes the handler's own row.
    var changesOwnRow: Bool
}

extension DescriptionReader {
    /// For cell events, and for deletes and inserts.
    private static let callNames = ["event", "reason"]

    mutating func readTemplates(_ value: JSONValue?) {
        let named = map(value, at: JSONPointer.root.appending("templates"), what: "`templates`")
        for (name, source) in named { templates.sources[UTF8Key(name)] = source }
        for (name, _) in named { requireTemplate(name, at: templates.pointer(of: name)) }
    }

    mutating func readHandlers(_ value: JSONValue?) {
        let named = map(value, at: JSONPointer.root.appending("handlers"), what: "`handlers`")
        for (name, source) in named { handlers.sources[UTF8Key(name)] = source }
        for (name, _) in named { _ = namedHandler(name, at: handlers.pointer(of: name)) }
    }

    /// Compiles the named templates that a value uses. False if one is missing or faulty.
    mutating func requireTemplates(in value: JSONValue, at pointer: JSONPointer) -> Bool {
        var isComplete = true
        for (name, place) in JSONeCompiler.references(in: value) {
            let place = place.reduce(pointer) { $0.appending($1) }
            if !requireTemplate(name, at: place) { isComplete = false }
        }
        return isComplete
    }

    @discardableResult
    private mutating func requireTemplate(_ name: String, at pointer: JSONPointer) -> Bool {
        if templates.made[UTF8Key(name)] != nil { return true }
        if templates.faulty.contains(UTF8Key(name)) { return false }
        guard let source = begin(name, at: pointer, \.templates) else { return false }
        let place = templates.pointer(of: name)
        var template: NamedTemplate?
        if requireTemplates(in: source, at: place), let height = height(of: source, name, \.templates) {
            do throws(JSONeError) {
                let made = try NamedTemplate(source, named: templates.made, height: height, place: place)
                template = made
                checkLiterals(made.node, Self.handlerNames + Self.sectionNames + Self.callNames, at: place)
                noteMembers(of: made.node, at: place, hasModel: true)
            } catch {
                fault(error.pointer.reduce(place) { $0.appending($1) }, .invalidValue, error.message)
            }
        }
        templates.open.removeLast()
        if let template { templates.made[UTF8Key(name)] = template } else { templates.faulty.insert(UTF8Key(name)) }
        return template != nil
    }

    /// Warns if the handler reads `event` or `reason` where that has no value.
    mutating func steps(ofHandler name: String, at pointer: JSONPointer) -> [HandlerStep] {
        guard let handler = namedHandler(name, at: pointer) else { return [] }
        readNames.formUnion(handler.reads)
        members.insert(useOf: handlers.pointer(of: name), in: pointer)
        for read in handler.reads.subtracting(handlerNames).sorted() {
            warn(pointer, .unknownName, "the handler `\(name)` reads `\(read)`, but nothing gives this name here")
        }
        if handler.changesOwnRow { actionsOnOwnRow.append(pointer) }
        return handler.steps
    }

    private mutating func namedHandler(_ name: String, at pointer: JSONPointer) -> NamedHandler? {
        if let known = handlers.made[UTF8Key(name)] { return known }
        guard let source = begin(name, at: pointer, \.handlers) else { return nil }
        // These are notes about the handler that is being read. Puts aside those of the one that uses it.
        let outer = (handlerNames, actionsOnOwnRow, readNames)
        (handlerNames, actionsOnOwnRow, readNames) = (Self.handlerNames + Self.callNames, [], [])
        let steps = steps(source, at: handlers.pointer(of: name))
        let handler = NamedHandler(
            steps: steps, reads: readNames.intersection(Self.callNames), changesOwnRow: !actionsOnOwnRow.isEmpty)
        // Notes the height, and reports one that is too large.
        _ = height(of: source, name, \.handlers)
        (handlerNames, actionsOnOwnRow, readNames) = outer
        handlers.open.removeLast()
        handlers.made[UTF8Key(name)] = handler
        return handler
    }

    /// Reports an unknown name, a circle or too deep a chain; otherwise marks the part as being compiled.
    private mutating func begin<Part>(
        _ name: String, at pointer: JSONPointer, _ parts: WritableKeyPath<DescriptionReader, NamedParts<Part>>
    ) -> JSONValue? {
        let all = self[keyPath: parts]
        guard let source = all.sources[UTF8Key(name)] else {
            var hint = ""
            if !isFull, !all.sources.isEmpty {
                let known = self[keyPath: parts].names()
                hint = "; \(Spelling.hint(for: name, among: known, else: "it contains", listing: 8))"
            }
            fault(pointer, .unknownName, "`\(all.place)` contains no \(all.what) \"\(name)\"\(hint)")
            return nil
        }
        if let start = all.open.firstIndex(where: { $0.name == name }) {
            let uses: [String] = isFull ? [] : all.open[start...].map(\.name) + [name]
            let chain = uses.map { "`\($0)`" }.joined(separator: ", which uses ")
            fault(pointer, .conflict, "the \(all.what) uses itself: \(chain)")
            return nil
        }
        // Limits the compiler's recursion, too.
        let depth = pointer.tokens.count
        guard all.open.reduce(depth, { $0 + $1.depth }) <= JSONeBudget.maximumDepth else {
            fault(pointer, .conflict, "too many \(all.what)s form a chain in which each uses the next")
            return nil
        }
        self[keyPath: parts].open.append((name, depth))
        return source
    }

    /// Notes the part's height. Too deep is a fault, which limits the recursion of rendering and running.
    private mutating func height<Part>(
        of source: JSONValue, _ name: String, _ parts: WritableKeyPath<DescriptionReader, NamedParts<Part>>
    ) -> Int? {
        let height = self[keyPath: parts].height(of: source)
        self[keyPath: parts].heights[UTF8Key(name)] = height
        guard height <= JSONeBudget.maximumDepth else {
            fault(
                self[keyPath: parts].pointer(of: name), .conflict,
                "with the \(self[keyPath: parts].what)s that it uses, it is nested deeper than \(JSONeBudget.maximumDepth) levels"
            )
            return nil
        }
        return height
    }
}
