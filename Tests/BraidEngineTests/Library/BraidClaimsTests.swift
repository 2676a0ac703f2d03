import Testing
@testable import BraidEngine

/// What Braid's guide, its comments and its own tests claim of a binder, claimed of this one.
@Suite struct BraidClaimsTests {
    enum Letter: Int, TableSection, CaseIterable, Comparable { case first, second, third, fourth }

    // MARK: Titles and views

    /// The title bound last was shown.
    @Test func aViewStandsBeforeTitlesInWhateverOrderTheyAreBound() throws {
        let binder = SectionedTableBinder(sectionedBy: Letter.self)
        binder.onSection(.first)
            .bind(headerType: Banner.self, viewModel: { _ in .init(text: "H1") }).bind(headerTitle: "wrong")
            .bind(footerTitle: "wrong").bind(footerType: Banner.self, viewModel: { _ in .init(text: "F1") })
            .bind(cellType: PlainCell.self, models: { people() })
        binder.onSections(.second, .third)
            .bind(headerType: Banner.self, viewModel: { _ in .init(text: "H2") })
            .bind(headerTitles: [.second: "wrong", .third: "wrong"])
            .bind(cellType: PlainCell.self, models: { [:] as [Letter: [Person]] })
        binder.onAllOtherSections()
            .bind(headerType: Banner.self, viewModel: { _ in .init(text: "H4") }).bind(headerTitle: { _ in "wrong" })
            .bind(cellType: PlainCell.self, models: { [:] as [Letter: [Person]] })
        // Of another chain, as specific, and later.
        binder.onSection(.second).bind(headerTitle: "wrong")
        try binder.finish()
        #expect(try (0..<4).map { try (binder.headerView(ofSection: $0) as? Banner)?.viewModel?.text } == ["H1", "H2", "H2", "H4"])
        #expect(try (binder.footerView(ofSection: 0) as? Banner)?.viewModel?.text == "F1")
    }

    @Test func aViewWithoutAViewModelIsNoHeaderThoughThereIsATitle() throws {
        let binder = SectionedTableBinder(sectionedBy: Letter.self)
        var text: String? = "H"
        binder.onAllSections()
            .bind(cellType: PlainCell.self, models: { [.first: people("a")] })
            .bind(headerType: Banner.self, viewModel: { _ in text.map { .init(text: $0) } }).bind(headerTitle: "wrong")
        try binder.finish()
        text = nil
        try binder.refresh()
        #expect(binder.snapshot.sections[0].header.isNull)
    }

    @Test func aNamedSectionsTitleStandsBeforeTheViewOfAllOtherSections() throws {
        let binder = SectionedTableBinder(sectionedBy: Letter.self)
        binder.onAllSections()
            .bind(cellType: PlainCell.self, models: { [:] as [Letter: [Person]] })
            .bind(headerType: Banner.self, viewModel: { _ in .init(text: "H") })
        binder.onSection(.second).bind(headerTitle: "title")
        try binder.finish()
        #expect(binder.snapshot.sections[1].header["title"]?.stringValue == "title")
        #expect(try (binder.headerView(ofSection: 0) as? Banner)?.viewModel?.text == "H")
    }

    // MARK: Display

    /// All sections were displayed until the next refresh.
    @Test func sectionsThatWereSetBeforeTheEndOfTheBindingAreDisplayedFromTheStart() throws {
        let binder = SectionedTableBinder(sectionedBy: Letter.self)
        binder.displayedSections = [.fourth, .first]
        binder.onAllSections().bind(cellType: PlainCell.self, models: { [.first: people("a"), .second: people("b")] })
        try binder.finish()
        #expect(binder.snapshot.sectionIDs == ["fourth", "first"] && binder.displayedSections == [.fourth, .first])
        #expect(try binder.refresh().isEmpty)
        // None at all, as Braid has it until they are set.
        let empty = SectionedTableBinder(sectionedBy: Letter.self)
        empty.displayedSections = []
        empty.onAllSections().bind(cellType: PlainCell.self, models: { [.first: people("a")] })
        try empty.finish()
        #expect(empty.snapshot.sections.isEmpty && empty.displayedSections.isEmpty)
        empty.displayedSections = [.first]
        try empty.refresh()
        #expect(empty.snapshot.ids == [["a"]])
    }

    @Test func dynamicSectionsThatWereSetBeforeTheEndOfTheBindingAreDisplayedFromTheStart() throws {
        let binder = SectionedTableBinder(sectionedBy: SectionID.self)
        binder.displayedSections = ["z", "a"]
        binder.onAllSections().bind(cellType: PlainCell.self, models: { ["a": people("a"), "b": people("b")] })
        try binder.finish()
        #expect(binder.snapshot.sections.map { "\($0.id)\($0.rows.count)" } == ["z0", "a1"])
    }

    @Test func noSectionIsDisplayedTwice() throws {
        let binder = SectionedTableBinder(sectionedBy: Letter.self)
        binder.onAllSections().bind(cellType: PlainCell.self, models: { [.first: people("a")] })
        binder.displayedSections = [.first, .first]
        #expect(throws: Refusal.self) { try binder.finish() }
        binder.displayedSections = [.first]
        try binder.finish()
        binder.displayedSections = [.second, .first, .second]
        let refusal = try #require(throws: Refusal.self) { try binder.refresh() }
        #expect(refusal.detail.contains("twice"))
        #expect(binder.snapshot.sectionIDs == ["first"])
    }

    @Test func whatWasSetUnderAnotherBehaviorIsNotDisplayed() throws {
        let binder = SectionedTableBinder(sectionedBy: Letter.self)
        binder.displayedSections = [.fourth]
        binder.sectionDisplayBehavior = .hidesSectionsWithNoCellData
        binder.onAllSections().bind(cellType: PlainCell.self, models: { [.second: people("b"), .first: people("a")] })
        try binder.finish()
        #expect(binder.snapshot.sectionIDs == ["first", "second"] && binder.displayedSections == [.first, .second])
    }

    // MARK: Sections

    /// A section with another title was another section.
    @Test func aSectionThatIsIdentifiedIsCalledByItsId() throws {
        struct Shelf: TableSection, CollectionIdentifiable {
            var collectionId: String
            var title: String
        }
        let binder = SectionedTableBinder(sectionedBy: Shelf.self)
        var title = "Stores"
        binder.onAllSections().bind(cellType: PlainCell.self, models: { [Shelf(collectionId: "stores", title: title): people("a")] })
            .bind(headerTitle: { $0.title })
        try binder.finish()
        #expect(binder.snapshot.sectionIDs == ["stores"])
        title = "Stores near you"
        let update = try binder.refresh()
        #expect(update.stages.map { [$0.updateSections.count, $0.insertSections.count, $0.deleteSections.count] } == [[1, 0, 0]])
    }

    @Test func aSectionOfAnEnumIsCalledAsItWasThoughItIsIdentified() {
        enum Text: String, TableSection, CollectionIdentifiable { case one = "eins" }
        enum Number: Int, TableSection, CollectionIdentifiable { case one = 1 }
        #expect(Text.one.sectionID == "eins" && Number.one.sectionID == "one")
    }

    // MARK: Mistakes that end a program with Braid

    /// Nothing came of it, and nothing was said.
    @Test func aChainThatIsBoundAfterTheEndOfTheBindingIsAMistake() throws {
        for late in [{ $0.onSection(.first).onTapped { _, _ in } }, { $0.onAnySection() }, { $0.sectionDisplayBehavior = .hidesSectionsWithNoData }] as [(SectionedTableBinder<Letter>) -> Any] {
            let binder = SectionedTableBinder(sectionedBy: Letter.self)
            binder.onAllSections().bind(cellType: PlainCell.self, models: { [.first: people("a")] })
            try binder.finish()
            _ = late(binder)
            for command in [{ try binder.refresh() }, { try binder.tap(at: path(0, 0)) }] {
                let refusal = try #require(throws: Refusal.self) { try command() }
                #expect(refusal.code == .descriptionInvalid && refusal.detail.contains("finish()"))
            }
            #expect(binder.snapshot.ids == [["a"], [], [], []])
        }
        let binder = TableBinder()
        let chain = binder.onTable().bind(cellType: PlainCell.self, models: { people("a") })
        try binder.finish()
        chain.cellHeight { _, _ in 44 }
        #expect(throws: Refusal.self) { try binder.refresh() }
    }

    @Test func aChainAboutNoSectionIsAMistake() throws {
        let binder = SectionedTableBinder(sectionedBy: Letter.self)
        binder.onAllSections().bind(cellType: PlainCell.self, models: { [:] as [Letter: [Person]] })
        binder.onSections([]).onTapped { _, _ in }
        let refusal = try #require(throws: Refusal.self) { try binder.finish() }
        #expect(refusal.detail.contains("no section"))
    }
}
