import Testing
@testable import BraidEngine

/// The examples of Braid's guide: editing, moving, cell events, updates, display.
@Suite struct BraidGuideTests {
    enum Part: Int, TableSection, Comparable { case top, middle, bottom }

    // MARK: Deleting, inserting and moving

    @Test("In a table without sections, the delete and insert handlers may omit the model parameter")
    func editingWithoutTheModel() throws {
        let binder = TableBinder()
        var names = ["a", "b", "c"]
        binder.onTable().bind(cellType: PlainCell.self, models: { names })
            .onDequeue { _, _, cell, name in cell.title = name }
            .allowEditing(styleForRow: { _, row in row == 0 ? .insert : .delete })
            .onDelete { _, row, _ in names.remove(at: row) }
            .onInsert { _, row, _ in names.insert("new", at: row) }
        try binder.finish()
        try binder.commit(.delete, at: 2)
        try binder.commit(.insert, at: 0)
        #expect(names == ["new", "a", "b"])
        #expect(try (binder.cell(at: 0) as? PlainCell)?.title == "new")
    }

    struct Guest: Equatable, CollectionIdentifiable { var collectionId: String }
    struct Dish: Equatable, CollectionIdentifiable { var collectionId: String }

    /// Guests and dishes, which can be moved between their sections.
    private final class Dinner {
        var guests = [Guest(collectionId: "Omar")], dishes = [Dish(collectionId: "soup"), Dish(collectionId: "pie")]
        let binder = SectionedTableBinder(sectionedBy: Part.self)
        var reasons: [String] = []

        init(_ policy: MovementPolicy<Part>, takesModels: Bool) throws {
            binder.onSection(.top).bind(cellType: PlainCell.self, models: { [unowned self] in guests }).allowMoving(
                policy
            )
            .onDelete { [unowned self] _, row, reason, guest in
                reasons.append("\(guest.collectionId) \(reason)")
                guests.remove(at: row)
            }
            .onInsert { [unowned self] _, row, reason in
                reasons.append("\(reason)")
                guests.insert(Guest(collectionId: "cook"), at: row)
            }
            let dishChain = binder.onSection(.bottom).bind(
                cellType: OtherCell.self, models: { [unowned self] in dishes }
            ).allowMoving(policy)
                .onDelete { [unowned self] _, row, _ in dishes.remove(at: row) }
            if takesModels {
                dishChain.onInsert { [unowned self] _, row, _, dish in dishes.insert(try #require(dish), at: row) }
            } else {
                dishChain.onInsert { [unowned self] _, row, _ in dishes.insert(Dish(collectionId: "salad"), at: row) }
            }
            try binder.finish()
        }
    }

    @Test(
        "A row can move to a section with another model type if the section's `onInsert` omits the model",
        arguments: [false, true])
    func movingBetweenTypes(isByPolicy: Bool) throws {
        let dinner = try Dinner(isByPolicy ? .toSectionsPassing { _ in true } : .toAnySection, takesModels: false),
            binder = dinner.binder
        if isByPolicy {
            #expect(binder.snapshot.sections.map { $0.movesTo?.text } == [#"["top","bottom"]"#, #"["top","bottom"]"#])
        }
        var before = binder.snapshot
        var update = try binder.move(from: path(0, 0), to: path(1, 1))
        #expect(try update.applied(to: before).json == binder.snapshot.json)
        #expect(binder.snapshot.ids == [[], ["soup", "salad", "pie"]])
        before = binder.snapshot
        update = try binder.move(from: path(1, 2), to: path(0, 0))
        #expect(try update.applied(to: before).json == binder.snapshot.json)
        #expect(binder.snapshot.ids == [["cook"], ["soup", "salad"]])
        #expect(
            dinner.reasons.count == 2 && dinner.reasons[0].contains("Omar moved") && dinner.reasons[1].contains("moved")
        )
    }

    @Test("A row cannot move to a section with another model type if the section's `onInsert` receives the model")
    func moveBetweenModelTypes() throws {
        let dinner = try Dinner(.toSectionsPassing { _ in true }, takesModels: true), before = dinner.binder.snapshot
        #expect(before.sections.map { $0.movesTo?.text } == [#"["top"]"#, #"["top","bottom"]"#])
        let refusal = try #require(throws: Refusal.self) { try dinner.binder.move(from: path(0, 0), to: path(1, 0)) }
        #expect(refusal.code == .modelTypeMismatch)
        #expect(dinner.binder.snapshot.json == before.json && dinner.reasons.isEmpty)
        try dinner.binder.move(from: path(1, 0), to: path(0, 1))
        #expect(dinner.binder.snapshot.ids == [["Omar", "cook"], ["pie"]])
    }

    // MARK: Cell events

    @Test("In a form with several cell types, each event reaches its handler with the item that the cell shows")
    func formEvents() throws {
        enum Field: Int, CollectionIdentifiable { case name, mail, letters }
        struct Switch: ViewEventEmitting { enum ViewEvent { case flipped(Bool) } }
        let binder = SectionedTableBinder(sectionedBy: Part.self)
        var fields: [Field] = [.name, .letters], heard: [String] = []
        binder.onSection(.middle)
            .bind(
                cellProvider: { _, _, field -> any ReuseIdentifiable in field == .letters ? Switch() : TextCell() },
                models: { fields }
            )
            .onEvent(from: TextCell.self) { _, _, event, field in
                if case .textEntered(let text) = event { heard.append("\(field) \(text)") }
            }
            .onEvent(from: Switch.self) { _, row, event in
                if case .flipped(let isOn) = event { heard.append("\(row) \(isOn)") }
            }
        try binder.finish()
        try binder.emit(TextCell.ViewEvent.textEntered("Omar"), at: path(0, 0))
        try binder.emit(Switch.ViewEvent.flipped(true), at: path(0, 1))
        #expect(heard == ["name Omar", "1 true"])
        fields.insert(.mail, at: 1)
        #expect(try binder.refresh().stages.flatMap(\.insertRows).map(\.at) == [path(0, 1)])
    }

    // MARK: Updating

    private typealias Update<Value> = (Value) -> Void

    @Test("A program can replace bound plain values through the closures that `updatedWith` provides")
    func updateHandlers() throws {
        var one: Update<[Person]>?, several: Update<[Part: [Person]]>?
        let binder = SectionedTableBinder(sectionedBy: Part.self)
        binder.onSection(.top).bind(cellType: PlainCell.self, models: people("a"), updatedWith: { one = $0 })
        binder.onSections([.middle, .bottom])
            .bind(
                cellType: OtherCell.self, models: [.middle: people("b"), .bottom: people("c")],
                updatedWith: { several = $0 })
        // Replaced before `finish()` made the table.
        one?(people("a", "d"))
        try binder.finish()
        #expect(binder.snapshot.ids == [["a", "d"], ["b"], ["c"]])
        one?(people("d"))
        #expect(binder.snapshot.ids == [["d"], ["b"], ["c"]])
        several?([.bottom: people("b", "c")])
        #expect(binder.snapshot.ids == [["d"], [], ["b", "c"]])
        // The table stays as it was, and the next command reports the error.
        one?(people("x", "x"))
        #expect(binder.snapshot.ids == [["d"], [], ["b", "c"]])
        #expect(throws: Refusal.self) { try binder.refresh() }
        one?([])
        #expect(binder.snapshot.ids == [[], [], ["b", "c"]])
    }

    @Test("If a handler replaces a bound value, the command's own update contains the change")
    func updateHandlersWithinHandlers() throws {
        var replace: Update<[Person]>?
        let binder = TableBinder()
        binder.onTable().bind(cellType: PlainCell.self, models: people("a"), updatedWith: { replace = $0 }).onTapped {
            _, _ in replace?(people("a", "b"))
        }
        try binder.finish()
        #expect(try binder.tap(at: 0).stages.flatMap(\.insertRows).map(\.at) == [path(0, 1)])
    }

    @Test("Every way of binding cells accepts plain values with `updatedWith`")
    func plainValues() throws {
        let person = PersonCell.ViewModel(title: "t")
        func counts(_ bind: (SectionedTableBinder<Part>.Chain) -> () -> Void) throws -> [[Int]] {
            let binder = SectionedTableBinder(sectionedBy: Part.self)
            let replace = bind(binder.onSection(.top))
            try binder.finish()
            let before = binder.snapshot.sections.map(\.rows.count)
            replace()
            return [before, binder.snapshot.sections.map(\.rows.count)]
        }
        var models: Update<[String]>?, byPart: Update<[Part: [String]]>?, views: Update<[PersonCell.ViewModel]>?
        var viewsByPart: Update<[Part: [PersonCell.ViewModel]]>?, count: Update<Int>?, counted: Update<[Part: Int]>?
        let ways: [(SectionedTableBinder<Part>.Chain) -> () -> Void] = [
            {
                $0.bind(cellType: PlainCell.self, models: ["a"], updatedWith: { models = $0 });
                return { models?(["a", "b"]) }
            },
            {
                $0.bind(cellType: PlainCell.self, models: [.top: ["a"]], updatedWith: { byPart = $0 });
                return { byPart?([.top: ["a", "b"]]) }
            },
            {
                $0.bind(cellType: PersonCell.self, viewModels: [person], updatedWith: { views = $0 });
                return { views?([person, person]) }
            },
            {
                $0.bind(cellType: PersonCell.self, viewModels: [.top: [person]], updatedWith: { viewsByPart = $0 });
                return { viewsByPart?([.top: [person, person]]) }
            },
            {
                $0.bind(
                    cellType: PersonCell.self, models: ["a"], mapToViewModels: { .init(title: $0) },
                    updatedWith: { models = $0 });
                return { models?(["a", "b"]) }
            },
            {
                $0.bind(
                    cellType: PersonCell.self, models: [.top: ["a"]], mapToViewModels: { .init(title: $0) },
                    updatedWith: { byPart = $0 });
                return { byPart?([.top: ["a", "b"]]) }
            },
            {
                $0.bind(cellProvider: { _, _, _ in PlainCell() }, models: ["a"], updatedWith: { models = $0 });
                return { models?(["a", "b"]) }
            },
            {
                $0.bind(cellProvider: { _, _, _ in PlainCell() }, models: [.top: ["a"]], updatedWith: { byPart = $0 });
                return { byPart?([.top: ["a", "b"]]) }
            },
            {
                $0.bind(cellProvider: { _, _ in PlainCell() }, numberOfCells: 1, updatedWith: { count = $0 });
                return { count?(2) }
            },
            {
                $0.bind(cellProvider: { _, _ in PlainCell() }, numberOfCells: [.top: 1], updatedWith: { counted = $0 });
                return { counted?([.top: 2]) }
            },
        ]
        for way in ways { #expect(try counts(way) == [[1], [2]]) }
        let binder = TableBinder()
        let names = ["a", "b"]
        binder.onTable().bind(cellType: PlainCell.self, models: names)
        try binder.finish()
        #expect(binder.snapshot.totalRowCount == 2)
    }

    @Test("Titles can be bound as plain values, dictionaries or closures, and can be replaced later")
    func titles() throws {
        var header: Update<String?>?, footers: Update<[Part: String?]>?, footer: String? = "closure"
        let binder = SectionedTableBinder(sectionedBy: Part.self)
        binder.onSections(.top, .middle).bind(cellType: PlainCell.self, models: [:] as [Part: [String]])
            .bind(headerTitle: "first", updatedWith: { header = $0 })
            .bind(footerTitles: [.top: "foot", .middle: nil], updatedWith: { footers = $0 })
        binder.onSection(.bottom).bind(cellType: PlainCell.self, models: [] as [String])
            .bind(headerTitle: "chain").bind(headerTitles: [.bottom: "own"]).bind(footerTitle: "chain").bind(
                footerTitles: { footer.map { [.bottom: $0] } ?? [:] })
        try binder.finish()
        func titles(_ part: (Section) -> JSONText) -> [String?] {
            binder.snapshot.sections.map { part($0)["title"]?.stringValue }
        }
        #expect(titles(\.header) == ["first", "first", "own"] && titles(\.footer) == ["foot", nil, "closure"])
        header?(nil)
        footers?([.middle: "other"])
        footer = nil
        try binder.refresh()
        #expect(titles(\.header) == [nil, nil, "own"] && titles(\.footer) == [nil, "other", "chain"])
    }

    @Test("Asynchronous sequences can provide the models of one section, the models of several sections, and titles")
    func sequences() async throws {
        let binder = SectionedTableBinder(sectionedBy: Part.self)
        let (one, first) = AsyncStream.makeStream(of: [String].self),
            (several, others) = AsyncStream.makeStream(of: [Part: [String]].self)
        let (titles, title) = AsyncStream.makeStream(of: String?.self)
        binder.onSection(.top).bind(cellType: PlainCell.self, models: one).bind(headerTitle: titles)
        binder.onSections([.middle, .bottom]).bind(cellType: PlainCell.self, models: several)
        try binder.finish()
        first.yield(["a"])
        others.yield([.bottom: ["b", "c"]])
        title.yield("T")
        first.finish()
        others.finish()
        title.finish()
        try await binder.observe()
        #expect(
            binder.snapshot.sections.map(\.rows.count) == [1, 0, 2]
                && binder.snapshot.sections[0].header["title"]?.stringValue == "T")
    }

    // MARK: Displaying

    @Test("A section without data is hidden, and is displayed when it gets rows")
    func sectionsHide() throws {
        for (behavior, expected) in [
            (SectionDisplayBehavior<Part>.hidesSectionsWithNoData, [[Part.top, .bottom], [.top], [.top, .bottom]]),
            (.hidesSectionsWithNoCellData, [[.top], [.top], [.top, .bottom]]),
        ] {
            var title: Update<String?>?, models: Update<[Int]>?
            let binder = SectionedTableBinder(sectionedBy: Part.self)
            binder.sectionDisplayBehavior = behavior
            binder.onSection(.bottom).bind(cellType: PlainCell.self, models: [] as [Int], updatedWith: { models = $0 })
                .bind(headerTitle: "BOTTOM", updatedWith: { title = $0 })
            binder.onSection(.top).bind(cellType: PlainCell.self, models: [1, 2, 3]).bind(headerTitle: "TOP")
            try binder.finish()
            var displayed = [binder.displayedSections]
            title?(nil)
            displayed.append(binder.displayedSections)
            models?([4])
            displayed.append(binder.displayedSections)
            #expect(displayed == expected)
        }
    }

    @Test("Sections are displayed in their type's order, or in the order of a closure")
    func sectionsAreOrdered() throws {
        enum Own: TableSection, Comparable {
            case light, heavy
            static func < (left: Own, right: Own) -> Bool { left == .heavy && right == .light }
        }
        enum Unordered: TableSection { case one, other }
        func displayed<S: TableSection>(_ behavior: SectionDisplayBehavior<S>, _ sections: [S]) throws -> [S] {
            let binder = SectionedTableBinder(sectionedBy: S.self)
            binder.sectionDisplayBehavior = behavior
            binder.onSections(sections).bind(
                cellType: PlainCell.self, models: Dictionary(uniqueKeysWithValues: sections.map { ($0, ["m"]) }))
            try binder.finish()
            return binder.displayedSections
        }
        #expect(try displayed(.hidesSectionsWithNoCellData, [Own.light, .heavy]) == [.heavy, .light])
        #expect(
            try displayed(.hidesSectionsWithNoCellData(orderedWith: { $0.reversed() }), [Unordered.one, .other]) == [
                .other, .one,
            ])
        #expect(
            try displayed(.hidesSectionsWithNoData(orderedWith: { $0.reversed() }), [Unordered.one, .other]) == [
                .other, .one,
            ])
    }
}
