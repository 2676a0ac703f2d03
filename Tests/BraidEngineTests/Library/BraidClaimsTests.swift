import Testing
@testable import BraidEngine

/// Claims of Braid's guide, comments and tests.
@Suite struct BraidClaimsTests {
    enum Letter: Int, TableSection, CaseIterable, Comparable { case first, second, third, fourth }

    // MARK: The five cell bindings, each for one section, several sections and all others

    struct NamedCell: ViewModelBindable {
        struct ViewModel: Equatable, CollectionIdentifiable {
            var id: String
            var collectionId: String { id }
        }
        var viewModel: ViewModel?
    }

    enum Way: CaseIterable { case models, viewModels, mappedModels, providedCells, numberOfCells }

    /// On one section, on two and on all others, with cells bound in one of the five ways.
    private func binder(_ way: Way, _ all: @escaping () -> [Letter: [String]]) throws -> SectionedTableBinder<Letter> {
        typealias Binder = SectionedTableBinder<Letter>
        let binder = Binder(sectionedBy: Letter.self)
        func models(_ sections: [Letter]) -> () -> [Letter: [String]] { { all().filter { sections.contains($0.key) } } }
        let chains: [(Binder.Chain, [Letter])] = [
            (binder.onSection(.first), [.first]), (binder.onSections(.second, .third), [.second, .third]),
            (binder.onAllOtherSections(), [.fourth]),
        ]
        for (chain, sections) in chains {
            let models = models(sections)
            switch way {
            case .models:
                chain.bind(cellType: PlainCell.self, models: models).onDequeue { _, _, cell, model in cell.title = model
                }
            case .viewModels:
                chain.bind(cellType: NamedCell.self, viewModels: { models().mapValues { $0.map { .init(id: $0) } } })
            case .mappedModels: chain.bind(cellType: NamedCell.self, models: models, mapToViewModels: { .init(id: $0) })
            case .providedCells: chain.bind(cellProvider: { _, _, model in PlainCell(title: model) }, models: models)
            case .numberOfCells:
                chain.bind(
                    cellProvider: { section, row in PlainCell(title: all()[section]?[row] ?? "none") },
                    numberOfCells: { models().mapValues(\.count) })
            }
        }
        binder.displayedSections = Letter.allCases
        try binder.finish()
        return binder
    }

    private func titles(_ binder: SectionedTableBinder<Letter>) throws -> [[String]] {
        try binder.snapshot.sections.enumerated().map { section, content in
            try content.rows.indices.map { row in
                let cell = try binder.cell(at: path(section, row))
                return (cell as? PlainCell)?.title ?? (cell as? NamedCell)?.viewModel?.id ?? "none"
            }
        }
    }

    @Test("In each way of binding, cells show the bound values and follow their changes", arguments: Way.allCases)
    func boundValues(way: Way) throws {
        var models: [Letter: [String]] = [
            .first: ["1-1"], .second: ["2-1", "2-2"], .third: ["3-1", "3-2", "3-3"],
            .fourth: ["4-1", "4-2", "4-3", "4-4"],
        ]
        let binder = try binder(way) { models }
        #expect(try titles(binder) == Letter.allCases.map { models[$0] })
        for next in [
            [
                .first: ["1-1", "1-2"], .second: ["2-1", "2-2*"], .third: ["3-1", "3-2"],
                .fourth: ["4-2*", "4-3", "4-1"],
            ],
            [.second: ["2-1", "2-2*", "2-3"], .third: ["3-1"], .fourth: ["4-3"]],
        ] as [[Letter: [String]]] {
            models = next
            let before = binder.snapshot, update = try binder.refresh()
            #expect(try update.applied(to: before).json == binder.snapshot.json)
            #expect(try titles(binder) == Letter.allCases.map { models[$0] ?? [] })
        }
    }

    @Test("A refresh of cells without models has an empty update if the number of cells is the same")
    func cellsWithoutModels() throws {
        var models: [Letter: [String]] = [.first: ["a", "b"]]
        let binder = try binder(.numberOfCells) { models }
        models[.first] = ["x", "y"]
        #expect(try binder.refresh().isEmpty)
        #expect(try titles(binder)[0] == ["x", "y"])
    }

    // MARK: Titles and views

    /// A later title does not replace the view.
    @Test("If equally specific chains bind a view and a title to a header, the view is used, in any order")
    func viewAndTitle() throws {
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
        // Binds a title later.
        binder.onSection(.second).bind(headerTitle: "wrong")
        try binder.finish()
        #expect(
            try (0..<4).map { try (binder.headerView(ofSection: $0) as? Banner)?.viewModel?.text } == [
                "H1", "H2", "H2", "H4",
            ])
        #expect(try (binder.footerView(ofSection: 0) as? Banner)?.viewModel?.text == "F1")
    }

    @Test("If a bound header view has no view model, there is no header, even if a title is bound")
    func viewWithoutViewModel() throws {
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

    @Test("A title that is bound to one section replaces a view of `onAllSections`")
    func titleOfOneSection() throws {
        let binder = SectionedTableBinder(sectionedBy: Letter.self)
        binder.onAllSections()
            .bind(cellType: PlainCell.self, models: { [:] as [Letter: [Person]] })
            .bind(headerType: Banner.self, viewModel: { _ in .init(text: "H") })
        binder.onSection(.second).bind(headerTitle: "title")
        try binder.finish()
        #expect(binder.snapshot.sections[1].header["title"]?.stringValue == "title")
        #expect(try (binder.headerView(ofSection: 0) as? Banner)?.viewModel?.text == "H")
    }

    @Test("Titles that closures return appear, change and disappear with a refresh")
    func titlesOfClosures() throws {
        let binder = SectionedTableBinder(sectionedBy: Letter.self)
        var headers: [Letter: String] = [.first: "H1", .second: "H2", .third: "H3", .fourth: "H4"],
            footers = headers.mapValues { "F\($0.suffix(1))" }
        binder.onSection(.first).bind(headerTitle: { headers[$0] }).bind(footerTitle: { footers[$0] }).bind(
            cellType: PlainCell.self, models: { people() })
        binder.onSections(.second, .third).bind(headerTitle: { headers[$0] }).bind(footerTitle: { footers[$0] })
            .bind(cellType: PlainCell.self, models: { [:] as [Letter: [Person]] })
        binder.onAllOtherSections().bind(headerTitle: { headers[$0] }).bind(footerTitle: { footers[$0] })
            .bind(cellType: PlainCell.self, models: { [:] as [Letter: [Person]] })
        try binder.finish()
        func titles(_ part: (Section) -> JSONText) -> [String?] {
            binder.snapshot.sections.map { part($0)["title"]?.stringValue }
        }
        #expect(titles(\.header) == ["H1", "H2", "H3", "H4"] && titles(\.footer) == ["F1", "F2", "F3", "F4"])
        (headers, footers) = ([.first: "H1*", .third: "H3"], [.second: "F2*"])
        try binder.refresh()
        #expect(titles(\.header) == ["H1*", nil, "H3", nil] && titles(\.footer) == [nil, "F2*", nil, nil])
    }

    // MARK: Display

    /// They must not wait for the next refresh.
    @Test("Sections that are set before `finish()` are displayed from the start")
    func sectionsSetBeforeFinish() throws {
        let binder = SectionedTableBinder(sectionedBy: Letter.self)
        binder.displayedSections = [.fourth, .first]
        binder.onAllSections().bind(cellType: PlainCell.self, models: { [.first: people("a"), .second: people("b")] })
        try binder.finish()
        #expect(binder.snapshot.sectionIDs == ["fourth", "first"] && binder.displayedSections == [.fourth, .first])
        #expect(try binder.refresh().isEmpty)
        // Displays none until the program sets others.
        let empty = SectionedTableBinder(sectionedBy: Letter.self)
        empty.displayedSections = []
        empty.onAllSections().bind(cellType: PlainCell.self, models: { [.first: people("a")] })
        try empty.finish()
        #expect(empty.snapshot.sections.isEmpty && empty.displayedSections.isEmpty)
        empty.displayedSections = [.first]
        try empty.refresh()
        #expect(empty.snapshot.ids == [["a"]])
    }

    @Test("Dynamic sections that are set before `finish()` are displayed from the start")
    func dynamicSectionsSetBeforeFinish() throws {
        let binder = SectionedTableBinder(sectionedBy: SectionID.self)
        binder.displayedSections = ["z", "a"]
        binder.onAllSections().bind(cellType: PlainCell.self, models: { ["a": people("a"), "b": people("b")] })
        try binder.finish()
        #expect(binder.snapshot.sections.map { "\($0.id)\($0.rows.count)" } == ["z0", "a1"])
    }

    @Test("A list of displayed sections that names a section twice is refused")
    func noSectionIsDisplayedTwice() throws {
        let binder = SectionedTableBinder(sectionedBy: Letter.self)
        binder.onAllSections().bind(cellType: PlainCell.self, models: { [.first: people("a")] })
        binder.displayedSections = [.first, .first]
        #expect(throws: Refusal.self) { try binder.finish() }
        binder.displayedSections = [.first]
        try binder.finish()
        binder.displayedSections = [.second, .first, .second]
        let refusal = try #require(throws: Refusal.self) { try binder.refresh() }
        #expect(refusal.detail.contains("twice"))
        #expect(binder.snapshot.sectionIDs == ["first"] && binder.displayedSections == [.first])
        try binder.refresh()
    }

    @Test("Displayed sections that were set before the behavior became automatic have no effect")
    func changedBehavior() throws {
        let binder = SectionedTableBinder(sectionedBy: Letter.self)
        binder.displayedSections = [.fourth]
        binder.sectionDisplayBehavior = .hidesSectionsWithNoCellData
        binder.onAllSections().bind(cellType: PlainCell.self, models: { [.second: people("b"), .first: people("a")] })
        try binder.finish()
        #expect(binder.snapshot.sectionIDs == ["first", "second"] && binder.displayedSections == [.first, .second])
    }

    @Test(
        "Depending on the behavior, sections are hidden if they have no rows, or if they have no rows and no titles",
        arguments: [false, true])
    func hiddenSections(titlesCount: Bool) throws {
        let binder = SectionedTableBinder(sectionedBy: Letter.self)
        var models: [Letter: [String]] = [
            .first: ["1"], .second: ["1", "2"], .third: ["1", "2", "3"], .fourth: ["1", "2", "3", "4"],
        ]
        var headers: [Letter: String] = [.first: "H1", .second: "H2", .third: "H3", .fourth: "H4"], footers = headers
        let ascending: ([Letter]) -> [Letter] = { $0.sorted { $0.rawValue < $1.rawValue } }
        binder.sectionDisplayBehavior =
            titlesCount
            ? .hidesSectionsWithNoData(orderedWith: ascending) : .hidesSectionsWithNoCellData(orderedWith: ascending)
        binder.onSection(.first).bind(headerTitle: { headers[$0] }).bind(footerTitle: { footers[$0] })
            .bind(cellType: PlainCell.self, models: { models[.first] ?? [] })
        binder.onAllOtherSections().bind(headerTitle: { headers[$0] }).bind(footerTitle: { footers[$0] })
            .bind(cellType: PlainCell.self, models: { models.filter { $0.key != .first } })
        try binder.finish()
        #expect(binder.snapshot.sections.map(\.rows.count) == [1, 2, 3, 4])
        (headers, footers) = ([.second: "H2"], [.fourth: "F4"])
        (models[.second], models[.third]) = ([], [])
        let before = binder.snapshot, update = try binder.refresh()
        #expect(try update.applied(to: before).json == binder.snapshot.json)
        #expect(binder.displayedSections == (titlesCount ? [.first, .second, .fourth] : [.first, .fourth]))
        #expect(binder.snapshot.sections.map(\.rows.count) == (titlesCount ? [1, 0, 4] : [1, 4]))
        #expect(
            binder.snapshot.sections.map { $0.header["title"]?.stringValue }
                == (titlesCount ? [nil, "H2", nil] : [nil, nil]))
        #expect(binder.snapshot.sections.last?.footer["title"]?.stringValue == "F4")
    }

    // MARK: Sections

    /// Another title does not make it another section.
    @Test("A section whose type is an identifiable struct is identified by its `collectionId`")
    func identifiableSection() throws {
        struct Shelf: TableSection, CollectionIdentifiable {
            var collectionId: String
            var title: String
        }
        let binder = SectionedTableBinder(sectionedBy: Shelf.self)
        var title = "Stores"
        binder.onAllSections().bind(
            cellType: PlainCell.self, models: { [Shelf(collectionId: "stores", title: title): people("a")] }
        )
        .bind(headerTitle: { $0.title })
        try binder.finish()
        #expect(binder.snapshot.sectionIDs == ["stores"])
        title = "Stores near you"
        let update = try binder.refresh()
        #expect(
            update.stages.map { [$0.updateSections.count, $0.insertSections.count, $0.deleteSections.count] } == [
                [1, 0, 0]
            ])
    }

    @Test("The id of a section in an enum is its raw text or its case name, even if the enum is identifiable")
    func enumSection() {
        enum Text: String, TableSection, CollectionIdentifiable { case one = "eins" }
        enum Number: Int, TableSection, CollectionIdentifiable { case one = 1 }
        #expect(Text.one.sectionID == "eins" && Number.one.sectionID == "one")
    }

    // MARK: Mistakes that terminate a program with Braid

    /// It has no effect, so the next command reports it.
    @Test("A chain that is bound after `finish()` makes later commands fail")
    func chainAfterFinish() throws {
        for late in [{ $0.onSection(.first).onTapped { _, _ in } }, { $0.onAnySection() }]
            as [(SectionedTableBinder<Letter>) -> Any]
        {
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

    @Test("`finish()` refuses a chain whose list of sections is empty")
    func chainWithoutSections() throws {
        let binder = SectionedTableBinder(sectionedBy: Letter.self)
        binder.onAllSections().bind(cellType: PlainCell.self, models: { [:] as [Letter: [Person]] })
        binder.onSections([]).onTapped { _, _ in }
        let refusal = try #require(throws: Refusal.self) { try binder.finish() }
        #expect(refusal.detail.contains("no section"))
    }

    // MARK: Scopes

    @Test("Dimensions that a section's own chain does not give come from `onAnySection`")
    func missingDimensions() throws {
        let binder = SectionedTableBinder(sectionedBy: Letter.self)
        binder.onSection(.first).bind(cellType: PlainCell.self, models: { people("a") }).bind(headerTitle: "H").bind(
            footerTitle: "F"
        )
        .cellHeight { _, _ in 120 }.headerHeight { _ in 80 }
        binder.onSections(.second, .third).bind(
            cellType: PlainCell.self, models: { [.second: people("b"), .third: people("c")] }
        )
        .bind(headerTitle: "H").bind(footerTitle: "F")
        .cellHeight { section, _ in section == .second ? 90 : 70 }
        binder.onAllOtherSections().bind(cellType: PlainCell.self, models: { [:] as [Letter: [Person]] })
        binder.onAnySection().cellHeight { _, _ in 200 }.headerHeight { _ in 50 }.footerHeight { _ in 50 }
        binder.displayedSections = [.first, .second, .third]
        try binder.finish()
        let heights = binder.snapshot.sections.map {
            [$0.rows[0].json["height"], $0.header["height"], $0.footer["height"]].map { $0?.text }
        }
        #expect(heights == [["120", "80", "50"], ["90", "50", "50"], ["70", "50", "50"]])
        // Without a header there is no header height.
        binder.displayedSections = [.fourth]
        try binder.refresh()
        #expect(binder.snapshot.sections[0].header.isNull)
    }

    @Test("Handlers of `onAllOtherSections` do not apply to a section whose cells another chain binds")
    func handlersOfOtherSections() throws {
        let binder = SectionedTableBinder(sectionedBy: Letter.self)
        var taps: [String] = []
        binder.onSection(.first).bind(cellType: PlainCell.self, models: { people("a") })
        binder.onAllOtherSections().bind(
            cellType: PlainCell.self, models: { [.second: people("b"), .third: people("c")] }
        )
        .onTapped { section, _ in taps.append("other \(section)") }
        // It binds no cells, so those of `onAllOtherSections` stay.
        binder.onSection(.third).onTapped { section, _ in taps.append("own \(section)") }
        try binder.finish()
        for section in 0..<3 { try binder.tap(at: path(section, 0)) }
        #expect(taps == ["other second", "own third"])
    }

    // MARK: Types with the same name

    enum Cart {
        struct Item: ViewEventEmitting {
            enum ViewEvent { case removed }
        }
        struct Header: ViewModelBindable {
            struct ViewModel: Equatable { var count: Int }
            var viewModel: ViewModel?
        }
    }

    enum Offers {
        struct Item: ViewEventEmitting {
            enum ViewEvent { case added(Int) }
        }
        struct Header: ViewModelBindable {
            struct ViewModel: Equatable { var title: String }
            var viewModel: ViewModel?
        }
    }

    @Test("If two cell types have the same name, their events reach the handlers of the right type")
    func equalCellNames() throws {
        let binder = TableBinder()
        var heard: [String] = []
        binder.onTable().bind(
            cellProvider: { _, row, _ -> any ReuseIdentifiable in row == 0 ? Cart.Item() : Offers.Item() },
            models: { ["a", "b"] }
        )
        .onEvent(from: Cart.Item.self) { _, row, event in heard.append("\(row) \(event)") }
        .onEvent(from: Offers.Item.self) { _, row, event in heard.append("\(row) \(event)") }
        try binder.finish()
        try binder.emit(Cart.Item.ViewEvent.removed, at: 0)
        try binder.emit(Offers.Item.ViewEvent.added(2), at: 1)
        #expect(heard == ["0 removed", "1 added(2)"])
        #expect(throws: Refusal.self) { try binder.emit(Offers.Item.ViewEvent.added(2), at: 0) }
    }

    @Test("If two header view types have the same name, each section shows the type that was bound")
    func equalViewNames() throws {
        let binder = SectionedTableBinder(sectionedBy: Letter.self)
        binder.onAllSections().bind(cellType: PlainCell.self, models: { [:] as [Letter: [Person]] })
        binder.onSection(.first).bind(headerType: Cart.Header.self, viewModel: { _ in .init(count: 2) })
        binder.onSection(.second).bind(headerType: Offers.Header.self, viewModel: { _ in .init(title: "T") }).bind(
            footerType: Cart.Header.self, viewModel: { _ in .init(count: 3) })
        try binder.finish()
        #expect(try (binder.headerView(ofSection: 0) as? Cart.Header)?.viewModel?.count == 2)
        #expect(try (binder.headerView(ofSection: 1) as? Offers.Header)?.viewModel?.title == "T")
        #expect(try (binder.footerView(ofSection: 1) as? Cart.Header)?.viewModel?.count == 3)
    }

    // MARK: Updates

    @Test("Rows with `updates(manually: true)` are updated, but not reloaded")
    func manualUpdates() throws {
        let binder = TableBinder()
        var models = people("a", "b")
        binder.onTable().bind(cellType: PlainCell.self, models: { models }).updates(manually: true)
        try binder.finish()
        models[1].taps = 1
        models.insert(contentsOf: people("c"), at: 0)
        let stages = try binder.refresh().stages
        #expect(
            stages.flatMap(\.reloadRows).isEmpty && stages.flatMap(\.updateRows).count == 1
                && stages.flatMap(\.insertRows).count == 1)
    }

    @Test("Models whose static type is not identifiable are not moved, even if the values are identifiable")
    func staticModelType() throws {
        let binder = TableBinder()
        var models: [Any] = people("a", "b")
        binder.onTable().bind(
            cellProvider: { _, _, model in PlainCell(title: model is Person ? "person" : "other") }, models: { models })
        try binder.finish()
        models = Array(models.reversed())
        #expect(try binder.refresh().stages.map { [$0.reloadSections.count, $0.moveRows.count] } == [[1, 0]])
    }

    // MARK: Editing and moving

    @Test("Rows can be moved only where the chains of their sections allow it")
    func allowedMoves() throws {
        let binder = SectionedTableBinder(sectionedBy: Letter.self)
        var models: [Letter: [Person]] = [
            .first: people("a"), .second: people("b", "c"), .third: people("d", "e", "f"), .fourth: people("g"),
        ]
        binder.onSection(.first).bind(cellType: PlainCell.self, models: { models[.first] ?? [] })
        binder.onSections(.second, .third).bind(
            cellType: PlainCell.self, models: { models.filter { $0.key == .second || $0.key == .third } }
        )
        .allowMoving(.toSectionsIn([.second, .third]))
        .onDelete { section, row, _, _ in models[section]?.remove(at: row) }
        .onInsert { section, row, _, person in models[section]?.insert(try #require(person), at: row) }
        binder.onAllOtherSections().bind(cellType: PlainCell.self, models: { models.filter { $0.key == .fourth } })
        try binder.finish()
        #expect(
            binder.snapshot.sections.map { $0.movesTo?.text } == [
                nil, #"["second","third"]"#, #"["second","third"]"#, nil,
            ])
        for (from, to) in [
            (path(0, 0), path(1, 0)), (path(3, 0), path(1, 0)), (path(1, 0), path(0, 0)), (path(2, 0), path(3, 0)),
        ] {
            let refusal = try #require(throws: Refusal.self) { try binder.move(from: from, to: to) }
            #expect(refusal.code == .moveNotAllowed)
        }
        try binder.move(from: path(1, 0), to: path(2, 3))
        try binder.move(from: path(2, 0), to: path(2, 2))
        #expect(binder.snapshot.ids == [["a"], ["c"], ["e", "f", "d", "b"], ["g"]])
    }

    @Test("A move calls `onDelete` and then `onInsert`, with row indexes that the program can use as they are")
    func moveHandlers() throws {
        let binder = SectionedTableBinder(sectionedBy: Letter.self)
        var models: [Letter: [Person]] = [.first: people("a", "b", "c"), .second: people("d")], calls: [String] = []
        binder.onAllSections().bind(cellType: PlainCell.self, models: { models }).allowMoving(.toAnySection)
            .onDelete { section, row, reason, person in
                calls.append("delete \(section) \(row) \(reason) \(person.id)")
                models[section, default: []].remove(at: row)
            }
            .onInsert { section, row, reason, person in
                calls.append("insert \(section) \(row) \(reason) \(person?.id ?? "-")")
                if let person { models[section, default: []].insert(person, at: row) }
            }
        try binder.finish()
        try binder.move(from: path(0, 0), to: path(0, 2))
        try binder.move(from: path(0, 2), to: path(1, 1))
        #expect(
            calls == [
                "delete first 0 moved(toSection: \(Letter.first.reflected), row: 2) a",
                "insert first 2 moved(fromSection: \(Letter.first.reflected), row: 0) a",
                "delete first 2 moved(toSection: \(Letter.second.reflected), row: 1) a",
                "insert second 1 moved(fromSection: \(Letter.first.reflected), row: 2) a",
            ])
        #expect(binder.snapshot.ids == [["b", "c"], ["d", "a"], [], []])
        // To its own place, no handlers run.
        #expect(try binder.move(from: path(0, 1), to: path(0, 1)).isEmpty)
        #expect(calls.count == 4)
    }

    @Test("Rows without models cannot be edited")
    func rowsWithoutModels() throws {
        let binder = TableBinder()
        binder.onTable().bind(cellProvider: { _, _ in PlainCell() }, numberOfCells: { 2 }).allowEditing()
        try binder.finish()
        let refusal = try #require(throws: Refusal.self) { try binder.commit(.delete, at: 0) }
        #expect(refusal.code == .editingNotAllowed)
    }
}

extension BraidClaimsTests.Letter {
    /// As in the text of a `reason`.
    fileprivate var reflected: String { String(reflecting: self) }
}
