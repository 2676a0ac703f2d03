import BraidEngine
import BraidStore

// A stored session as the engine has it.
extension StoredSession {
    /// What binds the session's rows: its description, or what all sessions without a table have in common.
    func binder(_ descriptions: CompiledDescriptions) throws -> Binder {
        if facts.table == nil { return Binder.dataSource.showing(empty: description) }
        guard let description else {
            throw SessionError(.internalError, "The session \"\(facts.id)\" has no description.")
        }
        return try descriptions.compiled(description).binder
    }

    /// The table, and what clients see of it. The binder must have no limits: they may have been lowered since, and
    /// what is stored was within those of its time, command by command.
    package func restored(by binder: Binder) throws -> (
        model: TableModel, snapshot: Snapshot, unpublished: Unpublished?
    ) {
        let model = try table(sections, displayedSections), revision = facts.revision,
            now = Instant(millisecondsSince1970: facts.updated).text
        guard let published else {
            let snapshot = try binder.snapshot(of: model, revision: revision, now: now)
            return (model.sharingModels(with: snapshot), snapshot, nil)
        }
        // As of the time when it was published: rows may have read it.
        let shown = try table(published.sections, published.displayedSections)
        return (
            model,
            try binder.snapshot(
                of: shown, revision: revision, now: Instant(millisecondsSince1970: published.updated).text),
            try Unpublished(published: shown, stored: model, binder: binder, revision: revision, now: now)
        )
    }

    private func table(_ sections: [(facts: StoredSectionSummary, rows: [StoredRow])], _ displayed: JSONText?) throws
        -> TableModel
    {
        TableModel(
            sections: try sections.map { try StoredSection(facts: $0.facts, rows: $0.rows) },
            displayedSections: displayed?.elements()?.compactMap { $0.stringValue.map { SectionID($0) } },
            state: state, cells: try cells.map { try RegisteredCells(json: $0) } ?? RegisteredCells(),
            nextKey: nextKey, nextSection: nextSection)
    }
}
