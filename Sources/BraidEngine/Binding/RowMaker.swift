struct RowMaker {
    private let binding: SectionBinding
    let section: SectionID
    private let count: Int
    let evaluation: Evaluation
    private let cells: CellDeclarations
    /// Derived or counted rows that still fit. Checked before any is rendered: a short template can ask for very many.
    private let room: Int
    private let limits: TableLimits
    /// Of the constant view model and cell name, which each row repeats.
    private let constantBytes: Int
    private let constant: Cell?
    /// If the rows need no JSON now.
    private let renderer: RowRenderer?
    private typealias Cell = (name: String, viewModel: JTDSchema?)

    init(binding: SectionBinding, section: SectionID, count: Int, room: Int, binder: Binder, evaluation: Evaluation) {
        self.binding = binding
        renderer = binder.rowsWereRendered ? binder.renderer(of: binding, rows: count) : nil
        self.section = section
        self.count = count
        self.evaluation = evaluation
        self.room = room
        cells = binder.cells
        limits = binder.limits
        constantBytes = (binding.cells.viewModel?.constant?.count ?? 0) + (binding.cells.cell.constant?.count ?? 0)
        constant = binding.constantCell.flatMap { name in
            binder.cells[name].map { (name, $0.viewModel) }
        }
    }

    /// Of a section that displays all stored rows, or derived ones.
    func rows(of stored: StoredSection) throws -> PersistentList<Row> {
        var failures = TemplateFailures(evaluation.meter)
        let rows =
            switch binding.cells.source {
            case .stored, .selected: try allRows(of: stored, &failures)
            case .derived(let template): try derivedRows(from: template, &failures)
            case .counted(let template): try countedRows(from: template, &failures)
            }
        try failures.check()
        return PersistentList(rows)
    }

    private func allRows(of stored: StoredSection, _ failures: inout TemplateFailures) throws -> [Row] {
        try chargeConstants(of: stored.rows.count)
        var rows: [Row] = []
        rows.reserveCapacity(stored.rows.count)
        try stored.rows.forEach(in: 0..<stored.rows.count) { index, row in
            try evaluation.meter.checkTime(at: index)
            do {
                if let row = try self.row(for: row, at: index, of: count) { rows.append(row) }
            } catch {
                try failures.add(error, in: place(of: row.id, at: index))
            }
        }
        return rows
    }

    private func derivedRows(
        from template: Computed<SectionInput>, _ failures: inout TemplateFailures
    ) throws -> [Row] {
        let models = try models(from: template)
        guard models.count <= room else { throw Refusal.tooManyRows(limits) }
        try chargeConstants(of: models.count)
        var rows: [Row] = [], seen: Set<RowID> = []
        for (index, model) in models.enumerated() {
            try evaluation.meter.checkTime(at: index)
            let id: RowID?
            do throws(Refusal) {
                id = try binding.modelType.identify(model)
            } catch {
                throw error.ofWhatWasMade(by: "`modelsFrom` of the section \"\(section)\"")
            }
            if limits.checksIDs, let id, !IDRule.admits(id.text) { throw Refusal.idInvalid(id, in: section) }
            if let id, !seen.insert(id).inserted {
                throw Refusal(
                    .duplicateRowID,
                    "`modelsFrom` gave two models with the id \"\(id)\" for the section \"\(section)\". Ids must be unique within a section."
                )
            }
            do {
                if let row = try row(id: id, model: model, at: index, of: models.count) { rows.append(row) }
            } catch {
                try failures.add(error, in: place(of: id, at: index))
            }
        }
        return rows
    }

    private func countedRows(
        from template: Computed<SectionInput>, _ failures: inout TemplateFailures
    ) throws -> [Row] {
        let value = try template.value(for: input, evaluation)
        guard let count = value?.intValue, (0...Self.mostCountedRows).contains(count) else {
            if evaluation.isLenient(template.reads) { return [] }
            throw Refusal(
                templateFailed:
                    "`numberOfCells` of the section \"\(section)\" gave \(value?.text ?? "nothing"): it must give an integer from 0 to \(Self.mostCountedRows)."
            )
        }
        guard count <= room else { throw Refusal.tooManyRows(limits) }
        try chargeConstants(of: count)
        var rows: [Row] = []
        for index in 0..<count {
            try evaluation.meter.checkTime(at: index)
            do {
                if let row = try row(id: nil, model: .null, at: index, of: count) { rows.append(row) }
            } catch {
                try failures.add(error, in: place(of: nil, at: index))
            }
        }
        return rows
    }

    /// Holds even if the row limit is higher.
    static let mostCountedRows = 100_000

    /// For a section that shows every stored model; reuses the rows that did not change, so none may read its index or
    /// the count.
    func rows(
        of stored: StoredSection, after old: StoredSection, shown: PersistentList<Row>, touched: TouchedRows
    ) throws -> PersistentList<Row> {
        let changes: [(old: Range<Int>, new: Range<Int>)], removed: [Int]
        switch touched.rows(in: section) {
        case .untouched: return shown
        case .edits(let edits): (changes, removed) = (edits.changes, edits.inserted.isEmpty ? [] : edits.removed)
        case .whole: (changes, removed) = ([(0..<old.rows.count, 0..<stored.rows.count)], Array(0..<old.rows.count))
        }
        // A row that moved within the section keeps its rendering. If none was inserted, none moved.
        var places: [Int: Int] = [:], oldRows = PersistentList.Window(old.rows)
        if !removed.isEmpty { places.reserveCapacity(removed.count) }
        for index in removed { places[oldRows[index].key] = index }
        try chargeConstants(of: changes.reduce(0) { $0 + $1.new.count })
        var failures = TemplateFailures(evaluation.meter)
        let remade = try changes.map { change -> PersistentList<Row>.Replacement in
            var made = ContiguousArray<Row>()
            made.reserveCapacity(change.new.count)
            try stored.rows.forEach(in: change.new) { index, row in
                try evaluation.meter.checkTime(at: made.count)
                if let place = places[row.key], oldRows[place].model == row.model {
                    made.append(shown[place])
                } else {
                    do {
                        if let row = try self.row(for: row, at: index, of: count) { made.append(row) }
                    } catch {
                        try failures.add(error, in: place(of: row.id, at: index))
                    }
                }
            }
            return (range: change.old, elements: made)
        }
        try failures.check()
        var rows = shown
        rows.replace(remade)
        return rows
    }

    func chargeConstants(of rows: Int) throws(Refusal) {
        try evaluation.meter.charge(repeated: constantBytes * rows, in: section)
    }

    var input: SectionInput { SectionInput(id: section, count: count, displayedCount: count) }

    /// From an array, or an object of arrays by section id.
    private func models(from template: Computed<SectionInput>) throws -> [JSONText] {
        let value = try template.value(for: input, evaluation) ?? .null
        if value.isNull, evaluation.isLenient(template.reads) { return [] }
        if let models = value.elements() { return models }
        if value.kind == .object {
            guard let models = value[section.text] else { return [] }
            if let models = models.elements() { return models }
        }
        throw Refusal(
            templateFailed:
                "`modelsFrom` of the section \"\(section)\" must give an array of models, or an object from section ids to arrays."
        )
    }

    private func place(of id: RowID?, at index: Int) -> Refusal.Fault.Place {
        .init(section: section, row: index, id: id)
    }

    func row(for stored: StoredRow, at index: Int, of count: Int) throws -> Row? {
        if let renderer { return Row(stored: stored.content, renderedBy: renderer) }
        return try row(id: stored.id, model: stored.model, at: index, of: count)
    }

    /// `nil` if the cell or its view model depends on who looks, and is not what the description declares.
    private func row(id: RowID?, model: JSONText, at index: Int, of count: Int) throws -> Row? {
        let input = RowInput(section: section, row: index, count: count, model: model)
        guard let cell = try constant ?? cell(for: input) else { return nil }
        let viewModel = try binding.viewModel(of: input, evaluation)
        if let schema = cell.viewModel,
            let mismatch = schema.errorIndicators(of: viewModel?.value() ?? .null, limit: 1).first
        {
            if evaluation.isLenient(binding.cellReads) { return nil }
            throw Refusal(
                templateFailed:
                    "The view model of row \(index) of the section \"\(section)\" is not what its cell \"\(cell.name)\" declares: \(mismatch.instancePath): \(mismatch.detail)",
                at: JSONPointer(tokens: ["cells", cell.name, "viewModel"]).appending(mismatch.schemaPath))
        }
        return Row(parts: try binding.parts(id: id, cell: cell.name, viewModel, input, evaluation))
    }

    private func cell(for input: RowInput) throws -> Cell? {
        let value = try binding.cells.cell.value(for: input, evaluation)
        guard let name = value?.stringValue, let declaration = cells[name] else {
            if evaluation.isLenient(binding.cellReads) { return nil }
            throw Refusal(
                templateFailed:
                    "The cell provider of the section \"\(section)\" gave \(value?.text ?? "nothing") for row \(input.row): it must give the name of a cell that is declared in `cells`."
            )
        }
        return (name, declaration.viewModel)
    }
}

extension EditingStyle {
    var nameWhenAllowed: String? { self == .none ? nil : rawValue }
}

extension SectionBinding {
    func viewModel(of input: RowInput, _ evaluation: Evaluation) throws -> JSONText? {
        cells.showsModel ? try cells.viewModel?.value(for: input, evaluation) : input.model
    }

    func parts(
        id: RowID?, cell: String, _ viewModel: JSONText?, _ input: RowInput, _ evaluation: Evaluation
    ) throws -> RowParts {
        var model: JSONText? = cells.showsModel ? input.model : nil
        if case .counted = cells.source { model = nil }
        return RowParts(
            id: id, cell: cell, model: model, viewModel: viewModel,
            editing: try editingStyle(for: input, evaluation).nameWhenAllowed,
            movable: try isMovable(input, evaluation), height: try cellHeight?.value(for: input, evaluation),
            estimatedHeight: try estimatedCellHeight?.value(for: input, evaluation), updatesManually: updatesManually)
    }

    func editingStyle(for input: RowInput, _ evaluation: Evaluation) throws -> EditingStyle {
        guard cells.source.isStored, let editing else { return .none }
        if let constantEditing { return constantEditing }
        guard let value = try editing.value(for: input, evaluation) else { return .none }
        guard let name = value.stringValue, let style = EditingStyle(rawValue: name) else {
            if evaluation.isLenient(editing.reads) { return .none }
            throw Refusal(
                templateFailed:
                    "`editing` of the section \"\(input.section)\" gave \(value.text) for row \(input.row): it must give \"delete\", \"insert\" or \"none\"."
            )
        }
        return style
    }

    func isMovable(_ input: RowInput, _ evaluation: Evaluation) throws -> Bool {
        guard allowsMoving else { return false }
        guard let movable else { return true }
        return try movable.value(for: input, evaluation)?.boolValue ?? false
    }
}
