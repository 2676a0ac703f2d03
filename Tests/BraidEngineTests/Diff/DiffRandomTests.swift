import TestSupport
import Testing
@testable import BraidEngine

/// Random tables and edits; `TEST_EFFORT` multiplies the runs.
@Suite struct DiffRandomTests {
    @Test("The update between two random tables is correct", arguments: 0..<4)
    func pairsOfTables(seed: Int) throws {
        var random = SeededGenerator(seed: UInt64(seed))
        for _ in 0..<DiffRuns.count / 8 {
            let old = random.snapshot(), new = random.snapshot()
            try check(old, new)
        }
    }

    @Test("The update of a random sequence of edits is correct", arguments: 0..<4)
    func sequencesOfEdits(seed: Int) throws {
        var random = SeededGenerator(seed: UInt64(100 + seed))
        for _ in 0..<DiffRuns.count / 8 {
            var table = EditedTable(&random)
            let old = table.snapshot
            for _ in 0..<random.below(10) { table.edit(&random) }
            try check(old, table.snapshot, touched: table.touched)
        }
    }

    /// Also from decoded copies: dictionary order must not matter.
    @Test("The updates between equal tables are equal")
    func equalTablesGiveEqualUpdates() throws {
        var random = SeededGenerator(seed: 5)
        for _ in 0..<DiffRuns.count / 50 {
            let old = random.snapshot(), new = random.snapshot()
            let first = try BatchUpdate(from: old, to: new)
            let again = try BatchUpdate(from: try Snapshot(json: old.json), to: try Snapshot(json: new.json))
            // Not part of the JSON, so decoded copies have lost it.
            let isManual = [old.sections, new.sections].joined().contains { $0.rows.contains(where: \.updatesManually) }
            #expect(isManual || first.json == again.json)
            #expect(try first.json == BatchUpdate(from: old, to: new).json)
        }
    }

    /// Long enough for treaps and several chunks, too long for `DiffReference`.
    @Test("The update of many edits of a long list is correct")
    func manyEdits() throws {
        var random = SeededGenerator(seed: 7)
        for _ in 0..<max(4, DiffRuns.count / 2_000) {
            var table = EditedTable(&random, rows: 700)
            let old = table.snapshot
            for _ in 0..<random.below(300) { table.edit(&random) }
            let full = try BatchUpdate(from: old, to: table.snapshot)
            let cheap = try BatchUpdate(from: old, to: table.snapshot, touched: table.touched)
            try check(full, old, table.snapshot)
            try check(cheap, old, table.snapshot)
            #expect(cheap.rowOperationCount == full.rowOperationCount)
            #expect(cheap.stages.count == full.stages.count)
        }
    }
}

/// `touched` records edits as the engine does, except for some of a whole section.
struct EditedTable {
    var sections: [Section]
    var displayed: [Int]
    var touched = TouchedRows()
    var nextID = 0

    init(_ random: inout SeededGenerator, rows: Int = 6) {
        sections = []
        for name in ["A", "B", "C", "D"] {
            var section = Section.make(name + (name == "D" ? "~:" : ":"))
            for _ in 0..<random.below(rows + 1) {
                section.rows.append(Self.row(&nextID, isDiffable: section.isDiffable, &random))
            }
            sections.append(section)
        }
        displayed = random.arrangement(of: 4)
    }

    private static func row(_ nextID: inout Int, isDiffable: Bool, _ random: inout SeededGenerator) -> Row {
        nextID += 1
        return Row(
            parts: RowParts(id: isDiffable ? RowID("r\(nextID)") : nil, cell: "C", model: .number(random.below(3))))
    }

    var snapshot: Snapshot { Snapshot(sections: displayed.map { sections[$0] }) }

    mutating func edit(_ random: inout SeededGenerator) {
        let place = random.below(4), count = sections[place].rows.count
        let id = sections[place].id
        switch random.below(12) {
        case 0, 1:
            let index = random.below(count + 1)
            let row = Self.row(&nextID, isDiffable: sections[place].isDiffable, &random)
            sections[place].rows.insert(row, at: index)
            touched.insert(in: id, at: index)
        case 2, 3:
            guard count > 0 else { return }
            let index = random.below(count)
            sections[place].rows.remove(at: index)
            touched.remove(in: id, at: index)
        case 4, 5, 6:
            guard count > 0 else { return }
            let index = random.below(count)
            let old = sections[place].rows[index]
            var rowID = old.id
            if random.below(5) == 0, rowID != nil {
                nextID += 1
                rowID = RowID("r\(nextID)")
            }
            sections[place].rows[index] = Row(
                parts: RowParts(
                    id: rowID, cell: "C", model: .number(random.below(4)), movable: random.below(4) == 0,
                    updatesManually: random.below(5) == 0))
            touched.replace(in: id, at: index)
        case 7, 8, 9:
            guard count > 0 else { return }
            let index = random.below(count), to = random.below(3) == 0 ? random.below(4) : place
            guard sections[to].isDiffable == sections[place].isDiffable else { return }
            let row = sections[place].rows.remove(at: index)
            touched.remove(in: id, at: index)
            let target = random.below(sections[to].rows.count + 1)
            sections[to].rows.insert(row, at: target)
            touched.insert(in: sections[to].id, at: target)
        case 10:
            if random.below(3) == 0 {
                displayed = random.arrangement(of: 4)
            } else {
                sections[place].header = .number(random.below(3))
            }
        default:
            guard random.below(4) == 0 else { return }
            sections[place].rows = PersistentList(sections[place].rows.filter { _ in random.below(3) > 0 }.reversed())
            if random.below(2) == 0 { touched.wholeSection(id) }
        }
    }
}

enum DiffRuns {
    static let count = TestEffort.cases(20_000)
}

extension SeededGenerator {
    mutating func below(_ bound: Int) -> Int { Int(next() % UInt64(bound)) }

    /// The numbers below `count` or some of them, in order or shuffled.
    mutating func arrangement(of count: Int) -> [Int] {
        if below(2) == 0 { return Array(0..<count) }
        let kept = (0..<count).filter { _ in below(5) > 0 }
        return below(2) == 0 ? kept : kept.shuffled(using: &self)
    }

    /// Up to four sections with up to five rows each, of ten ids; an id may be in several sections.
    mutating func snapshot() -> Snapshot {
        var sections: [Section] = []
        let sharesIDs = below(2) == 0
        var free = Array("abcdefghij").shuffled(using: &self)
        for place in arrangement(of: 4) {
            let isDiffable = below(8) > 0
            let ids: ArraySlice<Character>
            if sharesIDs {
                ids = Array("abcdefghij").shuffled(using: &self).prefix(below(6))
            } else {
                ids = free.prefix(below(4))
                free.removeFirst(ids.count)
            }
            let rows = ids.map { id in
                let name = isDiffable ? String(id) : "-"
                let mark = ["", "", "", "1", "2", "/h", "1!", "1/h"][below(8)]
                return Row.make(name + mark)
            }
            var section = Section(id: SectionID("S\(place)"), isDiffable: isDiffable, rows: PersistentList(rows))
            if below(4) == 0 { section.header = JSONText(.object(JSONObject([("title", .string("t\(below(2))"))]))) }
            if below(6) == 0 { section.movesTo = .string("anySection") }
            sections.append(section)
        }
        return Snapshot(
            sections: sections,
            state: below(4) == 0 ? JSONText(.object(JSONObject([("n", .number(JSONNumber(below(2))))]))) : .emptyObject,
            empty: below(4) == 0 ? .string("none") : nil)
    }
}
