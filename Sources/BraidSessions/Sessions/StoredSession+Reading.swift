import BraidEngine
import BraidStore

extension StoredSession {
    func boundTable(_ descriptions: CompiledDescriptions) throws -> BoundTable {
        if summary.table == nil { return BoundTable(showing: description) }
        guard let description else {
            throw SessionError(.internalError, "The session \"\(summary.id)\" has no description.")
        }
        return BoundTable(try descriptions.compiled(description), version: summary.tableVersion)
    }

    /// `binder` must not limit the steps: the limit may be lower now, and the session must load. Rows of long sections
    /// were rendered before they were committed, and are rendered again on demand; `rendersAll` if nobody vouches for
    /// them.
    package func restored(by binder: Binder, rendersAll: Bool = false) throws -> (
        model: TableModel, snapshot: Snapshot, unpublished: Unpublished?
    ) {
        let model = try table, revision = summary.revision,
            now = Instant(millisecondsSince1970: summary.updated).text
        guard let published else {
            var snapshot = try binder.snapshot(of: model, revision: revision, now: now, wasRendered: !rendersAll)
            return (model.sharingModels(with: &snapshot, by: binder), snapshot, nil)
        }
        // Templates may read the time: in a published table, that of its publication.
        let shown = try table(published.sections, published.displayedSections)
        return (
            model,
            try binder.snapshot(
                of: shown, revision: revision, now: Instant(millisecondsSince1970: published.updated).text),
            try Unpublished(published: shown, stored: model, binder: binder, revision: revision, now: now)
        )
    }

    /// With unpublished changes.
    var table: TableModel { get throws { try table(sections, displayedSections) } }

    private func table(_ sections: [SectionRows], _ displayed: JSONText?) throws -> TableModel {
        for ((section, _), (next, _)) in zip(sections, sections.dropFirst()) where section.ordinal >= next.ordinal {
            throw StoreError.corrupt("session \"\(summary.id)\": two sections have the ordinal \(next.ordinal)")
        }
        return TableModel(
            sections: try sections.map { section, rows in
                try check(rows, of: section)
                return try StoredSection(summary: section, rows: rows)
            },
            displayedSections: displayed?.elements()?.compactMap { $0.stringValue.map { SectionID($0) } },
            state: state, cells: try cells.map { try RegisteredCells(json: $0) } ?? RegisteredCells(),
            nextKey: nextKey, nextSection: nextSection)
    }

    /// Ranks must order the rows, and no new row may get a used key.
    private func check(_ rows: [StoredRow], of section: StoredSectionSummary) throws {
        var last: Int?
        for row in rows {
            if let last, row.rank <= last {
                throw StoreError.corrupt(
                    "session \"\(summary.id)\": two rows of the section \(section.number) have the rank \(row.rank)")
            }
            guard row.key < nextKey else {
                throw StoreError.corrupt(
                    "session \"\(summary.id)\": a row has the key \(row.key), and next_key is \(nextKey)")
            }
            last = row.rank
        }
    }
}
