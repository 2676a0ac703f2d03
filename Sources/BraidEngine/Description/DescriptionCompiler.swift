/// Compiles a description's JSON onto bindings. One pass, in the order of the document; faults are gathered.
struct DescriptionCompiler {
    struct Compiled {
        var name: String
        var binder: Binder
        var state: JSONText
        var models: [(section: SectionID, models: [JSONText], pointer: JSONPointer)]
    }

    /// The sections of the table: nil while they are dynamic.
    private var sections: [SectionID]?
    private var modelTypes: [String: ModelType] = [:]
    private var cells: [String: CellDeclaration] = [:]
    private var cellsForModelTypes: [String: String] = [:]
    private var models: [(section: SectionID, models: [JSONText], pointer: JSONPointer)] = []
    /// Where each section's cells were bound, for the message about a second binding.
    private var boundCells: [SectionID: JSONPointer] = [:]
    private var boundOthers: JSONPointer?

    static func compile(_ reader: inout DescriptionReader) -> Compiled? {
        var compiler = DescriptionCompiler()
        return compiler.table(&reader)
    }

    private mutating func table(_ reader: inout DescriptionReader) -> Compiled? {
        let root = JSONPointer.root
        guard let object = reader.object(reader.text.value(), at: root, members: [
            "table", "sections", "sectionDisplay", "modelTypes", "cells", "cellsForModelTypes", "state", "empty", "bindings",
        ], what: "a table description") else { return nil }

        var name = ""
        let namePointer = root.appending("table")
        if object["table"] == nil {
            reader.fault(root, "the member `table`, the description's name, is missing")
        } else if let text = reader.string(object["table"], at: namePointer, what: "the name of a table") {
            if TableDescription.isName(text) { name = text } else {
                reader.fault(namePointer, "a table's name has 1 to 64 of the characters A-Z, a-z, 0-9, \".\", \"_\", \"-\"")
            }
        }
        readSections(object["sections"], &reader)
        reader.declared = sections.map { Set($0) }
        readModelTypes(object["modelTypes"], &reader)
        readCells(object["cells"], &reader)
        for (type, cell) in reader.map(object["cellsForModelTypes"], at: root.appending("cellsForModelTypes"), what: "`cellsForModelTypes`") {
            let pointer = root.appending("cellsForModelTypes").appending(type)
            guard let cell = reader.string(cell, at: pointer, what: "the cell of a model type") else { continue }
            requireCell(cell, at: pointer, &reader)
            cellsForModelTypes[type] = cell
        }
        let display = readDisplay(object["sectionDisplay"], &reader)
        if let state = object["state"], case .object = state {} else if object["state"] != nil {
            reader.fault(root.appending("state"), "the state must be an object")
        }
        if object["empty"] == .null { reader.fault(root.appending("empty"), "`empty` cannot be null: in an update null says that it went away") }

        var bindings: [Binding] = []
        let bindingsPointer = root.appending("bindings")
        switch object["bindings"] {
        case nil: break
        case .array(let elements)?:
            for (index, element) in elements.enumerated() {
                if let binding = binding(element, at: bindingsPointer.appending(index), &reader) { bindings.append(binding) }
            }
        default: reader.fault(bindingsPointer, "`bindings` must be an array of bindings")
        }
        for id in sections ?? [] where boundCells[id] == nil && boundOthers == nil && reader.faults.isEmpty {
            reader.fault(bindingsPointer, "no binding binds the cells of the section \"\(id)\": bind it by name, or bind \"allOtherSections\"")
        }
        for (section, _, pointer) in models where boundCells[section] != nil {
            if let owner = boundCells[section], !pointer.tokens.starts(with: owner.tokens) {
                reader.fault(pointer, "the models of the section \"\(section)\" stand with the binding of its cells, \(owner)")
            }
        }
        let binder = Binder(
            sections: sections, display: display, empty: object["empty"].map { _ in reader.slice(root.appending("empty")) },
            cells: cells, bindings: bindings)
        checkAssumedTypes(object["bindings"], bindings, binder, &reader)
        checkMoves(bindings, binder, &reader)
        checkPolicies(bindings, binder, &reader)
        return Compiled(
            name: name,
            binder: binder,
            state: object["state"] == nil ? .emptyObject : reader.slice(root.appending("state")),
            models: inDeclaredOrder(models))
    }

    private func inDeclaredOrder(
        _ models: [(section: SectionID, models: [JSONText], pointer: JSONPointer)]
    ) -> [(section: SectionID, models: [JSONText], pointer: JSONPointer)] {
        guard let sections else { return models }
        let bySection = Dictionary(models.map { ($0.section, $0) }) { first, _ in first }
        return sections.compactMap { bySection[$0] }
    }
}

// Declarations.
extension DescriptionCompiler {
    private mutating func readSections(_ value: JSONValue?, _ reader: inout DescriptionReader) {
        let pointer = JSONPointer.root.appending("sections")
        switch value {
        case nil: sections = ["table"]
        case .string("dynamic")?: sections = nil
        case .array?:
            let ids = reader.strings(value ?? .null, at: pointer, what: "`sections`") ?? []
            sections = ids.map { SectionID($0) }
            if ids.isEmpty { reader.fault(pointer, "`sections` must name one section at least, or be \"dynamic\"") }
        default:
            sections = []
            reader.fault(pointer, "`sections` must be an array of section ids, or \"dynamic\"")
        }
    }

    private mutating func readModelTypes(_ value: JSONValue?, _ reader: inout DescriptionReader) {
        let root = JSONPointer.root.appending("modelTypes")
        for (name, type) in reader.map(value, at: root, what: "`modelTypes`") {
            let pointer = root.appending(name)
            guard let object = reader.object(type, at: pointer, members: ["id", "schema"], what: "a model type") else { continue }
            let schema = object["schema"].flatMap { reader.schema($0, at: pointer.appending("schema")) }
            switch object["id"] {
            case nil: modelTypes[name] = ModelType(name: name, id: JSONPointer("/id"), schema: schema)
            case .null?: modelTypes[name] = ModelType(name: name, id: nil, schema: schema)
            case .string(let text)?:
                guard let id = JSONPointer(text) else {
                    reader.fault(pointer.appending("id"), "\"\(text)\" is no JSON Pointer; one begins with \"/\", such as \"/id\"")
                    modelTypes[name] = ModelType(name: name, id: nil)
                    continue
                }
                modelTypes[name] = ModelType(name: name, id: id, schema: schema)
            default:
                reader.fault(pointer.appending("id"), "`id` must be a JSON Pointer, such as \"/id\", or null for models without identity")
                modelTypes[name] = ModelType(name: name, id: nil)
            }
        }
    }

    private mutating func readCells(_ value: JSONValue?, _ reader: inout DescriptionReader) {
        let root = JSONPointer.root.appending("cells")
        for (name, cell) in reader.map(value, at: root, what: "`cells`") {
            cells[name] = CellDeclaration()
            let pointer = root.appending(name)
            guard let object = reader.object(cell, at: pointer, members: ["events", "viewModel"], what: "a cell") else { continue }
            for (event, parameters) in reader.map(object["events"], at: pointer.appending("events"), what: "`events`") {
                cells[name]?.events[event] = reader.schema(parameters, at: pointer.appending("events").appending(event))
            }
            cells[name]?.viewModel = object["viewModel"].flatMap { reader.schema($0, at: pointer.appending("viewModel")) }
        }
    }

    private func requireCell(_ name: String, at pointer: JSONPointer, _ reader: inout DescriptionReader) {
        if cells[name] == nil { reader.fault(pointer, "the cell \"\(name)\" is not declared; add it to `cells`") }
    }

    private mutating func readDisplay(_ value: JSONValue?, _ reader: inout DescriptionReader) -> SectionDisplay {
        var display = SectionDisplay()
        let root = JSONPointer.root.appending("sectionDisplay")
        guard let value, let object = reader.object(value, at: root, members: ["behavior", "displayed", "order"], what: "`sectionDisplay`") else { return display }
        if let behavior: SectionDisplay.Behavior = reader.choice(object["behavior"], at: root.appending("behavior"), what: "a display behaviour") {
            display.behavior = behavior
        }
        if let displayed = object["displayed"] {
            let pointer = root.appending("displayed")
            if display.behavior != .manuallyManaged {
                reader.fault(pointer, "`displayed` goes with the behaviour \"manuallyManaged\" only; this one decides by itself")
            }
            display.displayed = reader.strings(displayed, at: pointer, what: "`displayed`")?.map { SectionID($0) }
            for (index, id) in (display.displayed ?? []).enumerated() { reader.requireSection(id, at: pointer.appending(index)) }
        }
        let pointer = root.appending("order")
        if object["order"] != nil, display.behavior == .manuallyManaged {
            reader.fault(pointer, "`order` goes with automatic behaviours; under \"manuallyManaged\" the displayed sections are set in order")
        }
        switch object["order"] {
        case nil, .string("declared")?: break
        case .string("ascending")?: display.order = .ascending
        case .object?:
            guard let order = reader.object(object["order"] ?? .null, at: pointer, members: ["by"], what: "`order`") else { break }
            if order["by"] == nil { reader.fault(pointer, "`order` needs an expression `by`") }
            if let expression = reader.expression(order["by"], at: pointer.appending("by"), what: "`by`") {
                display.order = .by { input, evaluation in try expression.evaluated(evaluation.context(for: input, reading: .everything)) }
            }
        default: reader.fault(pointer, "`order` must be \"declared\", \"ascending\" or {\"by\": expression}")
        }
        return display
    }
}

// Bindings.
extension DescriptionCompiler {
    private static let members = [
        "on", "cell", "cellProvider", "models", "viewModels", "viewModel", "modelsFrom", "numberOfCells", "shown", "modelType",
        "assumingModelType", "header", "headers", "footer", "footers", "dimensions", "editing", "insert", "moving", "updates",
        "prefetch", "onDelete", "onInsert", "onTap", "onEvent", "onPrefetch",
    ]

    private mutating func binding(_ value: JSONValue, at pointer: JSONPointer, _ reader: inout DescriptionReader) -> Binding? {
        guard let object = reader.object(value, at: pointer, members: Self.members, what: "a binding") else { return nil }
        guard let scope = scope(object["on"], at: pointer, &reader) else { return nil }
        var binding = Binding(scope: scope)
        binding.pointer = pointer
        if let type = reader.string(object["modelType"], at: pointer.appending("modelType"), what: "`modelType`") {
            binding.modelType = modelTypes[type]
            if modelTypes[type] == nil { reader.fault(pointer.appending("modelType"), "the model type \"\(type)\" is not declared in `modelTypes`") }
        }
        bindCells(object, &binding, &reader)
        bindTitles(object, "header", &binding, &reader) { $0.header = $1 } each: { $0.headers[$1] = $2 }
        bindTitles(object, "footer", &binding, &reader) { $0.footer = $1 } each: { $0.footers[$1] = $2 }
        bindDimensions(object["dimensions"], &binding, &reader)
        bindEditing(object, &binding, &reader)
        bindMoving(object["moving"], &binding, &reader)
        if let steps = object["onDelete"] { binding.onDelete = reader.handler(steps, at: pointer.appending("onDelete")) }
        if let steps = object["onInsert"] { binding.onInsert = reader.handler(steps, at: pointer.appending("onInsert")) }
        if let steps = object["onTap"] { binding.onTap = reader.handler(steps, at: pointer.appending("onTap")) }
        bindEvents(object["onEvent"], &binding, &reader)
        bindPrefetch(object, &binding, &reader)
        switch object["updates"] {
        case nil: break
        case .string("byReloading")?: binding.updatesManually = false
        case .string("manually")?: binding.updatesManually = true
        default: reader.fault(pointer.appending("updates"), "`updates` must be \"byReloading\" or \"manually\"")
        }
        if scope == .anySection {
            for member in ["cell", "cellProvider", "models", "viewModels", "modelsFrom", "numberOfCells", "shown", "header", "headers", "footer", "footers", "editing", "moving"] where object[member] != nil {
                reader.fault(pointer.appending(member), "a binding of \"anySection\" binds no cells, headers, footers, editing or moving")
            }
        }
        return binding
    }

    private func scope(_ value: JSONValue?, at pointer: JSONPointer, _ reader: inout DescriptionReader) -> Scope? {
        let on = pointer.appending("on")
        switch value {
        case nil: reader.fault(pointer, "a binding needs a scope, `on`: \"table\", {\"section\": id}, {\"sections\": [ids]}, \"allOtherSections\" or \"anySection\"")
        case .string("table")?:
            if let sections, sections.count == 1 { return .table }
            reader.fault(on, "\"table\" is the scope of an unsectioned table; this one has \(sections.map { "\($0.count) sections" } ?? "dynamic sections")")
        case .string("allSections")?, .string("allOtherSections")?: return .allOtherSections
        case .string("anySection")?: return .anySection
        case .object(let object)?:
            guard reader.object(.object(object), at: on, members: ["section", "sections"], what: "a scope") != nil else { return nil }
            switch (object["section"], object["sections"]) {
            case (let section?, nil):
                guard let id = reader.string(section, at: on.appending("section"), what: "a section's id") else { return nil }
                reader.requireSection(SectionID(id), at: on.appending("section"))
                return .sections([SectionID(id)])
            case (nil, let sections?):
                guard let ids = reader.strings(sections, at: on.appending("sections"), what: "`sections`") else { return nil }
                if ids.isEmpty { reader.fault(on.appending("sections"), "a scope must name one section at least") }
                for (index, id) in ids.enumerated() { reader.requireSection(SectionID(id), at: on.appending("sections").appending(index)) }
                return .sections(ids.map { SectionID($0) })
            default: reader.fault(on, "a scope has either `section` or `sections`")
            }
        default: reader.fault(on, "a scope is \"table\", {\"section\": id}, {\"sections\": [ids]}, \"allOtherSections\" or \"anySection\"")
        }
        return nil
    }

    private mutating func bindCells(_ object: JSONObject, _ binding: inout Binding, _ reader: inout DescriptionReader) {
        let pointer = binding.pointer
        let data = ["models", "viewModels", "modelsFrom", "numberOfCells"].filter { object[$0] != nil }
        guard object["cell"] != nil || object["cellProvider"] != nil || !data.isEmpty else {
            for member in ["viewModel", "shown"] where object[member] != nil {
                reader.fault(pointer.appending(member), "`\(member)` stands in the binding that binds the cells, with its `cell` and `models`")
            }
            return
        }
        if data.count > 1 { reader.fault(pointer, "cells are bound to one of \(data.map { "`\($0)`" }.joined(separator: ", ")), not to several") }
        claimCells(binding.scope, at: pointer, &reader)

        var cell: Computed<RowInput>?
        switch (object["cell"], object["cellProvider"]) {
        case (.string(let name)?, nil):
            requireCell(name, at: pointer.appending("cell"), &reader)
            cell = Computed(constant: .string(name))
        case (.object(let byType)?, nil):
            if byType["byModelType"] == .bool(true), byType.members.allSatisfy({ $0.name == "byModelType" || DescriptionReader.isRemark($0.name) }) {
                cell = cellByModelType
            } else {
                reader.fault(pointer.appending("cell"), "`cell` must be a cell's name, or {\"byModelType\": true}")
            }
        case (nil, let provider?):
            if let template = reader.template(provider, at: pointer.appending("cellProvider")) {
                cell = Computed(rendering: template) { $1.context(for: $0, reading: $2) }
                if let constant = template.constant {
                    if let name = constant.stringValue { requireCell(name, at: pointer.appending("cellProvider"), &reader) } else {
                        reader.fault(pointer.appending("cellProvider"), "a cell provider must give the name of a cell, a string")
                    }
                }
            }
        case (nil, nil): reader.fault(pointer, "a binding of cells names its `cell`, or a `cellProvider`")
        case (_?, _?): reader.fault(pointer, "a binding has either a `cell` or a `cellProvider`")
        default: reader.fault(pointer.appending("cell"), "`cell` must be a cell's name, or {\"byModelType\": true}")
        }
        var cells = CellBinding(cell: cell ?? Computed(constant: .string("")), viewModel: nil)
        if case .object? = object["cell"], object["viewModel"] != nil || object["viewModels"] != nil || object["numberOfCells"] != nil {
            reader.fault(pointer.appending("cell"), "cells by model type show `models` as they are: there is no view model and no number of cells beside them")
        }
        if object["cellProvider"] != nil, object["viewModels"] != nil {
            reader.fault(pointer.appending("viewModels"), "a `cellProvider` goes with `models`, which it reads; view models go with a `cell`")
        }
        if let viewModels = object["viewModels"] {
            cells.showsModel = false
            readModels(viewModels, "viewModels", binding, &reader)
            if object["viewModel"] != nil { reader.fault(pointer.appending("viewModel"), "`viewModels` are what the cells are given: there is nothing for a `viewModel` template to do") }
        } else if let models = object["models"] {
            readModels(models, "models", binding, &reader)
        }
        if let viewModel = object["viewModel"], let template = reader.template(viewModel, at: pointer.appending("viewModel")) {
            cells.viewModel = Computed(rendering: template) { $1.context(for: $0, reading: $2) }
        }
        if let source = object["modelsFrom"], let template = reader.template(source, at: pointer.appending("modelsFrom")) {
            checkDerived(source, template, binding, &reader)
            cells.source = .derived(Computed(rendering: template) { $1.context(forTitleOf: $0, reading: $2) })
        }
        if let number = object["numberOfCells"] { cells.source = numberOfCells(number, at: pointer.appending("numberOfCells"), &reader) }
        if object["shown"] != nil, let expression = reader.expression(object["shown"], at: pointer.appending("shown"), what: "`shown`") {
            if cells.source.isStored {
                let reads = Reads(names: expression.freeNames)
                cells.source = .shown(Computed(reads: reads) { input, evaluation in
                    JSONText(.bool(try expression.evaluated(evaluation.context(for: input, reading: reads)).isTruthy))
                })
            } else {
                reader.fault(pointer.appending("shown"), "`shown` hides stored rows; derived ones are left out by what they derive from")
            }
        }
        if !cells.source.isStored {
            for member in ["editing", "moving", "insert"] where object[member] != nil {
                reader.fault(pointer.appending(member), "derived rows cannot be edited or moved; change what they derive from in a handler")
            }
        }
        binding.cells = cells
    }

    /// What can be seen of derived models without a context.
    private func checkDerived(_ source: JSONValue, _ template: Template, _ binding: Binding, _ reader: inout DescriptionReader) {
        let pointer = binding.pointer.appending("modelsFrom")
        if let constant = template.constant, constant.arrayValue == nil, constant.objectValue == nil {
            reader.fault(pointer, "`modelsFrom` must give an array of models, or an object from section ids to arrays")
        }
        guard case .object(let object) = source, !object.members.contains(where: { $0.name.contains("$") }) else { return }
        for (name, _) in object.members {
            if case .sections = binding.scope, !binding.names.contains(SectionID(name)) {
                reader.fault(pointer.appending(name), "the section \"\(name)\" is not in this binding's scope")
            } else {
                reader.requireSection(SectionID(name), at: pointer.appending(name))
            }
        }
    }

    private func numberOfCells(_ value: JSONValue, at pointer: JSONPointer, _ reader: inout DescriptionReader) -> RowSource {
        if case .string = value {
            guard let expression = reader.expression(value, at: pointer, what: "`numberOfCells`") else { return .stored }
            let reads = Reads(names: expression.freeNames)
            return .counted(Computed(reads: reads) { input, evaluation in
                JSONText(try expression.evaluated(evaluation.context(forTitleOf: input, reading: reads)))
            })
        }
        guard let count = value.intValue, count >= 0 else {
            reader.fault(pointer, "`numberOfCells` must be an integer from 0, or an expression over the state that gives one")
            return .stored
        }
        return .counted(Computed(constant: .number(count)))
    }

    private func bindEvents(_ value: JSONValue?, _ binding: inout Binding, _ reader: inout DescriptionReader) {
        let root = binding.pointer.appending("onEvent")
        for (cell, events) in reader.map(value, at: root, what: "`onEvent`") {
            let pointer = root.appending(cell)
            requireCell(cell, at: pointer, &reader)
            for (event, steps) in reader.map(events, at: pointer, what: "the events of a cell") {
                let place = pointer.appending(event)
                if let declaration = cells[cell], declaration.events[event] == nil {
                    let declared = declaration.events.keys.sorted().map { "\"\($0)\"" }.joined(separator: ", ")
                    reader.fault(place, "the cell \"\(cell)\" declares no event \"\(event)\"; \(declared.isEmpty ? "it declares none: add it to the cell's `events`" : "it declares \(declared)")")
                }
                binding.onEvent[cell, default: [:]][event] = reader.handler(steps, at: place)
            }
        }
    }

    private func bindPrefetch(_ object: JSONObject, _ binding: inout Binding, _ reader: inout DescriptionReader) {
        let pointer = binding.pointer
        if let steps = object["onPrefetch"] { binding.onPrefetch = reader.handler(steps, at: pointer.appending("onPrefetch")) }
        guard let value = object["prefetch"] else {
            if object["onPrefetch"] != nil { reader.fault(pointer.appending("onPrefetch"), "`onPrefetch` needs `prefetch`: {\"cellsFromEnd\": n}") }
            return
        }
        let place = pointer.appending("prefetch")
        guard let prefetch = reader.object(value, at: place, members: ["cellsFromEnd"], what: "`prefetch`") else { return }
        guard let distance = prefetch["cellsFromEnd"]?.intValue, distance >= 0 else {
            return reader.fault(prefetch["cellsFromEnd"] == nil ? place : place.appending("cellsFromEnd"), "`cellsFromEnd` must be an integer from 0")
        }
        binding.prefetchDistance = distance
    }

    /// A section's cells can be bound once.
    private mutating func claimCells(_ scope: Scope, at pointer: JSONPointer, _ reader: inout DescriptionReader) {
        switch scope {
        case .table: claimCells(.sections(sections ?? []), at: pointer, &reader)
        case .sections(let ids):
            for id in ids {
                if let first = boundCells[id] {
                    reader.fault(pointer, "the cells of the section \"\(id)\" are bound already, by \(first)")
                } else {
                    boundCells[id] = pointer
                }
            }
        case .allOtherSections:
            if let first = boundOthers { reader.fault(pointer, "the cells of all other sections are bound already, by \(first)") }
            boundOthers = pointer
        case .anySection: break
        }
    }

    /// DataSourceController's `register(dataController:for:)`.
    private var cellByModelType: Computed<RowInput> {
        let cells = cellsForModelTypes
        return Computed(reads: []) { input, _ in
            let type = input.model["type"]?.stringValue ?? input.model.kind.name
            guard let cell = cells[type] else {
                throw Refusal(.modelInvalid, "No cell is registered for the model type \"\(type)\", that of row \(input.row) of the section \"\(input.section)\".")
            }
            return .string(cell)
        }
    }

    private mutating func readModels(_ value: JSONValue, _ member: String, _ binding: Binding, _ reader: inout DescriptionReader) {
        let pointer = binding.pointer.appending(member)
        switch (value, binding.scope) {
        case (.array, .table): addModels(sections?.first ?? "table", pointer, &reader)
        case (.array, .sections(let ids)) where ids.count == 1: addModels(ids[0], pointer, &reader)
        case (.object(let object), .sections), (.object(let object), .allOtherSections), (.object(let object), .table):
            for ((name, models), text) in zip(object.members, reader.slice(pointer).members() ?? []) where !DescriptionReader.isRemark(name) {
                let id = SectionID(name), place = pointer.appending(name)
                if case .sections = binding.scope, !binding.names.contains(id) {
                    reader.fault(place, "the section \"\(name)\" is not in this binding's scope")
                } else if !reader.requireSection(id, at: place) {
                    continue
                } else if case .array = models {
                    self.models.append((id, text.value.elements() ?? [], place))
                } else {
                    reader.fault(place, "the models of a section must be an array")
                }
            }
        default: reader.fault(pointer, "`\(member)` must be \(binding.scope.isOfOneSection ? "an array of models" : "an object from section ids to arrays of models")")
        }
    }

    private mutating func addModels(_ section: SectionID, _ pointer: JSONPointer, _ reader: inout DescriptionReader) {
        models.append((section, reader.slice(pointer).elements() ?? [], pointer))
    }

    private func bindTitles(
        _ object: JSONObject, _ member: String, _ binding: inout Binding, _ reader: inout DescriptionReader,
        all: (inout Binding, Computed<SectionInput>) -> Void, each: (inout Binding, SectionID, Computed<SectionInput>) -> Void
    ) {
        let pointer = binding.pointer
        if let value = object[member], let title = reader.title(value, at: pointer.appending(member)) { all(&binding, title) }
        let plural = member + "s"
        for (name, value) in reader.map(object[plural], at: pointer.appending(plural), what: "`\(plural)`") {
            let place = pointer.appending(plural).appending(name)
            if case .sections = binding.scope, !binding.names.contains(SectionID(name)) {
                reader.fault(place, "the section \"\(name)\" is not in this binding's scope")
            } else {
                reader.requireSection(SectionID(name), at: place)
            }
            if let title = reader.title(value, at: place) { each(&binding, SectionID(name), title) }
        }
    }

    private func bindDimensions(_ value: JSONValue?, _ binding: inout Binding, _ reader: inout DescriptionReader) {
        let pointer = binding.pointer.appending("dimensions")
        guard let value, let object = reader.object(value, at: pointer, members: [
            "cellHeight", "estimatedCellHeight", "headerHeight", "estimatedHeaderHeight", "footerHeight", "estimatedFooterHeight",
        ], what: "`dimensions`") else { return }
        func forRows(_ name: String) -> Computed<RowInput>? {
            object[name].flatMap { reader.dimension($0, at: pointer.appending(name)) { $1.context(for: $0, reading: $2) } }
        }
        func forSections(_ name: String) -> Computed<SectionInput>? {
            object[name].flatMap { reader.dimension($0, at: pointer.appending(name)) { $1.context(forTitleOf: $0, reading: $2) } }
        }
        binding.cellHeight = forRows("cellHeight")
        binding.estimatedCellHeight = forRows("estimatedCellHeight")
        binding.headerHeight = forSections("headerHeight")
        binding.estimatedHeaderHeight = forSections("estimatedHeaderHeight")
        binding.footerHeight = forSections("footerHeight")
        binding.estimatedFooterHeight = forSections("estimatedFooterHeight")
    }

    private func bindEditing(_ object: JSONObject, _ binding: inout Binding, _ reader: inout DescriptionReader) {
        let pointer = binding.pointer
        if let value = object["editing"], let template = reader.template(value, at: pointer.appending("editing")) {
            if let constant = template.constant, constant.stringValue.flatMap(EditingStyle.init) == nil {
                reader.fault(pointer.appending("editing"), "`editing` must be \"delete\", \"insert\", \"none\", or a template that gives one of them")
            }
            binding.editing = Computed(rendering: template) { $1.context(for: $0, reading: $2) }
        }
        guard let value = object["insert"], let insert = reader.object(value, at: pointer.appending("insert"), members: ["template"], what: "`insert`") else { return }
        guard let source = insert["template"] else { return reader.fault(pointer.appending("insert"), "`insert` needs a `template`") }
        if let template = reader.template(source, at: pointer.appending("insert").appending("template")) {
            binding.insertTemplate = { section, evaluation in
                let count = evaluation.table[section]?.rows.count ?? 0
                let input = SectionInput(id: section, rowCount: count, header: .null, footer: .null)
                return try template.rendered(evaluation.context(forTitleOf: input, reading: .everything)).map(JSONText.init)
            }
        }
    }

    private func bindMoving(_ value: JSONValue?, _ binding: inout Binding, _ reader: inout DescriptionReader) {
        let pointer = binding.pointer.appending("moving"), to = pointer.appending("to")
        guard let value, let object = reader.object(value, at: pointer, members: ["to", "movable"], what: "`moving`") else { return }
        switch object["to"] {
        case .string("anySection")?: binding.moving = .anySection
        case .array?:
            let ids = (reader.strings(object["to"] ?? .null, at: to, what: "`to`") ?? []).map { SectionID($0) }
            for (index, id) in ids.enumerated() { reader.requireSection(id, at: to.appending(index)) }
            binding.moving = .sections(ids)
        case .object?:
            guard let passing = reader.object(object["to"] ?? .null, at: to, members: ["passing"], what: "`to`") else { break }
            if passing["passing"] == nil { reader.fault(to, "`to` needs an expression `passing`") }
            if let expression = reader.expression(passing["passing"], at: to.appending("passing"), what: "`passing`") {
                let reads = Reads(names: expression.freeNames)
                binding.moving = .passing(PassingPolicy { input, evaluation in
                    try expression.evaluated(evaluation.context(for: input, reading: reads)).isTruthy
                })
            }
        case nil: reader.fault(pointer, "`moving` needs `to`: \"anySection\", an array of section ids, or {\"passing\": expression}")
        default: reader.fault(to, "`to` must be \"anySection\", an array of section ids, or {\"passing\": expression}")
        }
        guard object["movable"] != nil else { return }
        if let expression = reader.expression(object["movable"], at: pointer.appending("movable"), what: "`movable`") {
            let reads = Reads(names: expression.freeNames)
            binding.movable = Computed(reads: reads) { input, evaluation in
                JSONText(.bool(try expression.evaluated(evaluation.context(for: input, reading: reads)).isTruthy))
            }
        }
    }

    /// Rows move only between sections of one model type, whose rows are stored.
    private func checkMoves(_ bindings: [Binding], _ binder: Binder, _ reader: inout DescriptionReader) {
        for binding in bindings {
            guard case .sections(let targets)? = binding.moving else { continue }
            let pointer = binding.pointer.appending("moving").appending("to")
            let sources = sections(of: binding)
            for (index, target) in targets.enumerated() {
                guard let to = binder.binding(of: target) else { continue }
                if !to.cells.source.isStored {
                    reader.fault(pointer.appending(index), "the rows of the section \"\(target)\" are derived: none can be moved there")
                    continue
                }
                // One is enough to say it.
                let other = sources.first { source in
                    source != target && binder.binding(of: source).map { $0.modelType.name != to.modelType.name } ?? false
                }
                guard let other, let from = binder.binding(of: other) else { continue }
                reader.fault(pointer.appending(index), "the models of \"\(other)\" are of the type \(from.modelType.nameForMessages), those of \"\(target)\" of \(to.modelType.nameForMessages): rows cannot be moved between them")
            }
        }
    }

    /// Editing and moving bound to sections whose rows are derived, in a binding of its own.
    private func checkPolicies(_ bindings: [Binding], _ binder: Binder, _ reader: inout DescriptionReader) {
        for binding in bindings where binding.cells == nil {
            let bound = sections(of: binding).compactMap { binder.binding(of: $0) }
            guard !bound.isEmpty, bound.allSatisfy({ !$0.cells.source.isStored }) else { continue }
            let policies = [("editing", binding.editing != nil), ("insert", binding.insertTemplate != nil), ("moving", binding.moving != nil)]
            for (member, isBound) in policies where isBound {
                reader.fault(binding.pointer.appending(member), "derived rows cannot be edited or moved; change what they derive from in a handler")
            }
        }
    }

    /// The declared sections that a binding is about.
    private func sections(of binding: Binding) -> [SectionID] {
        switch binding.scope {
        case .sections(let ids): ids
        case .table, .anySection: sections ?? []
        case .allOtherSections: (sections ?? []).filter { boundCells[$0] == nil }
        }
    }

    /// `assumingModelType` must name the type that is bound there.
    private func checkAssumedTypes(_ value: JSONValue?, _ bindings: [Binding], _ binder: Binder, _ reader: inout DescriptionReader) {
        guard case .array(let elements)? = value else { return }
        let byPointer = Dictionary(bindings.map { ($0.pointer, $0) }) { first, _ in first }
        for (index, element) in elements.enumerated() {
            guard case .object(let object) = element, let assumed = object["assumingModelType"] else { continue }
            let place = JSONPointer.root.appending("bindings").appending(index), pointer = place.appending("assumingModelType")
            guard let name = reader.string(assumed, at: pointer, what: "`assumingModelType`") else { continue }
            if modelTypes[name] == nil {
                reader.fault(pointer, "the model type \"\(name)\" is not declared in `modelTypes`")
                continue
            }
            guard let binding = byPointer[place] else { continue }
            for id in sections(of: binding) {
                guard let bound = binder.binding(of: id), bound.modelType.name != name else { continue }
                reader.fault(pointer, "the models of the section \"\(id)\" are of the type \(bound.modelType.nameForMessages), not \"\(name)\"")
                break
            }
        }
    }
}

extension Scope {
    var isOfOneSection: Bool {
        switch self {
        case .table: true
        case .sections(let ids): ids.count == 1
        case .allOtherSections, .anySection: false
        }
    }
}
