// Formatted by hand, because pages show its snippets.
// swift-format-ignore-file
import BraidEngine
import Testing

@Suite struct SwiftGuideTests {
    @Test("The engine can be used as a library")
    func theEngineAsALibrary() throws {
        // snippet: library
        struct Person: Equatable, CollectionIdentifiable {
            var name: String
            var collectionId: String { name }
        }
        struct PersonCell: ReuseIdentifiable { var title = "" }

        enum Section: String, TableSection, CaseIterable { case attending, invited }
        var people: [Section: [Person]] = [.attending: [Person(name: "Omar")], .invited: [Person(name: "Yvonne")]]

        let binder = SectionedTableBinder(sectionedBy: Section.self)
        binder.onAllSections()
            .bind(cellType: PersonCell.self, models: { people })
            .bind(headerTitles: [.attending: "ATTENDING", .invited: "INVITED"])
            .onDequeue { section, row, cell, person in cell.title = person.name }
            .allowMoving(.toAnySection)
            .onDelete { section, row, reason, person in people[section]?.remove(at: row) }
            .onInsert { section, row, reason, person in people[section]?.insert(person ?? Person(name: "New"), at: row) }
        try binder.finish()

        let update = try binder.move(from: RowPath(section: 1, row: 0), to: RowPath(section: 0, row: 0))
        // The update contains one move, from [1,0] to [0,0]. A table view or another list view can apply it.
        // end
        #expect(update.stages.count == 1 && update.stages[0].moveRows.count == 1)
        #expect(people[.attending]?.map(\.name) == ["Yvonne", "Omar"] && people[.invited]?.isEmpty == true)
        #expect(try (binder.cell(at: RowPath(section: 0, row: 0)) as? PersonCell)?.title == "Yvonne")
    }
}
