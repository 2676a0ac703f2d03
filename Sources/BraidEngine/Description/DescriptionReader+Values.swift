extension DescriptionReader {
    mutating func schema(_ value: JSONValue, at pointer: JSONPointer) -> JTDSchema? {
        let (schema, faults) = JTDSchema.compile(value)
        for found in faults { fault(pointer.appending(found.pointer), found.code, found.message) }
        return schema
    }

    /// A template for a string, null or a view, or `{"view": name, "viewModel": template}`. It may read `names`, too.
    mutating func title(
        _ value: JSONValue, at pointer: JSONPointer, over names: [String] = DescriptionReader.titleNames
    ) -> Computed<SectionInput>? {
        let rule = "a title must be a string, null, a template, or {\"view\": name, \"viewModel\": template}"
        var value = value, isView = false
        switch value {
        case .string, .null: break
        case .object(let object):
            isView = object["view"] != nil || object["viewModel"] != nil
            guard isView else { break }
            _ = self.object(value, at: pointer, members: ["view", "viewModel"], what: "a view")
            if string(object["view"], at: pointer.appending("view"), what: "the name of a view") == nil,
                object["view"] == nil
            {
                fault(pointer, .missingMember, "a view needs its name, `view`")
            }
            value = .object(JSONObject(object.members.filter { !Self.isRemark($0.name) }.map { ($0.name, $0.value) }))
        default:
            fault(pointer, .wrongType, rule)
            return nil
        }
        guard let template = template(value, at: pointer, over: names) else { return nil }
        guard isView || template.canGive(.string, .null) else {
            fault(pointer, .wrongType, rule)
            return nil
        }
        if let constant = template.constant { return Computed(constant: JSONText(constant)) }
        let reads = Reads(names: template.names)
        return Computed(reads: reads) { input, evaluation in
            let value = try template.rendered(evaluation.context(forTitleOf: input, reading: reads)) ?? .null
            do throws(Refusal) {
                return try BodyReader.title(JSONText(value), at: .root)
            } catch {
                throw Refusal(
                    templateFailed:
                        "The title of the section \"\(input.id)\", from \(pointer), cannot be \(JSONText(value).text): it must be a string, null, or a view.",
                    at: pointer)
            }
        }
    }

    /// A number from 0, `"automatic"`, or a template for these.
    mutating func dimension<Input>(
        _ value: JSONValue, at pointer: JSONPointer, over names: [String] = [],
        context: @escaping @Sendable (Input, Evaluation, Reads) -> JSONeContext
    ) -> Computed<Input>? {
        let rule = "must be a number from 0, or \"automatic\""
        @Sendable func isDimension(_ value: JSONValue) -> Bool {
            switch value {
            case .number(let number): number.doubleValue >= 0 && number.doubleValue.isFinite
            case .string("automatic"): true
            default: false
            }
        }
        guard let template = template(value, at: pointer, over: names) else { return nil }
        guard template.canGive(.number, .string), template.constant.map(isDimension) ?? true else {
            fault(
                pointer, .rejecting(value, accepting: .number, .string),
                "a dimension \(rule), or a template that gives one of them")
            return nil
        }
        if let constant = template.constant { return Computed(constant: JSONText(constant)) }
        let reads = Reads(names: template.names)
        return Computed(reads: reads) { input, evaluation in
            guard let value = try template.rendered(context(input, evaluation, reads)) else { return nil }
            guard isDimension(value) else {
                throw Refusal(
                    templateFailed: "The dimension from \(pointer) cannot be \(JSONText(value).text): it \(rule).",
                    at: pointer)
            }
            return JSONText(value)
        }
    }

    /// Steps, or a handler's name. Steps may read `name`, such as `event`, too.
    mutating func handler(_ value: JSONValue, at pointer: JSONPointer, over name: String? = nil) -> Handler {
        handlerNames = Self.handlerNames + (name.map { [$0] } ?? [])
        defer { handlerNames = [] }
        var steps: [HandlerStep] = []
        switch value {
        case .string(let name): steps = self.steps(ofHandler: name, at: pointer)
        case .array: steps = self.steps(value, at: pointer)
        default:
            fault(pointer, .wrongType, "a handler must be an array of steps, or the name of a handler in `handlers`")
        }
        return Handler { [steps] call, editor, context in
            var runner = StepRunner(call: call, table: editor.table, context: context)
            do {
                try runner.run(steps, on: &editor)
            } catch let refusal as Refusal {
                throw refusal.failed(in: .init(section: call.section, row: call.row, id: call.id))
            }
            context = runner.context
        }
    }

    mutating func steps(_ value: JSONValue, at pointer: JSONPointer) -> [HandlerStep] {
        guard case .array(let elements) = value else {
            fault(pointer, .wrongType, "must be an array of steps")
            return []
        }
        var steps: [HandlerStep] = []
        for (index, element) in elements.enumerated() {
            if let step = step(element, at: pointer.appending(index)) { steps.append(step) }
        }
        return steps
    }

    private static let actions = [
        "insert", "remove", "update", "replace", "move", "setModels", "setState", "setHeaders", "setFooters", "display",
        "emit", "reject", "run",
    ]

    private mutating func step(_ value: JSONValue, at pointer: JSONPointer) -> HandlerStep? {
        guard let object = object(value, at: pointer, members: ["if", "do", "else"] + Self.actions, what: "a step")
        else { return nil }
        if object["if"] != nil {
            if let other = Self.actions.first(where: { object[$0] != nil }) {
                fault(pointer.appending(other), .conflict, "a step with `if` has its actions in `do` and `else`")
            }
            let condition = expression(object["if"], at: pointer.appending("if"), what: "`if`")
            if object["do"] == nil, object["else"] == nil {
                fault(pointer, .missingMember, "a step with `if` needs `do` or `else`")
            }
            let then = object["do"].map { steps($0, at: pointer.appending("do")) } ?? []
            let otherwise = object["else"].map { steps($0, at: pointer.appending("else")) } ?? []
            return condition.map { .choice($0, then: then, otherwise: otherwise) }
        }
        for member in ["do", "else"] where object[member] != nil {
            fault(pointer.appending(member), .conflict, "`\(member)` needs an `if`")
        }
        let named = Self.actions.filter { object[$0] != nil }
        guard named.count == 1, let name = named.first, let argument = object[name] else {
            fault(
                pointer, named.isEmpty ? .missingMember : .conflict,
                "a step is one action, one of \(Self.actions.map { "`\($0)`" }.joined(separator: ", ")), or a choice with `if`"
            )
            return nil
        }
        let place = pointer.appending(name)
        guard name == "run" else { return action(name, argument, at: place).map { .action($0) } }
        return string(argument, at: place, what: "the name of a handler").map { .run(steps(ofHandler: $0, at: place)) }
    }

    private mutating func action(_ name: String, _ argument: JSONValue, at pointer: JSONPointer) -> HandlerAction? {
        switch name {
        case "setModels":
            return bySection(argument, at: pointer) { $0.template($1, at: $2, giving: .array) }.map { .setModels($0) }
        case "setState":
            guard let state = template(argument, at: pointer, giving: .object) else { return nil }
            if warns { members.setInState.formUnion(state.node.writtenMembers) }
            return .setState(state)
        case "setHeaders":
            return bySection(argument, at: pointer) { $0.title($1, at: $2, over: []) }.map { .setHeaders($0) }
        case "setFooters":
            return bySection(argument, at: pointer) { $0.title($1, at: $2, over: []) }.map { .setFooters($0) }
        case "display": return displayed(argument, at: pointer).map { .display($0) }
        case "reject": return template(argument, at: pointer, giving: .string).map { .reject($0) }
        default: break
        }
        let known: [String: [String]] = [
            "insert": ["section", "row", "model"], "remove": ["section", "row", "id"],
            "update": ["section", "row", "id", "merge"],
            "replace": ["section", "row", "id", "model"], "move": ["section", "row", "id", "to"],
            "emit": ["name", "payload"],
        ]
        guard let object = object(argument, at: pointer, members: known[name] ?? [], what: "`\(name)`") else {
            return nil
        }
        switch name {
        case "insert":
            guard let section = field("section", of: object, at: pointer),
                let model = field("model", of: object, at: pointer)
            else { return nil }
            return .insert(section: section, row: optionalField("row", of: object, at: pointer), model: model)
        case "emit":
            return field("name", of: object, at: pointer).map {
                .emit(name: $0, payload: optionalField("payload", of: object, at: pointer))
            }
        case "remove": return .remove(target(object, at: pointer))
        case "update":
            return field("merge", of: object, at: pointer).map { .update(target(object, at: pointer), merge: $0) }
        case "replace":
            return field("model", of: object, at: pointer).map { .replace(target(object, at: pointer), model: $0) }
        default:
            guard let to = object["to"] else {
                fault(pointer, .missingMember, "`move` needs `to`: {\"section\", \"row\"}")
                return nil
            }
            let toPointer = pointer.appending("to")
            guard let place = self.object(to, at: toPointer, members: ["section", "row"], what: "`to`"),
                let section = field("section", of: place, at: toPointer)
            else { return nil }
            return .move(
                target(object, at: pointer), section: section, row: optionalField("row", of: place, at: toPointer))
        }
    }

    /// Reports a template that cannot give this kind.
    private mutating func template(_ value: JSONValue, at pointer: JSONPointer, giving kind: JSONKind) -> JSONeTemplate?
    {
        guard let template = template(value, at: pointer) else { return nil }
        if !template.canGive(kind) {
            fault(
                pointer, .wrongType,
                "must be \(kind == .object ? "an object" : kind == .array ? "an array" : "a string"), or a template that gives one"
            )
        }
        return template
    }

    /// A template for an object by section id. Checks literal ids without rendering.
    private mutating func bySection<Checked>(
        _ value: JSONValue, at pointer: JSONPointer, _ check: (inout Self, JSONValue, JSONPointer) -> Checked?
    ) -> JSONeTemplate? {
        guard let template = template(value, at: pointer, giving: .object) else { return nil }
        guard template.kind == .object, case .object(let object) = value else { return template }
        for (name, value) in object.members where !name.utf8.contains(UInt8(ascii: "$")) {
            requireSection(SectionID(name), at: pointer.appending(name))
            _ = check(&self, value, pointer.appending(name))
        }
        return template
    }

    /// A template for an array of section ids. Checks literal ids without rendering.
    private mutating func displayed(_ value: JSONValue, at pointer: JSONPointer) -> JSONeTemplate? {
        guard let template = template(value, at: pointer, giving: .array) else { return nil }
        guard case .array(let elements) = value else { return template }
        var seen: Set<SectionID> = []
        for (index, element) in elements.enumerated() {
            let place = pointer.appending(index)
            guard let id = self.template(element, at: place, giving: .string)?.constant?.stringValue else { continue }
            requireSection(SectionID(id), at: place)
            if !seen.insert(SectionID(id)).inserted { fault(place, .duplicate, "\"\(id)\" is in `display` twice") }
        }
        return template
    }

    private mutating func optionalField(_ name: String, of object: JSONObject, at pointer: JSONPointer)
        -> JSONeTemplate?
    {
        object[name] == nil ? nil : field(name, of: object, at: pointer)
    }

    private mutating func field(_ name: String, of object: JSONObject, at pointer: JSONPointer) -> JSONeTemplate? {
        guard let value = object[name] else {
            fault(pointer, .missingMember, "the member `\(name)` is missing")
            return nil
        }
        let place = pointer.appending(name)
        guard let template = template(value, at: place, isName: name == "name" || name == "section") else { return nil }
        let constant = template.constant
        switch name {
        case "section":
            if let id = constant?.stringValue {
                requireSection(SectionID(id), at: place)
            } else if !template.canGive(.string) {
                fault(place, .wrongType, "`section` must be a section's id, or a template that gives one")
            }
        case "row":
            // `"${row}"` gives a string.
            if !template.canGive(.number) || constant.map({ ($0.intValue ?? -1) < 0 }) ?? false {
                fault(
                    place, constant.map { .rejecting($0, accepting: .number) } ?? .wrongType,
                    "`row` must be an integer from 0, or a template that gives one, such as {\"$eval\": \"row\"}"
                )
            }
        case "id":
            if !template.canGive(.string, .number) || constant.map({ RowID(json: JSONText($0)) == nil }) ?? false {
                fault(
                    place, constant.map { .rejecting($0, accepting: .number) } ?? .wrongType,
                    "`id` must be a row's id, a string or an integer, or a template that gives one")
            }
        case "name":
            if !template.canGive(.string) || constant?.stringValue == "" {
                fault(place, .wrongType, "`name` must be the name of an event, or a template that gives one")
            }
        case "merge":
            if !template.canGive(.object) {
                fault(place, .wrongType, "must be an object, or a template that gives one")
            }
        default: break
        }
        return template
    }

    /// `nil` for the handler's own row, and after a fault.
    private mutating func target(_ object: JSONObject, at pointer: JSONPointer) -> ActionTarget? {
        if object["id"] != nil {
            if object["row"] != nil { fault(pointer, .conflict, "a target has either `id` or `row`") }
            guard let id = field("id", of: object, at: pointer) else { return nil }
            return .id(id, section: optionalField("section", of: object, at: pointer))
        }
        guard object["section"] != nil || object["row"] != nil else {
            actionsOnOwnRow.append(pointer)
            return nil
        }
        guard let section = field("section", of: object, at: pointer), let row = field("row", of: object, at: pointer)
        else { return nil }
        return .place(section: section, row: row)
    }
}

extension Computed {
    init(rendering template: JSONeTemplate, context: @escaping @Sendable (Input, Evaluation, Reads) -> JSONeContext) {
        if let constant = template.constant {
            self.init(constant: JSONText(constant))
        } else {
            let reads = Reads(names: template.names)
            self.init(reads: reads) { input, evaluation in
                try template.rendered(context(input, evaluation, reads)).map {
                    // Room for most view models: growing would take a tenth of a row's rendering.
                    var writer = JSONWriter(capacity: 128)
                    writer.value($0)
                    return writer.text
                }
            }
        }
    }
}

extension Computed where Input == RowInput {
    init(ofRows template: JSONeTemplate) {
        let members = template.names.members(of: "model")
        self.init(rendering: template) { $1.context(for: $0, reading: $2, members) }
    }
}

// Alike, but without a closure, which would copy the context: a tenth of a short rendering.

extension JSONeTemplate {
    func rendered(_ context: consuming JSONeContext) throws(Refusal) -> JSONValue? {
        let shared = context.sharedBudget, whole = shared?.budget ?? JSONeBudget()
        var budget = whole
        defer { shared?.charge(budget, of: whole) }
        do throws(JSONeError) {
            return try render(context, budget: &budget)
        } catch {
            throw error.refusal(of: "template", from: place)
        }
    }
}

extension Expression {
    func evaluated(_ context: consuming JSONeContext) throws(Refusal) -> JSONValue {
        let shared = context.sharedBudget, whole = shared?.budget ?? JSONeBudget()
        var budget = whole
        defer { shared?.charge(budget, of: whole) }
        do throws(JSONeError) {
            return try evaluate(context, budget: &budget)
        } catch {
            throw error.refusal(of: "expression", from: place)
        }
    }
}

extension JSONeError {
    fileprivate func refusal(of what: String, from place: JSONPointer?) -> Refusal {
        let pointer = place.map { self.pointer(from: $0) }
        return Refusal(
            .templateFailed,
            "The \(what) \(pointer.map { "from \($0) " } ?? "")of the table description failed: \(detail).",
            faults: [.init(pointer: pointer ?? .root, code: .templateFailed, detail: detail)])
    }
}
