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
    /// A revision is made even if nothing changed.
    var isRevision = false

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
        case .setHeaders(let titles):
            for (section, title) in titles {
                let isBound = try binder.binding(of: known(section))?.header != nil
                try editor.setHeader(title.isNull && !isBound ? nil : title, of: section)
            }
        case .setFooters(let titles):
            for (section, title) in titles {
                let isBound = try binder.binding(of: known(section))?.footer != nil
                try editor.setFooter(title.isNull && !isBound ? nil : title, of: section)
            }
        case .setDisplayedSections(let ids): ignored = try setDisplayedSections(ids)
        case .patchState(let patch): editor.setState(JSONText(editor.table.state.value().merging(patch: patch.value())))
        case .tap(let row): try tap(row)
        case .event(let row, let event, let parameters): try emit(row, event, parameters)
        case .displayedRows(let rows): try noteDisplayed(rows)
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
        if change.isEmpty, !isRevision {
            let update = BatchUpdate(from: before.revision, to: before.revision, totalRowCount: before.totalRowCount)
            return Outcome(
                kind: ignored.map { .ignored(reason: $0) } ?? .unchanged, table: beforeTable, snapshot: before, change: change, update: update)
        }
        var after = shown
        after.revision = before.revision + 1
        return Outcome(
            kind: .applied, table: editor.table, snapshot: after, change: change,
            update: try BatchUpdate(from: before, to: after, touched: editor.allTouched))
    }
}

// Editing and moving.
extension CommandInProgress {
    private mutating func delete(_ reference: RowReference) throws {
        let place = try resolve(reference)
        let binding = try binder.requiredBinding(of: place.section.id)
        let (stored, index) = try requireEditing(.delete, binding, place)
        let removed = try editor.remove(at: index, in: stored.id)
        try call(binding.onDelete, HandlerCall(section: stored.id, row: index, model: removed.model, reason: .editing))
        try checkCount(of: stored.id, is: stored.rows.count - 1, after: "onDelete")
    }

    private mutating func insert(_ reference: RowReference, _ given: JSONText?) throws {
        let place = try resolve(reference, orEnd: true)
        let binding = try binder.requiredBinding(of: place.section.id)
        let (stored, index) = try requireEditing(.insert, binding, place)
        let template = try binding.insertTemplate?(stored.id, evaluation)
        let model: JSONText
        switch (template, given) {
        case (let template?, let given?): model = JSONText(template.value().merging(patch: given.value()))
        case (let only?, nil), (nil, let only?): model = only
        case (nil, nil):
            throw Refusal(.modelRequired, "An insert into the section \"\(stored.id)\" needs a `model`: its binding has no `insert.template`.")
        }
        let identified = try binder.identified(model, in: stored.id)
        let key = editor.table.nextKey
        try editor.insert(identified.model, id: identified.id, in: stored.id, at: index)
        try call(binding.onInsert, HandlerCall(section: stored.id, row: index, model: model, reason: .editing, key: key, id: identified.id))
        try checkCount(of: stored.id, is: stored.rows.count + 1, after: "onInsert")
    }

    private mutating func move(_ reference: RowReference, _ target: SectionReference, _ targetRow: Int) throws {
        let place = try resolve(reference), source = place.section
        let destination = try shown.section(target)
        let from = try binder.requiredBinding(of: source.id), to = try binder.requiredBinding(of: destination.id)
        let index = try requireMove(from, place, to: destination, bound: to)
        let isWithin = source.id == destination.id
        let last = destination.rows.count - (isWithin ? 1 : 0)
        guard targetRow <= last else {
            throw Refusal(.rowNotFound, "A row cannot be moved to row \(targetRow) of the section \"\(destination.id)\": it may go to 0...\(last), counted after it has been taken out.")
        }
        guard from.modelType.name == to.modelType.name else {
            throw Refusal(.modelTypeMismatch, "Rows of \"\(source.id)\" are of the model type \(from.modelType.nameForMessages), those of \"\(destination.id)\" of \(to.modelType.nameForMessages): they cannot be moved into each other.")
        }
        if isWithin, place.row == targetRow { return }

        // In the stored rows, some of which may not be shown: behind all of them, or where the row stands that the
        // moved one is to stand before.
        guard let moved = editor.table[source.id]?.rows[index], let before = editor.table[destination.id] else { throw Refusal.noSection(destination.id) }
        var targetIndex = before.rows.count - (isWithin ? 1 : 0)
        if targetRow < last {
            let follower = isWithin && targetRow >= place.row ? targetRow + 1 : targetRow
            targetIndex = storedIndex(of: follower, in: destination, to) ?? targetIndex
            if isWithin, targetIndex > index { targetIndex -= 1 }
        }
        let sourceCount = editor.table[source.id]?.rows.count ?? 0
        _ = try editor.move(at: index, in: source.id, to: (destination.id, targetIndex))
        try call(from.onDelete, HandlerCall(
            section: source.id, row: index, model: moved.model,
            reason: .movedTo(section: destination.id, row: targetIndex), key: moved.key, id: moved.id))
        try call(to.onInsert, HandlerCall(
            section: destination.id, row: targetIndex, model: moved.model,
            reason: .movedFrom(section: source.id, row: index), key: moved.key, id: moved.id))
        if isWithin {
            try checkCount(of: source.id, is: sourceCount, after: "onDelete and onInsert")
        } else {
            try checkCount(of: source.id, is: sourceCount - 1, after: "onDelete")
            try checkCount(of: destination.id, is: before.rows.count + 1, after: "onInsert")
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

    /// The stored section and the index in it at which the edit is to be made.
    private func requireEditing(_ style: EditingStyle, _ binding: SectionBinding, _ place: Place) throws -> (stored: StoredSection, index: Int) {
        guard binding.cells.source.isStored, let stored = editor.table[place.section.id] else {
            throw Refusal(.editingNotAllowed, "The rows of the section \"\(place.section.id)\" are derived: they cannot be edited, only what they derive from.")
        }
        let index = storedIndex(of: place.row, in: place.section, binding) ?? stored.rows.count
        let allowed: EditingStyle
        if index < stored.rows.count {
            let input = RowInput(section: stored.id, row: index, count: stored.rows.count, model: stored.rows[index].model)
            allowed = try binding.editingStyle(for: input, evaluation)
        } else {
            // At the section's end there is no row that a template could be asked about.
            allowed = binding.editing?.constant?.stringValue.flatMap(EditingStyle.init) ?? .none
        }
        guard allowed == style else {
            throw Refusal(.editingNotAllowed, "Row \(place.row) of the section \"\(stored.id)\" does not allow \(style.rawValue); its editing style is \(allowed.rawValue).")
        }
        return (stored, index)
    }

    /// The index of the row among its section's stored rows.
    private func requireMove(_ binding: SectionBinding, _ place: Place, to destination: Section, bound target: SectionBinding) throws -> Int {
        let source = place.section, evaluation = evaluation
        guard let policy = binding.moving, binding.allowsMoving, let stored = editor.table[source.id],
            let index = storedIndex(of: place.row, in: source, binding)
        else {
            throw Refusal(.moveNotAllowed, "Rows of the section \"\(source.id)\" cannot be moved.")
        }
        let input = RowInput(section: source.id, row: index, count: stored.rows.count, model: stored.rows[index].model)
        guard try binding.isMovable(input, evaluation) else {
            throw Refusal(.moveNotAllowed, "Row \(place.row) of the section \"\(source.id)\" cannot be moved.")
        }
        let isAllowed: Bool
        switch policy {
        case .anySection: isAllowed = true
        case .sections(let ids): isAllowed = ids.contains(destination.id)
        case .passing(let policy):
            guard let target = editor.table[destination.id] else { throw Refusal.noSection(destination.id) }
            isAllowed = try policy.passes(try binder.titles(of: target, rowCount: destination.rows.count, evaluation), evaluation)
        }
        guard isAllowed, target.cells.source.isStored else {
            throw Refusal(.moveNotAllowed, "Rows of the section \"\(source.id)\" cannot be moved to the section \"\(destination.id)\".")
        }
        return index
    }
}

// Taps, cell events, prefetching.
extension CommandInProgress {
    private mutating func tap(_ reference: RowReference) throws {
        let place = try resolve(reference)
        let binding = try binder.requiredBinding(of: place.section.id)
        let call = handlerCall(for: place, binding)
        for handler in binding.onTap { try self.call(handler, call) }
    }

    /// A cell event is a revision even if no row changes: a controller must not miss it.
    private mutating func emit(_ reference: RowReference, _ event: String, _ parameters: JSONText) throws {
        let place = try resolve(reference)
        let binding = try binder.requiredBinding(of: place.section.id)
        let cell = place.section.rows[place.row].json["cell"]?.stringValue ?? ""
        try binder.checkEvent(event, of: cell, parameters)
        isRevision = true
        guard let handler = binding.handler(of: event, from: cell) else { return }
        var call = handlerCall(for: place, binding)
        call.event = parameters
        try self.call(handler, call)
    }

    /// Rows that a client has on its screen: near a section's end they make `onPrefetch` run, once for each growth.
    private mutating func noteDisplayed(_ references: [RowReference]) throws {
        var nearest: [(place: Place, binding: SectionBinding)] = []
        for reference in references {
            let place = try resolve(reference)
            let binding = try binder.requiredBinding(of: place.section.id)
            guard let distance = binding.prefetchDistance, place.section.rows.count - 1 - place.row <= distance else { continue }
            if !nearest.contains(where: { $0.place.section.id == place.section.id }) { nearest.append((place, binding)) }
        }
        for (place, binding) in nearest {
            let count = place.section.rows.count
            if let before = editor.table[place.section.id]?.facts.prefetched, count <= before { continue }
            try editor.setPrefetched(count, of: place.section.id)
            try call(binding.onPrefetch, handlerCall(for: place, binding))
        }
    }

    private func handlerCall(for place: Place, _ binding: SectionBinding) -> HandlerCall {
        let row = place.section.rows[place.row]
        guard let index = storedIndex(of: place.row, in: place.section, binding), let stored = editor.table[place.section.id]?.rows[index] else {
            return HandlerCall(
                section: place.section.id, row: place.row, model: row.model ?? row.json["viewModel"] ?? .null,
                derivedCount: place.section.rows.count)
        }
        return HandlerCall(section: place.section.id, row: index, model: stored.model, key: stored.key, id: stored.id)
    }
}

// References.
extension CommandInProgress {
    /// A displayed row. `row` counts among the displayed rows.
    private struct Place {
        var section: Section
        var row: Int
    }

    /// The displayed row that is meant. `orEnd`: the place behind a section's last row will do.
    private func resolve(_ reference: RowReference, orEnd: Bool = false) throws(Refusal) -> Place {
        switch reference {
        case .at(let section, let row):
            let section = try shown.section(section)
            guard row < section.rows.count || (orEnd && row == section.rows.count) else {
                throw .noRow(row, in: section.id, of: section.rows.count)
            }
            return Place(section: section, row: row)
        case .id(let id, let section):
            let candidates = try section.map { section throws(Refusal) in [try shown.section(section)] } ?? shown.sections
            var found: Place?
            for section in candidates {
                guard let row = displayedIndex(of: id, in: section) else { continue }
                if let found {
                    throw Refusal(.ambiguousRow, "The sections \"\(found.section.id)\" and \"\(section.id)\" both have a row with the id \"\(id)\": name the section as well.")
                }
                found = Place(section: section, row: row)
            }
            guard let found else { throw Refusal(.rowNotFound, "No displayed row has the id \"\(id)\".") }
            return found
        }
    }

    /// O(log rows) where every stored row is shown, else O(rows).
    private func displayedIndex(of id: RowID, in section: Section) -> Int? {
        if case .stored? = binder.binding(of: section.id)?.cells.source { return editor.table[section.id]?.index(of: id) }
        return section.rows.firstIndex { $0.id == id }
    }

    /// Where a displayed row stands among the stored rows; nil behind the last one, and for derived rows.
    private func storedIndex(of row: Int, in section: Section, _ binding: SectionBinding) -> Int? {
        guard row < section.rows.count, let stored = editor.table[section.id] else { return nil }
        switch binding.cells.source {
        case .stored: return row
        case .derived, .counted: return nil
        case .shown(let shown):
            if let id = section.rows[row].id { return stored.index(of: id) }
            // Without identity, by counting those that are shown.
            var left = row
            for (index, candidate) in stored.rows.enumerated() {
                let input = RowInput(section: section.id, row: index, count: stored.rows.count, model: candidate.model)
                guard (try? shown.value(for: input, evaluation)?.boolValue) == true else { continue }
                if left == 0 { return index }
                left -= 1
            }
            return nil
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
        // What declared sections show is set already; dynamic ones may come to more.
        if binder.declaredSections == nil || shown.sections.map(\.id) != ids { editor.setDisplayedSections(ids) }
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
