// Compiles the titles, dimensions, editing, inserting and moving of one binding of a table description.
// `DescriptionCompiler+Cells.swift` compiles the cells.
extension DescriptionCompiler {
    /// Reads a binding's `header` and `headers`, or `footer` and `footers`. `member` is the singular.
    func titles(
        _ object: JSONObject, _ member: String, of binding: ScopeBinding, _ reader: inout DescriptionReader
    ) -> (ofAll: Computed<SectionInput>?, byID: [SectionID: Computed<SectionInput>]) {
        let pointer = binding.pointer
        let ofAll = object[member].flatMap { reader.title($0, at: pointer.appending(member)) }
        var titles: [SectionID: Computed<SectionInput>] = [:]
        let plural = member + "s"
        guard let byID = object[plural] else { return (ofAll, titles) }
        let isExcluded = binding.scope.exclusion()
        for (name, value) in reader.map(byID, at: pointer.appending(plural), what: "`\(plural)`") {
            let place = pointer.appending(plural).appending(name)
            if isExcluded(SectionID(name)) {
                reader.fault(place, .conflict, "the section \"\(name)\" is not in this binding's scope")
            } else {
                reader.requireSection(SectionID(name), at: place)
            }
            if let title = reader.title(value, at: place) { titles[SectionID(name)] = title }
        }
        return (ofAll, titles)
    }

    func bindDimensions(_ value: JSONValue?, _ binding: inout ScopeBinding, _ reader: inout DescriptionReader) {
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

    func bindEditing(_ object: JSONObject, _ binding: inout ScopeBinding, _ reader: inout DescriptionReader) {
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
            binding.editing = Computed(rendering: template) { $1.context(for: $0, reading: $2) }
        }
        guard let value = object["insert"],
            let insert = reader.object(value, at: pointer.appending("insert"), members: ["template"], what: "`insert`")
        else { return }
        guard let source = insert["template"] else {
            return reader.fault(pointer.appending("insert"), .missingMember, "`insert` needs a `template`")
        }
        if let template = reader.template(
            source, at: pointer.appending("insert").appending("template"), over: ["count", "uuid"])
        {
            binding.insertTemplate = { section, evaluation in
                let count = evaluation.table[section]?.rows.count ?? 0
                let input = SectionInput(id: section, count: count, displayedCount: count)
                var context = evaluation.context(forTitleOf: input, reading: .everything)
                context.ids = evaluation.ids
                return try Refusal.naming(section) { try template.rendered(context).map(JSONText.init) }
            }
        }
    }

    func bindMoving(_ value: JSONValue?, _ binding: inout ScopeBinding, _ reader: inout DescriptionReader) {
        let pointer = binding.pointer.appending("moving"), to = pointer.appending("to")
        guard let value, let object = reader.object(value, at: pointer, members: ["to", "movable"], what: "`moving`")
        else { return }
        var policy: MovePolicy?
        switch object["to"] {
        case .string("anySection")?: policy = .anySection
        case .array?:
            let ids = reader.strings(object["to"] ?? .null, at: to, what: "`to`") ?? []
            for (index, id) in ids { reader.requireSection(SectionID(id), at: to.appending(index)) }
            policy = .sections(ids.map { SectionID($0.text) })
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
        if let policy { (binding.moving, binding.movable) = (policy, movable.map { Computed(holding: $0) }) }
    }
}
