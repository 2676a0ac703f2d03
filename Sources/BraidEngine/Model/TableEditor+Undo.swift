extension TableEditor {
    /// The change was found for this table, so a place that does not exist is a fault of the journal.
    mutating func takeBack(_ change: UndoChange) throws(Refusal) {
        for section in change.sections { try restore(section) }
        for (at, id, model) in change.replaced {
            try replace(at: at.row, in: at.section, id: id, model: model)
        }
        var taken: [Int: StoredRow] = [:]
        for place in change.taken.reversed() {
            let row = try remove(at: place.row, in: place.section)
            taken[row.key] = row
        }
        for (at, key, rank, content) in change.placed {
            if let content {
                // A key of the past is that of a row which the store does not have any more.
                if taken[key] == nil { restored.insert(key) }
                let row = StoredRow(key: key, rank: 0, id: content.id, model: content.model)
                _ = try place(row, in: at.section, at: at.row, isNew: true, preferring: rank)
            } else if let row = taken[key] {
                _ = try place(row, in: at.section, at: at.row, isNew: false, preferring: rank)
            } else {
                throw Refusal(.badRequest, "The journal's undo moves a row that it does not take.")
            }
            if taken[key] != nil { moved.insert(key) }
        }
        try removeSections(Set(change.removedSections))
        if let order = change.order { arrangeSections(order) }
        for (section, title) in change.headers { try setHeader(title, of: section) }
        for (section, title) in change.footers { try setFooter(title, of: section) }
        for (section, count) in change.prefetched { try setPrefetched(count, of: section) }
        if let state = change.state { setState(state) }
        if let displayed = change.displayedSections {
            setDisplayedSections(displayed.elements()?.compactMap { $0.stringValue.map { SectionID($0) } })
        }
        if let cells = change.cells { setCells(try RegisteredCells(json: cells)) }
    }

    /// With its number.
    private mutating func restore(_ summary: StoredSectionSummary) throws(Refusal) {
        guard table.position(of: summary.id) == nil else {
            throw Refusal(.badRequest, "The section \"\(summary.id)\" exists already.")
        }
        changedSummaries.formUnion(
            table.insertSection(summary.id, at: table.sections.count, number: summary.number))
        step.sections.insert(summary.id)
        step.displayChanged = true
        try setHeader(summary.header, of: summary.id)
        try setFooter(summary.footer, of: summary.id)
        try setPrefetched(summary.prefetched, of: summary.id)
    }
}
