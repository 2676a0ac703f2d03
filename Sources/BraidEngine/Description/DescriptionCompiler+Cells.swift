// Which cells show the rows, and where these come from.
extension DescriptionCompiler {
    mutating func bindCells(_ object: JSONObject, _ binding: inout ScopeBinding, _ bindings: TableBindings) {
        let pointer = binding.pointer
        let type = modelType(object["modelType"], at: pointer.appending("modelType"))
        let data = ["models", "viewModels", "modelsFrom", "numberOfCells"].filter { object[$0] != nil }
        guard object["cell"] != nil || object["cellProvider"] != nil || !data.isEmpty else {
            for member in ["viewModel", "where", "sortedBy", "shown"] where object[member] != nil {
                reader.fault(
                    pointer.appending(member), .conflict,
                    "`\(member)` belongs in the binding that binds the cells, with its `cell` and `models`")
            }
            if type != nil {
                reader.warn(
                    pointer.appending("modelType"), .conflict,
                    "`modelType` has no effect here: it belongs in the binding that binds the cells, with its `cell` and `models`"
                )
            }
            return
        }
        if data.count > 1 {
            reader.fault(
                pointer, .conflict,
                "cells are bound to one of \(data.map { "`\($0)`" }.joined(separator: ", ")), not to several")
        }
        for (section, owner) in bindings.claimCells(bindings.bindings.count - 1) {
            reader.fault(
                pointer, .conflict,
                "the cells of \(section.map { "the section \"\($0)\"" } ?? "all other sections") are bound already, by \(owner.pointer)"
            )
        }
        var cells = CellRules(cell: cell(object, at: pointer) ?? Computed(constant: .string("")))
        if let viewModels = object["viewModels"] {
            cells.showsModel = false
            readModels(viewModels, "viewModels", of: binding)
            if object["viewModel"] != nil {
                reader.fault(
                    pointer.appending("viewModel"), .conflict,
                    "`viewModels` already contain what the cells show: remove the `viewModel` template")
            }
        } else if let models = object["models"] {
            readModels(models, "models", of: binding)
        }
        if let viewModel = object["viewModel"],
            let template = reader.template(
                viewModel, at: pointer.appending("viewModel"), over: DescriptionReader.rowNames)
        {
            cells.viewModel = Computed(ofRows: template)
        }
        cells.source = source(object, binding)
        // For some who look such a row may have no cell, so it is not displayed.
        if case .stored = cells.source,
            !cells.cell.reads.union(cells.viewModel?.reads ?? []).isDisjoint(with: .viewer)
        {
            cells.source = .selected(RowSelection())
        }
        (binding.cells, binding.modelType) = (cells, type)
    }

    private mutating func modelType(_ value: JSONValue?, at pointer: JSONPointer) -> ModelType? {
        guard let name = reader.string(value, at: pointer, what: "`modelType`") else { return nil }
        if let type = modelTypes[UTF8Key(name)] { return type }
        reader.fault(pointer, .unknownName, "the model type \"\(name)\" is not declared in `modelTypes`")
        return nil
    }

    private mutating func cell(_ object: JSONObject, at pointer: JSONPointer) -> Computed<RowInput>? {
        var cell: Computed<RowInput>?
        switch (object["cell"], object["cellProvider"]) {
        case (.string(let name)?, nil):
            requireCell(name, at: pointer.appending("cell"))
            cell = Computed(constant: .string(name))
        case (.object(let byType)?, nil)
        where byType["byModelType"] == .bool(true)
            && byType.members.allSatisfy { $0.name == "byModelType" || DescriptionReader.isRemark($0.name) }:
            cell = .cellByModelType(cellsForModelTypes)
        case (nil, let provider?):
            if let template = reader.template(
                provider, at: pointer.appending("cellProvider"), over: DescriptionReader.rowNames)
            {
                cell = Computed(ofRows: template)
                if let name = template.constant?.stringValue {
                    requireCell(name, at: pointer.appending("cellProvider"))
                } else if !template.canGive(.string) {
                    reader.fault(
                        pointer.appending("cellProvider"), .wrongType,
                        "a cell provider must give the name of a cell, a string")
                }
            }
        case (nil, nil):
            reader.fault(pointer, .missingMember, "a binding of cells names its `cell`, or a `cellProvider`")
        case (_?, _?): reader.fault(pointer, .conflict, "a binding has either a `cell` or a `cellProvider`")
        default:
            reader.fault(
                pointer.appending("cell"), .rejecting(object["cell"], accepting: .string, .object),
                "`cell` must be a cell's name, or {\"byModelType\": true}")
        }
        if case .object? = object["cell"],
            object["viewModel"] != nil || object["viewModels"] != nil || object["numberOfCells"] != nil
        {
            reader.fault(
                pointer.appending("cell"), .conflict,
                "cells by model type show `models` unchanged: remove `viewModel`, `viewModels` and `numberOfCells`"
            )
        }
        if object["cellProvider"] != nil, object["viewModels"] != nil {
            reader.fault(
                pointer.appending("viewModels"), .conflict,
                "a `cellProvider` reads `models`; to bind `viewModels`, use a `cell`")
        }
        return cell
    }

    private mutating func source(_ object: JSONObject, _ binding: ScopeBinding) -> RowSource {
        let pointer = binding.pointer
        var source = RowSource.stored
        if let models = object["modelsFrom"],
            let template = reader.template(models, at: pointer.appending("modelsFrom"))
        {
            checkDerived(models, template, binding)
            source = .derived(Computed(rendering: template) { $1.context(forRowsOf: $0, reading: $2) })
        }
        if let number = object["numberOfCells"] {
            source = numberOfCells(number, at: pointer.appending("numberOfCells"))
        }
        let selection = selection(object, at: pointer)
        if !source.isStored {
            for member in ["where", "sortedBy", "shown"] where object[member] != nil {
                reader.fault(
                    pointer.appending(member), .conflict,
                    "`\(member)` is for stored rows; derived ones are as what they derive from gives them")
            }
        } else if selection.exists != nil || selection.shown != nil || selection.order != nil {
            source = .selected(selection)
        }
        if !source.isStored {
            for member in ["editing", "moving", "insert"] where object[member] != nil {
                reader.fault(
                    pointer.appending(member), .conflict,
                    "derived rows cannot be edited or moved; change what they derive from in a handler")
            }
        }
        return source
    }

    private mutating func selection(_ object: JSONObject, at pointer: JSONPointer) -> RowSelection {
        var selection = RowSelection()
        if let expression = reader.expression(
            object["where"], at: pointer.appending("where"), over: ["model"], what: "`where`")
        {
            if let name = ["row", "count"].first(where: expression.names.all.contains) {
                reader.fault(
                    pointer.appending("where"), .unknownName,
                    "`where` decides which rows there are, so it cannot read `\(name)`; `shown` can")
            }
            selection.exists = Computed(holding: expression)
        }
        selection.shown = reader.expression(
            object["shown"], at: pointer.appending("shown"), over: DescriptionReader.rowNames, what: "`shown`"
        ).map { Computed(holding: $0) }
        let place = pointer.appending("sortedBy")
        guard let value = object["sortedBy"], let template = reader.template(value, at: place, isName: true) else {
            return selection
        }
        if !template.canGive(.string, .array, .null)
            || template.constant.map({ $0 != .null && SortOrder(JSONText($0)) == nil }) ?? false
        {
            reader.fault(
                place, .rejecting(value, accepting: .string, .array, .object), "`sortedBy`: \(SortOrder.rule)")
        } else if template.constant != .null {
            selection.order = Computed(rendering: template) { $1.context(forRowsOf: $0, reading: $2) }
        }
        return selection
    }

    /// Checks without rendering: the kind and, unless a name contains `$`, the section ids.
    private mutating func checkDerived(_ source: JSONValue, _ template: JSONeTemplate, _ binding: ScopeBinding) {
        let pointer = binding.pointer.appending("modelsFrom")
        if !template.canGive(.array, .object) {
            reader.fault(
                pointer, .wrongType,
                "`modelsFrom` must give an array of models, or an object from section ids to arrays")
        }
        guard case .object(let object) = source, !object.members.contains(where: { $0.name.contains("$") }) else {
            return
        }
        let isExcluded = binding.scope.exclusion()
        for (name, _) in object.members {
            reader.requireSection(SectionID(name), notExcluded: isExcluded, at: pointer.appending(name))
        }
    }

    private mutating func numberOfCells(_ value: JSONValue, at pointer: JSONPointer) -> RowSource {
        if case .string = value {
            guard let expression = reader.expression(value, at: pointer, what: "`numberOfCells`") else {
                return .stored
            }
            let reads = Reads(names: expression.names)
            return .counted(
                Computed(reads: reads) { input, evaluation in
                    JSONText(try expression.evaluated(evaluation.context(forRowsOf: input, reading: reads)))
                })
        }
        guard let count = value.intValue, (0...RowMaker.mostCountedRows).contains(count) else {
            reader.fault(
                pointer, .rejecting(value, accepting: .number),
                "`numberOfCells` must be an integer from 0 to \(RowMaker.mostCountedRows), or an expression over the state that gives one"
            )
            return .stored
        }
        return .counted(Computed(constant: .number(count)))
    }

    private mutating func readModels(_ value: JSONValue, _ member: String, of binding: ScopeBinding) {
        let scope = binding.scope, pointer = binding.pointer.appending(member)
        switch (value, scope) {
        case (.array, .table): addModels(sections?.first ?? "table", pointer)
        case (.array, .sections(let ids)) where ids.count == 1: addModels(ids[0], pointer)
        case (.object(let object), .sections), (.object(let object), .allOtherSections), (.object(let object), .table):
            let isExcluded = scope.exclusion()
            for ((name, models), text) in zip(object.members, reader.slice(pointer).members() ?? [])
            where !DescriptionReader.isRemark(name) {
                let id = SectionID(name), place = pointer.appending(name)
                guard reader.requireSection(id, notExcluded: isExcluded, at: place) else { continue }
                if case .array = models {
                    self.models.append((id, text.value.elements() ?? [], place))
                } else {
                    reader.fault(place, .wrongType, "the models of a section must be an array")
                }
            }
        default:
            reader.fault(
                pointer, .wrongType,
                "`\(member)` must be \(scope.isOfOneSection ? "an array of models" : "an object from section ids to arrays of models")"
            )
        }
    }

    private mutating func addModels(_ section: SectionID, _ pointer: JSONPointer) {
        models.append((section, reader.slice(pointer).elements() ?? [], pointer))
    }
}

extension Computed where Input == RowInput {
    /// Whether the expression is truthy.
    init(holding expression: Expression) {
        let reads = Reads(names: expression.names), members = expression.names.members(of: "model")
        self.init(reads: reads) { input, evaluation in
            .bool(try expression.evaluated(evaluation.context(for: input, reading: reads, members)).isTruthy)
        }
    }
}
