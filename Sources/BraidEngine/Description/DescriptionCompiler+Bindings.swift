// Compiles one item of `bindings`; `DescriptionCompiler+Checks.swift` checks what needs all of them.
extension DescriptionCompiler {
    private static let bindingMembers = [
        "on", "cell", "cellProvider", "models", "viewModels", "viewModel", "modelsFrom", "numberOfCells", "where",
        "sortedBy", "shown", "modelType",
        "assumingModelType", "header", "headers", "footer", "footers", "dimensions", "editing", "insert", "moving",
        "updates",
        "prefetch", "onDelete", "onInsert", "onTap", "onEvent", "onPrefetch",
    ]

    mutating func bind(_ value: JSONValue, at pointer: JSONPointer, to bindings: TableBindings) {
        guard let object = reader.object(value, at: pointer, members: Self.bindingMembers, what: "a binding") else {
            return
        }
        guard let scope = scope(object["on"], at: pointer) else { return }
        var binding = ScopeBinding(scope: scope, pointer: pointer)
        // Appended before it is complete: cells bound twice are reported with the binding that was first, perhaps this
        // one.
        bindings.bindings.append(binding)
        bindCells(object, &binding, bindings)
        (binding.header, binding.headers) = titles(object, "header", of: binding)
        (binding.footer, binding.footers) = titles(object, "footer", of: binding)
        bindDimensions(object["dimensions"], &binding)
        bindEditing(object, &binding)
        bindMoving(object["moving"], &binding)
        binding.onDelete = object["onDelete"].map {
            reader.handler($0, at: pointer.appending("onDelete"), over: "reason")
        }
        binding.onInsert = object["onInsert"].map {
            reader.handler($0, at: pointer.appending("onInsert"), over: "reason")
        }
        binding.onTap = object["onTap"].map { reader.handler($0, at: pointer.appending("onTap")) }
        bindEvents(object, &binding)
        bindPrefetch(object, &binding)
        binding.assumedType = reader.string(
            object["assumingModelType"], at: pointer.appending("assumingModelType"), what: "`assumingModelType`"
        ).map { UTF8Key($0) }
        switch object["updates"] {
        case nil: break
        case .string("byReloading")?: binding.updatesManually = false
        case .string("manually")?: binding.updatesManually = true
        default:
            reader.fault(
                pointer.appending("updates"), .rejecting(object["updates"], accepting: .string),
                "`updates` must be \"byReloading\" or \"manually\"")
        }
        bindings.bindings[bindings.bindings.count - 1] = binding
        if scope == .anySection {
            for member in [
                "cell", "cellProvider", "models", "viewModels", "modelsFrom", "numberOfCells", "where", "sortedBy",
                "shown",
                "header", "headers", "footer", "footers", "editing", "moving",
            ] where object[member] != nil {
                reader.fault(
                    pointer.appending(member), .conflict,
                    "a binding of \"anySection\" binds no cells, headers, footers, editing or moving")
            }
        }
    }

    private static let scopes =
        "{\"section\": id}, {\"sections\": [ids]}, \"allOtherSections\" or \"anySection\""

    mutating func scope(_ value: JSONValue?, at pointer: JSONPointer) -> Scope? {
        let on = pointer.appending("on")
        switch value {
        case nil:
            if let sections, sections.count == 1 { return .table }
            reader.fault(
                pointer, .missingMember,
                "a binding needs a scope, `on`, because this table has \(sections.map { "\($0.count) sections" } ?? "dynamic sections"): \(Self.scopes)"
            )
        case .string("allOtherSections")?: return .allOtherSections
        case .string("anySection")?: return .anySection
        case .object(let object)?:
            guard reader.object(.object(object), at: on, members: ["section", "sections"], what: "a scope") != nil
            else { return nil }
            switch (object["section"], object["sections"]) {
            case (let section?, nil):
                guard let id = reader.string(section, at: on.appending("section"), what: "a section's id") else {
                    return nil
                }
                reader.requireSection(SectionID(id), at: on.appending("section"))
                return .sections([SectionID(id)])
            case (nil, let sections?):
                let place = on.appending("sections")
                guard let ids = reader.sectionIDs(sections, at: place, what: "`sections`") else { return nil }
                if ids.isEmpty { reader.fault(place, .invalidValue, "a scope must name at least one section") }
                return .sections(ids)
            default:
                reader.fault(
                    on, object["section"] == nil ? .missingMember : .conflict,
                    "a scope has either `section` or `sections`")
            }
        default:
            reader.fault(
                on, .rejecting(value, accepting: .string, .object),
                "a scope is \(Self.scopes). In a table with one section, a binding needs no `on`")
        }
        return nil
    }

    /// `{cell: {event: handler}}`, or `{event: handler}` if the binding's `cell` is a name.
    private mutating func bindEvents(_ object: JSONObject, _ binding: inout ScopeBinding) {
        let root = binding.pointer.appending("onEvent")
        for (name, value) in reader.map(object["onEvent"], at: root, what: "`onEvent`") {
            let pointer = root.appending(name)
            if case .object = value {
                requireCell(name, at: pointer)
                for (event, handler) in reader.map(value, at: pointer, what: "the events of a cell") {
                    bindEvent(event, of: name, handler, at: pointer.appending(event), &binding)
                }
            } else if let cell = object["cell"]?.stringValue {
                bindEvent(name, of: cell, value, at: pointer, &binding)
            } else {
                reader.fault(
                    pointer, .conflict,
                    "only a binding with a `cell` may leave out the cell's name: write {cell: {event: handler}}")
            }
        }
    }

    private mutating func bindEvent(
        _ event: String, of cell: String, _ handler: JSONValue, at place: JSONPointer, _ binding: inout ScopeBinding
    ) {
        if let declaration = cells[cell], declaration.otherEvents == nil, declaration.events[UTF8Key(event)] == nil {
            // Repeated for each undeclared event, so at most 16 names.
            let declared =
                reader.isFull || declaration.events.count > 16
                ? "\(declaration.events.count) others"
                : declaration.events.keys.map(\.string).sorted().map { "\"\($0)\"" }.joined(separator: ", ")
            reader.fault(
                place, .unknownName,
                "the cell \"\(cell)\" declares no event \"\(event)\"; \(declared.isEmpty ? "it declares none: add it to the cell's `events`" : "it declares \(declared)")"
            )
        }
        binding.onEvent[UTF8Key(cell), default: [:]][UTF8Key(event)] = reader.handler(handler, at: place, over: "event")
    }

    private mutating func bindPrefetch(_ object: JSONObject, _ binding: inout ScopeBinding) {
        let pointer = binding.pointer
        let handler = object["onPrefetch"].map { reader.handler($0, at: pointer.appending("onPrefetch")) }
        guard let value = object["prefetch"] else {
            if object["onPrefetch"] != nil {
                reader.fault(
                    pointer.appending("onPrefetch"), .conflict, "`onPrefetch` needs `prefetch`: {\"cellsFromEnd\": n}")
            }
            return
        }
        let place = pointer.appending("prefetch")
        guard let prefetch = reader.object(value, at: place, members: ["cellsFromEnd"], what: "`prefetch`") else {
            return
        }
        guard let distance = prefetch["cellsFromEnd"]?.intValue, distance >= 0 else {
            return reader.fault(
                prefetch["cellsFromEnd"] == nil ? place : place.appending("cellsFromEnd"),
                .rejecting(prefetch["cellsFromEnd"], accepting: .number),
                "`cellsFromEnd` must be an integer from 0")
        }
        (binding.prefetchDistance, binding.onPrefetch) = (distance, handler)
    }
}

extension Scope {
    /// Whether the scope is a list without the section. By hash, as both can be long.
    func exclusion() -> (SectionID) -> Bool {
        guard case .sections(let ids) = self else { return { _ in false } }
        let named = Set(ids)
        return { !named.contains($0) }
    }

    var isOfOneSection: Bool {
        switch self {
        case .table: true
        case .sections(let ids): ids.count == 1
        case .allOtherSections, .anySection: false
        }
    }
}

extension DescriptionCompiler {
    /// `member` is the singular, such as `header`.
    mutating func titles(_ object: JSONObject, _ member: String, of binding: ScopeBinding) -> (
        ofAll: Computed<SectionInput>?, byID: [SectionID: Computed<SectionInput>]
    ) {
        let pointer = binding.pointer
        let ofAll = object[member].flatMap { reader.title($0, at: pointer.appending(member)) }
        var titles: [SectionID: Computed<SectionInput>] = [:]
        let plural = member + "s"
        guard let byID = object[plural] else { return (ofAll, titles) }
        let isExcluded = binding.scope.exclusion()
        let hint = " with a title for each section's id; `\(member)` is one title for all"
        for (name, value) in reader.map(byID, at: pointer.appending(plural), what: "`\(plural)`", hint: hint) {
            let place = pointer.appending(plural).appending(name)
            reader.requireSection(SectionID(name), notExcluded: isExcluded, at: place)
            if let title = reader.title(value, at: place) { titles[SectionID(name)] = title }
        }
        return (ofAll, titles)
    }

    mutating func bindDimensions(_ value: JSONValue?, _ binding: inout ScopeBinding) {
        let pointer = binding.pointer.appending("dimensions")
        guard let value,
            let object = reader.object(
                value, at: pointer,
                members: [
                    "cellHeight", "estimatedCellHeight", "headerHeight", "estimatedHeaderHeight", "footerHeight",
                    "estimatedFooterHeight",
                ], what: "`dimensions`")
        else { return }
        func forRows(_ name: String) -> Computed<RowInput>? {
            object[name].flatMap {
                reader.dimension($0, at: pointer.appending(name), over: DescriptionReader.rowNames) {
                    $1.context(for: $0, reading: $2)
                }
            }
        }
        func forSections(_ name: String) -> Computed<SectionInput>? {
            object[name].flatMap {
                reader.dimension($0, at: pointer.appending(name), over: DescriptionReader.titleNames) {
                    $1.context(forTitleOf: $0, reading: $2)
                }
            }
        }
        binding.cellHeight = forRows("cellHeight")
        binding.estimatedCellHeight = forRows("estimatedCellHeight")
        binding.headerHeight = forSections("headerHeight")
        binding.estimatedHeaderHeight = forSections("estimatedHeaderHeight")
        binding.footerHeight = forSections("footerHeight")
        binding.estimatedFooterHeight = forSections("estimatedFooterHeight")
    }

    mutating func bindEditing(_ object: JSONObject, _ binding: inout ScopeBinding) {
        let pointer = binding.pointer
        if let value = object["editing"],
            let template = reader.template(value, at: pointer.appending("editing"), over: DescriptionReader.rowNames)
        {
            if !template.canGive(.string)
                || template.constant?.stringValue.map({ EditingStyle(rawValue: $0) == nil }) ?? false
            {
                reader.fault(
                    pointer.appending("editing"), .rejecting(value, accepting: .string, .object),
                    "`editing` must be \"delete\", \"insert\", \"none\", or a template that gives one of them")
            }
            binding.editing = Computed(ofRows: template)
        }
        guard let value = object["insert"],
            let insert = reader.object(value, at: pointer.appending("insert"), members: ["template"], what: "`insert`")
        else { return }
        guard let source = insert["template"] else {
            return reader.fault(pointer.appending("insert"), .missingMember, "`insert` needs a `template`")
        }
        if let template = reader.template(
            source, at: pointer.appending("insert").appending("template"), over: ["count", "uuid", "user"])
        {
            binding.insertTemplate = { section, evaluation in
                let count = evaluation.table[section]?.rows.count ?? 0
                let input = SectionInput(id: section, count: count, displayedCount: count)
                var context = evaluation.context(forTitleOf: input, reading: .everything)
                context.ids = evaluation.ids
                context.lazy("user") { evaluation.user.value() }
                return try Refusal.naming(section) { try template.rendered(context).map(JSONText.init) }
            }
        }
    }

    mutating func bindMoving(_ value: JSONValue?, _ binding: inout ScopeBinding) {
        let pointer = binding.pointer.appending("moving"), to = pointer.appending("to")
        guard let value,
            let object = reader.object(value, at: pointer, members: ["to", "movable", "merge"], what: "`moving`")
        else { return }
        var policy: MovePolicy?
        switch object["to"] {
        case .string("anySection")?: policy = .anySection
        case .array?:
            policy = .sections(reader.sectionIDs(object["to"] ?? .null, at: to, what: "`to`") ?? [])
        case .object?:
            guard let passing = reader.object(object["to"] ?? .null, at: to, members: ["passing"], what: "`to`") else {
                break
            }
            if passing["passing"] == nil { reader.fault(to, .missingMember, "`to` needs an expression `passing`") }
            if let expression = reader.expression(
                passing["passing"], at: to.appending("passing"), over: DescriptionReader.sectionNames,
                what: "`passing`")
            {
                let reads = Reads(names: expression.names)
                policy = .passing(reads: reads) { input, evaluation in
                    try expression.evaluated(evaluation.context(for: input, reading: reads)).isTruthy
                }
            }
        case nil:
            reader.fault(
                pointer, .missingMember,
                "`moving` needs `to`: \"anySection\", an array of section ids, or {\"passing\": expression}")
        default:
            reader.fault(
                to, .rejecting(object["to"], accepting: .string),
                "`to` must be \"anySection\", an array of section ids, or {\"passing\": expression}")
        }
        let movable = reader.expression(
            object["movable"], at: pointer.appending("movable"), over: DescriptionReader.rowNames, what: "`movable`")
        policy?.merge = merge(object["merge"], at: pointer.appending("merge"))
        if let policy { (binding.moving, binding.movable) = (policy, movable.map { Computed(holding: $0) }) }
    }

    private mutating func merge(_ value: JSONValue?, at pointer: JSONPointer) -> (
        @Sendable (MergeInput, Evaluation) throws -> JSONText?
    )? {
        guard let value,
            let template = reader.template(value, at: pointer, over: ["model", "above", "below", "user"])
        else { return nil }
        if !template.canGive(.object) {
            reader.fault(
                pointer, .wrongType,
                "`merge` must give an object, such as {\"priority\": {\"$eval\": \"above.priority\"}}")
        }
        return { input, evaluation in
            var context = evaluation.context(reading: .everything)
            context["model"] = input.model.value()
            context["above"] = input.above.value()
            context["below"] = input.below.value()
            context["section"] = .string(input.section.text)
            context.lazy("user") { evaluation.user.value() }
            guard let merged = try template.rendered(context) else { return nil }
            guard case .object = merged else {
                throw Refusal(
                    templateFailed: "`merge`, from \(pointer), gave \(JSONText(merged).text): it must give an object.",
                    at: pointer)
            }
            return JSONText(merged)
        }
    }
}
