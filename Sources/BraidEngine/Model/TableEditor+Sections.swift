// Edits of a table's sections, titles, state and registered cells.
extension TableEditor {
    /// Adds an empty section with this id at the end of the table, if the table does not contain the section yet.
    /// Dynamic sections are added in this way when their models arrive.
    mutating func ensureSection(_ id: SectionID) throws(Refusal) {
        if table.position(of: id) == nil { try insertSection(id, before: nil) }
    }

    /// Inserts a new section before another section, or at the end.
    mutating func insertSection(_ id: SectionID, before next: SectionID?) throws(Refusal) {
        try check(id)
        let position = next.flatMap { table.position(of: $0) } ?? table.sections.count
        changedFacts.formUnion(table.insertSection(id, at: position))
        step.sections.insert(id)
        step.displayChanged = true
    }

    /// Returns an id for a new section that a command adds without an id: `s1`, `s2`, … from the section's number.
    /// Skips ids that are taken.
    mutating func newSectionID(avoiding taken: Set<SectionID> = []) -> SectionID {
        while true {
            let id = SectionID("s\(table.nextSection)")
            if table.position(of: id) == nil, !taken.contains(id) { return id }
            table.nextSection += 1
        }
    }

    /// Reorders the table's sections. `order` must contain the id of each section once.
    mutating func arrangeSections(_ order: [SectionID]) {
        guard table.sections.map(\.id) != order else { return }
        changedFacts.formUnion(table.arrangeSections(order))
        step.sections.formUnion(order)
        step.displayChanged = true
    }

    /// Removes sections and all their rows.
    mutating func removeSections(_ ids: Set<SectionID>) throws(Refusal) {
        for id in ids {
            try setModels([], in: id)
            // If this command created the section, the store does not know the section's number. Removing an unknown
            // number from the store is harmless.
            if let section = table[id] { removedSections.append(section.facts.number) }
            removedSectionIDs.insert(id)
            changedFacts.remove(id)
            step.sections.insert(id)
        }
        table.removeSections(ids)
        if !ids.isEmpty { step.displayChanged = true }
    }

    mutating func setHeader(_ title: JSONText?, of id: SectionID) throws(Refusal) {
        try setTitle(\.header, title, of: id)
    }

    mutating func setFooter(_ title: JSONText?, of id: SectionID) throws(Refusal) {
        try setTitle(\.footer, title, of: id)
    }

    private mutating func setTitle(
        _ which: WritableKeyPath<StoredSectionSummary, JSONText?>, _ title: JSONText?, of id: SectionID
    ) throws(Refusal) {
        let position = try position(of: id)
        guard table.sections[position].facts[keyPath: which] != title else { return }
        // Detach the title from the request's bytes: a slice would keep the whole request in memory.
        table.sections[position].facts[keyPath: which] = title?.detached
        changedFacts.insert(id)
        step.sections.insert(id)
    }

    mutating func setPrefetched(_ count: Int?, of id: SectionID) throws(Refusal) {
        let position = try position(of: id)
        guard table.sections[position].facts.prefetched != count else { return }
        table.sections[position].facts.prefetched = count
        changedFacts.insert(id)
        step.prefetchChanged = true
    }

    /// Notes that a section's models were replaced and that the section now has `rows` rows. If the section had more
    /// rows when `onPrefetch` last ran for it, `onPrefetch` can run for the section again.
    mutating func noteFilled(_ id: SectionID, rows: Int) throws(Refusal) {
        if let prefetched = table[id]?.facts.prefetched, rows < prefetched { try setPrefetched(nil, of: id) }
    }

    /// Sets which sections are displayed, and in which order. With `nil`, the earlier choice no longer applies.
    mutating func setDisplayedSections(_ ids: [SectionID]?) {
        guard table.displayedSections != ids else { return }
        table.displayedSections = ids
        step.displayChanged = true
    }

    /// Notes that the rule that decides which sections are displayed has changed.
    mutating func noteDisplay() { step.displayChanged = true }

    mutating func setState(_ state: JSONText) {
        guard table.state != state else { return }
        table.state = state
        step.stateChanged = true
    }

    mutating func registerCell(_ cell: String, for modelType: String) {
        guard table.cells[modelType] != cell else { return }
        table.cells[modelType] = cell
        step.cellsChanged = true
    }

    mutating func setCells(_ cells: RegisteredCells) {
        guard table.cells != cells else { return }
        table.cells = cells
        step.cellsChanged = true
    }

    /// The command's changes that the store has to write.
    var change: TableChange {
        var change = TableChange()
        change.writtenRows = written.values.sorted { $0.row.key < $1.row.key }.map { ($0.section, $0.row) }
        change.placedRows = placed.sorted { $0.key < $1.key }.map { ($0.value.section, $0.key, $0.value.rank) }
        change.removedRows = removed.sorted()
        change.writtenSections = changedFacts.compactMap { table[$0]?.facts }
            .filter { before[$0.id]?.facts != $0 }.sorted { $0.number < $1.number }
        change.removedSections = removedSections.sorted()
        change.setRest(from: before, to: table)
        return change
    }
}

extension TableChange {
    /// Adds the changes of the registered cells, the state and the displayed sections between two versions of a table.
    mutating func setRest(from old: TableModel, to new: TableModel) {
        if new.cells != old.cells { cells = new.cells.json }
        if new.state != old.state { state = new.state }
        if new.displayedSections != old.displayedSections {
            displayedSections = new.displayedSections.map { JSONText(ids: $0) } ?? .null
        }
    }
}

extension JSONText {
    /// Creates a JSON array of section ids.
    package init(ids: [SectionID]) { self.init(.array(ids.map { .string($0.text) })) }
}
