/// Compiles a description to a `Binder`; the reader collects up to a hundred faults.
struct DescriptionCompiler {
    struct Compiled {
        var name: String
        var binder: Binder
        var state: JSONText
        var models: [(section: SectionID, models: [JSONText], pointer: JSONPointer)]
        var undo: UndoPolicy?
    }

    var reader: DescriptionReader
    /// `nil` if sections are dynamic.
    var sections: [SectionID]?
    var modelTypes: [UTF8Key: ModelType] = [:]
    var cells = CellDeclarations()
    var cellsForModelTypes = RegisteredCells()
    var models: [(section: SectionID, models: [JSONText], pointer: JSONPointer)] = []

    init(_ text: JSONText, warns: Bool) { reader = DescriptionReader(text, warns: warns) }

    /// `nil` if it is no object.
    mutating func compile() -> Compiled? {
        let root = JSONPointer.root
        guard
            let object = reader.object(
                reader.text.value(), at: root,
                members: [
                    "table", "sections", "sectionDisplay", "modelTypes", "cells", "cellsForModelTypes", "state",
                    "view", "viewSchema", "empty", "authors", "undo", "templates", "handlers", "bindings",
                ], what: "a table description")
        else { return nil }

        // In this order: a part may name what earlier ones declare.
        let name = readName(object["table"])
        readSections(object["sections"])
        reader.declared = sections.map { Set($0) }
        readModelTypes(object["modelTypes"])
        readCells(object["cells"])
        reader.readTemplates(object["templates"])
        reader.readHandlers(object["handlers"])
        readCellsForModelTypes(object["cellsForModelTypes"])
        let display = readDisplay(object["sectionDisplay"])
        if let state = object["state"], case .object = state {
        } else if object["state"] != nil {
            reader.fault(root.appending("state"), .wrongType, "the state must be an object")
        }
        if object["empty"] == .null {
            reader.fault(
                root.appending("empty"), .invalidValue,
                "`empty` cannot be null: in an update null says that it went away")
        }

        if let authors = object["authors"], authors.boolValue == nil {
            reader.fault(root.appending("authors"), .wrongType, "`authors` must be true or false")
        }
        let undo: UndoPolicy? = reader.choice(object["undo"], at: root.appending("undo"), what: "`undo`")

        let view = readView(object)
        let bindings = readBindings(object["bindings"])
        var binder = bindings.binder(
            display: display, empty: object["empty"].map { _ in reader.slice(root.appending("empty")) },
            cells: cells,
            viewers: ViewerParts(paths: reader.viewerPaths, defaults: view.defaults, schema: view.schema))
        binder.showsAuthors = object["authors"]?.boolValue ?? false
        checkAssumedTypes(bindings, binder)
        checkMoves(bindings, binder)
        checkPolicies(bindings, binder)
        checkActions(bindings, binder)
        checkMembers(object["state"], view: (view.defaults.members() ?? []).map(\.name), bindings, binder)
        return Compiled(
            name: name,
            binder: binder,
            state: object["state"] == nil ? .emptyObject : reader.slice(root.appending("state")),
            models: inDeclaredOrder(models), undo: undo)
    }

    private mutating func readView(_ object: JSONObject) -> (defaults: JSONText, schema: JTDSchema?) {
        let place = JSONPointer.root.appending("view")
        let schema = object["viewSchema"].flatMap { reader.schema($0, at: JSONPointer.root.appending("viewSchema")) }
        guard let view = object["view"] else {
            if schema != nil {
                reader.fault(
                    JSONPointer.root.appending("viewSchema"), .conflict,
                    "`viewSchema` needs `view`, the values of those who choose none")
            }
            return (.emptyObject, nil)
        }
        guard case .object = view else {
            reader.fault(
                place, .wrongType, "`view` must be an object from names to the values of those who choose none")
            return (.emptyObject, nil)
        }
        let members = (reader.slice(place).members() ?? []).filter { !DescriptionReader.isRemark($0.name) }
        let defaults = JSONText(object: members)
        if defaults.count > ViewerParts.longestView {
            reader.fault(place, .outOfRange, "`view` has at most \(ViewerParts.longestView) bytes")
        }
        for found in schema?.errorIndicators(of: defaults.value()) ?? [] {
            reader.fault(found.instancePath.tokens.reduce(place) { $0.appending($1) }, found.code, found.detail)
        }
        return (defaults, schema)
    }

    private mutating func readName(_ value: JSONValue?) -> String {
        let pointer = JSONPointer.root.appending("table")
        if value == nil {
            reader.fault(.root, .missingMember, "the member `table`, the description's name, is missing")
        } else if let text = reader.string(value, at: pointer, what: "the name of a table") {
            if TableDescription.isName(text) { return text }
            reader.fault(pointer, .invalidValue, "a table's name has \(TableDescription.nameRule)")
        }
        return ""
    }

    private mutating func readCellsForModelTypes(_ value: JSONValue?) {
        let root = JSONPointer.root.appending("cellsForModelTypes")
        for (type, cell) in reader.map(value, at: root, what: "`cellsForModelTypes`") {
            let pointer = root.appending(type)
            guard let cell = reader.string(cell, at: pointer, what: "the cell of a model type") else { continue }
            requireCell(cell, at: pointer)
            cellsForModelTypes[type] = cell
        }
    }

    private mutating func readBindings(_ value: JSONValue?) -> TableBindings {
        let bindings = TableBindings(declared: sections)
        let pointer = JSONPointer.root.appending("bindings")
        switch value {
        case nil: break
        case .array(let elements)?:
            for (index, element) in elements.enumerated() {
                bind(element, at: pointer.appending(index), to: bindings)
            }
        default: reader.fault(pointer, .wrongType, "`bindings` must be an array of bindings")
        }
        for id in bindings.unbound(among: sections ?? []) where reader.faults.isEmpty {
            reader.fault(
                pointer, .missingMember,
                "no binding binds the cells of the section \"\(id)\": bind it by name, or bind \"allOtherSections\"")
        }
        for (section, _, place) in models {
            if let owner = bindings.owner(of: section)?.pointer, !place.tokens.starts(with: owner.tokens) {
                reader.fault(
                    place, .conflict,
                    "the models of the section \"\(section)\" belong in the binding of its cells, \(owner)")
            }
        }
        return bindings
    }

    func inDeclaredOrder(
        _ models: [(section: SectionID, models: [JSONText], pointer: JSONPointer)]
    ) -> [(section: SectionID, models: [JSONText], pointer: JSONPointer)] {
        guard let sections else { return models }
        let bySection = Dictionary(models.map { ($0.section, $0) }) { first, _ in first }
        return sections.compactMap { bySection[$0] }
    }
}

extension DescriptionCompiler {
    mutating func readSections(_ value: JSONValue?) {
        let pointer = JSONPointer.root.appending("sections")
        switch value {
        case nil: sections = ["table"]
        case .string("dynamic")?: sections = nil
        case .array?:
            let ids = reader.strings(value ?? .null, at: pointer, what: "`sections`") ?? []
            sections = ids.map { SectionID($0.text) }
            if ids.isEmpty {
                reader.fault(pointer, .invalidValue, "`sections` must name at least one section, or be \"dynamic\"")
            }
            for (index, id) in ids where DescriptionReader.isRemark(id) {
                reader.fault(
                    pointer.appending(index), .invalidValue,
                    "a section cannot be named \"\(id)\": members of that name are remarks, and would not be read")
            }
        default:
            sections = []
            reader.fault(
                pointer, .rejecting(value, accepting: .string),
                "`sections` must be an array of section ids, or \"dynamic\"")
        }
    }

    mutating func readModelTypes(_ value: JSONValue?) {
        let root = JSONPointer.root.appending("modelTypes")
        for (name, type) in reader.map(value, at: root, what: "`modelTypes`") {
            let pointer = root.appending(name)
            modelTypes[UTF8Key(name)] = ModelType(name: name, id: nil)
            guard let object = reader.object(type, at: pointer, members: ["id", "schema"], what: "a model type") else {
                continue
            }
            let schema = object["schema"].flatMap { reader.schema($0, at: pointer.appending("schema")) }
            switch object["id"] {
            case nil: modelTypes[UTF8Key(name)] = ModelType(name: name, id: JSONPointer("/id"), schema: schema)
            case .null?: modelTypes[UTF8Key(name)] = ModelType(name: name, id: nil, schema: schema)
            case .string(let text)?:
                guard let id = JSONPointer(text) else {
                    reader.fault(
                        pointer.appending("id"),
                        .invalidValue,
                        "\"\(text)\" is not a JSON Pointer; a JSON Pointer begins with \"/\", such as \"/id\"")
                    continue
                }
                modelTypes[UTF8Key(name)] = ModelType(name: name, id: id, schema: schema)
            default:
                reader.fault(
                    pointer.appending("id"), .wrongType,
                    "`id` must be a JSON Pointer, such as \"/id\", or null for models without identity")
            }
        }
    }

    mutating func readCells(_ value: JSONValue?) {
        let root = JSONPointer.root.appending("cells")
        if value == nil { cells = .undeclared }
        for (name, cell) in reader.map(value, at: root, what: "`cells`") {
            var declaration = CellDeclaration()
            defer { cells.named[UTF8Key(name)] = declaration }
            let pointer = root.appending(name)
            guard let object = reader.object(cell, at: pointer, members: ["events", "viewModel"], what: "a cell") else {
                continue
            }
            for (event, parameters) in reader.map(object["events"], at: pointer.appending("events"), what: "`events`") {
                declaration.events[UTF8Key(event)] =
                    reader.schema(parameters, at: pointer.appending("events").appending(event)) ?? .any
            }
            declaration.viewModel = object["viewModel"].flatMap {
                reader.schema($0, at: pointer.appending("viewModel"))
            }
        }
    }

    mutating func requireCell(_ name: String, at pointer: JSONPointer) {
        if cells[name] == nil {
            reader.fault(pointer, .unknownName, "the cell \"\(name)\" is not declared; add it to `cells`")
        }
    }

    mutating func readDisplay(_ value: JSONValue?) -> SectionDisplay {
        var display = SectionDisplay()
        let root = JSONPointer.root.appending("sectionDisplay")
        guard let value,
            let object = reader.object(
                value, at: root, members: ["behavior", "displayed", "order"], what: "`sectionDisplay`")
        else { return display }
        if let behavior: SectionDisplay.Behavior = reader.choice(
            object["behavior"], at: root.appending("behavior"), what: "a display behaviour")
        {
            display.behavior = behavior
        }
        if let displayed = object["displayed"] {
            let pointer = root.appending("displayed")
            if display.behavior != .manuallyManaged {
                reader.fault(
                    pointer, .conflict,
                    "`displayed` needs the behaviour \"manuallyManaged\"; this one decides by itself")
            }
            display.displayed = reader.sectionIDs(displayed, at: pointer, what: "`displayed`") ?? []
        }
        let pointer = root.appending("order")
        if object["order"] != nil, display.behavior == .manuallyManaged {
            reader.fault(
                pointer,
                .conflict,
                "`order` is only for automatic behaviours; under \"manuallyManaged\" the displayed sections are set in order"
            )
        }
        switch object["order"] {
        case nil, .string("declared")?: break
        case .string("ascending")?: display.order = .sorting { $0.sorted() }
        case .object?:
            guard let order = reader.object(object["order"] ?? .null, at: pointer, members: ["by"], what: "`order`")
            else { break }
            if order["by"] == nil { reader.fault(pointer, .missingMember, "`order` needs an expression `by`") }
            if let expression = reader.expression(
                order["by"], at: pointer.appending("by"), over: DescriptionReader.sectionNames, what: "`by`")
            {
                let reads = Reads(names: expression.names)
                display.order = .by(reads: reads) { input, evaluation in
                    try expression.evaluated(evaluation.context(for: input, reading: reads))
                }
            }
        default:
            reader.fault(
                pointer, .rejecting(object["order"], accepting: .string),
                "`order` must be \"declared\", \"ascending\" or {\"by\": expression}")
        }
        return display
    }
}
