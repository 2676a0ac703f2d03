extension Binder {
    /// The snapshot of a table, made from nothing. O(rows).
    public func snapshot(of table: TableModel, revision: Int, now: String) throws -> Snapshot {
        var remade: [SectionID] = []
        return try snapshot(of: table, revision: revision, after: nil, remade: &remade, Evaluation(table: table, now: now))
    }

    /// What is known of the table before a command, so that only what the command touched is made anew.
    struct Previous {
        var table: TableModel
        var snapshot: Snapshot
        var touched: TouchedRows
        var touchedSections: Set<SectionID>
        var stateChanged: Bool
    }

    /// `remade` gets the sections whose rows were all made anew, because they read something that changed.
    func snapshot(
        of table: TableModel, revision: Int, after previous: Previous?, remade: inout [SectionID], _ evaluation: Evaluation
    ) throws -> Snapshot {
        var changed: Reads = .now
        if let previous {
            if previous.stateChanged { changed.insert(.state) }
            if !previous.touchedSections.isEmpty { changed.insert(.models) }
        }
        var inputs: [Int: SectionInput] = [:]
        func input(_ position: Int) throws -> SectionInput {
            if let input = inputs[position] { return input }
            let input = try titles(of: table.sections[position], evaluation)
            inputs[position] = input
            return input
        }

        let positions = try display.displayedPositions(in: table, evaluation, input: input)
        var oldPlaces: [SectionID: Int] = [:]
        for (place, section) in (previous?.snapshot.sections ?? []).enumerated() { oldPlaces[section.id] = place }
        let policies = MoveTargets(binder: self, evaluation: evaluation, displayed: try positions.map(input))

        var sections: [Section] = []
        sections.reserveCapacity(positions.count)
        for position in positions {
            let stored = table.sections[position]
            let binding = try requiredBinding(of: stored.id)
            let input = try input(position)
            let rows: ChunkedList<Row>
            if let previous, let place = oldPlaces[stored.id], let oldStored = previous.table[stored.id],
                binding.rowReads.isDisjoint(with: changed.union(previous.touchedSections.contains(stored.id) ? [.row, .count] : [])) {
                rows = try self.rows(
                    of: stored, binding, after: oldStored, shown: previous.snapshot.sections[place].rows,
                    touched: previous.touched, evaluation)
            } else {
                rows = try self.rows(of: stored, binding, evaluation)
                remade.append(stored.id)
            }
            sections.append(Section(
                id: stored.id,
                header: try titled(input.header, input, binding.headerHeight, binding.estimatedHeaderHeight, evaluation),
                footer: try titled(input.footer, input, binding.footerHeight, binding.estimatedFooterHeight, evaluation),
                movesTo: try policies.targets(of: binding), isDiffable: binding.modelType.id != nil, rows: rows))
        }
        var snapshot = Snapshot(revision: revision, sections: sections, state: table.state)
        if snapshot.totalRowCount == 0 { snapshot.empty = empty }
        return snapshot
    }
}

// Titles.
extension Binder {
    /// A section's facts: the title that was set, else the one that is bound.
    func titles(of section: StoredSection, _ evaluation: Evaluation) throws -> SectionInput {
        var input = SectionInput(id: section.id, rowCount: section.rows.count, header: .null, footer: .null)
        guard let binding = binding(of: section.id) else { return input }
        let header = try section.facts.header ?? binding.header?.value(for: input, evaluation) ?? .null
        let footer = try section.facts.footer ?? binding.footer?.value(for: input, evaluation) ?? .null
        input.header = header
        input.footer = footer
        return input
    }

    /// A title as the snapshot has it: `{"title": …}` or the view, with its heights.
    private func titled(
        _ title: JSONText, _ input: SectionInput, _ height: Computed<SectionInput>?, _ estimated: Computed<SectionInput>?,
        _ evaluation: Evaluation
    ) throws -> JSONText {
        if title.isNull { return .null }
        let height = try height?.value(for: input, evaluation), estimated = try estimated?.value(for: input, evaluation)
        var writer = JSONWriter()
        writer.beginObject()
        if title.kind == .string {
            writer.name("title")
            writer.value(title)
        } else {
            for (name, value) in title.members() ?? [] {
                writer.name(name)
                writer.value(value)
            }
        }
        if let height {
            writer.name("height")
            writer.value(height)
        }
        if let estimated {
            writer.name("estimatedHeight")
            writer.value(estimated)
        }
        writer.endObject()
        return writer.text
    }
}

/// Where rows may move to, found once for each policy of a snapshot.
private final class MoveTargets {
    private let binder: Binder
    private let evaluation: Evaluation
    private let displayed: [SectionInput]

    init(binder: Binder, evaluation: Evaluation, displayed: [SectionInput]) {
        self.binder = binder
        self.evaluation = evaluation
        self.displayed = displayed
    }

    /// `"anySection"`, a list of section ids, or nil where rows may not move.
    func targets(of binding: SectionBinding) throws -> JSONText? {
        switch binding.moving {
        case nil: return nil
        case .anySection: return .string("anySection")
        case .sections(let ids): return JSONText(ids: ids)
        case .passing(let passes):
            return JSONText(ids: try displayed.filter { try passes($0, evaluation) }.map(\.id))
        }
    }
}

// Rows.
extension Binder {
    /// All of a section's rows, made anew.
    private func rows(of stored: StoredSection, _ binding: SectionBinding, _ evaluation: Evaluation) throws -> ChunkedList<Row> {
        var renderer = RowRenderer(binding: binding, section: stored.id, count: stored.rows.count, evaluation: evaluation)
        var rows: [Row] = []
        rows.reserveCapacity(stored.rows.count)
        for (index, row) in stored.rows.enumerated() { rows.append(try renderer.row(for: row, at: index)) }
        return ChunkedList(rows)
    }

    /// The section's rows, where `shown` is how they were before the edits in `touched`.
    private func rows(
        of stored: StoredSection, _ binding: SectionBinding, after old: StoredSection, shown: ChunkedList<Row>,
        touched: TouchedRows, _ evaluation: Evaluation
    ) throws -> ChunkedList<Row> {
        var renderer = RowRenderer(binding: binding, section: stored.id, count: stored.rows.count, evaluation: evaluation)
        switch touched.rows(in: stored.id) {
        case .untouched: return shown
        case .edits(let edits):
            var rows = shown
            for index in edits.removed.reversed() { rows.remove(at: index) }
            for index in edits.inserted { rows.insert(try renderer.row(for: stored.rows[index], at: index), at: index) }
            for index in edits.replaced { rows[index] = try renderer.row(for: stored.rows[index], at: index) }
            return rows
        case .whole:
            // Rows whose model stayed are shown as they were.
            var places: [Int: Int] = [:]
            places.reserveCapacity(old.rows.count)
            for (index, row) in old.rows.enumerated() { places[row.key] = index }
            let oldRows = Array(old.rows), oldShown = Array(shown)
            var rows: [Row] = []
            rows.reserveCapacity(stored.rows.count)
            for (index, row) in stored.rows.enumerated() {
                if let place = places[row.key], oldRows[place].model == row.model {
                    rows.append(oldShown[place])
                } else {
                    rows.append(try renderer.row(for: row, at: index))
                }
            }
            return ChunkedList(rows)
        }
    }
}

/// Makes the rows of one section; what is the same for all of them is worked out once.
private struct RowRenderer {
    let binding: SectionBinding
    let section: SectionID
    let count: Int
    let evaluation: Evaluation
    private let constantCell: String?

    init(binding: SectionBinding, section: SectionID, count: Int, evaluation: Evaluation) {
        self.binding = binding
        self.section = section
        self.count = count
        self.evaluation = evaluation
        constantCell = binding.cells.cell.constant?.stringValue
    }

    mutating func row(for stored: StoredRow, at index: Int) throws -> Row {
        let input = RowInput(section: section, row: index, count: count, model: stored.model)
        let cell = try constantCell ?? binding.cells.cell.value(for: input, evaluation)?.stringValue
        guard let cell else {
            throw Refusal(.templateFailed, "The cell provider of the section \"\(section)\" must give the name of a cell, a string, for row \(index).")
        }
        let shownStored = binding.cells.showsModel ? stored.model : nil
        let viewModel = try binding.cells.showsModel ? binding.cells.viewModel?.value(for: input, evaluation) : stored.model
        return Row(parts: RowParts(
            id: stored.id, cell: cell, model: shownStored, viewModel: viewModel,
            editing: try binding.editingStyle(for: input, evaluation).nameWhenAllowed,
            movable: try binding.isMovable(input, evaluation),
            height: try binding.cellHeight?.value(for: input, evaluation),
            estimatedHeight: try binding.estimatedCellHeight?.value(for: input, evaluation),
            updatesManually: binding.updatesManually))
    }
}

extension EditingStyle {
    /// As a row's member `editing` has it: absent for none.
    var nameWhenAllowed: String? { self == .none ? nil : rawValue }
}

extension SectionBinding {
    func editingStyle(for input: RowInput, _ evaluation: Evaluation) throws -> EditingStyle {
        guard let editing, let value = try editing.value(for: input, evaluation) else { return .none }
        guard let name = value.stringValue, let style = EditingStyle(rawValue: name) else {
            throw Refusal(.templateFailed, "`editing` of the section \"\(input.section)\" gave \(value.text) for row \(input.row): it must give \"delete\", \"insert\" or \"none\".")
        }
        return style
    }

    func isMovable(_ input: RowInput, _ evaluation: Evaluation) throws -> Bool {
        guard allowsMoving else { return false }
        guard let movable else { return true }
        return try movable.value(for: input, evaluation)?.boolValue ?? false
    }
}
