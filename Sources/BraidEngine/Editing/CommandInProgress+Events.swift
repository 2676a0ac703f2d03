// Taps, cell events, and reports of displayed rows.
extension CommandInProgress {
    mutating func tap(_ reference: RowReference) throws {
        let place = try resolve(reference)
        let binding = try binder.requiredBinding(of: place.section.id)
        note(.tap, at: place)
        let call = try handlerCall(for: place, binding)
        for handler in binding.onTap { try self.call(handler, call) }
    }

    mutating func emit(_ reference: RowReference, _ event: String, _ parameters: JSONText) throws {
        let place = try resolve(reference)
        let binding = try binder.requiredBinding(of: place.section.id)
        let cell = place.section.rows[place.row].json["cell"]?.stringValue ?? ""
        do throws(Refusal) {
            try binder.checkEvent(event, of: cell, parameters)
        } catch {
            throw error.placed(at: JSONPointer.root.appending("event").appending(event))
        }
        note(.cellEvent(name: event, parameters: parameters), at: place)
        guard let handler = binding.handler(of: event, from: cell) else { return }
        var call = try handlerCall(for: place, binding)
        call.event = parameters
        try self.call(handler, call)
    }

    /// A new revision even if no row changes, so that no controller misses the event.
    private mutating func note(_ kind: RowEvent.Kind, at place: Place) {
        isRevision = true
        let row = place.section.rows[place.row]
        controllerEvents.append(.row(RowEvent(at: sessionPath(of: place, row), row: row, kind: kind)))
    }

    /// In the session's own table.
    private func sessionPath(of place: Place, _ row: Row) -> RowPath? {
        guard let session else {
            return RowPath(section: displayedPlace(of: place.section.id) ?? 0, row: place.row)
        }
        let id = place.section.id, shown = unpublished?.snapshot ?? session.before
        guard let section = shown.sections.firstIndex(where: { $0.id == id }), let binding = binder.binding(of: id)
        else { return nil }
        guard binding.cells.source.isStored else {
            return row.id.flatMap { shown.sections[section].rows.indexes(of: $0).first }
                .map { RowPath(section: section, row: $0) }
        }
        guard let index = storedIndex(of: place.row, in: place.section, binding), let stored = beforeTable[id],
            stored.rows.indices.contains(index)
        else { return nil }
        let displayed = shown.sections[section].places.map { $0.index(of: stored.rows[index], in: stored) } ?? index
        return displayed.map { RowPath(section: section, row: $0) }
    }

    /// Runs `onPrefetch` of sections near whose end a reported row is. Not again until the section has more rows or
    /// another last one (`hasNewEnd`), was filled with fewer, or was reset.
    mutating func noteDisplayed(_ references: [RowReference]) throws {
        // Chosen before the first runs, which may change others' rows.
        var nearest: [(section: Section, row: Int, handler: Handler, call: HandlerCall)] = []
        var indexes: [SectionID: Int] = [:]
        for reference in references {
            let place = try resolve(reference)
            let binding = try binder.requiredBinding(of: place.section.id)
            guard let handler = binding.onPrefetch, let distance = binding.prefetchDistance,
                place.section.rows.count - 1 - place.row <= distance
            else { continue }
            let call = try handlerCall(for: place, binding)
            if let index = indexes[place.section.id] {
                if nearest[index].row < place.row { nearest[index] = (place.section, place.row, handler, call) }
            } else {
                indexes[place.section.id] = nearest.count
                nearest.append((place.section, place.row, handler, call))
            }
        }
        for (section, _, handler, call) in nearest {
            // Others display other numbers of rows.
            let isStored = session != nil && call.derivedCount == nil
            let count = isStored ? editor.table[section.id]?.rows.count ?? 0 : section.rows.count
            if let before = editor.table[section.id]?.summary.prefetched, count <= before { continue }
            try editor.setPrefetched(count, of: section.id)
            try self.call(handler, call)
        }
    }

    func handlerCall(for place: Place, _ binding: SectionBinding) throws -> HandlerCall {
        let row = place.section.rows[place.row]
        guard let index = storedIndex(of: place.row, in: place.section, binding),
            let stored = editor.table[place.section.id]?.rows[index]
        else {
            return HandlerCall(
                section: place.section.id, row: place.row, model: row.model ?? row.json["viewModel"] ?? .null,
                derivedCount: place.section.rows.count)
        }
        return HandlerCall(section: place.section.id, row: index, model: stored.model, key: stored.key, id: stored.id)
    }
}
