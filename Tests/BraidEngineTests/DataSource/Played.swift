@testable import BraidEngine

/// What a session keeps from one command to the next.
struct Played {
    let binder: Binder
    var table: TableModel
    var snapshot: Snapshot
    var unpublished: Unpublished?

    init(binder: Binder, table: TableModel) throws {
        self.binder = binder
        self.table = table
        snapshot = try binder.snapshot(of: table, revision: 0, now: RandomCommandTests.now)
    }

    init(sections: [SectionContent]) throws {
        try self.init(binder: .dataSource, table: Binder.dataSource.openingTable(sections))
    }

    init(_ description: String) throws {
        let description = try TableDescription(JSONText(parsing: description))
        try self.init(binder: description.binder, table: description.openingTable())
    }

    @discardableResult
    mutating func perform(_ command: Command, by user: User = .controller) throws -> Outcome {
        let outcome = try binder.applying(
            command, to: table, shown: snapshot, unpublished: unpublished, now: RandomCommandTests.now, by: user)
        (table, snapshot, unpublished) = (outcome.table, outcome.snapshot, outcome.unpublished)
        return outcome
    }

    /// From the stored data, as after a restart.
    mutating func restart() throws {
        func rebuilt(_ table: TableModel) throws -> TableModel {
            TableModel(
                sections: try table.sections.map { try StoredSection(summary: $0.summary, rows: Array($0.rows)) },
                displayedSections: table.displayedSections, state: table.state, cells: table.cells,
                nextKey: table.nextKey,
                nextSection: table.nextSection)
        }
        let revision = snapshot.revision
        table = try rebuilt(table)
        guard let kept = unpublished else {
            return snapshot = try binder.snapshot(of: table, revision: revision, now: RandomCommandTests.now)
        }
        let published = try rebuilt(kept.published)
        snapshot = try binder.snapshot(of: published, revision: revision, now: RandomCommandTests.now)
        unpublished = try Unpublished(
            published: published, stored: table, binder: binder, revision: revision, now: RandomCommandTests.now)
    }

    /// With what is not published yet.
    var stored: Snapshot { unpublished?.snapshot ?? snapshot }
    var ids: [SectionID] { snapshot.sections.map(\.id) }
    var cells: [String] { snapshot.sections.flatMap { $0.rows.map { $0.json["cell"]?.stringValue ?? "" } } }

    /// As arguments for a call.
    var contents: [SectionContent] {
        table.sections.map {
            SectionContent(id: $0.id, header: $0.summary.header, footer: $0.summary.footer, rows: $0.rows.map(\.model))
        }
    }
}

extension Snapshot {
    /// Each section as `header/footer[rows]`, such as `A[a b c] -/F[]`; a dash means none.
    var brief: String {
        sections.map { section in
            let header = section.header["title"]?.stringValue ?? "-",
                footer = section.footer["title"]?.stringValue.map { "/" + $0 } ?? ""
            let rows = section.rows.map { $0.model?.stringValue ?? $0.id?.text ?? $0.model?.text ?? "" }
            return "\(header)\(footer)[\(rows.joined(separator: " "))]"
        }.joined(separator: " ")
    }
}
