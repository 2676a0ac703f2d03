/// Changes a session to another version of its description.
public struct Rebinding: Sendable {
    /// Where the description comes from.
    public enum Source: Sendable {
        /// A registered version, to be replaced by its description first.
        case version(Int)
        /// To be compiled first.
        case inline(JSONText)
        /// `version` is `nil` if it is not registered.
        case compiled(TableDescription, version: Int?)
    }

    /// Where the description comes from.
    public var source: Source
    /// Sections that may lose models and titles which do not fit.
    public let discard: Set<SectionID>
    /// The session is bound to this description already.
    public var isCurrent = false

    /// To a registered version; nothing may be lost.
    public init(version: Int) {
        source = .version(version)
        discard = []
    }

    /// `version` is `nil` if the description is not registered.
    public init(to description: TableDescription, version: Int?, discarding discard: Set<SectionID> = []) {
        source = .compiled(description, version: version)
        self.discard = discard
    }

    /// `nil` until compiled.
    public var description: TableDescription? {
        if case .compiled(let description, _) = source { description } else { nil }
    }

    /// `nil` if not registered.
    public var version: Int? {
        switch source {
        case .version(let version): version
        case .inline: nil
        case .compiled(_, let version): version
        }
    }

    /// As in the journal: `{"version"?, "description", "discard"?}`, so that a reader needs no registered versions.
    public var json: JSONText {
        let description = description?.text ?? .null
        return .object(capacity: description.count + 64) {
            $0.member("version", version)
            $0.member("description", description)
            if !discard.isEmpty { $0.member("discard", JSONText(ids: discard.sorted())) }
        }
    }

    /// From ``json``. Throws `badRequest` without a `description`, and what `compiled` throws.
    public init(json: JSONText, compiled: (JSONText) throws -> TableDescription) throws {
        guard let description = json["description"] else {
            throw Refusal.bad(.root, .missingMember, "the journal's record has no `description`")
        }
        self.init(
            to: try compiled(description), version: json["version"]?.intValue,
            discarding: Set((json["discard"]?.elements() ?? []).compactMap { $0.stringValue.map { SectionID($0) } }))
    }

    /// The body of `PUT /v1/sessions/{id}/table`. Throws `badRequest`.
    public init(_ body: JSONText) throws(Refusal) {
        let object = try BodyReader(body, at: .root, members: ["version", "table", "discard"])
        switch (object["version"], object["table"]) {
        case (let version?, nil):
            guard let number = version.intValue, number > 0 else {
                throw object.fault(
                    "version", .rejecting(version.kind, accepting: .number), "must be a version of the table, from 1")
            }
            source = .version(number)
        case (nil, let table?):
            guard table.kind == .object else {
                throw object.fault("table", .wrongType, "must be a table description")
            }
            source = .inline(table.detached)
        case (let version, _):
            throw Refusal.bad(
                .root, version == nil ? .missingMember : .conflict,
                "the body has either `version`, a registered version of the table, or `table`, a description")
        }
        discard = Set(
            try object["discard"]?.array(of: "section ids", at: object.place(of: "discard")) {
                (element, place) throws(Refusal) in try element.sectionID(at: place)
            } ?? [])
    }
}

extension Binder {
    /// `self` belongs to the old description. Publishes all, unless nothing changes.
    func rebinding(
        _ rebinding: Rebinding, _ table: TableModel, shown: Snapshot, unpublished: Unpublished?, now: String
    ) throws -> Outcome {
        guard let description = rebinding.description else {
            throw Refusal(.badRequest, "The new description is not known yet.")
        }
        var binder = description.binder
        binder.limits = limits
        // A table above a lowered limit may keep its size.
        binder.limits.rows = max(limits.rows, table.rowCount, shown.totalRowCount)
        binder.limits.sections = max(limits.sections, table.sections.count)
        var work = CommandInProgress(binder: binder, table: table, shown: shown, unpublished: unpublished, now: now)
        if rebinding.isCurrent { return try work.outcome(ignored: nil) }
        try work.rebind(to: description, discarding: rebinding.discard)
        var outcome = try work.outcome(ignored: nil)
        outcome.rebinding = rebinding
        return outcome
    }
}

extension CommandInProgress {
    fileprivate mutating func rebind(
        to description: TableDescription, discarding discard: Set<SectionID>
    ) throws {
        isRebinding = true
        isRevision = true
        publishes = true
        try keepModels(discarding: discard)
        try addSections(of: description)
        // The state keeps its members, and gets new ones that it lacks.
        if let state = editor.table.state.members(), let defaults = description.state.members() {
            let names = Set(state.map(\.name)), new = defaults.filter { !names.contains($0.name) }
            if !new.isEmpty { editor.setState(JSONText(object: state + new)) }
        }
        if let displayed = editor.table.displayedSections {
            editor.setDisplayedSections(displayed.filter { editor.table.position(of: $0) != nil })
        }
        try showWhole()
    }

    /// Throws `modelsDoNotFit` if a section that is not in `discard` would lose something.
    private mutating func keepModels(discarding discard: Set<SectionID>) throws {
        let declared = binder.declaredSections.map { Set($0) }
        var faults: [Refusal.Fault] = [], budget = FaultBudget(), count = 0, gone: Set<SectionID> = []
        func lose(_ section: SectionID, _ found: [Refusal.Fault]) {
            guard !discard.contains(section) else { return }
            count += found.count
            faults += found.prefix(DescriptionReader.faultLimit - faults.count).prefix { budget.admit($0.pointer) }
        }
        for section in editor.table.sections {
            try meter.checkTime()
            let id = section.id
            guard binder.binding(of: id) != nil, declared?.contains(id) ?? true else {
                gone.insert(id)
                if let loss = section.contents {
                    lose(
                        id,
                        [
                            .init(
                                pointer: JSONPointer.root.appending(id.text), code: .unknownName,
                                detail: "the table has no such section any more, and the section has \(loss)")
                        ])
                }
                continue
            }
            let (models, misfits) = binder.fitting(section.rows.lazy.map(\.model), in: id, of: section)
            lose(id, misfits)
            try editor.setModels(models, in: id)
        }
        guard faults.isEmpty else {
            throw Refusal(
                .modelsDoNotFit,
                "The session has \(count == 1 ? "content that does" : "\(count) parts that do") not fit this version of the table. Change the models, or name their sections in `discard` to lose what does not fit.",
                faults: faults)
        }
        try editor.removeSections(gone)
    }

    /// Adds missing sections with the description's models, and brings all into declared order.
    private mutating func addSections(of description: TableDescription) throws {
        guard let declared = binder.declaredSections else { return }
        let new = Set(declared.filter { editor.table.position(of: $0) == nil })
        for id in declared { try editor.ensureSection(id) }
        for (section, models, pointer) in description.initialModels where new.contains(section) {
            try editor.setModels(binder.identified(models, in: section, at: pointer), in: section)
        }
        editor.arrangeSections(declared)
    }

    /// Every row and title can change.
    private mutating func showWhole() throws {
        let old = shown.sections.map(\.id) + before.sections.map(\.id)
        _ = editor.takeStep()
        search.reset()
        meter.allow(rows: editor.table.rowCount)
        var remade: [Binder.Remade] = []
        shown = try binder.snapshot(
            of: editor.table, revision: before.revision + 1, after: nil, remade: &remade, evaluation)
        for id in old + shown.sections.map(\.id) { editor.noteWhole(id) }
        for (id, rowCount) in remade where binder.binding(of: id)?.cells.source.isStored == false {
            try editor.noteFilled(id, rows: rowCount)
        }
        shownTable = editor.table
    }
}

extension StoredSection {
    fileprivate var contents: String? {
        switch rows.count {
        case 0: summary.header ?? summary.footer == nil ? nil : "a title"
        case 1: "a model"
        case let count: "\(count) models"
        }
    }
}
