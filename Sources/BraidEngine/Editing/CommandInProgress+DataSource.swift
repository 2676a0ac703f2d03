// Calls that change rows.
extension CommandInProgress {
    /// What a call changed, with indexes among what was displayed before it.
    enum DataSourceEffect {
        /// Or refused, if the request is strict.
        case ignored(Refusal)
        case table
        case section(Int)
        case rows([RowPath])
        /// All that the section displays after the call.
        case rowsOfSection(Int)
        /// Only a cell was registered.
        case nothingToTell
    }

    /// Done in the stored table, but not in the snapshot yet.
    struct DataSourceCall {
        var effect: DataSourceEffect
        var notify: Bool
        var shown: Snapshot
    }

    mutating func carryOut(_ command: DataSourceCommand, notify: Bool) throws -> DataSourceCall {
        DataSourceCall(effect: try carryOut(command), notify: notify, shown: shown)
    }

    /// With the new snapshot, decides whether the change is published and whom it notifies. Returns why the call was
    /// ignored, or throws that if the request is strict.
    mutating func conclude(_ call: DataSourceCall, changesTable: Bool) throws(Refusal) -> String? {
        switch call.effect {
        case .ignored(let refusal):
            if isStrict { throw refusal }
            return refusal.detail
        case .nothingToTell: if changesTable { publishes = true }
        default:
            guard call.notify else { break }
            publishes = true
            // Publishes earlier changes, too, even if it changed nothing.
            if unpublished != nil { isRevision = true }
            // Under automatic display, section indexes may have changed.
            notification =
                shown.sections.map(\.id) == call.shown.sections.map(\.id)
                ? told(call.effect, since: call.shown) : .dataSource
        }
        return nil
    }

    private func told(_ effect: DataSourceEffect, since before: Snapshot) -> DataSourceNotification? {
        switch effect {
        case .ignored, .nothingToTell: nil
        case .table: .dataSource
        case .section(let section): .section(section)
        case .rows(let paths):
            // The new model may hide a row, whose old path then means another.
            paths.allSatisfy { shown.sections[$0.section].rows.count == before.sections[$0.section].rows.count }
                ? .rows(paths) : .dataSource
        case .rowsOfSection(let section):
            .rows(shown.sections[section].rows.indices.map { RowPath(section: section, row: $0) })
        }
    }

    private mutating func carryOut(_ call: DataSourceCommand) throws -> DataSourceEffect {
        switch call {
        case .addRow(let model, let row): try addRow(model, at: row)
        case .updateRow(let model, let row): try updateRow(model, at: row)
        case .updateRowsOfSection(let models, let section): try updateRows(models, ofSection: section)
        case .updateRows(let rows): try updateRows(rows)
        case .removeRow(let row): try removeRow(at: row)
        case .addSection(let section, let index): try addSection(section, at: index)
        case .updateSectionData(let header, let footer, let section):
            try updateSection(at: section) { work, id throws(Refusal) in
                try work.setHeader(header, of: id)
                try work.setFooter(footer, of: id)
            }
        case .updateSection(let content, let section):
            try updateSection(at: section) { work, id throws(Refusal) in try work.fill(id, with: content, at: .root) }
        case .updateAllSections(let sections): try updateAllSections(sections)
        case .removeSection(let section): try removeSection(at: section)
        case .removeAllSections: try removeAllSections()
        case .insertRow(let model, let place, let section): try insertRow(model, at: place, in: section)
        case .insertRows(let models, let place, let section): try insertRows(models, at: place, in: section)
        case .putRow(let model, let id, let section): try putRow(model, id: id, in: section)
        case .putRows(let models, let place, let section, let moves):
            try putRows(models, at: place, in: section, moves: moves)
        case .patchRow(let patch, let id, let section): try patchRow(patch, id: id, in: section)
        case .deleteRow(let id, let section): try deleteRow(id: id, in: section)
        case .registerCell(let cell, let type): try registerCell(cell, for: type)
        }
    }

    private mutating func addRow(_ model: JSONText, at reference: RowReference) throws -> DataSourceEffect {
        guard let path = try path(of: reference) else {
            let id: SectionID
            switch reference {
            case .id: return noRow(reference)
            case .at(.displayed, _): id = try makeSection(nil, before: nil)
            case .at(.id(let named), _):
                id = named
                try ensureSection(named)
            }
            let row = try identified(model, in: id, at: JSONPointer.root.appending("model"))
            try editor.insert(row.model, id: row.id, in: id, at: nil)
            return .table
        }
        let section = shown.sections[path.section]
        _ = try requireStored(section.id)
        let index = targetIndex(min(path.row, section.rows.count), in: section)
        let row = try identified(model, in: section.id, at: JSONPointer.root.appending("model"))
        try editor.insert(row.model, id: row.id, in: section.id, at: index)
        return .section(path.section)
    }

    private mutating func updateRow(_ model: JSONText, at reference: RowReference) throws -> DataSourceEffect {
        guard let path = try path(of: reference), let (section, index) = try storedPlace(of: path) else {
            return noRow(reference)
        }
        let row = try identified(model, in: section, at: JSONPointer.root.appending("model"))
        try editor.replace(at: index, in: section, id: row.id, model: row.model)
        return .rows([path])
    }

    private mutating func updateRows(_ models: [JSONText], ofSection section: SectionReference) throws(Refusal)
        -> DataSourceEffect
    {
        guard let id = existing(section) else { return noSection(section) }
        _ = try requireStored(id)
        try editor.setModels(try binder.identified(models, in: id, at: JSONPointer.root.appending("rows")), in: id)
        return displayedPlace(of: id).map { .rowsOfSection($0) } ?? .table
    }

    private mutating func updateRows(_ rows: [(at: RowReference, model: JSONText)]) throws -> DataSourceEffect {
        for (reference, _) in rows {
            switch reference {
            case .at(.displayed(let section), _), .id(_, .displayed(let section)?):
                // A program may pass a negative index, which counts as a missing row.
                if section >= shown.sections.count { return noSection(.displayed(section)) }
            case .at(.id(let section), _), .id(_, .id(let section)?):
                if displayedPlace(of: section) == nil { return noRow(reference) }
            case .id(_, nil): break
            }
        }
        // All located before the first changes: a new model may hide its row and shift later ones.
        var places: [(path: RowPath, section: SectionID, index: Int, row: (id: RowID?, model: JSONText))] = []
        var named: Set<RowPath> = []
        for (number, (reference, model)) in rows.enumerated() {
            try meter.checkTime(at: number)
            let pointer = JSONPointer.root.appending("rows").appending(number)
            guard let path = try path(of: reference), let (section, index) = try storedPlace(of: path) else {
                if isStrict { throw missing(reference, at: pointer.appending("at")) }
                continue
            }
            guard named.insert(path).inserted else {
                throw Refusal.bad(
                    pointer.appending("at"), .duplicate, "another element of `rows` names this row already")
            }
            places.append((path, section, index, try identified(model, in: section, at: pointer.appending("model"))))
        }
        // Rows may exchange ids, so all give up theirs first.
        for (number, (_, section, index, row)) in places.enumerated()
        where editor.table[section]?.rows[index].id != row.id {
            try meter.checkTime(at: number)
            try editor.replace(at: index, in: section, id: nil, model: row.model)
        }
        for (number, (_, section, index, row)) in places.enumerated() {
            try meter.checkTime(at: number)
            try editor.replace(at: index, in: section, id: row.id, model: row.model)
        }
        return .rows(places.map(\.path))
    }

    private mutating func removeRow(at reference: RowReference) throws -> DataSourceEffect {
        guard let path = try path(of: reference), let (section, index) = try storedPlace(of: path) else {
            return noRow(reference)
        }
        try editor.remove(at: index, in: section)
        if binder.declaredSections == nil, editor.table[section]?.rows.isEmpty == true { try removeSections([section]) }
        return .table
    }
}

extension CommandInProgress {
    func noSection(_ section: SectionReference) -> DataSourceEffect { .ignored(missing(section)) }

    private func missing(_ section: SectionReference) -> Refusal {
        switch section {
        case .displayed(let index):
            Refusal(
                .sectionNotFound,
                "The table displays \(counted(shown.sections.count, "section")), counted from 0: there is no section \(index)."
            )
        case .id(let id) where editor.table.position(of: id) == nil:
            .noSection(id, among: editor.table.sections.lazy.map(\.id))
        case .id(let id): .notDisplayed(id, among: shown.sections.lazy.map(\.id))
        }
    }

    private func noRow(_ reference: RowReference) -> DataSourceEffect { .ignored(missing(reference)) }

    private func missing(_ reference: RowReference, at pointer: JSONPointer) -> Refusal {
        var refusal = missing(reference)
        refusal.faults = [.init(pointer: pointer, code: .refused, detail: refusal.detail)]
        return refusal
    }

    private func missing(_ reference: RowReference) -> Refusal {
        switch reference {
        case .at(let section, let row):
            guard let place = displayedPlace(of: section) else { return missing(section) }
            return Refusal(
                .rowNotFound,
                "Section \(place) has \(counted(shown.sections[place].rows.count, "row")), counted from 0: there is no row \(row)."
            )
        case .id(_, let section?) where displayedPlace(of: section) == nil: return missing(section)
        case .id(let id, let section):
            let place = section.flatMap { displayedPlace(of: $0) }.map { "section \"\(shown.sections[$0].id)\"" }
            return Refusal(.rowNotFound, "The \(place ?? "table") displays no row with the id \"\(id)\".")
        }
    }

    func existing(_ section: SectionReference) -> SectionID? {
        switch section {
        case .displayed(let index): shown.sections.indices.contains(index) ? shown.sections[index].id : nil
        case .id(let id): editor.table.position(of: id) == nil ? nil : id
        }
    }

    /// Named by id, it need not exist. Throws `sectionNotFound` for an index without a section.
    func id(of section: SectionReference) throws(Refusal) -> SectionID {
        switch section {
        case .id(let id): return id
        case .displayed:
            guard let id = existing(section) else { throw missing(section) }
            return id
        }
    }

    private func displayedPlace(of section: SectionReference) -> Int? {
        switch section {
        case .displayed(let index): shown.sections.indices.contains(index) ? index : nil
        case .id(let id): displayedPlace(of: id)
        }
    }

    /// In the stored table's snapshot; a row number may be out of bounds. `nil` if the section is hidden or no row has
    /// the id. Throws `ambiguousRow`.
    private func path(of reference: RowReference) throws(Refusal) -> RowPath? {
        switch reference {
        case .at(let section, let row): return displayedPlace(of: section).map { RowPath(section: $0, row: row) }
        case .id(let id, let section):
            var only: Section?
            if let section {
                guard let place = displayedPlace(of: section) else { return nil }
                only = shown.sections[place]
            }
            let places = try search.places(of: id, in: only, self)
            guard places.count <= 1 else {
                throw Refusal.ambiguous(id, shown.sections[places[0].section].id, shown.sections[places[1].section].id)
            }
            return places.first
        }
    }

    /// Adds a missing dynamic section at the end. Throws `sectionNotFound` if it cannot exist, `editingNotAllowed` if
    /// its rows are derived.
    mutating func ensureSection(_ id: SectionID) throws(Refusal) {
        if binder.declaredSections == nil, editor.table.position(of: id) == nil { _ = try makeSection(id, before: nil) }
        _ = try editor.position(of: id)
        _ = try requireStored(id)
    }

    private func storedPlace(of path: RowPath) throws -> (section: SectionID, index: Int)? {
        guard shown.sections.indices.contains(path.section) else { return nil }
        let section = shown.sections[path.section]
        guard section.rows.indices.contains(path.row) else { return nil }
        return storedIndex(of: path.row, in: section, try requireStored(section.id)).map { (section.id, $0) }
    }
}

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
        // `nil` for a new section that is to get an id.
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
    /// Inserts a section, also into the list of displayed ones, if there is one. `nil` makes an id.
    mutating func makeSection(_ id: SectionID?, before next: SectionID?) throws(Refusal) -> SectionID {
        let id = try insertSection(id, before: next)
        if var list = displayedList {
            list.removeAll { $0 == id }
            list.insert(id, at: next.flatMap { list.firstIndex(of: $0) } ?? list.count)
            editor.setDisplayedSections(list)
        }
        return id
    }

    /// As `makeSection`, without the list of displayed sections.
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

    /// The sections chosen to be displayed, which new ones must join. `nil` if none were chosen, or display is
    /// automatic.
    private var displayedList: [SectionID]? {
        guard binder.display.behavior == .manuallyManaged else { return nil }
        return editor.table.displayedSections ?? binder.display.displayed
    }

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
