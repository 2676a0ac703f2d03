import BraidEngine
import BraidStore

// Conversions of stored sessions to the engine's types.
extension StoredSession {
    func boundTable(_ descriptions: CompiledDescriptions) throws -> BoundTable {
        if facts.table == nil { return BoundTable(showing: description) }
        guard let description else {
            throw SessionError(.internalError, "The session \"\(facts.id)\" has no description.")
        }
        return BoundTable(try descriptions.compiled(description), version: facts.tableVersion)
    }

    /// Returns the table, the snapshot that clients see, and the unpublished changes.
    ///
    /// - Parameter binder: has no limits: they may have been lowered after the table was stored, and it must still load.
    package func restored(by binder: Binder) throws -> (
        model: TableModel, snapshot: Snapshot, unpublished: Unpublished?
    ) {
        let model = try table, revision = facts.revision,
            now = Instant(millisecondsSince1970: facts.updated).text
        guard let published else {
            let snapshot = try binder.snapshot(of: model, revision: revision, now: now)
            return (model.sharingModels(with: snapshot), snapshot, nil)
        }
        // Templates may read the time: of a published table, that of its publication.
        let shown = try table(published.sections, published.displayedSections)
        return (
            model,
            try binder.snapshot(
                of: shown, revision: revision, now: Instant(millisecondsSince1970: published.updated).text),
            try Unpublished(published: shown, stored: model, binder: binder, revision: revision, now: now)
        )
    }

    /// The stored table, with the changes that are not published yet.
    var table: TableModel { get throws { try table(sections, displayedSections) } }

    private func table(_ sections: [(facts: StoredSectionSummary, rows: [StoredRow])], _ displayed: JSONText?) throws
        -> TableModel
    {
        try checkOrder(of: sections)
        return TableModel(
            sections: try sections.map { try StoredSection(facts: $0.facts, rows: $0.rows) },
            displayedSections: displayed?.elements()?.compactMap { $0.stringValue.map { SectionID($0) } },
            state: state, cells: try cells.map { try RegisteredCells(json: $0) } ?? RegisteredCells(),
            nextKey: nextKey, nextSection: nextSection)
    }

    /// Throws `corrupt` if the numbers of sections and rows do not order them, or if a new row could get a used key.
    private func checkOrder(of sections: [(facts: StoredSectionSummary, rows: [StoredRow])]) throws {
        for (facts, next) in zip(sections, sections.dropFirst()) where facts.facts.ordinal >= next.facts.ordinal {
            throw StoreError.corrupt(
                "session \"\(self.facts.id)\": two sections have the ordinal \(next.facts.ordinal)")
        }
        for (facts, rows) in sections {
            for (row, next) in zip(rows, rows.dropFirst()) where row.rank >= next.rank {
                throw StoreError.corrupt(
                    "session \"\(self.facts.id)\": two rows of the section \(facts.number) have the rank \(next.rank)")
            }
            if let row = rows.first(where: { $0.key >= nextKey }) {
                throw StoreError.corrupt(
                    "session \"\(self.facts.id)\": a row has the key \(row.key), and next_key is \(nextKey)")
            }
        }
    }
}
