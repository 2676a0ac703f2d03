// Calls that name rows by id. O(log rows).
extension CommandInProgress {
    mutating func insertRow(_ model: JSONText, at placement: RowPlacement, in section: SectionReference) throws
        -> DataSourceEffect
    {
        let section = try id(of: section)
        try ensureSection(section)
        let row = try identified(model, in: section, at: JSONPointer.root.appending("model"))
        return try insert(row, at: try index(of: placement, in: section), in: section)
    }

    mutating func insertRows(_ models: [JSONText], at placement: RowPlacement, in section: SectionReference) throws
        -> DataSourceEffect
    {
        let section = try id(of: section)
        try ensureSection(section)
        let rows = try binder.identified(models, in: section, at: Self.models)
        let index = try index(of: placement, in: section)
        try requireNew(rows, in: section)
        try editor.replace([(index..<index, rows.indices)], with: rows[...], in: section, isRefill: false)
        if !isTransaction {
            tally = RowTally(section: section, inserted: rows.count)
            if !rows.isEmpty { inserted = (section, nil) }
        }
        return effect(onSection: section)
    }

    mutating func putRow(_ model: JSONText, id: RowID, in section: SectionReference) throws -> DataSourceEffect {
        let section = try self.id(of: section)
        try ensureSection(section)
        let row = try identified(model, id: id, in: section, at: .root)
        guard let index = editor.table[section]?.index(of: id) else { return try insert(row, at: nil, in: section) }
        return try replace(at: index, in: section, by: row)
    }

    mutating func putRows(
        _ models: [JSONText], at placement: RowPlacement, in section: SectionReference, moves: Bool
    ) throws -> DataSourceEffect {
        let section = try id(of: section)
        _ = try requireStored(section)
        if binder.declaredSections != nil { try ensureSection(section) }
        let rows = try binder.identified(models, in: section, at: Self.models)
        try requireDistinct(rows, in: section)
        var tally = RowTally(section: section), arriving: [TableEditor.Model] = []
        var changes: [SectionID: [(index: Int, row: TableEditor.Model?)]] = [:]
        for (number, row) in rows.enumerated() {
            try meter.checkTime(at: number)
            guard let id = row.id else { throw try withoutID(section, at: Self.models.appending(number)) }
            guard let (holder, index) = try place(of: id, preferring: section) else {
                tally.inserted += 1
                arriving.append(row)
                continue
            }
            if holder != section {
                _ = try requireStored(holder)
                if moves {
                    tally.moved += 1
                    arriving.append(row)
                    changes[holder, default: []].append((index, nil))
                    continue
                }
                _ = try identified(row.model, id: id, in: holder, at: Self.models.appending(number))
            }
            if editor.table[holder]?.rows[index].model == row.model {
                tally.unchanged += 1
            } else {
                tally.replaced += 1
                changes[holder, default: []].append((index, row))
            }
        }
        var start: Int?
        if !arriving.isEmpty {
            try ensureSection(section)
            start = try index(of: placement, in: section)
            // So that the loop visits this section, too.
            changes[section, default: []] += []
        }
        for (holder, list) in changes.sorted(by: { $0.key < $1.key }) {
            try change(list, arriving: holder == section ? start.map { ($0, arriving) } : nil, in: holder)
        }
        if !isTransaction { self.tally = tally }
        return changes.count > 1 ? .table : effect(onSection: changes.keys.first ?? section)
    }

    /// Makes one section's changes at once; `nil` for a row removes it. Indexes are those before all changes.
    private mutating func change(
        _ changes: [(index: Int, row: TableEditor.Model?)], arriving: (index: Int, rows: [TableEditor.Model])?,
        in section: SectionID
    ) throws(Refusal) {
        var stretches: [TableEditor.Stretch] = [], rows: [TableEditor.Model] = []
        func append(_ old: Range<Int>, _ new: [TableEditor.Model]) {
            var stretch = (old: old, new: rows.count..<rows.count + new.count)
            rows += new
            if let last = stretches.last, last.old.upperBound == old.lowerBound {
                stretches.removeLast()
                stretch = (last.old.lowerBound..<old.upperBound, last.new.lowerBound..<rows.count)
            }
            stretches.append(stretch)
        }
        var arriving = arriving
        for (index, row) in changes.sorted(by: { $0.index < $1.index }) {
            if let here = arriving, here.index <= index {
                append(here.index..<here.index, here.rows)
                arriving = nil
            }
            append(index..<index + 1, row.map { [$0] } ?? [])
        }
        if let arriving { append(arriving.index..<arriving.index, arriving.rows) }
        try editor.replace(stretches, with: rows[...], in: section, isRefill: false)
    }

    mutating func patchRow(_ patch: JSONText, id: RowID, in section: SectionReference) throws -> DataSourceEffect {
        guard patch.kind == .object else {
            throw Refusal.bad(.root, .wrongType, "a merge patch for a row's model must be an object")
        }
        let section = try self.id(of: section), index = try storedIndex(of: id, in: section)
        let stored = editor.table.sections[try editor.position(of: section)].rows[index]
        let merged = JSONText(stored.model.value().merging(patch: patch.value()))
        return try replace(at: index, in: section, by: try identified(merged, id: id, in: section, at: .root))
    }

    mutating func deleteRow(id: RowID, in section: SectionReference) throws -> DataSourceEffect {
        let section = try self.id(of: section)
        try editor.remove(at: try storedIndex(of: id, in: section), in: section)
        return .table
    }

    private static let models = JSONPointer.root.appending("models")

    private func effect(onSection section: SectionID) -> DataSourceEffect {
        displayedPlace(of: section).map { .section($0) } ?? .table
    }

    private mutating func insert(_ row: (id: RowID?, model: JSONText), at index: Int?, in section: SectionID) throws
        -> DataSourceEffect
    {
        try editor.insert(row.model, id: row.id, in: section, at: index)
        if !isTransaction { inserted = (section, row.id) }
        return effect(onSection: section)
    }

    private mutating func replace(at index: Int, in section: SectionID, by row: (id: RowID?, model: JSONText)) throws
        -> DataSourceEffect
    {
        try editor.replace(at: index, in: section, id: row.id, model: row.model)
        guard let place = displayedPlace(of: section) else { return .table }
        // If rows can be hidden, finding the displayed index would mean a look at each.
        return isWhollyShown(shown.sections[place]) ? .rows([RowPath(section: place, row: index)]) : .section(place)
    }

    private func index(of placement: RowPlacement, in section: SectionID) throws(Refusal) -> Int {
        let count = editor.table[section]?.rows.count ?? 0
        switch placement {
        case .start: return 0
        case .end: return count
        case .before(let id): return try storedIndex(of: id, in: section)
        case .after(let id): return try storedIndex(of: id, in: section) + 1
        case .index(let index):
            guard index <= count else { throw .noRow(index, in: section, of: count) }
            return index
        }
    }

    /// An index among stored rows. Throws `sectionNotFound` or `rowNotFound`, or `editingNotAllowed` for derived rows.
    private func storedIndex(of id: RowID, in section: SectionID) throws(Refusal) -> Int {
        let stored = editor.table.sections[try editor.position(of: section)]
        _ = try requireStored(section)
        guard let index = stored.index(of: id) else { throw .noRow(id, in: section) }
        return index
    }

    /// In this section or else the only one that has it. Throws `ambiguousRow`.
    private func place(of id: RowID, preferring section: SectionID) throws(Refusal) -> (SectionID, index: Int)? {
        if let index = editor.table[section]?.index(of: id) { return (section, index) }
        let holders = editor.table.positions(ofSectionsWith: id)
        guard let first = holders.first else { return nil }
        if holders.count > 1 {
            throw .ambiguous(id, editor.table.sections[first].id, editor.table.sections[holders[1]].id)
        }
        let holder = editor.table.sections[first]
        return holder.index(of: id).map { (holder.id, $0) }
    }

    private func requireNew(_ rows: [TableEditor.Model], in section: SectionID) throws(Refusal) {
        try requireDistinct(rows, in: section)
        guard let stored = editor.table[section] else { return }
        for (number, row) in rows.enumerated() {
            try meter.checkTime(at: number)
            if let id = row.id, stored.contains(id) {
                throw try duplicate(id, number, in: section, "the section has a row with this id already")
            }
        }
    }

    private func requireDistinct(_ rows: [TableEditor.Model], in section: SectionID) throws(Refusal) {
        var seen = Set<RowID>(minimumCapacity: rows.count)
        for (number, row) in rows.enumerated() {
            if let id = row.id, !seen.insert(id).inserted {
                throw try duplicate(id, number, in: section, "another model has this id already")
            }
        }
    }

    private func duplicate(_ id: RowID, _ number: Int, in section: SectionID, _ detail: String) throws(Refusal)
        -> Refusal
    {
        var refusal = Refusal.duplicateRow(id, in: section)
        let place = try binder.requiredBinding(of: section).modelType.id ?? .root
        refusal.faults = [
            .init(pointer: Self.models.appending(number).appending(place), code: .duplicate, detail: detail)
        ]
        return refusal
    }

    /// The model must contain the call's id.
    private func identified(_ model: JSONText, id: RowID, in section: SectionID, at pointer: JSONPointer)
        throws(Refusal) -> (id: RowID?, model: JSONText)
    {
        let row = try identified(model, in: section, at: pointer)
        if row.id == id { return row }
        guard let given = row.id, let place = try binder.requiredBinding(of: section).modelType.id else {
            throw try withoutID(section, at: pointer)
        }
        throw Refusal(
            .modelInvalid,
            "The model's id is \"\(given)\", but the request is for the row \"\(id)\". Both must be the same.",
            faults: [
                .init(pointer: pointer.appending(place), code: .conflict, detail: "must be the row's id, \"\(id)\"")
            ])
    }

    private func withoutID(_ section: SectionID, at pointer: JSONPointer) throws(Refusal) -> Refusal {
        guard let place = try binder.requiredBinding(of: section).modelType.id else {
            return Refusal(
                .modelInvalid,
                "The models of the section \"\(section)\" have no ids, so its rows cannot be named by ids. Declare an `id` for their model type.",
                faults: [.init(pointer: pointer, code: .conflict, detail: "models of this type have no ids")])
        }
        return Refusal(
            .modelInvalid, "The model has no id that says which row it is for.",
            faults: [
                .init(
                    pointer: pointer.appending(place), code: .missingMember,
                    detail: "must be the row's id, a string or an integer")
            ])
    }
}
