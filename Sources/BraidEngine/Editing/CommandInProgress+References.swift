// The lookup of the displayed rows and sections that a command's references name.
extension CommandInProgress {
    /// A displayed row or the place after a section's last row. `row` is the index among the section's displayed rows.
    struct Place {
        var section: Section
        var row: Int
    }

    /// Returns the place of the displayed row that a reference names.
    ///
    /// - Parameter orEnd: whether the place after the section's last row is accepted.
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

    /// Returns a section's index among the displayed sections, or `nil` if the section is not displayed.
    func displayedPlace(of id: SectionID) -> Int? { binder.displayedPlace(of: id, in: shown, of: editor.table) }

    /// Returns the displayed section that a reference names.
    ///
    /// - Throws: ``Refusal`` with `sectionNotFound` if the section is not displayed.
    func displayed(_ reference: SectionReference) throws(Refusal) -> Section {
        if case .id(let id) = reference, let place = displayedPlace(of: id) { return shown.sections[place] }
        return try shown.section(reference)
    }

    func isWhollyShown(_ section: Section) -> Bool {
        if case .stored? = binder.binding(of: section.id)?.cells.source { true } else { false }
    }

    /// Converts the index of a displayed row among its section's displayed rows to its index among the stored rows.
    /// `nil` for an index after the last row, and for derived rows.
    func storedIndex(of row: Int, in section: Section, _ binding: SectionBinding) throws -> Int? {
        guard row < section.rows.count, let stored = editor.table[section.id] else { return nil }
        switch binding.cells.source {
        case .stored: return row < stored.rows.count ? row : nil
        case .derived, .counted: return nil
        case .shown(let shown):
            if let id = section.rows[row].id { return stored.index(of: id) }
            // A displayed row without an id is found by counting the displayed rows before it.
            let places = try storedPlaces(of: section.id, shown)
            return row < places.count ? places[row] : nil
        }
    }

    /// Converts the index of a stored row among its section's stored rows to its index among the displayed rows. `nil`
    /// if the row is hidden or the section's rows are derived.
    func displayedIndex(ofStored index: Int, in section: SectionID) throws -> Int? {
        switch binder.binding(of: section)?.cells.source {
        case .stored: index
        case .shown(let shown): try storedPlaces(of: section, shown).firstIndex(of: index)
        case .derived, .counted, nil: nil
        }
    }

    /// Returns the stored indexes of the rows that a section displays.
    ///
    /// The binding's expression `shown` is evaluated with the time of the current snapshot. With the time of this
    /// command, the expression could hide other rows than the snapshot does.
    private func storedPlaces(of section: SectionID, _ shown: Computed<RowInput>) throws -> [Int] {
        try search.storedPlaces(of: section) {
            guard let stored = editor.table[section] else { return [] }
            let evaluation = Evaluation(table: editor.table, now: self.shown.now, meter: meter)
            return try stored.rows.enumerated().compactMap { index, candidate in
                let input = RowInput(section: section, row: index, count: stored.rows.count, model: candidate.model)
                return try shown.value(for: input, evaluation)?.boolValue == true ? index : nil
            }
        }
    }
}

/// Finds displayed rows by their ids, in the sections that may display them, for one command.
///
/// Some sections must be searched row by row. After many such searches, `RowSearch` builds an index of all displayed
/// rows, so that a command with *n* references to *n* rows takes less than O(*n*²).
final class RowSearch {
    private var looks = 0
    private var index: [RowID: (first: RowPath, others: [RowPath])]?
    private var stored: [SectionID: [Int]] = [:]

    /// Returns the stored indexes of the rows that a section displays. `find` computes the indexes, and runs once for
    /// each section until `reset()` is called.
    func storedPlaces(of section: SectionID, _ find: () throws -> [Int]) rethrows -> [Int] {
        if let known = stored[section] { return known }
        let found = try find()
        stored[section] = found
        return found
    }

    /// Returns the index paths, ascending, of the displayed rows with the given id: in one section, or in all sections
    /// if `section` is `nil`.
    func places(of id: RowID, in section: Section?, _ command: CommandInProgress) throws(Refusal) -> [RowPath] {
        let shown = command.shown
        let sectionPlace = section.flatMap { command.displayedPlace(of: $0.id) }
        // Building the index of all displayed rows costs about as much as examining each row sixteen times. Single
        // searches are cheaper until they have examined as many rows.
        if index == nil, looks <= 1_000 + 16 * shown.totalRowCount {
            if let section, let sectionPlace {
                let binder = command.binder, table = command.shownTable
                looks += binder.examinesRows(for: id, in: section, of: table) ? section.rows.count : 0
                return binder.displayedIndex(of: id, in: section, of: table).map {
                    [RowPath(section: sectionPlace, row: $0)]
                } ?? []
            }
            var places: [RowPath] = []
            let binder = command.binder, table = command.shownTable
            for place in binder.displayedPlaces(ofSectionsThatMayShow: id, in: shown, of: table) {
                try command.meter.checkTime()
                let section = shown.sections[place]
                looks += binder.examinesRows(for: id, in: section, of: table) ? 1 + section.rows.count : 1
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
                // If a section contains an id twice, the index keeps the first row, as a search does.
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

    /// Discards all results of earlier searches, because the command may have changed which rows are displayed.
    func reset() { (looks, index, stored) = (0, nil, [:]) }
}
