// Formatted by hand, because pages show its snippets.
// swift-format-ignore-file
import BraidEngine
import Testing

@Suite struct BindingChainScopesTests {
    struct FirstCell: ReuseIdentifiable { var title = "" }
    struct SecondCell: ReuseIdentifiable { var title = "" }
    struct ThirdCell: ReuseIdentifiable { var title = "" }

    // snippet: section
    enum Section: String, TableSection, CaseIterable { case first, second, third, fourth }
    // end

    @Test("The scopes of one section, of several and of all other sections bind the cells of these sections")
    func everyScope() throws {
        let binder = SectionedTableBinder(sectionedBy: Section.self)
        // snippet: scopes
        binder.onSection(.first)
            .bind(cellType: FirstCell.self, models: { ["a"] })
        binder.onSections(.second, .third)
            .bind(cellType: SecondCell.self, models: { [.second: ["b"], .third: ["c"]] })
        binder.onAllOtherSections()
            .bind(cellType: ThirdCell.self, models: { [.fourth: ["d"]] })
        // end
        try binder.finish()
        let cells = binder.snapshot.sections.map { $0.rows[0].json["cell"]?.stringValue }
        #expect(cells == ["FirstCell", "SecondCell", "SecondCell", "ThirdCell"])
    }

    @Test("A chain on any section adds tap handlers, and its dimensions apply where no other chain gives them")
    func anySection() throws {
        let binder = SectionedTableBinder(sectionedBy: Section.self)
        // snippet: any
        var log: [String] = []
        binder.onAllSections()
            .bind(cellType: FirstCell.self, models: { [.first: ["a"], .second: ["b"]] })
            .onTapped { section, row, model in log.append("\(model) was tapped") }
        binder.onSection(.first)
            .cellHeight { _, _ in 120 }
        binder.onAnySection()
            .cellHeight { _, _ in 44 }
            .onTapped { section, row in log.append("a row of \(section)") }
        // end
        try binder.finish()
        try binder.tap(at: RowPath(section: 0, row: 0))
        #expect(log == ["a was tapped", "a row of first"])
        #expect(binder.snapshot.sections.prefix(2).map { $0.rows[0].json["height"]?.intValue } == [120, 44])
    }

    @Test("The cells and the handlers of a section can be bound in separate chains")
    func aChainIsSplit() throws {
        let binder = SectionedTableBinder(sectionedBy: Section.self)
        // snippet: split
        var tapped: [String] = []
        binder.onSection(.first)
            .bind(cellType: FirstCell.self, models: { ["a"] })
        binder.onSection(.second)
            .bind(cellType: SecondCell.self, models: { ["b"] })
        binder.onSections(.first, .second)
            .assuming(modelType: String.self)
            .onTapped { section, row, model in tapped.append(model) }
        // end
        binder.onAllOtherSections().bind(cellType: ThirdCell.self, models: { [Section: [String]]() })
        try binder.finish()
        try binder.tap(at: RowPath(section: 1, row: 0))
        #expect(tapped == ["b"])
    }

    @Test("If two chains handle the same cell event, the chain with the more specific scope wins")
    func whichChainWins() throws {
        struct EventCell: ViewEventEmitting { enum ViewEvent { case happened }; var log: [String] = [] }
        let binder = SectionedTableBinder(sectionedBy: Section.self)
        var log: [String] = []
        binder.onSection(.first).bind(cellType: EventCell.self, models: { ["a"] })
            .onDequeue { _, _, cell, _ in cell.log.append("first") }
            .onEvent(from: EventCell.self) { _, _, _ in log.append("first") }
            .cellHeight { _, _ in 1 }
        binder.onAllOtherSections().bind(cellType: EventCell.self, models: { [.second: ["b"]] })
        binder.onAnySection()
            .assuming(modelType: String.self)
            .onEvent(from: EventCell.self) { section, _, _ in log.append("any: \(section)") }
        binder.onSection(.first).cellHeight { _, _ in 2 }
        try binder.finish()
        try binder.emit(EventCell.ViewEvent.happened, at: RowPath(section: 0, row: 0))
        try binder.emit(EventCell.ViewEvent.happened, at: RowPath(section: 1, row: 0))
        #expect(log == ["first", "any: second"])
        #expect(binder.snapshot.sections[0].rows[0].json["height"]?.intValue == 2)
    }

    @Test("Binding the cells of a section twice is refused")
    func cellsAreBoundOnce() throws {
        let binder = SectionedTableBinder(sectionedBy: Section.self)
        binder.onAllSections().bind(cellType: FirstCell.self, models: { [Section: [String]]() })
        binder.onSection(.first).bind(cellType: FirstCell.self, models: { ["a"] })
        binder.onSection(.first).bind(cellType: SecondCell.self, models: { ["a"] })
        #expect(throws: Refusal.self) { try binder.finish() }
    }
}
