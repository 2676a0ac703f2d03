extension Binder {
    /// `nil` if the section's rows keep their JSON.
    func renderer(of binding: SectionBinding, rows: Int) -> RowRenderer? {
        guard binding.rendersAlone, rows > limits.renderedRows else { return nil }
        return RowRenderer(binding: ObjectIdentifier(binding), updatesManually: binding.updatesManually) {
            binding.parts(of: $0)
        }
    }
}

extension SectionBinding {
    /// Without a limit for all rows together. Each was rendered before without failing; if somebody else has changed
    /// its stored model since and its template fails, all see it without what the template gives.
    fileprivate func parts(of stored: RowContent) -> RowParts {
        let input = RowInput(section: section, row: 0, count: 0, model: stored.model ?? .null), id = stored.id
        let cell = constantCell ?? (try? cells.cell.value(for: input, .ofModels))?.stringValue ?? ""
        do {
            return try parts(id: id, cell: cell, try viewModel(of: input, .ofModels), input, .ofModels)
        } catch {
            return RowParts(id: id, cell: cell, model: input.model, updatesManually: updatesManually)
        }
    }
}

extension TableModel {
    /// A copy that shares bytes with the rows displayed by `binder`, so that each model is in memory once: rows that
    /// can be rendered on demand lose their JSON, others lend it to the table. Skips sections that do not display all
    /// rows. O(rows).
    public func sharingModels(with snapshot: inout Snapshot, by binder: Binder) -> TableModel {
        var table = self
        for place in snapshot.sections.indices {
            let shown = snapshot.sections[place]
            guard let position = position(of: shown.id), shown.rows.count == sections[position].rows.count else {
                continue
            }
            let binding = binder.binding(of: shown.id)
            if let renderer = binding.flatMap({ binder.renderer(of: $0, rows: shown.rows.count) }) {
                snapshot.sections[place].shareRows(with: sections[position].rows, renderer)
            } else {
                table.sections[position].shareModels(with: shown.rows)
            }
        }
        return table
    }
}

extension Section {
    fileprivate mutating func shareRows(with stored: PersistentList<StoredRow>, _ renderer: RowRenderer) {
        guard !rows.allSatisfy(\.isOnDemand) else { return }
        let wereChecked = idsWereChecked
        rows = PersistentList(
            zip(stored, rows).lazy.map { stored, shown in
                // A stored row to which a displayed one has lent its bytes has others than a renderer's rows.
                guard !shown.isOnDemand, !stored.content.isDisplayed, shown.content.holds(stored.content) else {
                    return shown
                }
                return Row(stored: stored.content, renderedBy: renderer)
            })
        idsWereChecked = wereChecked
    }
}
