// Data source calls that change sections, as opposed to single rows.
extension CommandInProgress {
    mutating func addSection(_ content: SectionContent, at index: Int?) throws(Refusal) -> DataSourceEffect {
        let next = index.flatMap { shown.sections.indices.contains($0) ? shown.sections[$0].id : nil }
        let id = try makeSection(content.id, before: next)
        try fill(id, with: content, at: JSONPointer.root.appending("section"))
        return .table
    }

    mutating func updateSection(
        at section: SectionReference, _ change: (inout CommandInProgress, SectionID) throws(Refusal) -> Void
    ) throws(Refusal) -> DataSourceEffect {
        guard let id = existing(section) else { return noSection(section) }
        try change(&self, id)
        return displayedPlace(of: id).map { .section($0) } ?? .table
    }

    mutating func updateAllSections(_ sections: [SectionContent]) throws(Refusal) -> DataSourceEffect {
        let present = shown.sections.map(\.id)
        var claimed: Set<SectionID> = []
        for (index, section) in sections.enumerated() {
            guard let id = section.id, !claimed.insert(id).inserted else { continue }
            throw Refusal.bad(
                JSONPointer.root.appending("sections").appending(index).appending("id"), .duplicate,
                "another section has the id \"\(id)\" already")
        }
        let ids = sections.enumerated().map { index, section in
            section.id ?? (index < present.count && !claimed.contains(present[index]) ? present[index] : nil)
        }
        if binder.declaredSections != nil {
            guard ids == present else { throw sectionsAreDeclared }
        } else {
            try removeSections(Set(editor.table.sections.map(\.id)).subtracting(ids.compactMap { $0 }))
        }
        var order: [SectionID] = []
        for (index, content) in sections.enumerated() {
            try meter.checkTime()
            var id = ids[index]
            if id.map({ editor.table.position(of: $0) == nil }) ?? true {
                id = try insertSection(id, before: nil, avoiding: claimed)
            }
            guard let id else { continue }
            order.append(id)
            try fill(id, with: content, at: JSONPointer.root.appending("sections").appending(index))
        }
        if binder.declaredSections == nil {
            editor.arrangeSections(order)
            if displayedList != nil { editor.setDisplayedSections(order) }
        }
        return .table
    }

    mutating func removeSection(at section: SectionReference) throws(Refusal) -> DataSourceEffect {
        guard let id = existing(section) else { return noSection(section) }
        guard binder.declaredSections == nil else { throw sectionsAreDeclared }
        try removeSections([id])
        return .table
    }

    mutating func removeAllSections() throws(Refusal) -> DataSourceEffect {
        guard binder.declaredSections == nil else { throw sectionsAreDeclared }
        try removeSections(Set(editor.table.sections.map(\.id)))
        return .table
    }

    mutating func registerCell(_ cell: String, for modelType: String) throws(Refusal) -> DataSourceEffect {
        guard binder.cells[cell] != nil else {
            throw Refusal.bad(
                JSONPointer.root.appending("cell"), .unknownName,
                "the cell \"\(cell)\" is not declared in the table's `cells`")
        }
        editor.registerCell(cell, for: modelType)
        return .nothingToTell
    }
}

extension CommandInProgress {
    /// Creates an empty section before the section `next`, or at the end if `next` is `nil`. If there is a list of
    /// displayed sections, adds the section to the list.
    ///
    /// - Parameter id: the new section's id. `nil` generates an id.
    mutating func makeSection(_ id: SectionID?, before next: SectionID?) throws(Refusal) -> SectionID {
        let id = try insertSection(id, before: next)
        if var list = displayedList {
            list.removeAll { $0 == id }
            list.insert(id, at: next.flatMap { list.firstIndex(of: $0) } ?? list.count)
            editor.setDisplayedSections(list)
        }
        return id
    }

    /// Creates an empty section as `makeSection` does, but does not change the list of displayed sections.
    private mutating func insertSection(
        _ id: SectionID?, before next: SectionID?, avoiding taken: Set<SectionID> = []
    ) throws(Refusal) -> SectionID {
        guard binder.declaredSections == nil else { throw sectionsAreDeclared }
        let id = id ?? editor.newSectionID(avoiding: taken)
        guard editor.table.position(of: id) == nil else {
            throw Refusal.bad(
                JSONPointer.root.appending("section").appending("id"), .duplicate,
                "the table has a section \"\(id)\" already")
        }
        _ = try binder.requiredBinding(of: id)
        try editor.insertSection(id, before: next)
        return id
    }

    mutating func removeSections(_ ids: Set<SectionID>) throws(Refusal) {
        try editor.removeSections(ids)
        if let list = displayedList { editor.setDisplayedSections(list.filter { !ids.contains($0) }) }
    }

    /// The ids of the sections that a program, the description or a command chose to display. New sections must be
    /// added to this list. `nil` if no list was chosen or the display is automatic.
    private var displayedList: [SectionID]? {
        guard binder.display.behavior == .manuallyManaged else { return nil }
        return editor.table.displayedSections ?? binder.display.displayed
    }

    /// Replaces a section's header, footer and rows. `pointer` is the JSON pointer to the new content in the data
    /// source call.
    mutating func fill(_ id: SectionID, with content: SectionContent, at pointer: JSONPointer) throws(Refusal) {
        _ = try requireStored(id)
        try setHeader(content.header, of: id)
        try setFooter(content.footer, of: id)
        try editor.setModels(try binder.identified(content.rows, in: id, at: pointer.appending("rows")), in: id)
    }

    private var sectionsAreDeclared: Refusal {
        Refusal(
            .sectionsAreDeclared,
            "The table declares its sections. They cannot be added, removed or put in another order. Change their rows instead, or use a table with dynamic sections."
        )
    }
}
