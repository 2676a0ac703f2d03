// Formatted by hand, because pages show its snippets.
// swift-format-ignore-file
import BraidEngine
import Testing

@Suite struct DisplayingSectionsTests {
    struct SongCell: ReuseIdentifiable { var title = "" }

    @Test("A program can set which sections are displayed, and in which order")
    func displayedSectionsAreSet() throws {
        enum Section: String, TableSection, CaseIterable { case friends, enemies, undecided }
        let binder = SectionedTableBinder(sectionedBy: Section.self)
        binder.onAllSections().bind(cellType: SongCell.self, models: { [.friends: ["Asif"], .enemies: ["Sue"], .undecided: ["Jorge"]] })
        try binder.finish()
        #expect(binder.displayedSections == [.friends, .enemies, .undecided])
        // snippet: manual
        binder.displayedSections = [.undecided, .friends]
        try binder.refresh()
        // end
        #expect(binder.snapshot.sections.map(\.id) == ["undecided", "friends"])
    }

    @Test("Under `hidesSectionsWithNoCellData`, sections without rows are hidden")
    func emptySectionsHide() throws {
        // snippet: hiding
        enum Section: Int, TableSection, CaseIterable, Comparable { case first, second, third }

        var models: [Section: [String]] = [.third: ["c"], .first: ["a"]]
        let binder = SectionedTableBinder(sectionedBy: Section.self)
        binder.sectionDisplayBehavior = .hidesSectionsWithNoCellData
        binder.onAllSections()
            .bind(cellType: SongCell.self, models: { models })
            .bind(headerTitles: [.second: "SECOND"])
        try binder.finish()             // displays the sections first and third

        models[.second] = ["b"]
        let update = try binder.refresh()
        let inserted = update.stages[0].insertSections      // the update inserts the section second, at index 1
        // end
        #expect(inserted.map(\.at) == [1] && inserted.map(\.section.id) == ["second"])
        #expect(binder.displayedSections == [.first, .second, .third])
        binder.displayedSections = [.first]
        #expect(try binder.refresh().isEmpty)
    }

    @Test("A section with only a title is displayed under `hidesSectionsWithNoData`")
    func sectionWithTitle() throws {
        enum Section: String, TableSection, CaseIterable { case first, second, third }
        let binder = SectionedTableBinder(sectionedBy: Section.self)
        binder.sectionDisplayBehavior = .hidesSectionsWithNoData
        binder.onAllSections().bind(cellType: SongCell.self, models: { [.third: ["c"]] }).bind(headerTitles: [.second: "SECOND"])
        try binder.finish()
        #expect(binder.displayedSections == [.second, .third])
    }

    @Test("Dynamic sections appear when the models contain them")
    func dynamicSections() throws {
        // snippet: dynamic
        struct Artist: TableSection {
            var name: String
            var sectionID: SectionID { SectionID(name) }
        }

        var songs = [Artist(name: "Bowie"): ["Heroes"], Artist(name: "Arcade Fire"): ["Rebellion"]]
        let binder = SectionedTableBinder(sectionedBy: Artist.self)
        binder.sectionDisplayBehavior = .hidesSectionsWithNoCellData(orderedWith: { artists in
            artists.sorted { $0.name < $1.name }
        })
        binder.onAllSections()
            .bind(cellType: SongCell.self, models: { songs })
            .bind(headerTitle: { artist in artist.name })
        try binder.finish()             // displays the sections Arcade Fire and Bowie

        songs[Artist(name: "Blur")] = ["Song 2"]
        try binder.refresh()            // inserts the section Blur between Arcade Fire and Bowie
        // end
        #expect(binder.displayedSections.map(\.name) == ["Arcade Fire", "Blur", "Bowie"])
        #expect(binder.snapshot.sections[1].header["title"]?.stringValue == "Blur")
    }

    @Test("A section is identified by its id, and not by its other properties")
    func sectionIdentity() throws {
        struct Shelf: TableSection {
            var id: Int, label: String
            var sectionID: SectionID { SectionID("\(id)") }
        }
        var books = [Shelf(id: 1, label: "Poems"): ["Odyssey"]]
        let binder = SectionedTableBinder(sectionedBy: Shelf.self)
        binder.onAllSections().bind(cellType: SongCell.self, models: { books })
        try binder.finish()
        books = [Shelf(id: 1, label: "Epics"): ["Odyssey"]]
        #expect(try binder.refresh().isEmpty)
        #expect(binder.displayedSections.map(\.label) == ["Epics"])
        books[Shelf(id: 1, label: "Odes")] = ["Ode to a Nightingale"]
        #expect(throws: Refusal.self) { try binder.refresh() }
    }
}
