// Formatted by hand, because pages show its snippets.
// swift-format-ignore-file
import BraidEngine
import Testing

@Suite struct GettingStartedTests {
    // snippet: types
    struct Person: Equatable, CollectionIdentifiable {
        var name: String
        var collectionId: String { name }
    }

    struct PersonCell: ReuseIdentifiable {
        var title = ""
    }
    // end

    @Test("A table without sections shows and refreshes its rows")
    func aTableWithoutSections() throws {
        // snippet: table
        var people = [Person(name: "Jonathan"), Person(name: "Omar")]
        var tapped: [String] = []

        let binder = TableBinder()
        binder.onTable()
            .bind(cellType: PersonCell.self, models: { people })
            .onDequeue { section, row, cell, person in cell.title = person.name }
            .onTapped { section, row, person in tapped.append(person.name) }
        try binder.finish()
        // end

        // snippet: looking
        let count = binder.snapshot.totalRowCount           // 2
        let cell = try binder.cell(at: 1) as? PersonCell    // the cell of row 1, with the title "Omar"
        try binder.tap(at: 1)                               // runs the handler `onTapped` for the row of Omar
        // end
        #expect(count == 2 && cell?.title == "Omar" && tapped == ["Omar"])

        // snippet: refreshing
        people.append(Person(name: "Sara"))
        let update = try binder.refresh()
        let inserted = update.stages[0].insertRows          // the update inserts one row, at [0,2]
        // end
        #expect(update.stages.count == 1 && inserted.map(\.at) == [RowPath(section: 0, row: 2)])
    }

    @Test("In a table with sections, a model that changes its section is a moved row")
    func aTableWithSections() throws {
        // snippet: sections
        enum Section: String, TableSection, CaseIterable { case attending, invited }

        var attending = [Person(name: "Jonathan"), Person(name: "Omar")]
        var invited = [Person(name: "Yvonne")]

        let binder = SectionedTableBinder(sectionedBy: Section.self)
        binder.onSections(.attending, .invited)
            .bind(cellType: PersonCell.self, models: { [.attending: attending, .invited: invited] })
            .bind(headerTitles: [.attending: "ATTENDING", .invited: "INVITED"])
            .onDequeue { section, row, cell, person in cell.title = person.name }
        try binder.finish()
        // end
        #expect(binder.snapshot.sections.map(\.id) == ["attending", "invited"])
        #expect(binder.snapshot.sections.map { $0.header["title"]?.stringValue } == ["ATTENDING", "INVITED"])

        // snippet: moving
        attending.append(invited.removeFirst())
        let update = try binder.refresh()
        let moved = update.stages[0].moveRows               // the update moves one row, from [1,0] to [0,2]
        // end
        #expect(update.stages.count == 1 && moved.map(\.from) == [RowPath(section: 1, row: 0)])
        #expect(moved.map(\.to) == [RowPath(section: 0, row: 2)])
    }

    @Test("`finish()` reports a mistake in the bindings")
    func aMistakeIsSaid() throws {
        enum Section: String, TableSection, CaseIterable { case attending, invited }
        let attending = [Person(name: "Jonathan")]
        // snippet: mistake
        var message = ""
        let binder = SectionedTableBinder(sectionedBy: Section.self)
        binder.onSection(.attending)
            .bind(cellType: PersonCell.self, models: { attending })
        do {
            try binder.finish()
        } catch let refusal as Refusal {
            message = refusal.detail    // says: Nothing binds the cells of the section "invited".
        }
        // end
        #expect(message == #"Nothing binds the cells of the section "invited"."#)
    }
}
