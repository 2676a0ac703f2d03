import BraidEngine
import BraidStore

// A stored session as the engine has it.
extension StoredSession {
    /// What binds its rows: its description, or, without one, what all sessions without a table have in common.
    func binder(_ descriptions: CompiledDescriptions) throws -> Binder {
        if let description { return try descriptions.compiled(description).binder }
        guard facts.table == nil else { throw ProblemError(.internalError, "The session \"\(facts.id)\" has no description.") }
        return .dataSource
    }

    func table() throws -> TableModel { try table(sections, displayedSections) }

    /// The table that clients see, if that is not the stored one, and when it was published.
    func publishedTable() throws -> (table: TableModel, updated: Int)? {
        try published.map { (try table($0.sections, $0.displayedSections), $0.updated) }
    }

    private func table(_ sections: [(facts: StoredSectionFacts, rows: [StoredRow])], _ displayed: JSONText?) throws -> TableModel {
        TableModel(
            sections: try sections.map { try StoredSection(facts: $0.facts, rows: $0.rows) },
            displayedSections: displayed?.elements()?.compactMap { $0.stringValue.map { SectionID($0) } },
            state: state, cells: try cells.map { try RegisteredCells(json: $0) } ?? RegisteredCells(),
            nextKey: nextKey, nextSection: nextSection)
    }
}
