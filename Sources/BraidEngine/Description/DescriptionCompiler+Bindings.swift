// Bindings.
extension DescriptionCompiler {
    private static let bindingMembers = [
        "on", "cell", "cellProvider", "models", "viewModels", "viewModel", "modelsFrom", "numberOfCells", "shown", "modelType",
        "assumingModelType", "header", "headers", "footer", "footers", "dimensions", "editing", "insert", "moving", "updates",
        "prefetch", "onDelete", "onInsert", "onTap", "onEvent", "onPrefetch",
    ]

    mutating func bind(
        _ value: JSONValue, at pointer: JSONPointer, to bindings: TableBindings<SectionID>, _ reader: inout DescriptionReader
    ) {
        guard let object = reader.object(value, at: pointer, members: Self.bindingMembers, what: "a binding") else { return }
        guard let scope = scope(object["on"], at: pointer, &reader) else { return }
        let chain = bindings.on(scope).edit { $0.pointer = pointer }.carrying(Never.self, JSONText.self)
        bindCells(object, chain, &reader)
        for (section, title) in titles(object, "header", chain, &reader) { chain.bind(header: title, of: section) }
        for (section, title) in titles(object, "footer", chain, &reader) { chain.bind(footer: title, of: section) }
        bindDimensions(object["dimensions"], chain, &reader)
        bindEditing(object, chain, &reader)
        bindMoving(object["moving"], chain, &reader)
        if let steps = object["onDelete"] { chain.onDelete(reader.handler(steps, at: pointer.appending("onDelete"), over: "reason")) }
        if let steps = object["onInsert"] { chain.onInsert(reader.handler(steps, at: pointer.appending("onInsert"), over: "reason")) }
        if let steps = object["onTap"] { chain.onTapped(reader.handler(steps, at: pointer.appending("onTap"))) }
        bindEvents(object["onEvent"], chain, &reader)
        bindPrefetch(object, chain, &reader)
        if let assumed = reader.string(object["assumingModelType"], at: pointer.appending("assumingModelType"), what: "`assumingModelType`") {
            chain.assuming(modelTypeNamed: assumed)
        }
        switch object["updates"] {
        case nil: break
        case .string("byReloading")?: chain.updates(manually: false)
        case .string("manually")?: chain.updates(manually: true)
        default: reader.fault(pointer.appending("updates"), "`updates` must be \"byReloading\" or \"manually\"")
        }
        if scope == .anySection {
            for member in ["cell", "cellProvider", "models", "viewModels", "modelsFrom", "numberOfCells", "shown", "header", "headers", "footer", "footers", "editing", "moving"] where object[member] != nil {
                reader.fault(pointer.appending(member), "a binding of \"anySection\" binds no cells, headers, footers, editing or moving")
            }
        }
    }

    func scope(_ value: JSONValue?, at pointer: JSONPointer, _ reader: inout DescriptionReader) -> Scope? {
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
                for (index, id) in ids { reader.requireSection(SectionID(id), at: on.appending("sections").appending(index)) }
                return .sections(ids.map { SectionID($0.text) })
            default: reader.fault(on, "a scope has either `section` or `sections`")
            }
        default: reader.fault(on, "a scope is \"table\", {\"section\": id}, {\"sections\": [ids]}, \"allOtherSections\" or \"anySection\"")
        }
        return nil
    }

    private mutating func bindCells(_ object: JSONObject, _ chain: Chain, _ reader: inout DescriptionReader) {
        let pointer = chain.binding.pointer
        var type: ModelType?
        if let name = reader.string(object["modelType"], at: pointer.appending("modelType"), what: "`modelType`") {
            type = modelTypes[UTF8Key(name)]
            if type == nil { reader.fault(pointer.appending("modelType"), "the model type \"\(name)\" is not declared in `modelTypes`") }
        }
        let data = ["models", "viewModels", "modelsFrom", "numberOfCells"].filter { object[$0] != nil }
        guard object["cell"] != nil || object["cellProvider"] != nil || !data.isEmpty else {
            for member in ["viewModel", "shown"] where object[member] != nil {
                reader.fault(pointer.appending(member), "`\(member)` stands in the binding that binds the cells, with its `cell` and `models`")
            }
            if type != nil { reader.warn(pointer.appending("modelType"), "`modelType` says nothing here: it stands in the binding that binds the cells, with its `cell` and `models`") }
            return
        }
        if data.count > 1 { reader.fault(pointer, "cells are bound to one of \(data.map { "`\($0)`" }.joined(separator: ", ")), not to several") }
        for (section, owner) in chain.bindings.claimCells(chain.index) {
            reader.fault(pointer, "the cells of \(section.map { "the section \"\($0)\"" } ?? "all other sections") are bound already, by \(owner.pointer)")
        }

        var cell: Computed<RowInput>?
        switch (object["cell"], object["cellProvider"]) {
        case (.string(let name)?, nil):
            requireCell(name, at: pointer.appending("cell"), &reader)
            cell = Computed(constant: .string(name))
        case (.object(let byType)?, nil):
            if byType["byModelType"] == .bool(true), byType.members.allSatisfy({ $0.name == "byModelType" || DescriptionReader.isRemark($0.name) }) {
                cell = .cellByModelType(cellsForModelTypes)
            } else {
                reader.fault(pointer.appending("cell"), "`cell` must be a cell's name, or {\"byModelType\": true}")
            }
        case (nil, let provider?):
            if let template = reader.template(provider, at: pointer.appending("cellProvider"), over: DescriptionReader.rowNames) {
                cell = Computed(rendering: template) { $1.context(for: $0, reading: $2) }
                if let name = template.constant?.stringValue {
                    requireCell(name, at: pointer.appending("cellProvider"), &reader)
                } else if !template.canGive(.string) {
                    reader.fault(pointer.appending("cellProvider"), "a cell provider must give the name of a cell, a string")
                }
            }
        case (nil, nil): reader.fault(pointer, "a binding of cells names its `cell`, or a `cellProvider`")
        case (_?, _?): reader.fault(pointer, "a binding has either a `cell` or a `cellProvider`")
        default: reader.fault(pointer.appending("cell"), "`cell` must be a cell's name, or {\"byModelType\": true}")
        }
        var cells = CellBinding(cell: cell ?? Computed(constant: .string("")))
        if case .object? = object["cell"], object["viewModel"] != nil || object["viewModels"] != nil || object["numberOfCells"] != nil {
            reader.fault(pointer.appending("cell"), "cells by model type show `models` as they are: there is no view model and no number of cells beside them")
        }
        if object["cellProvider"] != nil, object["viewModels"] != nil {
            reader.fault(pointer.appending("viewModels"), "a `cellProvider` goes with `models`, which it reads; view models go with a `cell`")
        }
        if let viewModels = object["viewModels"] {
            cells.showsModel = false
            readModels(viewModels, "viewModels", chain, &reader)
            if object["viewModel"] != nil { reader.fault(pointer.appending("viewModel"), "`viewModels` are what the cells are given: there is nothing for a `viewModel` template to do") }
        } else if let models = object["models"] {
            readModels(models, "models", chain, &reader)
        }
        if let viewModel = object["viewModel"], let template = reader.template(viewModel, at: pointer.appending("viewModel"), over: DescriptionReader.rowNames) {
            cells.viewModel = Computed(rendering: template) { $1.context(for: $0, reading: $2) }
        }
        if let source = object["modelsFrom"], let template = reader.template(source, at: pointer.appending("modelsFrom")) {
            checkDerived(source, template, chain.binding, &reader)
            cells.source = .derived(Computed(rendering: template) { $1.context(forTitleOf: $0, reading: $2) })
        }
        if let number = object["numberOfCells"] { cells.source = numberOfCells(number, at: pointer.appending("numberOfCells"), &reader) }
        if object["shown"] != nil, let expression = reader.expression(object["shown"], at: pointer.appending("shown"), over: DescriptionReader.rowNames, what: "`shown`") {
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
        chain.bind(cells, of: type)
    }

    /// What can be seen of derived models without a context.
    func checkDerived(_ source: JSONValue, _ template: Template, _ binding: Binding, _ reader: inout DescriptionReader) {
        let pointer = binding.pointer.appending("modelsFrom")
        if !template.canGive(.array, .object) {
            reader.fault(pointer, "`modelsFrom` must give an array of models, or an object from section ids to arrays")
        }
        guard case .object(let object) = source, !object.members.contains(where: { $0.name.contains("$") }) else { return }
        for (name, _) in object.members {
            if binding.scope.excludes(SectionID(name)) {
                reader.fault(pointer.appending(name), "the section \"\(name)\" is not in this binding's scope")
            } else {
                reader.requireSection(SectionID(name), at: pointer.appending(name))
            }
        }
    }

    func numberOfCells(_ value: JSONValue, at pointer: JSONPointer, _ reader: inout DescriptionReader) -> RowSource {
        if case .string = value {
            guard let expression = reader.expression(value, at: pointer, what: "`numberOfCells`") else { return .stored }
            let reads = Reads(names: expression.freeNames)
            return .counted(Computed(reads: reads) { input, evaluation in
                JSONText(try expression.evaluated(evaluation.context(forTitleOf: input, reading: reads)))
            })
        }
        guard let count = value.intValue, (0...RowMaker.mostCountedRows).contains(count) else {
            reader.fault(pointer, "`numberOfCells` must be an integer from 0 to \(RowMaker.mostCountedRows), or an expression over the state that gives one")
            return .stored
        }
        return .counted(Computed(constant: .number(count)))
    }

    private func bindEvents(_ value: JSONValue?, _ chain: Chain, _ reader: inout DescriptionReader) {
        let root = chain.binding.pointer.appending("onEvent")
        for (cell, events) in reader.map(value, at: root, what: "`onEvent`") {
            let pointer = root.appending(cell)
            requireCell(cell, at: pointer, &reader)
            for (event, steps) in reader.map(events, at: pointer, what: "the events of a cell") {
                let place = pointer.appending(event)
                if let declaration = cells[UTF8Key(cell)], declaration.events[UTF8Key(event)] == nil {
                    // Of many events the first few: they are told again with each fault.
                    let declared = declaration.events.count > 16
                        ? "\(declaration.events.count) others" : declaration.events.keys.map(\.string).sorted().map { "\"\($0)\"" }.joined(separator: ", ")
                    reader.fault(place, "the cell \"\(cell)\" declares no event \"\(event)\"; \(declared.isEmpty ? "it declares none: add it to the cell's `events`" : "it declares \(declared)")")
                }
                chain.onEvent(event, from: cell, reader.handler(steps, at: place, over: "event"))
            }
        }
    }

    private func bindPrefetch(_ object: JSONObject, _ chain: Chain, _ reader: inout DescriptionReader) {
        let pointer = chain.binding.pointer
        let handler = object["onPrefetch"].map { reader.handler($0, at: pointer.appending("onPrefetch")) }
        guard let value = object["prefetch"] else {
            if object["onPrefetch"] != nil { reader.fault(pointer.appending("onPrefetch"), "`onPrefetch` needs `prefetch`: {\"cellsFromEnd\": n}") }
            return
        }
        let place = pointer.appending("prefetch")
        guard let prefetch = reader.object(value, at: place, members: ["cellsFromEnd"], what: "`prefetch`") else { return }
        guard let distance = prefetch["cellsFromEnd"]?.intValue, distance >= 0 else {
            return reader.fault(prefetch["cellsFromEnd"] == nil ? place : place.appending("cellsFromEnd"), "`cellsFromEnd` must be an integer from 0")
        }
        chain.prefetch(cellsFromEnd: distance, handler)
    }

    private mutating func readModels(_ value: JSONValue, _ member: String, _ chain: Chain, _ reader: inout DescriptionReader) {
        let scope = chain.binding.scope, pointer = chain.binding.pointer.appending(member)
        switch (value, scope) {
        case (.array, .table): addModels(sections?.first ?? "table", pointer, &reader)
        case (.array, .sections(let ids)) where ids.count == 1: addModels(ids[0], pointer, &reader)
        case (.object(let object), .sections), (.object(let object), .allOtherSections), (.object(let object), .table):
            for ((name, models), text) in zip(object.members, reader.slice(pointer).members() ?? []) where !DescriptionReader.isRemark(name) {
                let id = SectionID(name), place = pointer.appending(name)
                if scope.excludes(id) {
                    reader.fault(place, "the section \"\(name)\" is not in this binding's scope")
                } else if !reader.requireSection(id, at: place) {
                    continue
                } else if case .array = models {
                    self.models.append((id, text.value.elements() ?? [], place))
                } else {
                    reader.fault(place, "the models of a section must be an array")
                }
            }
        default: reader.fault(pointer, "`\(member)` must be \(scope.isOfOneSection ? "an array of models" : "an object from section ids to arrays of models")")
        }
    }

    mutating func addModels(_ section: SectionID, _ pointer: JSONPointer, _ reader: inout DescriptionReader) {
        models.append((section, reader.slice(pointer).elements() ?? [], pointer))
    }
}

extension Scope {
    /// The scope names sections, and not this one.
    func excludes(_ section: SectionID) -> Bool {
        if case .sections(let ids) = self { !ids.contains(section) } else { false }
    }

    var isOfOneSection: Bool {
        switch self {
        case .table: true
        case .sections(let ids): ids.count == 1
        case .allOtherSections, .anySection: false
        }
    }
}
