/// What a command led to.
public struct Outcome: Sendable {
    public enum Kind: Sendable, Equatable {
        case applied
        /// Nothing to do; no new revision.
        case unchanged
        /// One of the lenient cases of the contract; no new revision.
        case ignored(reason: String)
    }

    public var kind: Kind
    public var table: TableModel
    public var snapshot: Snapshot
    /// What the store has to write.
    public var change: TableChange
    public var update: BatchUpdate
}

extension Binder {
    /// Carries a command out: policy, handlers, invariants; then the snapshot and the update that follow. Everything
    /// is a value: when this throws, nothing has changed.
    ///
    /// `shown` must be the snapshot of `table`. Cost: of what the command touches, and of the number of sections.
    public func applying(_ command: Command, to table: TableModel, shown: Snapshot, now: String) throws -> Outcome {
        var work = CommandInProgress(binder: self, table: table, shown: shown, now: now)
        var ignored: String?
        switch command {
        case .transaction(let commands):
            for command in commands { ignored = try work.perform(command) ?? ignored }
        default: ignored = try work.perform(command)
        }
        return try work.outcome(ignored: ignored)
    }
}

/// One command, or one transaction, under way.
private struct CommandInProgress {
    let binder: Binder
    let now: String
    let beforeTable: TableModel
    let before: Snapshot
    var editor: TableEditor
    /// The table and the snapshot after the last command of the transaction.
    var shownTable: TableModel
    var shown: Snapshot

    init(binder: Binder, table: TableModel, shown: Snapshot, now: String) {
        self.binder = binder
        self.now = now
        before = shown
        beforeTable = table
        editor = TableEditor(table)
        shownTable = table
        self.shown = shown
    }

    private var evaluation: Evaluation { Evaluation(table: editor.table, now: now) }

    /// Returns why the command was ignored, if it was.
    mutating func perform(_ command: Command) throws -> String? {
        var ignored: String?
        switch command {
        case .delete(let row): try delete(row)
        case .insert(let row, let model): try insert(row, model)
        case .move(let row, let section, let index): try move(row, section, index)
        case .setModels(let sections, let partial): try setModels(sections, partial: partial)
        case .setHeaders(let titles): for (section, title) in titles { try editor.setHeader(title, of: known(section)) }
        case .setFooters(let titles): for (section, title) in titles { try editor.setFooter(title, of: known(section)) }
        case .setDisplayedSections(let ids): ignored = try setDisplayedSections(ids)
        case .patchState(let patch): editor.setState(JSONText(editor.table.state.value().merging(patch: patch.value())))
        case .transaction: throw Refusal(.badRequest, "A transaction cannot stand inside a transaction.")
        }
        try show()
        return ignored
    }

    /// Brings the snapshot up to date with the table.
    private mutating func show() throws {
        let step = editor.takeStep()
        guard step.changedAnything else { return }
        var remade: [SectionID] = []
        shown = try binder.snapshot(
            of: editor.table, revision: before.revision + 1,
            after: .init(table: shownTable, snapshot: shown, touched: step.touched, touchedSections: step.sections, stateChanged: step.stateChanged),
            remade: &remade, evaluation)
        for section in remade { editor.noteWhole(section) }
        shownTable = editor.table
    }

    func outcome(ignored: String?) throws -> Outcome {
        let change = editor.change
        if change.isEmpty {
            let update = BatchUpdate(from: before.revision, to: before.revision, totalRowCount: before.totalRowCount)
            return Outcome(
                kind: ignored.map { .ignored(reason: $0) } ?? .unchanged, table: beforeTable, snapshot: before, change: change, update: update)
        }
        return Outcome(
            kind: .applied, table: editor.table, snapshot: shown, change: change,
            update: try BatchUpdate(from: before, to: shown, touched: editor.allTouched))
    }
}

// Editing and moving.
extension CommandInProgress {
    private mutating func delete(_ reference: RowReference) throws {
        let (section, row) = try resolve(reference)
        let binding = try binder.requiredBinding(of: section.id)
        try require(.delete, binding, section, row)
        let count = section.rows.count
        let removed = try editor.remove(at: row, in: section.id)
        try call(binding.onDelete, HandlerCall(section: section.id, row: row, model: removed.model, reason: .editing))
        try checkCount(of: section.id, is: count - 1, after: "onDelete")
    }

    private mutating func insert(_ reference: RowReference, _ given: JSONText?) throws {
        let (section, row) = try resolve(reference, orEnd: true)
        let binding = try binder.requiredBinding(of: section.id)
        try require(.insert, binding, section, row)
        let template = try binding.insertTemplate?(section.id, evaluation)
        let model: JSONText
        switch (template, given) {
        case (let template?, let given?): model = JSONText(template.value().merging(patch: given.value()))
        case (let only?, nil), (nil, let only?): model = only
        case (nil, nil):
            throw Refusal(.modelRequired, "An insert into the section \"\(section.id)\" needs a `model`: its binding has no `insert.template`.")
        }
        let identified = try binder.identified(model, in: section.id)
        let count = section.rows.count
        let key = editor.table.nextKey
        try editor.insert(identified.model, id: identified.id, in: section.id, at: row)
        try call(binding.onInsert, HandlerCall(section: section.id, row: row, model: model, reason: .editing, key: key, id: identified.id))
        try checkCount(of: section.id, is: count + 1, after: "onInsert")
    }

    private mutating func move(_ reference: RowReference, _ target: SectionReference, _ targetRow: Int) throws {
        let (source, row) = try resolve(reference)
        let destination = try shown.section(target)
        let from = try binder.requiredBinding(of: source.id), to = try binder.requiredBinding(of: destination.id)
        try requireMove(from, source, row, to: destination)
        let isWithin = source.id == destination.id
        guard targetRow <= destination.rows.count - (isWithin ? 1 : 0) else {
            throw Refusal(.rowNotFound, "A row cannot be moved to row \(targetRow) of the section \"\(destination.id)\": it may go to 0...\(destination.rows.count - (isWithin ? 1 : 0)), counted after it has been taken out.")
        }
        guard from.modelType.name == to.modelType.name else {
            throw Refusal(.modelTypeMismatch, "Rows of \"\(source.id)\" are of the model type \(from.modelType.nameForMessages), those of \"\(destination.id)\" of \(to.modelType.nameForMessages): they cannot be moved into each other.")
        }
        if isWithin, row == targetRow { return }

        let sourceCount = source.rows.count, destinationCount = destination.rows.count
        guard let moved = editor.table[source.id]?.rows[row] else { throw Refusal.noRow(row, in: source.id, of: sourceCount) }
        _ = try editor.move(at: row, in: source.id, to: (destination.id, targetRow))
        try call(from.onDelete, HandlerCall(
            section: source.id, row: row, model: moved.model,
            reason: .movedTo(section: destination.id, row: targetRow), key: moved.key, id: moved.id))
        try call(to.onInsert, HandlerCall(
            section: destination.id, row: targetRow, model: moved.model,
            reason: .movedFrom(section: source.id, row: row), key: moved.key, id: moved.id))
        if isWithin {
            try checkCount(of: source.id, is: sourceCount, after: "onDelete and onInsert")
        } else {
            try checkCount(of: source.id, is: sourceCount - 1, after: "onDelete")
            try checkCount(of: destination.id, is: destinationCount + 1, after: "onInsert")
        }
    }

    private mutating func call(_ handler: Handler?, _ call: HandlerCall) throws {
        guard let handler else { return }
        try handler(call, &editor, HandlerContext(binder: binder, now: now))
    }

    /// Braid's rule: a handler leaves exactly one model fewer, or more, than there were.
    private func checkCount(of section: SectionID, is expected: Int, after handler: String) throws(Refusal) {
        let count = editor.table[section]?.rows.count ?? 0
        guard count == expected else {
            throw Refusal(.handlerContract, "After \(handler) the section \"\(section)\" has \(count) rows where \(expected) were due; the command was undone.")
        }
    }

    private func require(_ style: EditingStyle, _ binding: SectionBinding, _ section: Section, _ row: Int) throws {
        let allowed: EditingStyle
        if let stored = editor.table[section.id], row < stored.rows.count {
            let input = RowInput(section: section.id, row: row, count: stored.rows.count, model: stored.rows[row].model)
            allowed = try binding.editingStyle(for: input, evaluation)
        } else {
            // At the section's end there is no row that a template could be asked about.
            allowed = binding.editing?.constant?.stringValue.flatMap(EditingStyle.init) ?? .none
        }
        guard allowed == style else {
            throw Refusal(.editingNotAllowed, "Row \(row) of the section \"\(section.id)\" does not allow \(style.rawValue); its editing style is \(allowed.rawValue).")
        }
    }

    private func requireMove(_ binding: SectionBinding, _ source: Section, _ row: Int, to destination: Section) throws {
        let evaluation = evaluation
        guard let policy = binding.moving, let stored = editor.table[source.id], row < stored.rows.count else {
            throw Refusal(.moveNotAllowed, "Rows of the section \"\(source.id)\" cannot be moved.")
        }
        let input = RowInput(section: source.id, row: row, count: stored.rows.count, model: stored.rows[row].model)
        guard try binding.isMovable(input, evaluation) else {
            throw Refusal(.moveNotAllowed, "Row \(row) of the section \"\(source.id)\" cannot be moved.")
        }
        let isAllowed: Bool
        switch policy {
        case .anySection: isAllowed = true
        case .sections(let ids): isAllowed = ids.contains(destination.id)
        case .passing(let passes):
            guard let target = editor.table[destination.id] else { throw Refusal.noSection(destination.id) }
            isAllowed = try passes(try binder.titles(of: target, evaluation), evaluation)
        }
        guard isAllowed else {
            throw Refusal(.moveNotAllowed, "Rows of the section \"\(source.id)\" cannot be moved to the section \"\(destination.id)\".")
        }
    }
}

// References.
extension CommandInProgress {
    /// The displayed row that is meant. `orEnd`: the place behind a section's last row will do.
    private func resolve(_ reference: RowReference, orEnd: Bool = false) throws(Refusal) -> (section: Section, row: Int) {
        switch reference {
        case .at(let section, let row):
            let section = try shown.section(section)
            guard row < section.rows.count || (orEnd && row == section.rows.count) else {
                throw .noRow(row, in: section.id, of: section.rows.count)
            }
            return (section, row)
        case .id(let id, let section):
            let candidates = try section.map { section throws(Refusal) in [try shown.section(section)] } ?? shown.sections
            var found: (section: Section, row: Int)?
            for section in candidates {
                guard let row = editor.table[section.id]?.index(of: id) else { continue }
                if let found {
                    throw Refusal(.ambiguousRow, "The sections \"\(found.section.id)\" and \"\(section.id)\" both have a row with the id \"\(id)\": name the section as well.")
                }
                found = (section, row)
            }
            guard let found else { throw Refusal(.rowNotFound, "No displayed row has the id \"\(id)\".") }
            return found
        }
    }
}

// Data.
extension CommandInProgress {
    private func known(_ section: SectionID) throws(Refusal) -> SectionID {
        guard editor.table.position(of: section) != nil else { throw .noSection(section) }
        return section
    }

    private mutating func setModels(_ sections: [(section: SectionID, models: [JSONText])], partial: Bool) throws {
        for (section, models) in sections {
            if binder.declaredSections == nil {
                _ = try binder.requiredBinding(of: section)
                editor.ensureSection(section)
            }
            _ = try known(section)
            var identified: [(id: RowID?, model: JSONText)] = []
            identified.reserveCapacity(models.count)
            let type = try binder.requiredBinding(of: section).modelType
            for (index, model) in models.enumerated() {
                do throws(Refusal) {
                    // Rows must not keep a whole request's body in memory.
                    identified.append((try type.identify(model), model.detached))
                } catch {
                    throw error.placed(at: JSONPointer.root.appending(section.text).appending(index))
                }
            }
            try editor.setModels(identified, in: section)
        }
        if binder.declaredSections == nil, !partial {
            let named = Set(sections.map(\.section))
            for section in editor.table.sections where !named.contains(section.id) { try editor.setModels([], in: section.id) }
        }
    }

    private mutating func setDisplayedSections(_ ids: [SectionID]) throws -> String? {
        for id in ids { _ = try known(id) }
        guard binder.display.behavior == .manuallyManaged else {
            return "The sections' display is automatic (\(binder.display.behavior.rawValue)): it cannot be set."
        }
        if shown.sections.map(\.id) != ids { editor.setDisplayedSections(ids) }
        return nil
    }
}

extension Refusal {
    /// The same refusal, its faults inside a larger document.
    func placed(at place: JSONPointer) -> Refusal {
        var refusal = self
        refusal.faults = faults.map { fault in
            Fault(pointer: fault.pointer.tokens.reduce(place) { $0.appending($1) }, detail: fault.detail)
        }
        return refusal
    }
}

extension ModelType {
    var nameForMessages: String { name.map { "\"\($0)\"" } ?? "of no name" }
}

extension Snapshot {
    /// The displayed section. Throws `rowNotFound`.
    func section(_ reference: SectionReference) throws(Refusal) -> Section {
        switch reference {
        case .displayed(let index):
            guard index >= 0, index < sections.count else {
                throw Refusal(.rowNotFound, "\(sections.count) sections are displayed, counted from 0: there is no section \(index).")
            }
            return sections[index]
        case .id(let id):
            guard let section = sections.first(where: { $0.id == id }) else {
                throw Refusal(.rowNotFound, "No section \"\(id)\" is displayed.")
            }
            return section
        }
    }
}
