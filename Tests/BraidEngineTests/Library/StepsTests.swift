import TestSupport
import Testing
@testable import BraidEngine

/// A simulated table view, to which the steps of an update are applied.
@Suite struct StepsTests {
    /// Rows in each section.
    private struct TableView {
        var counts: [Int]

        /// What `UITableView` expects after a batch; `nil` where it asks the data source.
        func counts(after stage: BatchUpdate.Stage) -> [Int?] {
            var counts: [Int?] = counts
            for path in stage.deleteRows + stage.moveRows.map(\.from) { counts[path.section]? -= 1 }
            for (at, _) in stage.reloadSections { counts[at] = nil }
            let arriving =
                stage.insertSections.map { ($0.at, Int?.none) } + stage.moveSections.map { ($0.to, counts[$0.from]) }
            for section in (stage.deleteSections + stage.moveSections.map(\.from)).sorted(by: >) {
                counts.remove(at: section)
            }
            for (at, count) in arriving.sorted(by: { $0.0 < $1.0 }) { counts.insert(count, at: at) }
            for path in stage.insertRows.map(\.at) + stage.moveRows.map(\.to) { counts[path.section]? += 1 }
            return counts
        }
    }

    @Test(
        "The data after each step has the row counts that its stage leads to, and contains all its cells",
        arguments: 0..<30)
    func stepsDriveATableView(seed: Int) throws {
        var random = SeededGenerator(seed: UInt64(seed))
        var data: [OpenPlace: [Person]] = [:]
        let binder = SectionedTableBinder(sectionedBy: OpenPlace.self)
        if seed % 2 == 0 {
            binder.sectionDisplayBehavior = .hidesSectionsWithNoCellData(orderedWith: {
                $0.sorted { (data[$0]?.count ?? 0) < (data[$1]?.count ?? 0) }
            })
        }
        binder.onAllSections().bind(cellProvider: { _, _, person in PlainCell(title: person.id) }, models: { data })
            .bind(headerType: Banner.self, viewModel: { section in .init(text: "\(data[section]?.count ?? 0)") })
        try binder.finish()
        var table = TableView(counts: []), stages = 0
        for _ in 0..<40 {
            let before = binder.snapshot
            // Moves, inserts, deletes, changes.
            var rows = data.values.flatMap(\.self).shuffled(using: &random)
            rows.removeLast(Int.random(in: 0...min(3, rows.count), using: &random))
            for _ in 0..<Int.random(in: 0..<8, using: &random) {
                let person = Person(id: "\(Int.random(in: 0..<30, using: &random))", name: "N")
                if !rows.contains(where: { $0.id == person.id }) { rows.append(person) }
            }
            if let index = rows.indices.randomElement(using: &random) { rows[index].taps += 1 }
            if Bool.random(using: &random) { data = [:] }
            let places: [OpenPlace] = [.attending, .invited, .bin]
            if data.isEmpty {
                for person in rows { data[places.randomElement(using: &random) ?? .bin, default: []].append(person) }
            } else {
                for place in places {
                    data[place] = rows.filter { row in data[place]?.contains { $0.id == row.id } ?? false }
                }
            }
            let update = try binder.refresh()
            var shown = Array(before.sections)
            for step in try update.steps(from: before) {
                #expect(step.before.map(\.id) == shown.map(\.id))
                let expected = table.counts(after: step.stage)
                shown = step.after
                #expect(
                    expected.count == shown.count
                        && zip(expected, shown).allSatisfy { $0 == nil || $0 == $1.rows.count })
                table.counts = shown.map(\.rows.count)
                for (section, content) in shown.enumerated() {
                    #expect(try binder.headerView(ofSection: section, in: shown) != nil)
                    for (row, shownRow) in content.rows.enumerated() {
                        let cell = try binder.cell(at: path(section, row), in: shown) as? PlainCell
                        #expect(cell?.title == shownRow.id?.text)
                    }
                }
                stages += 1
            }
            #expect(Snapshot(revision: binder.snapshot.revision, sections: shown).json == binder.snapshot.json)
        }
        #expect(stages > 25)
    }

    @Test("`steps(from:)` is refused if the update does not start at the given snapshot")
    func otherSnapshots() throws {
        let binder = TableBinder()
        var models = people("a")
        binder.onTable().bind(cellType: PlainCell.self, models: { models })
        try binder.finish()
        models += people("b")
        let update = try binder.refresh()
        #expect(throws: InvalidUpdate.self) { try update.steps(from: binder.snapshot) }
    }

    @Test("Requesting a cell for an index path outside the sections of a step is refused")
    func cellsOutOfBounds() throws {
        let binder = TableBinder()
        binder.onTable().bind(cellType: PlainCell.self, models: people("a"))
        try binder.finish()
        let shown = Array(binder.snapshot.sections)
        #expect(throws: Refusal.self) { try binder.cell(at: 1, in: shown) }
        #expect(throws: Refusal.self) { try binder.cell(at: 0, in: []) }
        #expect(throws: Refusal.self) { try binder.cell(at: -1, in: shown) }
    }
}
