indirect enum HandlerStep: Sendable {
    case choice(Expression, then: [HandlerStep], otherwise: [HandlerStep])
    case action(HandlerAction)
    /// The steps of a named handler, compiled once for all uses.
    case run([HandlerStep])
}

/// Members are templates over what the handler may read.
enum HandlerAction: Sendable {
    case insert(section: JSONeTemplate, row: JSONeTemplate?, model: JSONeTemplate)
    case remove(ActionTarget?)
    case update(ActionTarget?, merge: JSONeTemplate)
    case replace(ActionTarget?, model: JSONeTemplate)
    case move(ActionTarget?, section: JSONeTemplate, row: JSONeTemplate?)
    case setModels(JSONeTemplate)
    case setState(JSONeTemplate)
    case setHeaders(JSONeTemplate)
    case setFooters(JSONeTemplate)
    case display(JSONeTemplate)
    case emit(name: JSONeTemplate, payload: JSONeTemplate?)
    case reject(JSONeTemplate)
}

/// A stored row. `nil` in its place means the handler's own.
enum ActionTarget: Sendable {
    case id(JSONeTemplate, section: JSONeTemplate?)
    case place(section: JSONeTemplate, row: JSONeTemplate)
}

struct StepRunner {
    let call: HandlerCall
    private(set) var context: HandlerContext
    /// A cell event's parameters, if the handler runs for one.
    private let event: JSONValue?
    /// Replaced after each action, so that expressions read the current table.
    private var evaluation: Evaluation
    /// Where an action has moved the handler's row.
    private var movedTo: (section: SectionID, row: Int)?

    init(call: HandlerCall, table: TableModel, context: HandlerContext) {
        self.call = call
        self.context = context
        event = call.event?.value()
        evaluation = Evaluation(table: table, now: context.now, meter: context.meter)
    }

    mutating func run(_ steps: [HandlerStep], on editor: inout TableEditor) throws {
        for step in steps {
            try context.meter.checkTime()
            switch step {
            case .choice(let condition, let then, let otherwise):
                let isTrue = try condition.evaluated(names(editor)).isTruthy
                try run(isTrue ? then : otherwise, on: &editor)
            case .action(let action):
                do {
                    try perform(action, on: &editor)
                } catch let refusal as Refusal {
                    throw refused(refusal)
                }
                evaluation = Evaluation(table: editor.table, now: context.now, meter: context.meter)
            case .run(let steps):
                // A few handlers that use each other can run very many steps, so each use costs.
                try context.meter.charge { (budget) throws(JSONeError) in try budget.spend() }
                try run(steps, on: &editor)
            }
        }
    }

    private func names(_ editor: TableEditor) -> JSONeContext {
        var context = evaluation.context(reading: .everything)
        let model = current(editor)?.model ?? call.model
        context.ids = self.context.ids
        context.lazy("model") { model.value() }
        context.lazy("user") { [user = self.context.user] in user.value() }
        context["section"] = .string(call.section.text)
        context["row"] = .number(JSONNumber(call.row))
        context["count"] = .number(JSONNumber(call.derivedCount ?? editor.table[call.section]?.rows.count ?? 0))
        if let reason = call.reason { context["reason"] = reason.json }
        if let event { context["event"] = event }
        return context
    }

    /// The handler's row; `nil` if derived or gone.
    private func current(_ editor: TableEditor) -> (section: SectionID, row: Int, model: JSONText)? {
        guard let key = call.key else { return nil }
        // In its section, or where the command or an action moved it.
        var places = [(call.section, call.row)]
        if case .movedTo(let section, let row)? = call.reason { places.append((section, row)) }
        if let movedTo { places.append(movedTo) }
        for (section, hint) in places {
            guard let stored = editor.table[section] else { continue }
            if hint < stored.rows.count, stored.rows[hint].key == key {
                return (section, hint, stored.rows[hint].model)
            }
            if let id = call.id, let index = stored.index(of: id), stored.rows[index].key == key {
                return (section, index, stored.rows[index].model)
            }
        }
        for (section, _) in places {
            guard let rows = editor.table[section]?.rows else { continue }
            if let index = rows.firstIndex(where: { $0.key == key }) { return (section, index, rows[index].model) }
        }
        return nil
    }

    private mutating func perform(_ action: HandlerAction, on editor: inout TableEditor) throws {
        let names = names(editor)
        switch action {
        case .insert(let section, let row, let model):
            let section = try sectionID(section, names)
            let model = try context.binder.identified(try json(model, names, "model"), in: section)
            try editor.insert(model.model, id: model.id, in: section, at: try row.map { try index($0, names) })
        case .remove(let target):
            let place = try locate(target, names, editor)
            try editor.remove(at: place.row, in: place.section)
        case .update(let target, let merge):
            let place = try locate(target, names, editor)
            let old = editor.table[place.section]?.rows[place.row].model ?? .null
            try replace(
                place, with: bounded(JSONText(old.value().merging(patch: try object(merge, names, "merge")))),
                on: &editor)
        case .replace(let target, let model):
            try replace(try locate(target, names, editor), with: try json(model, names, "model"), on: &editor)
        case .move(let row, let section, let index):
            let place = try locate(row, names, editor)
            let target = try sectionID(section, names)
            try requireSameModelType(place.section, target)
            let isOwn = current(editor).map { $0.section == place.section && $0.row == place.row } ?? false
            let newIndex = try editor.move(
                at: place.row, in: place.section, to: (target, try index.map { try self.index($0, names) }))
            if isOwn { movedTo = (target, newIndex) }
        case .setModels(let models):
            try setModels(models, names, on: &editor)
        case .setState(let patch):
            editor.setState(
                try bounded(JSONText(editor.table.state.value().merging(patch: try object(patch, names, "setState")))))
        case .setHeaders(let titles):
            for (section, title) in try members(titles, names, "setHeaders") {
                try editor.setHeader(try self.title(title, of: section, "setHeaders"), of: SectionID(section))
            }
        case .setFooters(let titles):
            for (section, title) in try members(titles, names, "setFooters") {
                try editor.setFooter(try self.title(title, of: section, "setFooters"), of: SectionID(section))
            }
        case .display(let sections):
            try display(sections, names, on: &editor)
        case .emit(let name, let payload):
            guard case .string(let name) = try value(name, names, "name"), !name.isEmpty else {
                throw fault("`name` must give the name of an event, a string that is not empty")
            }
            let value = try payload.flatMap { try rendered($0, names) }
            context.emitted.append(EmittedEvent(name: name, payload: try value.map { try bounded(JSONText($0)) }))
        case .reject(let reason):
            let reason = try value(reason, names, "reject")
            throw Refusal(.rejected, reason.stringValue ?? JSONText(reason).text)
        }
    }

    private func requireSameModelType(_ source: SectionID, _ target: SectionID) throws(Refusal) {
        let from = try context.binder.requiredBinding(of: source), to = try context.binder.requiredBinding(of: target)
        guard from.modelType.name == to.modelType.name else {
            throw Refusal(
                .modelTypeMismatch,
                "The handler's `move` goes from \"\(source)\" to \"\(target)\", whose models are of another type."
            )
        }
    }

    private func setModels(_ models: JSONeTemplate, _ names: JSONeContext, on editor: inout TableEditor) throws {
        for (section, list) in try members(models, names, "setModels") {
            guard case .array(let elements) = list else {
                throw fault("setModels must give an array of models for \"\(section)\"")
            }
            let id = SectionID(section)
            _ = try context.binder.requiredBinding(of: id)
            if context.binder.declaredSections == nil { try editor.ensureSection(id) }
            try editor.setModels(
                try elements.map { try context.binder.identified(bounded(JSONText($0)), in: id) }, in: id)
        }
    }

    private func display(_ sections: JSONeTemplate, _ names: JSONeContext, on editor: inout TableEditor) throws {
        guard case .array(let elements) = try value(sections, names, "display") else {
            throw fault("`display` must give an array of section ids")
        }
        if context.binder.display.behavior.whyNotSet != nil { return }
        var ids: [SectionID] = [], seen: Set<SectionID> = []
        for element in elements {
            guard case .string(let id) = element, editor.table.position(of: SectionID(id)) != nil,
                seen.insert(SectionID(id)).inserted
            else {
                throw fault("`display` must give ids of sections of this table, each once")
            }
            ids.append(SectionID(id))
        }
        editor.setDisplayedSections(ids)
    }

    private func replace(_ place: (section: SectionID, row: Int), with model: JSONText, on editor: inout TableEditor)
        throws
    {
        let identified = try context.binder.identified(model, in: place.section)
        try editor.replace(at: place.row, in: place.section, id: identified.id, model: identified.model)
    }

    private func locate(_ target: ActionTarget?, _ names: JSONeContext, _ editor: TableEditor) throws -> (
        section: SectionID, row: Int
    ) {
        switch target {
        case nil:
            guard let current = current(editor) else {
                throw fault(
                    "an action without a target is about the handler's own row, which is \(call.derivedCount == nil ? "no longer in the table" : "derived: change what it derives from")"
                )
            }
            return (current.section, current.row)
        case .place(let section, let row):
            let section = try sectionID(section, names), row = try index(row, names)
            guard let count = editor.table[section]?.rows.count else {
                throw Refusal.noSection(section, among: editor.table.sections.lazy.map(\.id))
            }
            guard row < count else { throw Refusal.noRow(row, in: section, of: count) }
            return (section, row)
        case .id(let id, let section):
            let value = try value(id, names, "id")
            guard let wanted = RowID(json: JSONText(value)) else {
                throw fault("`id` must give a string, or an integer")
            }
            let only = try section.map { try sectionID($0, names) }
            let positions =
                only.map { only in editor.table.position(of: only).map { [$0] } ?? [] }
                ?? editor.table.positions(ofSectionsWith: wanted)
            let found = positions.compactMap { position in
                let section = editor.table.sections[position]
                return section.index(of: wanted).map { (section.id, $0) }
            }
            guard let place = found.first else {
                throw Refusal(.rowNotFound, "The handler found no row with the id \"\(wanted)\".")
            }
            guard found.count == 1 else {
                throw Refusal(
                    .ambiguousRow,
                    "The handler looked for the row with the id \"\(wanted)\"; several sections have one: its action must name the section."
                )
            }
            return place
        }
    }
}

extension StepRunner {
    /// Names the handler as the cause of what would look like the client's mistake.
    private func refused(_ refusal: Refusal) -> Refusal {
        switch refusal.code {
        case .ambiguousRow, .badRequest, .modelTypeMismatch, .rowNotFound, .sectionNotFound:
            Refusal(.handlerContract, "A handler of the section \"\(call.section)\" failed. \(refusal.detail)")
        case .modelInvalid: refusal.ofWhatWasMade(by: "A handler of the section \"\(call.section)\"")
        default: refusal
        }
    }

    private func fault(_ detail: String) -> Refusal {
        Refusal(.handlerContract, "A handler of the section \"\(call.section)\" failed: \(detail).")
    }

    private func value(_ template: JSONeTemplate, _ names: JSONeContext, _ what: String) throws -> JSONValue {
        guard let value = try rendered(template, names) else { throw fault("`\(what)` has no value") }
        return value
    }

    private func rendered(_ template: JSONeTemplate, _ names: JSONeContext) throws -> JSONValue? {
        guard let value = try template.rendered(names) else { return nil }
        // Rendering a constant is free, but actions can copy it many times.
        if template.constant != nil {
            try context.meter.charge { (budget) throws(JSONeError) in try budget.admit(value, counting: true) }
        }
        return value
    }

    private func object(_ template: JSONeTemplate, _ names: JSONeContext, _ what: String) throws -> JSONValue {
        let value = try value(template, names, what)
        guard case .object = value else { throw fault("`\(what)` must give an object") }
        return value
    }

    private func json(_ template: JSONeTemplate, _ names: JSONeContext, _ what: String) throws -> JSONText {
        try bounded(JSONText(try value(template, names, what)))
    }

    /// At most 128 levels: handlers that use earlier results could nest without end. Requests have their own limit.
    private func bounded(_ json: JSONText) throws -> JSONText {
        guard json.depth <= 128 else { throw fault("it made JSON that nests deeper than 128 levels") }
        return json
    }

    private func sectionID(_ template: JSONeTemplate, _ names: JSONeContext) throws -> SectionID {
        guard case .string(let id) = try value(template, names, "section") else {
            throw fault("`section` must give a section's id")
        }
        return SectionID(id)
    }

    private func index(_ template: JSONeTemplate, _ names: JSONeContext) throws -> Int {
        guard let index = try value(template, names, "row").intValue, index >= 0 else {
            throw fault("`row` must give an integer from 0")
        }
        return index
    }

    private func title(_ value: JSONValue, of section: String, _ what: String) throws -> JSONText {
        do throws(Refusal) {
            return try BodyReader.title(JSONText(value), at: .root)
        } catch {
            throw fault(
                "the title of the section \"\(section)\", from `\(what)`, cannot be \(JSONText(value).text): it must be a string, null, or a view"
            )
        }
    }

    private func members(_ template: JSONeTemplate, _ names: JSONeContext, _ what: String) throws -> [(
        name: String, value: JSONValue
    )] {
        guard case .object(let object) = try value(template, names, what) else {
            throw fault("`\(what)` must give an object by section id")
        }
        return object.members
    }
}

extension HandlerReason {
    /// `"editing"` or `{"moved": {…}}`.
    var json: JSONValue {
        func moved(_ name: String, _ section: SectionID, _ row: Int) -> JSONValue {
            .object(
                JSONObject([
                    ("moved", .object(JSONObject([(name, .string(section.text)), ("row", .number(JSONNumber(row)))])))
                ]))
        }
        switch self {
        case .editing: return .string("editing")
        case .movedTo(let section, let row): return moved("toSection", section, row)
        case .movedFrom(let section, let row): return moved("fromSection", section, row)
        }
    }
}
