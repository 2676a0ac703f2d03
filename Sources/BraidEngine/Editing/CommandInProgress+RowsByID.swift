// The data source calls that name a row by the section's id and the row's id. These calls find the row in the section's
// index of ids, in O(log rows).
extension CommandInProgress {
    mutating func insertRow(_ model: JSONText, at placement: RowPlacement, in section: SectionID) throws
        -> DataSourceEffect
    {
        try ensureSection(section)
        let row = try identified(model, in: section, at: JSONPointer.root.appending("model"))
        let count = editor.table[section]?.rows.count ?? 0
        let index: Int
        switch placement {
        case .start: index = 0
        case .end: index = count
        case .before(let id): index = try storedIndex(of: id, in: section)
        case .after(let id): index = try storedIndex(of: id, in: section) + 1
        case .index(let given):
            guard given <= count else { throw Refusal.noRow(given, in: section, of: count) }
            index = given
        }
        return try insert(row, at: index, in: section)
    }

    mutating func putRow(_ model: JSONText, id: RowID, in section: SectionID) throws -> DataSourceEffect {
        try ensureSection(section)
        let row = try identified(model, id: id, in: section)
        guard let index = editor.table[section]?.index(of: id) else { return try insert(row, at: nil, in: section) }
        return try replace(at: index, in: section, by: row)
    }

    mutating func patchRow(_ patch: JSONText, id: RowID, in section: SectionID) throws -> DataSourceEffect {
        guard patch.kind == .object else {
            throw Refusal.bad(.root, .wrongType, "a merge patch for a row's model must be an object")
        }
        let index = try storedIndex(of: id, in: section)
        let stored = editor.table.sections[try editor.position(of: section)].rows[index]
        let merged = JSONText(stored.model.value().merging(patch: patch.value()))
        return try replace(at: index, in: section, by: try identified(merged, id: id, in: section))
    }

    mutating func deleteRow(id: RowID, in section: SectionID) throws -> DataSourceEffect {
        try editor.remove(at: try storedIndex(of: id, in: section), in: section)
        return .table
    }

    private mutating func insert(_ row: (id: RowID?, model: JSONText), at index: Int?, in section: SectionID) throws
        -> DataSourceEffect
    {
        try editor.insert(row.model, id: row.id, in: section, at: index)
        if !isTransaction { inserted = (section, row.id) }
        return displayedPlace(of: section).map { .section($0) } ?? .table
    }

    private mutating func replace(at index: Int, in section: SectionID, by row: (id: RowID?, model: JSONText)) throws
        -> DataSourceEffect
    {
        try editor.replace(at: index, in: section, id: row.id, model: row.model)
        guard let place = displayedPlace(of: section) else { return .table }
        // If the section can hide some of its rows, finding the row's displayed index would require a look at every
        // row. The notification then names only the section.
        return isWhollyShown(shown.sections[place]) ? .rows([RowPath(section: place, row: index)]) : .section(place)
    }

    /// Finds a row by its id, and returns the row's index among the section's stored rows.
    ///
    /// - Throws: ``Refusal`` with `sectionNotFound` or `rowNotFound`, or with `editingNotAllowed` if the section's rows
    ///   are derived.
    private func storedIndex(of id: RowID, in section: SectionID) throws(Refusal) -> Int {
        let stored = editor.table.sections[try editor.position(of: section)]
        _ = try requireStored(section)
        guard let index = stored.index(of: id) else { throw .noRow(id, in: section) }
        return index
    }

    /// Checks a model as `identified(_:in:at:)` does. Also checks that the model contains the same id as the data
    /// source call.
    private func identified(_ model: JSONText, id: RowID, in section: SectionID) throws(Refusal) -> (
        id: RowID?, model: JSONText
    ) {
        let row = try identified(model, in: section, at: .root)
        if row.id == id { return row }
        guard let place = try binder.requiredBinding(of: section).modelType.id else {
            throw Refusal(
                .modelInvalid,
                "The models of the section \"\(section)\" have no ids, so its rows cannot be named by ids. Declare an `id` for their model type.",
                faults: [.init(pointer: .root, code: .conflict, detail: "models of this type have no ids")])
        }
        let given = row.id.map { "The model's id is \"\($0)\"" } ?? "The model has no id"
        throw Refusal(
            .modelInvalid, "\(given), but the request is for the row \"\(id)\". Both must be the same.",
            faults: [.init(pointer: place, code: .conflict, detail: "must be the row's id, \"\(id)\"")])
    }
}
