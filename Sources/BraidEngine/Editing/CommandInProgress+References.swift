// References.
extension CommandInProgress {
    /// A displayed row. `row` counts among the displayed rows.
    struct Place {
        var section: Section
        var row: Int
    }

    /// The displayed row that is meant. `orEnd`: the place behind a section's last row will do.
    func resolve(_ reference: RowReference, orEnd: Bool = false) throws(Refusal) -> Place {
        switch reference {
        case .at(let section, let row):
            let section = try shown.section(section)
            guard row >= 0, row < section.rows.count || (orEnd && row == section.rows.count) else {
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
    func displayedIndex(of id: RowID, in section: Section) -> Int? {
        if case .stored? = binder.binding(of: section.id)?.cells.source { return editor.table[section.id]?.index(of: id) }
        return section.rows.firstIndex { $0.id == id }
    }

    /// Where a displayed row stands among the stored rows; nil behind the last one, and for derived rows.
    func storedIndex(of row: Int, in section: Section, _ binding: SectionBinding) -> Int? {
        guard row < section.rows.count, let stored = editor.table[section.id] else { return nil }
        switch binding.cells.source {
        case .stored: return row < stored.rows.count ? row : nil
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
