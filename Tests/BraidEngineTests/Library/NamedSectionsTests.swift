import Testing
@testable import BraidEngine

/// Sections that are not `CaseIterable` exist if chains or dictionaries name them.
@Suite struct NamedSectionsTests {
    enum Step: Int, TableSection, Comparable { case first, second }

    typealias Behavior = SectionDisplayBehavior<Step>

    /// Two sections with headers. Every refresh calls `models` again.
    private func binder(_ behavior: Behavior, _ models: @escaping (Step) -> [String]) throws -> SectionedTableBinder<
        Step
    > {
        let binder = SectionedTableBinder(sectionedBy: Step.self)
        binder.sectionDisplayBehavior = behavior
        binder.onSection(.second).bind(cellType: PlainCell.self, models: { models(.second) }).bind(
            headerTitle: "SECOND")
        binder.onSection(.first).bind(cellType: PlainCell.self, models: { models(.first) }).bind(headerTitle: "FIRST")
        try binder.finish()
        return binder
    }

    @Test("A section that a chain names exists even if it never had a model")
    func boundSectionsAreThere() throws {
        for (behavior, expected) in [
            (.hidesSectionsWithNoData, [.first, .second]), (.hidesSectionsWithNoCellData, [.first]),
            (.manuallyManaged, [.second, .first]),
        ] as [(Behavior, [Step])] {
            let binder = try binder(behavior) { $0 == .first ? ["m"] : [] }
            #expect(binder.displayedSections == expected)
        }
    }

    @Test(
        "The displayed sections depend only on the current models, not on the sections displayed before",
        arguments: 0..<3)
    func historyDoesNotCount(kind: Int) throws {
        let behaviors: [Behavior] = [.manuallyManaged, .hidesSectionsWithNoCellData, .hidesSectionsWithNoData]
        let sets: [[Step: [String]]] = [
            [:], [.first: ["a"]], [.second: ["b"]], [.first: ["a"], .second: ["b"]], [.second: []],
            [.first: [], .second: ["b"]],
        ]
        func binder(_ models: @escaping () -> [Step: [String]]) throws -> SectionedTableBinder<Step> {
            let binder = SectionedTableBinder(sectionedBy: Step.self)
            binder.sectionDisplayBehavior = behaviors[kind]
            binder.onAllSections().bind(cellType: PlainCell.self, models: models).bind(headerTitle: { "\($0)" })
            try binder.finish()
            return binder
        }
        for (before, after) in sets.flatMap({ before in sets.map { (before, $0) } }) {
            var models = before
            let changed = try binder { models }, fresh = try binder { after }
            models = after
            let shown = changed.snapshot, update = try changed.refresh()
            #expect(changed.displayedSections == fresh.displayedSections, "\(before) to \(after)")
            #expect(try update.applied(to: shown).json == changed.snapshot.json)
        }
    }

    @Test("A dictionary of models, cell counts or titles names its sections, even with empty values")
    func dictionariesNameSections() throws {
        func sections(_ bind: (SectionedTableBinder<Step>.Chain) -> Void) throws -> [Step] {
            let binder = SectionedTableBinder(sectionedBy: Step.self)
            bind(binder.onAllSections())
            try binder.finish()
            return binder.displayedSections
        }
        #expect(try sections { $0.bind(cellType: PlainCell.self, models: { [.second: [] as [String]] }) } == [.second])
        #expect(
            try sections { $0.bind(cellProvider: { _, _ in PlainCell() }, numberOfCells: { [.second: 0] }) } == [
                .second
            ])
        #expect(
            try sections {
                $0.bind(cellType: PlainCell.self, models: { [:] as [Step: [String]] }).bind(headerTitles: [.first: "F"])
                    .bind(footerTitles: [.second: "S"])
            } == [.first, .second])
    }

    @Test("A section is displayed if its own chain binds `numberOfCells`, even if the number is 0")
    func noCells() throws {
        let binder = SectionedTableBinder(sectionedBy: Step.self)
        binder.onSection(.first).bind(cellProvider: { _, _ in PlainCell() }, numberOfCells: { 0 })
        try binder.finish()
        #expect(binder.displayedSections == [.first])
    }

    @Test("A row can be moved into a section that never had a row")
    func draggingIntoAnEmptySection() throws {
        let binder = SectionedTableBinder(sectionedBy: Step.self)
        var models: [Step: [Person]] = [.first: people("a")]
        binder.onSections(.first, .second).bind(cellType: PlainCell.self, models: { models })
            .allowMoving(.toAnySection)
            .onDelete { section, row, _, _ in models[section]?.remove(at: row) }
            .onInsert { section, row, _, person in models[section, default: []].insert(try #require(person), at: row) }
        try binder.finish()
        try binder.move(from: path(0, 0), to: path(1, 0))
        #expect(binder.snapshot.ids == [[], ["a"]])
        try binder.move(from: path(1, 0), to: path(0, 0))
        #expect(binder.snapshot.ids == [["a"], []])
    }

    @Test("With automatic display, sections of a Comparable type are displayed in the order of that type")
    func defaultOrder() throws {
        enum Rank: Int, TableSection, Comparable { case high = 3, low = 1, middle = 2 }
        let binder = SectionedTableBinder(sectionedBy: Rank.self)
        binder.sectionDisplayBehavior = .hidesSectionsWithNoData
        binder.onSections(.high, .middle, .low).bind(cellType: PlainCell.self, models: { [:] as [Rank: [String]] })
            .bind(headerTitle: "H")
        try binder.finish()
        #expect(binder.displayedSections == [.low, .middle, .high])
    }

    @Test("`finish()` refuses a section whose cells no chain binds")
    func unboundSection() throws {
        let binder = SectionedTableBinder(sectionedBy: Step.self)
        binder.onSection(.first).bind(cellType: PlainCell.self, models: { people("a") })
        binder.onSection(.second).bind(headerTitle: "S")
        let refusal = try #require(throws: Refusal.self) { try binder.finish() }
        #expect(refusal.detail.contains("\"second\""))
    }
}
