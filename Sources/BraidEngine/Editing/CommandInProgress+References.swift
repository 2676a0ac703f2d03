extension CommandInProgress {
    struct Place {
        var section: Section
        var row: Int
    }

    /// `orEnd` accepts the place after the last row.
    func resolve(_ reference: RowReference, orEnd: Bool = false) throws(Refusal) -> Place {
        try meter.checkTime()
        switch reference {
        case .at(let section, let row):
            let section = try displayed(section)
            guard row >= 0, row < section.rows.count || (orEnd && row == section.rows.count) else {
                throw .noRow(row, in: section.id, of: section.rows.count)
            }
            return Place(section: section, row: row)
        case .id(let id, let section):
            var found: Place?
            for path in try search.places(
                of: id, in: section.map { section throws(Refusal) in try displayed(section) }, self)
            {
                let section = shown.sections[path.section]
                guard try isKnown(id, in: section) else { continue }
                if let found {
                    throw Refusal.ambiguous(id, found.section.id, section.id)
                }
                found = Place(section: section, row: path.row)
            }
            guard let found else {
                let place = try section.map { section throws(Refusal) in
                    "row of the section \"\(try displayed(section).id)\""
                }
                throw Refusal(.rowNotFound, "No displayed \(place ?? "row") has the id \"\(id)\". Get the snapshot.")
            }
            return found
        }
    }

    func displayedPlace(of id: SectionID) -> Int? { binder.displayedPlace(of: id, in: shown, of: editor.table) }

    func displayed(_ reference: SectionReference) throws(Refusal) -> Section {
        if case .id(let id) = reference, let place = displayedPlace(of: id) { return shown.sections[place] }
        return try shown.section(reference)
    }

    func isWhollyShown(_ section: Section) -> Bool {
        if case .stored? = binder.binding(of: section.id)?.cells.source { true } else { false }
    }

    /// `nil` after the last row, and for derived rows.
    func storedIndex(of row: Int, in section: Section, _ binding: SectionBinding) -> Int? {
        guard row < section.rows.count, let stored = editor.table[section.id] else { return nil }
        switch binding.cells.source {
        case .stored: return row < stored.rows.count ? row : nil
        case .derived, .counted: return nil
        case .selected: return section.places?.storedIndex(of: row, in: stored)
        }
    }

    /// `nil` for hidden and derived rows.
    func displayedIndex(ofStored index: Int, in section: SectionID) -> Int? {
        switch binder.binding(of: section)?.cells.source {
        case .stored: return index
        case .selected:
            guard let place = displayedPlace(of: section), let stored = shownTable[section] else { return nil }
            return shown.sections[place].places?.index(of: stored.rows[index], in: stored)
        case .derived, .counted, nil: return nil
        }
    }
}

/// Finds displayed rows by id. Where that means a look at each row, indexes them all after many searches, so that n
/// references to n rows take less than O(n²).
final class RowSearch {
    private var looks = 0
    private var index: [RowID: (first: RowPath, others: [RowPath])]?

    func places(of id: RowID, in section: Section?, _ command: CommandInProgress) throws(Refusal) -> [RowPath] {
        let shown = command.shown
        let sectionPlace = section.flatMap { command.displayedPlace(of: $0.id) }
        // The index costs about sixteen looks at each row.
        if index == nil, looks <= 1_000 + 16 * shown.totalRowCount {
            if let section, let sectionPlace {
                let binder = command.binder, table = command.shownTable
                looks += binder.examinesRows(in: section) ? section.rows.count : 0
                return binder.displayedIndex(of: id, in: section, of: table).map {
                    [RowPath(section: sectionPlace, row: $0)]
                } ?? []
            }
            var places: [RowPath] = []
            let binder = command.binder, table = command.shownTable
            for place in binder.displayedPlaces(ofSectionsThatMayShow: id, in: shown, of: table) {
                try command.meter.checkTime()
                let section = shown.sections[place]
                looks += binder.examinesRows(in: section) ? 1 + section.rows.count : 1
                if let row = binder.displayedIndex(of: id, in: section, of: table) {
                    places.append(RowPath(section: place, row: row))
                }
            }
            return places
        }
        let found = (index ?? makeIndex(of: shown))[id].map { [$0.first] + $0.others } ?? []
        return section == nil ? found : found.filter { $0.section == sectionPlace }
    }

    private func makeIndex(of shown: Snapshot) -> [RowID: (first: RowPath, others: [RowPath])] {
        var index: [RowID: (first: RowPath, others: [RowPath])] = [:]
        for (place, section) in shown.sections.enumerated() {
            for (row, shown) in section.rows.enumerated() {
                guard let id = shown.id else { continue }
                let path = RowPath(section: place, row: row)
                // The first of two in a section, as in a search.
                if let known = index[id] {
                    if (known.others.last ?? known.first).section != place { index[id]?.others.append(path) }
                } else {
                    index[id] = (path, [])
                }
            }
        }
        self.index = index
        return index
    }

    func reset() { (looks, index) = (0, nil) }
}
