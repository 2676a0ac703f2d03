import Testing
@testable import BraidEngine

/// How often cell providers are called.
@Suite struct CellProviderTests {
    @Test("A cell provider is called once for a new row, and not for an unchanged row")
    func onceForARow() throws {
        let binder = TableBinder()
        var models = people("a", "b", "c"), calls: [String] = []
        binder.onTable().bind(
            cellProvider: { _, row, person in
                calls.append("\(row)\(person.id)")
                return PlainCell(title: person.name)
            }, models: { models }
        ).cellHeight { _, _ in 44 }
        try binder.finish()
        func titles() throws -> [String?] { try models.indices.map { try (binder.cell(at: $0) as? PlainCell)?.title } }
        #expect(try titles() == ["A", "B", "C"])
        #expect(try titles() == ["A", "B", "C"])
        #expect(calls == ["0a", "1b", "2c"])
        try binder.refresh()
        #expect(calls == ["0a", "1b", "2c"])

        // Once for another model or another index.
        calls = []
        models[1].name = "new"
        try binder.refresh()
        #expect(calls == ["1b"])
        #expect(try (binder.cell(at: 1) as? PlainCell)?.title == "new")
        #expect(calls == ["1b"])
        calls = []
        models.removeFirst()
        try binder.refresh()
        #expect(try titles() == ["new", "C"])
        #expect(calls == ["0b", "1c"])
    }

    @Test("A cell that is requested after a command shows the values that its provider reads at that time")
    func cellsAreNotKept() throws {
        let binder = TableBinder()
        var text = "old"
        binder.onTable().bind(cellProvider: { _, _, _ in PlainCell(title: text) }, models: { ["a"] }).onTapped { _, _ in
            text = "new"
        }
        try binder.finish()
        try binder.tap(at: 0)
        #expect(try (binder.cell(at: 0) as? PlainCell)?.title == "new")
    }

    @Test("A provider of cells without models is called once for each row in each refresh")
    func onceForARefresh() throws {
        let binder = TableBinder()
        var text = "x", calls = 0
        binder.onTable().bind(
            cellProvider: { _, _ in
                calls += 1
                return PlainCell(title: text)
            }, numberOfCells: { 3 })
        try binder.finish()
        for _ in 0..<2 {
            #expect(try (0..<3).map { try (binder.cell(at: $0) as? PlainCell)?.title } == ["x", "x", "x"])
        }
        #expect(calls == 3)
        text = "y"
        try binder.refresh()
        #expect(try (binder.cell(at: 1) as? PlainCell)?.title == "y")
        #expect(calls == 6)
    }

    @Test("If a provider chooses the cell by the row's index, the cell changes when the row moves")
    func placesCount() throws {
        let binder = TableBinder()
        var models = people("a", "b")
        binder.onTable().bind(
            cellProvider: { _, row, _ -> any ReuseIdentifiable in row == 0 ? OtherCell() : PlainCell() },
            models: { models })
        try binder.finish()
        models.insert(contentsOf: people("c"), at: 0)
        let before = binder.snapshot, update = try binder.refresh()
        #expect(try update.applied(to: before).json == binder.snapshot.json)
        #expect(
            binder.snapshot.sections[0].rows.map { $0.json["cell"]?.stringValue } == [
                "OtherCell", "PlainCell", "PlainCell",
            ])
    }

    @Test("A refresh of 100,000 unchanged rows does not call their cell provider")
    func unchangedRows() throws {
        let binder = TableBinder()
        var models = Array(0..<100_000), calls = 0
        binder.onTable().bind(
            cellProvider: { _, _, _ in
                calls += 1
                return PlainCell()
            }, models: { models })
        try binder.finish()
        #expect(calls == 100_000)
        try binder.refresh()
        #expect(calls == 100_000)
        models.append(100_000)
        try binder.refresh()
        #expect(calls == 100_001)
    }
}
