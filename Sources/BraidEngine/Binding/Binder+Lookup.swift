// Finds displayed rows by id, through the index of the stored table.
extension Binder {
    /// The section's place among the displayed ones.
    ///
    /// - Complexity: O(1) if all sections are displayed in stored order, O(log sections) if some are. O(sections) for
    ///   another order, or if the section is not displayed.
    func displayedPlace(of id: SectionID, in shown: Snapshot, of table: TableModel) -> Int? {
        if let position = table.position(of: id) {
            if position < shown.sections.count, shown.sections[position].id == id { return position }
            let place = shown.sections.firstPosition { table.position(of: $0.id) ?? .max >= position }
            if place < shown.sections.count, shown.sections[place].id == id { return place }
        }
        return shown.sections.firstIndex { $0.id == id }
    }

    /// The ascending places of the displayed sections that may display a row with the id; some may not.
    func displayedPlaces(ofSectionsThatMayShow id: RowID, in shown: Snapshot, of table: TableModel) -> [Int] {
        let all = shown.sections.indices
        guard all.count > TableModel.fewSections, !derivesOtherSections else { return Array(all) }
        let sections = table.positions(ofSectionsWith: id).map { table.sections[$0].id } + derivedSections
        // Finding one section among the displayed sections can cost as much as examining a few hundred sections.
        guard sections.count <= 16 else { return Array(all) }
        return Set(sections.compactMap { displayedPlace(of: $0, in: shown, of: table) }).sorted()
    }

    /// The index of the first displayed row with the id.
    ///
    /// - Complexity: O(log² rows), and O(rows) where ``examinesRows(for:in:of:)``.
    func displayedIndex(of id: RowID, in section: Section, of table: TableModel) -> Int? {
        switch binding(of: section.id)?.cells.source {
        case .stored: return table[section.id]?.index(of: id)
        case .counted: return nil
        case .shown:
            guard let stored = table[section.id], let index = stored.index(of: id) else { return nil }
            guard section.isDiffable else { break }
            // All displayed rows have ids, and are in the order of the stored rows.
            let row = section.rows.firstPosition { row in row.id.flatMap { stored.index(of: $0) } ?? .max >= index }
            return row < section.rows.count && section.rows[row].content.has(id) ? row : nil
        case .derived, nil: break
        }
        return section.rows.indexes(of: id).first
    }

    /// Whether ``displayedIndex(of:in:of:)`` has to look at each row.
    func examinesRows(for id: RowID, in section: Section, of table: TableModel) -> Bool {
        switch binding(of: section.id)?.cells.source {
        case .stored, .counted: false
        case .shown: !section.isDiffable && table[section.id]?.contains(id) == true
        case .derived, nil: true
        }
    }
}
