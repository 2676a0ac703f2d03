// Deletes, inserts and moves of single rows.
extension CommandInProgress {
    mutating func delete(_ reference: RowReference) throws {
        let place = try resolve(reference)
        let (binding, stored, index) = try requireEditing(.delete, place)
        let removed = stored.rows[index]
        if !binding.cells.isProvided { try editor.remove(at: index, in: stored.id) }
        try call(binding.onDelete, HandlerCall(section: stored.id, row: index, model: removed.model, reason: .editing))
        try readProvided(isEdit: true)
        try checkCount(of: stored.id, is: stored.rows.count - 1, after: "onDelete")
    }

    mutating func insert(_ reference: RowReference, _ given: JSONText?) throws {
        let place = try resolve(reference, orEnd: true)
        let (binding, stored, _) = try requireEditing(.insert, place)
        let index = targetIndex(place.row, in: place.section)
        if binding.cells.isProvided {
            // The handler makes the model itself.
            try call(binding.onInsert, HandlerCall(section: stored.id, row: index, model: .null, reason: .editing))
            try readProvided(isEdit: true)
            return try checkCount(of: stored.id, is: stored.rows.count + 1, after: "onInsert")
        }
        let template = try binding.insertTemplate?(stored.id, evaluation)
        let model: JSONText
        switch (template, given) {
        case (let template?, let given?): model = JSONText(template.value().merging(patch: given.value()))
        case (let only?, nil), (nil, let only?): model = only
        case (nil, nil):
            throw Refusal(
                .modelRequired,
                "An insert into the section \"\(stored.id)\" needs a `model`: its binding has \(binding.insertTemplate == nil ? "no `insert.template`" : "an `insert.template` that gives nothing")."
            )
        }
        let identified = try identified(model, in: stored.id, at: JSONPointer.root.appending("model"))
        let key = editor.table.nextKey
        try checkHidden(identified.id, in: place.section)
        try editor.insert(identified.model, id: identified.id, in: stored.id, at: index)
        try call(
            binding.onInsert,
            HandlerCall(section: stored.id, row: index, model: model, reason: .editing, key: key, id: identified.id))
        try checkCount(of: stored.id, is: stored.rows.count + 1, after: "onInsert")
    }

    mutating func move(_ reference: RowReference, to target: RowReference) throws {
        let place = try resolve(reference), source = place.section
        let (destination, targetRow) = try moveTarget(target, of: place)
        let from = try binder.requiredBinding(of: source.id), to = try binder.requiredBinding(of: destination.id)
        let index = try requireMove(from, place, to: destination, bound: to)
        let isWithin = source.id == destination.id
        let last = destination.rows.count - (isWithin ? 1 : 0)
        guard (0...last).contains(targetRow) else {
            throw Refusal(
                .rowNotFound,
                "A row cannot be moved to row \(targetRow) of the section \"\(destination.id)\": it may go to 0...\(last), counted after it has been taken out."
            )
        }
        guard to.takes(rowsOf: from.modelType.name) else {
            throw Refusal(
                .modelTypeMismatch,
                "Rows of \"\(source.id)\" are of the model type \(from.modelType.nameForMessages), those of \"\(destination.id)\" of the type \(to.modelType.nameForMessages): they cannot be moved into each other."
            )
        }
        if isWithin, place.row == targetRow { return }

        guard let moved = editor.table[source.id]?.rows[index], let before = editor.table[destination.id] else {
            throw Refusal.noSection(destination.id, among: editor.table.sections.lazy.map(\.id))
        }
        var targetIndex = targetIndex(targetRow, in: destination, without: isWithin ? place.row : nil)
        if isWithin, targetIndex > index { targetIndex -= 1 }
        if !isWithin { try checkHidden(moved.id, in: destination) }
        let merged = try merged(moved, to, destination, targetRow, without: isWithin ? place.row : nil)
        let sourceCount = editor.table[source.id]?.rows.count ?? 0
        switch (from.cells.isProvided, to.cells.isProvided) {
        case (false, false): _ = try editor.move(at: index, in: source.id, to: (destination.id, targetIndex))
        case (false, true): try editor.remove(at: index, in: source.id)
        case (true, false): try editor.insert(moved.model, id: moved.id, in: destination.id, at: targetIndex)
        case (true, true): break
        }
        if let merged {
            try editor.replace(at: targetIndex, in: destination.id, id: merged.id, model: merged.model)
        }
        let model = merged?.model ?? moved.model, id = merged?.id ?? moved.id
        try call(
            from.onDelete,
            HandlerCall(
                section: source.id, row: index, model: model,
                reason: .movedTo(section: destination.id, row: targetIndex), key: moved.key, id: id))
        try call(
            to.onInsert,
            HandlerCall(
                section: destination.id, row: targetIndex, model: model,
                reason: .movedFrom(section: source.id, row: index), key: moved.key, id: id))
        try readProvided(isEdit: true)
        if isWithin {
            try checkCount(of: source.id, is: sourceCount, after: "onDelete and onInsert")
        } else {
            try checkCount(of: source.id, is: sourceCount - 1, after: "onDelete")
            try checkCount(of: destination.id, is: before.rows.count + 1, after: "onInsert")
        }
    }

    /// Throws `idInvalid` if a row that the sender does not see has the id.
    private func checkHidden(_ id: RowID?, in section: Section) throws(Refusal) {
        guard isDiscreet, let id, let index = editor.table[section.id]?.index(of: id) else { return }
        if displayedIndex(ofStored: index, in: section.id) == nil { throw .idUnusable(id) }
    }

    /// The stored index directly behind the row above, or else before the first; whatever is hidden between. `row` is
    /// an index among the displayed rows, without the moved one.
    func targetIndex(_ row: Int, in section: Section, without moved: Int? = nil) -> Int {
        let end = editor.table[section.id]?.rows.count ?? 0
        guard let binding = binder.binding(of: section.id) else { return end }
        func displayed(_ row: Int) -> Int { moved.map { row >= $0 ? row + 1 : row } ?? row }
        if row > 0 { return storedIndex(of: displayed(row - 1), in: section, binding).map { $0 + 1 } ?? end }
        return storedIndex(of: displayed(0), in: section, binding) ?? end
    }

    /// The model with what the description merges into one that moves to a place in a sorted section. `nil` elsewhere.
    private func merged(
        _ moved: StoredRow, _ target: SectionBinding, _ section: Section, _ row: Int, without gone: Int?
    ) throws -> TableEditor.Model? {
        guard section.places?.order != nil, let merge = target.moving?.merge, let stored = editor.table[section.id]
        else { return nil }
        func model(_ row: Int) -> JSONText {
            let displayed = gone.map { row >= $0 ? row + 1 : row } ?? row
            guard row >= 0, let index = storedIndex(of: displayed, in: section, target) else { return .null }
            return stored.rows[index].model
        }
        let input = MergeInput(section: section.id, model: moved.model, above: model(row - 1), below: model(row))
        guard let patch = try Refusal.naming(section.id, { try merge(input, evaluation) }) else { return nil }
        let merged = JSONText(moved.model.value().merging(patch: patch.value()))
        return try identified(merged, in: section.id, at: JSONPointer.root.appending("model"))
    }

    /// `row` is an index in the list without the moved row, and may be out of bounds.
    func moveTarget(_ target: RowReference, of moved: Place) throws(Refusal) -> (section: Section, row: Int) {
        switch target {
        case .at(let section, let row): return (try displayed(section), row)
        case .id:
            let follower = try resolve(target)
            let isBehind = follower.section.id == moved.section.id && follower.row > moved.row
            return (follower.section, follower.row - (isBehind ? 1 : 0))
        }
    }

    mutating func call(_ handler: Handler?, _ call: HandlerCall) throws {
        guard let handler else { return }
        try meter.checkTime()
        var context = HandlerContext(binder: binder, now: now, meter: meter, ids: ids, user: user)
        try handler.run(call, &editor, &context)
        // Makes a revision even if no row changed, so that no controller misses the event.
        if !context.emitted.isEmpty { isRevision = true }
        controllerEvents += context.emitted.map { .emitted($0) }
    }

    /// After a delete, for example, the handler must have left one row fewer. Source: Braid's rule for `onDelete` and
    /// `onInsert`.
    func checkCount(of section: SectionID, is expected: Int, after handler: String) throws(Refusal) {
        let count = editor.table[section]?.rows.count ?? 0
        guard count == expected else {
            throw Refusal(
                .handlerContract,
                "After \(handler) the section \"\(section)\" has \(counted(count, "row")) instead of \(expected). The command was undone. Correct the handler."
            )
        }
    }

    func requireEditing(_ style: EditingStyle, _ place: Place) throws -> (
        binding: SectionBinding, stored: StoredSection, index: Int
    ) {
        let binding = try requireStored(place.section.id),
            stored = editor.table.sections[try editor.position(of: place.section.id)]
        let index = storedIndex(of: place.row, in: place.section, binding) ?? stored.rows.count
        if isAllowed { return (binding, stored, index) }
        let allowed: EditingStyle
        if index < stored.rows.count {
            let input = try input(of: index, in: stored, at: place, binding)
            allowed = try binding.editingStyle(for: input, evaluation)
        } else {
            // No row is there, so only a constant policy can allow an insert.
            allowed = binding.editing?.constant?.stringValue.flatMap(EditingStyle.init) ?? .none
        }
        guard allowed == style else {
            throw Refusal(
                .editingNotAllowed,
                "Row \(place.row) of the section \"\(stored.id)\" does not allow \(style.rawValue); its editing style is \(allowed.rawValue)."
            )
        }
        return (binding, stored, index)
    }

    /// As when the row was rendered, but now.
    private func input(of index: Int, in stored: StoredSection, at place: Place, _ binding: SectionBinding) throws
        -> RowInput
    {
        let model = stored.rows[index].model
        guard case .selected(let selection) = binding.cells.source, let places = place.section.places,
            selection.exists != nil || places.order != nil
        else { return RowInput(section: stored.id, row: index, count: stored.rows.count, model: model) }
        var row = place.row
        if selection.shown != nil, binding.renderingReads.contains(.row) {
            let maker = RowMaker(
                binding: binding, section: stored.id, count: stored.rows.count, room: 0, binder: binder,
                evaluation: evaluation)
            row = try maker.candidates(of: stored, selection, places.order).firstIndex { $0.index == index } ?? row
        }
        return RowInput(section: stored.id, row: row, count: places.count, model: model)
    }

    /// Checks policies only, and changes nothing.
    func requireAllowed(_ command: Command) throws {
        switch command {
        case .delete(let row): _ = try requireEditing(.delete, try resolve(row))
        case .insert(let row, _): _ = try requireEditing(.insert, try resolve(row, orEnd: true))
        case .move(let row, let target):
            let place = try resolve(row), destination = try moveTarget(target, of: place).section
            _ = try requireMove(
                try binder.requiredBinding(of: place.section.id), place, to: destination,
                bound: try binder.requiredBinding(of: destination.id))
        case .tap, .event, .displayedRows, .setModels, .setHeaders, .setFooters, .setDisplayedSections, .setState,
            .dataSource, .reset, .rebind, .undo, .transaction:
            break
        }
    }

    /// Throws `editingNotAllowed` for derived rows.
    func requireStored(_ section: SectionID) throws(Refusal) -> SectionBinding {
        let binding = try binder.requiredBinding(of: section)
        guard binding.cells.source.isStored else {
            throw Refusal(
                .editingNotAllowed,
                "The rows of the section \"\(section)\" are derived and cannot be edited. Edit the models or the state from which they are derived."
            )
        }
        return binding
    }

    func identified(_ model: JSONText, in section: SectionID, at pointer: JSONPointer) throws(Refusal) -> (
        id: RowID?, model: JSONText
    ) {
        do throws(Refusal) {
            return try binder.identified(model, in: section)
        } catch {
            throw error.placed(at: pointer)
        }
    }

    /// Returns the row's stored index. Throws if a policy forbids the move.
    func requireMove(_ binding: SectionBinding, _ place: Place, to destination: Section, bound target: SectionBinding)
        throws -> Int
    {
        let source = place.section, evaluation = evaluation
        guard let policy = binding.moving, binding.allowsMoving, let stored = editor.table[source.id],
            let index = storedIndex(of: place.row, in: source, binding)
        else {
            throw Refusal(
                .moveNotAllowed,
                "The rows of the section \"\(source.id)\" cannot be moved: the section has no `moving`.")
        }
        if isAllowed { return index }
        if source.places?.order != nil, policy.merge == nil {
            throw Refusal(
                .moveNotAllowed,
                "The rows of the section \"\(source.id)\" cannot be moved: they are sorted, and its `moving` has no `merge`."
            )
        }
        let input = try input(of: index, in: stored, at: place, binding)
        guard try binding.isMovable(input, evaluation) else {
            throw Refusal(
                .moveNotAllowed,
                "Row \(place.row) of the section \"\(source.id)\" cannot be moved: the section's `movable` does not allow it."
            )
        }
        let isAllowed: Bool
        switch policy.targets {
        case .anySection: isAllowed = true
        case .sections(let ids): isAllowed = ids.contains(destination.id)
        case .passing(let policy):
            guard let target = editor.table[destination.id] else {
                throw Refusal.noSection(destination.id, among: editor.table.sections.lazy.map(\.id))
            }
            isAllowed = try policy.passes(
                try binder.titles(
                    of: target, count: destination.places?.count ?? target.rows.count,
                    displayedCount: destination.rows.count, evaluation), evaluation)
        }
        guard isAllowed, target.cells.source.isStored else {
            throw Refusal(
                .moveNotAllowed,
                "The rows of the section \"\(source.id)\" cannot be moved to the section \"\(destination.id)\". The snapshot's `movesTo` lists the sections to which they can be moved."
            )
        }
        return index
    }
}
