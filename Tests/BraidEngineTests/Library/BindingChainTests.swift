import Testing
@testable import BraidEngine

/// What Braid's documentation says that chains bind.
@Suite struct BindingChainTests {
    // MARK: The five cell bindings

    @Test("`onDequeue` fills the cells of a binding with `models`")
    func dequeuedCells() throws {
        let binder = SectionedTableBinder(sectionedBy: Place.self)
        binder.onSections(.attending, .invited)
            .bind(cellType: PlainCell.self, models: { [.attending: people("a", "b"), .invited: people("c")] })
            .onDequeue { section, row, cell, person in cell.title = "\(section) \(row) \(person.name)" }
        binder.onSection(.bin).bind(cellType: PlainCell.self, models: { people() })
        try binder.finish()
        #expect(binder.snapshot.ids == [["a", "b"], ["c"], []])
        #expect(binder.snapshot.sections[0].rows[0].json["cell"]?.stringValue == "PlainCell")
        #expect(try (binder.cell(at: path(0, 1)) as? PlainCell)?.title == "attending 1 B")
        #expect(try binder.model(at: path(1, 0), as: Person.self).id == "c")
    }

    @Test("Each cell of a binding with `viewModels` shows its view model")
    func viewModels() throws {
        let binder = TableBinder()
        var titles = ["x", "y"]
        binder.onTable().bind(cellType: PersonCell.self, viewModels: { titles.map { PersonCell.ViewModel(title: $0) } })
        try binder.finish()
        #expect(try (binder.cell(at: 1) as? PersonCell)?.viewModel == .init(title: "y"))
        titles[1] = "z"
        // View models without identity cannot be compared row by row.
        let update = try binder.refresh()
        #expect(update.stages.map(\.reloadSections.count) == [1])
        #expect(try (binder.cell(at: 1) as? PersonCell)?.viewModel == .init(title: "z"))
    }

    @Test("A binding with `mapToViewModels` makes a view model from each model")
    func mappedViewModels() throws {
        let binder = TableBinder()
        binder.onTable()
            .bind(
                cellType: PersonCell.self, models: { people("a") },
                mapToViewModels: { PersonCell.ViewModel(title: $0.name) }
            )
            .onDequeue { _, row, cell, person in cell.detail = "\(row)\(person.id)" }
        try binder.finish()
        let cell = try #require(binder.cell(at: 0) as? PersonCell)
        #expect(cell.viewModel?.title == "A" && cell.detail == "0a")
    }

    @Test("A cell provider chooses the cell of each model")
    func cellProvider() throws {
        enum Item: Int, CollectionIdentifiable, Sendable { case text, toggle }
        let binder = TableBinder()
        binder.onTable().bind(
            cellProvider: { _, _, item -> any ReuseIdentifiable in
                item == .text ? TextCell(text: "t") : PlainCell(title: "p")
            },
            models: { [Item.toggle, .text] })
        try binder.finish()
        #expect(binder.snapshot.sections[0].rows.map { $0.json["cell"]?.stringValue } == ["PlainCell", "TextCell"])
        #expect(binder.snapshot.ids == [["1", "0"]])
        #expect(try (binder.cell(at: 1) as? TextCell)?.text == "t")
    }

    @Test("A cell provider without models makes the number of cells that `numberOfCells` returns")
    func numberOfCells() throws {
        let binder = TableBinder()
        var count = 2
        binder.onTable().bind(cellProvider: { _, row in PlainCell(title: "row \(row)") }, numberOfCells: { count })
        try binder.finish()
        #expect(binder.snapshot.totalRowCount == 2)
        count = 3
        let update = try binder.refresh()
        #expect(update.totalRowCount == 3)
        #expect(update.stages.count == 1 && update.stages[0].insertRows.map(\.at) == [path(0, 2)])
        #expect(try (binder.cell(at: 2) as? PlainCell)?.title == "row 2")
    }

    // MARK: Titles, views, dimensions

    @Test("Header and footer titles can be constants or closures, and a refresh reads the closures again")
    func titles() throws {
        let binder = SectionedTableBinder(sectionedBy: Place.self)
        var text: String? = "one"
        binder.onAllSections()
            .bind(cellType: PlainCell.self, models: { [:] as [Place: [Person]] })
            .bind(headerTitles: [.attending: "ATTENDING"])
            .bind(footerTitle: { $0 == .invited ? text : nil })
        try binder.finish()
        #expect(binder.snapshot.sections[0].header["title"]?.stringValue == "ATTENDING")
        #expect(binder.snapshot.sections[0].footer.isNull && binder.snapshot.sections[1].header.isNull)
        text = "two"
        let update = try binder.refresh()
        #expect(update.stages.flatMap(\.updateSections).map(\.at) == [1])
        #expect(binder.snapshot.sections[1].footer["title"]?.stringValue == "two")
        #expect(try binder.refresh().isEmpty)
        #expect(binder.snapshot.revision == 1)
    }

    @Test("Header views receive their view models, and an update contains a header only if its view model changed")
    func headerViews() throws {
        let binder = SectionedTableBinder(sectionedBy: Place.self)
        var text = "hello"
        binder.onAllSections()
            .bind(cellType: PlainCell.self, models: { [:] as [Place: [Person]] })
            .bind(headerType: Banner.self, viewModel: { $0 == .bin ? nil : Banner.ViewModel(text: "\($0) \(text)") })
        try binder.finish()
        #expect(try (binder.headerView(ofSection: 0) as? Banner)?.viewModel?.text == "attending hello")
        #expect(try binder.headerView(ofSection: 2) == nil && binder.footerView(ofSection: 0) == nil)
        #expect(try binder.refresh().isEmpty)
        text = "bye"
        #expect(try binder.refresh().stages.flatMap(\.updateSections).count == 2)
        #expect(try (binder.headerView(ofSection: 1) as? Banner)?.viewModel?.text == "invited bye")
    }

    /// Not even after a refresh that fails, or changes only other properties of a dynamic section.
    @Test("The binder removes unused view models of headers from memory")
    func unusedHeaderViewModels() throws {
        struct Day: TableSection {
            var name: String, count: Int
            var sectionID: SectionID { SectionID(name) }
        }
        struct Failure: Error {}
        let binder = SectionedTableBinder(sectionedBy: Day.self)
        var count = 0, text = "hello", fails = false
        binder.onAllSections()
            .bind(cellType: PlainCell.self, models: { [Day(name: "today", count: count): people("a")] })
            .bind(headerType: Banner.self, viewModel: { _ in Banner.ViewModel(text: text) })
            .cellHeight { _, _ in
                if fails { throw Failure() }
                return 44
            }
        try binder.finish()
        for _ in 0..<10 {
            count += 1
            #expect(try binder.refresh().isEmpty)
        }
        (text, fails) = ("bye", true)
        for _ in 0..<10 { #expect(throws: Failure.self) { try binder.refresh() } }
        #expect(try (binder.headerView(ofSection: 0) as? Banner)?.viewModel?.text == "hello")
        (text, fails) = ("hello", false)
        #expect(try binder.refresh().isEmpty)
        text = "bye"
        try binder.refresh()
        // Removed values stay until the next command.
        try binder.refresh()
        let values = Mirror(reflecting: binder.bindings.values).descendant("values") as? [Int: Any]
        #expect(values?.count == 2, "a model and a view model")
    }

    @Test("Dimensions of `onAnySection` apply where a more specific chain gives none")
    func fallbackDimensions() throws {
        let binder = SectionedTableBinder(sectionedBy: Place.self)
        binder.onSection(.attending)
            .bind(cellType: PlainCell.self, models: { people("a") })
            .bind(headerTitle: "A").bind(footerTitle: "a")
            .cellHeight { _, _, person in .points(person.name == "A" ? 120 : 1) }
            .headerHeight { _ in 80 }
        binder.onAllOtherSections()
            .bind(cellType: PlainCell.self, models: { [.invited: people("b")] })
            .cellHeight { section, _ in section == .invited ? 90 : 70 }
        binder.onAnySection()
            .cellHeight { _, _ in 200 }.estimatedCellHeight { _, _ in .automatic }
            .headerHeight { _ in 50 }.footerHeight { _ in 50.5 }
            .estimatedHeaderHeight { _ in 1 }.estimatedFooterHeight { _ in 2 }
        try binder.finish()
        let sections = binder.snapshot.sections
        #expect(sections[0].rows[0].json["height"]?.text == "120" && sections[1].rows[0].json["height"]?.text == "90")
        #expect(sections[0].rows[0].json["estimatedHeight"]?.text == #""automatic""#)
        #expect(sections[0].header.text == #"{"title":"A","height":80,"estimatedHeight":1}"#)
        #expect(sections[0].footer.text == #"{"title":"a","height":50.5,"estimatedHeight":2}"#)
    }

    @Test("A height that is negative, infinite or not a number is refused", arguments: [-1, .infinity, .nan])
    func invalidHeights(height: Double) throws {
        let binder = TableBinder()
        binder.onTable().bind(cellType: PlainCell.self, models: { people("a") }).cellHeight { _, _ in .points(height) }
        #expect(throws: Refusal.self) { try binder.finish() }
    }

    // MARK: Taps, events, prefetching

    @Test("A tap calls the handlers of the row's section and of `onAnySection`")
    func taps() throws {
        let binder = SectionedTableBinder(sectionedBy: Place.self)
        var taps: [String] = []
        binder.onSection(.attending).bind(cellType: PlainCell.self, models: { people("a", "b") })
            .onTapped { section, row, person in taps.append("\(section) \(row) \(person.id)") }
        binder.onAllOtherSections().bind(cellType: PlainCell.self, models: { [.invited: people("c")] })
            .onTapped { section, row in taps.append("\(section) \(row)") }
        binder.onAnySection().onTapped { section, row in taps.append("any \(section) \(row)") }
        try binder.finish()
        try binder.tap(at: path(0, 1))
        try binder.tap(at: path(1, 0))
        #expect(taps == ["attending 1 b", "any attending 1", "invited 0", "any invited 0"])
        #expect(throws: Refusal.self) { try binder.tap(at: path(2, 0)) }
        #expect(throws: Refusal.self) { try binder.tap(at: path(-1, 0)) }
        #expect(throws: Refusal.self) { try binder.tap(at: path(0, -1)) }
    }

    @Test("Cell events reach the handlers for their cell type, with and without the model as a parameter")
    func cellEvents() throws {
        let binder = SectionedTableBinder(sectionedBy: Place.self)
        var attending = people("a", "b"), heard: [String] = []
        binder.onSection(.attending).bind(
            cellType: PersonCell.self, models: { attending }, mapToViewModels: { .init(title: $0.name) }
        )
        .onEvent(from: PersonCell.self) { _, row, event, person in
            guard case .rsvp(let going) = event else { return }
            heard.append("\(row) \(person.id) \(going)")
            attending[row].going = going
        }
        binder.onSection(.invited)
            .bind(
                cellProvider: { _, row, _ -> any ReuseIdentifiable in row == 0 ? TextCell() : PlainCell() },
                models: { people("c", "d") }
            )
            .onEvent(from: TextCell.self) { section, row, event in
                if case .textEntered(let text) = event { heard.append("\(section) \(row) \(text)") }
            }
        binder.onSection(.bin).bind(cellType: PlainCell.self, models: { people() })
        try binder.finish()
        let update = try binder.emit(PersonCell.ViewEvent.rsvp(going: true), at: path(0, 1))
        #expect(update.stages.flatMap(\.reloadRows).map(\.at) == [path(0, 1)])
        try binder.emit(TextCell.ViewEvent.textEntered("x"), at: path(1, 0))
        #expect(heard == ["1 b true", "invited 0 x"])
        // The row shows a cell of another type.
        #expect(throws: Refusal.self) { try binder.emit(TextCell.ViewEvent.textEntered("x"), at: path(1, 1)) }
        #expect(throws: Refusal.self) { try binder.emit(TextCell.ViewEvent.textEntered("x"), at: path(0, 0)) }
    }

    @Test("The prefetch handler runs once each time the section has grown")
    func prefetchRunsOncePerGrowth() throws {
        let binder = TableBinder()
        var models = people("a", "b", "c", "d"), runs = 0
        binder.onTable().bind(cellType: PlainCell.self, models: { models })
            .prefetch(cellsFromEnd: 1) { _, _ in
                runs += 1
                models += people("e\(runs)")
            }
        try binder.finish()
        try binder.willDisplay([0, 1])
        #expect(runs == 0)
        #expect(try binder.willDisplay([2]).stages.flatMap(\.insertRows).count == 1)
        #expect(runs == 1 && binder.snapshot.totalRowCount == 5)
        try binder.willDisplay([2])
        #expect(runs == 1)
        try binder.willDisplay([3])
        #expect(runs == 2)
    }

    /// It must not wait until the section is longer than before.
    @Test("The prefetch handler runs again if a section is filled again with fewer rows")
    func prefetchAfterRefill() throws {
        let binder = TableBinder()
        var models = people("a", "b", "c", "d"), runs = 0
        binder.onTable().bind(cellType: PlainCell.self, models: { models }).allowEditing()
            .prefetch(cellsFromEnd: 1) { _, _ in runs += 1 }
            .onDelete { _, row, _, _ in models.remove(at: row) }
            .onTapped { _, _ in models = people("z") }
        try binder.finish()
        try binder.willDisplay([3])
        #expect(runs == 1)
        // A delete is no refill.
        try binder.commit(.delete, at: 0)
        try binder.willDisplay([2])
        #expect(runs == 1)
        models = people("x", "y")
        try binder.refresh()
        try binder.willDisplay([1])
        #expect(runs == 2)
        try binder.willDisplay([1])
        #expect(runs == 2)
        try binder.tap(at: 0)
        try binder.willDisplay([0])
        #expect(runs == 3)
    }

    @Test("The prefetch handler runs again if `numberOfCells` has become smaller")
    func prefetchWithFewerCells() throws {
        let binder = TableBinder()
        var count = 4, runs = 0
        binder.onTable().bind(cellProvider: { _, _ in PlainCell() }, numberOfCells: { count }).prefetch(cellsFromEnd: 1)
        { _, _ in runs += 1 }
        try binder.finish()
        try binder.willDisplay([3])
        count = 2
        try binder.refresh()
        try binder.willDisplay([1])
        try binder.willDisplay([1])
        #expect(runs == 2)
    }

    @Test("The prefetch handler runs again if the section had fewer cells while it was hidden")
    func prefetchAfterHiding() throws {
        let binder = SectionedTableBinder(sectionedBy: OnlySection.self)
        var count = 4, runs = 0
        binder.onSection(.table).bind(cellProvider: { _, _ in PlainCell() }, numberOfCells: { count }).prefetch(
            cellsFromEnd: 1
        ) { _, _ in runs += 1 }
        try binder.finish()
        try binder.willDisplay([path(0, 3)])
        for (cells, sections) in [(2, []), (4, [.table])] as [(Int, [OnlySection])] {
            (count, binder.displayedSections) = (cells, sections)
            try binder.refresh()
        }
        try binder.willDisplay([path(0, 3)])
        #expect(runs == 2)
    }

    /// Such as a height, which is no model.
    @Test("The update of a command contains everything that its handlers changed")
    func changesInHandlers() throws {
        var isExpanded = false
        let binder = TableBinder()
        binder.onTable().bind(cellType: PlainCell.self, models: { ["a"] })
            .cellHeight { _, _ in isExpanded ? 200 : 44 }
            .onTapped { _, _ in isExpanded.toggle() }
        try binder.finish()
        #expect(try binder.tap(at: 0).stages.flatMap(\.updateRows).count == 1)
        #expect(binder.snapshot.sections[0].rows[0].json["height"]?.text == "200")
    }

    /// The chain binds no cells itself.
    @Test("`onDequeue` of `onAnySection` runs in addition to `onDequeue` of the section's chain")
    func dequeueOfAnySection() throws {
        let binder = SectionedTableBinder(sectionedBy: Place.self)
        var filled: [String] = []
        binder.onAllSections().bind(cellType: PlainCell.self, models: { [.attending: people("a")] })
            .onDequeue { _, _, cell, person in cell.title = person.name }
        binder.onAnySection().onDequeue { section, row, cell in
            filled.append("\(section) \(row) \((cell as? PlainCell)?.title ?? "-")")
        }
        try binder.finish()
        #expect(try (binder.cell(at: path(0, 0)) as? PlainCell)?.title == "A")
        #expect(filled == ["attending 0 A"])
    }

    // MARK: Scopes and display

    @Test("A chain that binds no cells can name the model type of another chain with `assuming(modelType:)`")
    func assumedModelType() throws {
        let binder = SectionedTableBinder(sectionedBy: Place.self)
        var tapped: [String] = []
        binder.onAllSections().bind(cellType: PlainCell.self, models: { [.attending: people("a")] })
        binder.onSection(.attending).assuming(modelType: Person.self).onTapped { _, _, person in
            tapped.append(person.name)
        }
        try binder.finish()
        try binder.tap(at: path(0, 0))
        #expect(tapped == ["A"])
    }

    @Test("`finish()` reports a mistake in the bindings")
    func mistakes() throws {
        func mistake(_ bind: (SectionedTableBinder<Place>) -> Void) throws -> String {
            let binder = SectionedTableBinder(sectionedBy: Place.self)
            bind(binder)
            let refusal = try #require(throws: Refusal.self) { try binder.finish() }
            return refusal.detail
        }
        #expect(try mistake { _ in }.contains("attending"))
        #expect(
            try mistake {
                $0.onAllSections().bind(cellType: PlainCell.self, models: { [:] as [Place: [Person]] })
                $0.onSection(.bin).bind(cellType: PlainCell.self, models: { people() })
                $0.onSections(.bin, .invited).bind(cellType: PlainCell.self, models: { [:] as [Place: [Person]] })
            }.contains("\"bin\" are bound twice"))
        #expect(
            try mistake {
                $0.onAllSections().bind(cellType: PlainCell.self, models: { [:] as [Place: [Person]] })
                $0.onAllOtherSections().bind(cellType: PlainCell.self, models: { [:] as [Place: [Person]] })
            }.contains("bound twice"))
        #expect(
            try mistake {
                $0.onAllSections().bind(cellType: PlainCell.self, models: { [:] as [Place: [Person]] })
                $0.onSection(.bin).assuming(modelType: String.self).onTapped { _, _, _ in }
            }.contains("String"))
        #expect(
            try mistake { $0.onAllSections().bind(cellType: PlainCell.self, models: { people("a") }) }.contains(
                "by section"))
        #expect(try mistake { $0.onAnySection().prefetch(cellsFromEnd: -1) { _, _ in } }.contains("cellsFromEnd"))
        for bind in [
            { $0.onAnySection().bind(cellType: PlainCell.self, models: { [:] as [Place: [Person]] }) },
            { $0.onAnySection().bind(headerTitle: "H") }, { $0.onAnySection().allowEditing() },
            { $0.onAnySection().allowMoving(.toAnySection) },
        ] as [(SectionedTableBinder<Place>) -> Any] {
            #expect(try mistake { _ = bind($0) }.contains("any section"))
        }
    }

    @Test("Two sections cannot share an id")
    func duplicateSectionIDs() {
        enum Twin: TableSection, CaseIterable {
            case one, other
            var sectionID: SectionID { SectionID("twin") }
        }
        let binder = SectionedTableBinder(sectionedBy: Twin.self)
        binder.onAllSections().bind(cellType: PlainCell.self, models: { [:] as [Twin: [Person]] })
        #expect(throws: Refusal(.descriptionInvalid, "Two sections have the id \"twin\".")) { try binder.finish() }
    }

    @Test("A chain that provides models for a section outside its scope is refused")
    func modelsOutsideScope() throws {
        let binder = SectionedTableBinder(sectionedBy: Place.self)
        binder.onSections(.attending, .invited).bind(cellType: PlainCell.self, models: { [.bin: people("a")] })
        binder.onSection(.bin).bind(cellType: PlainCell.self, models: { people() })
        let refusal = try #require(throws: Refusal.self) { try binder.finish() }
        #expect(refusal.code == .sectionNotFound)
    }

    @Test("The table displays exactly the sections that the program has set, in their order")
    func displayedSections() throws {
        let binder = SectionedTableBinder(sectionedBy: Place.self)
        binder.onAllSections().bind(cellType: PlainCell.self, models: { [.attending: people("a"), .bin: people("b")] })
        try binder.finish()
        #expect(binder.displayedSections == [.attending, .invited, .bin])
        binder.displayedSections = [.bin, .attending]
        let before = binder.snapshot
        let update = try binder.refresh()
        #expect(try update.applied(to: before).json == binder.snapshot.json)
        #expect(binder.snapshot.sectionIDs == ["bin", "attending"] && binder.displayedSections == [.bin, .attending])
    }

    /// The running refresh must not discard them.
    @Test("Displayed sections that a closure sets during a refresh take effect with the next refresh")
    func sectionsSetByClosure() throws {
        let binder = SectionedTableBinder(sectionedBy: Place.self)
        var wanted: [Place]?
        binder.onAllSections().bind(
            cellType: PlainCell.self,
            models: { () -> [Place: [Person]] in
                if let places = wanted { binder.displayedSections = places }
                wanted = nil
                return [:]
            })
        try binder.finish()
        wanted = [.bin]
        try binder.refresh()
        #expect(binder.snapshot.sectionIDs == ["attending", "invited", "bin"] && binder.displayedSections == [.bin])
        try binder.refresh()
        #expect(binder.snapshot.sectionIDs == ["bin"])
    }

    @Test("Empty sections are hidden, and the others are ordered by their type or by a closure")
    func emptySections() throws {
        enum Ranked: Int, TableSection, Comparable, CaseIterable { case high = 3, low = 1, middle = 2 }
        for (behavior, expected) in [
            (SectionDisplayBehavior<Ranked>.hidesSectionsWithNoCellData, ["low", "high"]),
            (.hidesSectionsWithNoData, ["low", "middle", "high"]),
            (.hidesSectionsWithNoCellData(orderedWith: { $0.sorted(by: >) }), ["high", "low"]),
            (.hidesSectionsWithNoData(orderedWith: { $0.sorted(by: >) }), ["high", "middle", "low"]),
        ] {
            let binder = SectionedTableBinder(sectionedBy: Ranked.self)
            binder.sectionDisplayBehavior = behavior
            binder.onAllSections().bind(cellType: PlainCell.self, models: { [.high: people("a"), .low: people("b")] })
                .bind(headerTitles: [.middle: "M"])
            try binder.finish()
            #expect(binder.snapshot.sectionIDs == expected)
            binder.displayedSections = [.high]
            #expect(binder.displayedSections.map(\.sectionID.text) == expected)
            try binder.refresh()
            #expect(binder.snapshot.sectionIDs == expected)
        }
    }

    @Test("An order closure that omits sections is refused")
    func incompleteOrder() throws {
        let binder = SectionedTableBinder(sectionedBy: Place.self)
        binder.sectionDisplayBehavior = .hidesSectionsWithNoCellData(orderedWith: { _ in [] })
        binder.onAllSections().bind(cellType: PlainCell.self, models: { [.bin: people("a")] })
        #expect(throws: Refusal.self) { try binder.finish() }
    }

    @Test("Dynamic sections appear and disappear with their models")
    func dynamicSections() throws {
        struct Artist: TableSection { var name: String; var sectionID: SectionID { SectionID(name) } }
        let binder = SectionedTableBinder(sectionedBy: Artist.self)
        binder.sectionDisplayBehavior = .hidesSectionsWithNoCellData(orderedWith: { $0.sorted { $0.name < $1.name } })
        var songs: [Artist: [String]] = [Artist(name: "Bowie"): ["Heroes"]]
        binder.onAllSections().bind(cellType: PlainCell.self, models: { songs }).bind(headerTitle: { $0.name })
        try binder.finish()
        songs[Artist(name: "Arcade Fire")] = ["Rebellion"]
        let before = binder.snapshot, update = try binder.refresh()
        #expect(try update.applied(to: before).json == binder.snapshot.json)
        #expect(binder.snapshot.sectionIDs == ["Arcade Fire", "Bowie"])
        songs[Artist(name: "Bowie")] = nil
        try binder.refresh()
        #expect(binder.snapshot.sectionIDs == ["Arcade Fire"])
    }

    /// A dictionary has no order.
    @Test("Dynamic sections that appear together are ordered by their ids")
    func orderOfDynamicSections() throws {
        struct Letter: TableSection { var name: String; var sectionID: SectionID { SectionID(name) } }
        let binder = SectionedTableBinder(sectionedBy: Letter.self)
        binder.onAllSections().bind(
            cellType: PlainCell.self,
            models: { Dictionary(uniqueKeysWithValues: "hbdfaceg".map { (Letter(name: String($0)), ["1"]) }) })
        try binder.finish()
        #expect(binder.snapshot.sectionIDs == ["a", "b", "c", "d", "e", "f", "g", "h"])
        // Even one without models.
        binder.displayedSections = [Letter(name: "z"), Letter(name: "a")]
        try binder.refresh()
        #expect(binder.snapshot.sectionIDs == ["z", "a"])
    }

    /// As a dictionary of models does.
    @Test("Dynamic sections appear if `numberOfCells` returns a count for them")
    func dynamicSectionsByCount() throws {
        struct Shelf: TableSection { var name: String; var sectionID: SectionID { SectionID(name) } }
        let binder = SectionedTableBinder(sectionedBy: Shelf.self)
        var counts = [Shelf(name: "b"): 2]
        binder.onAllOtherSections().bind(
            cellProvider: { shelf, row in PlainCell(title: "\(shelf.name)\(row)") }, numberOfCells: { counts })
        binder.onSection(Shelf(name: "named")).bind(cellProvider: { _, _ in PlainCell() }, numberOfCells: { 1 })
        try binder.finish()
        #expect(binder.snapshot.sections.map { "\($0.id) \($0.rows.count)" } == ["named 1", "b 2"])
        counts[Shelf(name: "a")] = 3
        let before = binder.snapshot, update = try binder.refresh()
        #expect(try update.applied(to: before).json == binder.snapshot.json)
        #expect(binder.snapshot.sections.map { "\($0.id) \($0.rows.count)" } == ["named 1", "a 3", "b 2"])
        #expect(try (binder.cell(at: path(1, 1)) as? PlainCell)?.title == "a1")
    }
}
