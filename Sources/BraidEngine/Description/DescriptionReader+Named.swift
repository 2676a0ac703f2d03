/// The handlers or the templates to which a table description gives names. Each handler or template is compiled once.
struct NamedParts<Part> {
    /// `place` is the description's member that contains the named parts, such as `handlers`. `what` is the word for
    /// one part in messages. `reference` is the member by which an object uses a part, such as `run`.
    let place: String, what: String, reference: String
    var sources: [UTF8Key: JSONValue] = [:]
    /// The compiled handlers or templates, by name.
    var made: [UTF8Key: Part] = [:]
    /// The names of the templates that have a fault and could not be compiled.
    var faulty: Set<UTF8Key> = []
    /// The nesting depth of each compiled handler or template, by name. The depth includes the named handlers or
    /// templates that the compiled one uses.
    var heights: [UTF8Key: Int] = [:]
    /// The names of the handlers or templates that are being compiled. Each one uses the next one in this list. `depth`
    /// is the nesting depth of the place of the use.
    var open: [(name: String, depth: Int)] = []
    /// The names of all handlers or templates, sorted. `nil` until a message needs the names.
    private var sortedNames: [String]?

    init(place: String, what: String, reference: String) {
        (self.place, self.what, self.reference) = (place, what, reference)
    }

    /// Returns the names of all handlers or templates, sorted. The names are sorted only once.
    mutating func names() -> [String] {
        let names = sortedNames ?? sources.keys.map(\.string).sorted()
        sortedNames = names
        return names
    }

    func pointer(of name: String) -> JSONPointer { JSONPointer.root.appending(place).appending(name) }

    /// Returns the nesting depth of a value, including the named handlers or templates that the value uses.
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

/// A handler that other handlers and bindings can use by its name.
struct NamedHandler {
    var steps: [HandlerStep]
    /// The names, out of `event` and `reason`, that the handler reads. `event` has a value only in `onEvent` handlers,
    /// and
    /// `reason` only in `onDelete` and `onInsert` handlers.
    var reads: Set<String>
    /// Whether an action of the handler has no target, and so changes the row for which the handler runs.
    var changesOwnRow: Bool
}

extension DescriptionReader {
    /// The names of values that only some handlers may read: handlers of cell events may read `event`, and handlers of
    /// deletes and inserts may read `reason`.
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

    /// Compiles the named templates to which a value refers. Adds a fault for each reference to a template that does
    /// not exist. Returns whether each of these templates could be compiled.
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
            } catch {
                fault(error.pointer.reduce(place) { $0.appending($1) }, .invalidValue, error.message)
            }
        }
        templates.open.removeLast()
        if let template { templates.made[UTF8Key(name)] = template } else { templates.faulty.insert(UTF8Key(name)) }
        return template != nil
    }

    /// Returns the steps of a named handler that the description uses at `pointer`. Warns if the handler reads `event`
    /// or `reason` and the name has no value where the handler is used.
    mutating func steps(ofHandler name: String, at pointer: JSONPointer) -> [HandlerStep] {
        guard let handler = namedHandler(name, at: pointer) else { return [] }
        readNames.formUnion(handler.reads)
        for read in handler.reads.subtracting(handlerNames).sorted() {
            warn(pointer, .unknownName, "the handler `\(name)` reads `\(read)`, but nothing gives this name here")
        }
        if handler.changesOwnRow { actionsOnOwnRow.append(pointer) }
        return handler.steps
    }

    private mutating func namedHandler(_ name: String, at pointer: JSONPointer) -> NamedHandler? {
        if let known = handlers.made[UTF8Key(name)] { return known }
        guard let source = begin(name, at: pointer, \.handlers) else { return nil }
        let outer = (handlerNames, actionsOnOwnRow, readNames)
        (handlerNames, actionsOnOwnRow, readNames) = (Self.handlerNames + Self.callNames, [], [])
        let steps = steps(source, at: handlers.pointer(of: name))
        let handler = NamedHandler(
            steps: steps, reads: readNames.intersection(Self.callNames), changesOwnRow: !actionsOnOwnRow.isEmpty)
        _ = height(of: source, name, \.handlers)
        (handlerNames, actionsOnOwnRow, readNames) = outer
        handlers.open.removeLast()
        handlers.made[UTF8Key(name)] = handler
        return handler
    }

    /// Returns the source of a named handler or template, and marks it as being compiled. Returns `nil` and adds a
    /// fault at the place of the use if the name is unknown, the uses form a circle, or the chain of uses is too deep.
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
        // The limit of the nesting depth also limits the recursion of the methods that compile named handlers and
        // templates.
        let depth = pointer.tokens.count
        guard all.open.reduce(depth, { $0 + $1.depth }) <= JSONeBudget.maximumDepth else {
            fault(pointer, .conflict, "too many \(all.what)s form a chain in which each uses the next")
            return nil
        }
        self[keyPath: parts].open.append((name, depth))
        return source
    }

    /// Returns the nesting depth of a named handler or template, and records the depth. If the handler or template is
    /// nested too deeply, adds a fault and returns `nil`. The limit of the depth limits the recursion when a template
    /// is rendered or a handler runs.
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
