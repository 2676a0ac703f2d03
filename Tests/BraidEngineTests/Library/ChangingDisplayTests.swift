import Testing
@testable import BraidEngine

/// `sectionDisplayBehavior` and `displayedSections` after `finish()`.
@Suite struct ChangingDisplayTests {
    enum Letter: Int, TableSection, CaseIterable, Comparable { case first, second, third }

    private func binder(
        _ models: @escaping () throws -> [Letter: [Person]] = { [.second: people("b"), .third: people("c")] }
    ) throws -> SectionedTableBinder<Letter> {
        let binder = SectionedTableBinder(sectionedBy: Letter.self)
        binder.onAllSections().bind(cellType: PlainCell.self, models: models).bind(headerTitles: [.first: "FIRST"])
        try binder.finish()
        return binder
    }

    @Test("Setting `sectionDisplayBehavior` after `finish()` refreshes the table at once")
    func refreshesAtOnce() async throws {
        let binder = try binder()
        var updates = binder.updates.makeAsyncIterator(), shown = binder.snapshot
        for (behavior, expected) in [
            (.hidesSectionsWithNoCellData, [.second, .third]), (.hidesSectionsWithNoData, [.first, .second, .third]),
            (.hidesSectionsWithNoCellData(orderedWith: { $0.sorted(by: >) }), [.third, .second]),
            // Those that are displayed stay until the program sets others.
            (.manuallyManaged, [.third, .second]),
        ] as [(SectionDisplayBehavior<Letter>, [Letter])] {
            let before = binder.displayedSections
            binder.sectionDisplayBehavior = behavior
            #expect(binder.displayedSections == expected)
            if before != expected || binder.snapshot.revision != shown.revision {
                let update = try #require(await updates.next())
                #expect(try update.applied(to: shown).json == binder.snapshot.json)
            }
            shown = binder.snapshot
        }
        binder.displayedSections = [.first]
        try binder.refresh()
        #expect(binder.snapshot.sectionIDs == ["first"])
    }

    @Test("`setSectionDisplayBehavior` returns the update of the refresh")
    func theUpdateIsReturned() throws {
        let binder = try binder(), before = binder.snapshot
        let update = try binder.setSectionDisplayBehavior(.hidesSectionsWithNoCellData)
        #expect(update.stages.map(\.deleteSections) == [[0]])
        #expect(try update.applied(to: before).json == binder.snapshot.json)
    }

    @Test("A display behavior that a handler sets takes effect with the command that runs the handler")
    func inAHandler() throws {
        let binder = SectionedTableBinder(sectionedBy: Letter.self)
        var fails = false
        struct Failure: Error {}
        binder.sectionDisplayBehavior = .hidesSectionsWithNoCellData
        binder.onAllSections().bind(cellType: PlainCell.self, models: { [.second: people("b")] }).bind(headerTitles: [
            .first: "FIRST"
        ])
        .onTapped { [unowned binder] _, _ in
            binder.sectionDisplayBehavior = .hidesSectionsWithNoData
            if fails { throw Failure() }
        }
        try binder.finish()
        fails = true
        #expect(throws: Failure.self) { try binder.tap(at: path(0, 0)) }
        try binder.refresh()
        #expect(binder.displayedSections == [.second])
        fails = false
        #expect(try binder.tap(at: path(0, 0)).stages.flatMap(\.insertSections).map(\.at) == [0])
        #expect(binder.displayedSections == [.first, .second])
    }

    @Test("A display behavior that is refused changes nothing, and the binder remains usable")
    func refused() throws {
        let binder = try binder()
        binder.sectionDisplayBehavior = .hidesSectionsWithNoCellData
        let before = binder.snapshot
        binder.sectionDisplayBehavior = .hidesSectionsWithNoCellData(orderedWith: { _ in [] })
        #expect(throws: Refusal.self) {
            try binder.setSectionDisplayBehavior(.hidesSectionsWithNoData(orderedWith: { _ in [] }))
        }
        #expect(binder.snapshot.json == before.json)
        #expect(try binder.refresh().isEmpty)
        try binder.tap(at: path(0, 0))
        #expect(binder.displayedSections == [.second, .third])
    }

    @Test("A refused refresh leaves the displayed sections as they were")
    func refusedRefresh() throws {
        var models: [Letter: [Person]] = [.first: people("a")]
        let binder = try binder { models }
        binder.displayedSections = [.first]
        try binder.refresh()
        models[.second] = people("x", "x")
        binder.displayedSections = [.second]
        #expect(throws: Refusal.self) { try binder.refresh() }
        #expect(binder.displayedSections == [.first])
        models[.second] = []
        try binder.refresh()
        #expect(binder.displayedSections == [.first] && binder.snapshot.sectionIDs == ["first"])
    }
}
