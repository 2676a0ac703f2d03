import TestSupport
import Testing

@testable import BraidEngine

/// `TableEditor.replace` changes many rows of a section at once.
@Suite struct ReplacingTests {
    private typealias Model = TableEditor.Model

    private static func model(_ id: Int, _ version: Int = 0) -> Model { (RowID("\(id)"), .string("\(id).\(version)")) }

    private static func table(_ models: [Model]) throws -> TableModel {
        var editor = TableEditor(TableModel())
        try editor.ensureSection("s")
        try editor.setModels(models, in: "s")
        return editor.table
    }

    /// A store that writes only the recorded changes, by key.
    private struct Stored {
        var rows: [Int: (rank: Int, id: RowID?, model: JSONText)] = [:]

        mutating func write(_ change: TableChange) {
            for key in change.removedRows { rows[key] = nil }
            for (_, row) in change.writtenRows { rows[row.key] = (row.rank, row.id, row.model) }
            for (_, key, rank) in change.placedRows { rows[key]?.rank = rank }
        }

        var models: [String] { rows.values.sorted { $0.rank < $1.rank }.map { "\($0.id?.text ?? "-") \($0.model)" } }
    }

    private static func texts(_ models: some Sequence<Model>) -> [String] {
        models.map { "\($0.id?.text ?? "-") \($0.model)" }
    }

    /// One range, few or many elements.
    private static func change(_ models: inout [Model], next: inout Int, _ random: inout SeededGenerator) {
        func range() -> Range<Int> {
            let count = Int.random(
                in: 0...min(models.count, [1, 3, 40, 2_000].randomElement(using: &random) ?? 1), using: &random)
            let start = Int.random(in: 0...models.count - count, using: &random)
            return start..<start + count
        }
        switch Int.random(in: 0..<6, using: &random) {
        case 0: models.removeSubrange(range())
        case 1:
            let new = (next..<next + range().count).map { model($0) }
            next += new.count
            models.insert(contentsOf: new, at: Int.random(in: 0...models.count, using: &random))
        case 2: models[range()].shuffle(using: &random)
        case 3:
            let range = range(), rows = models[range]
            models.removeSubrange(range)
            models.insert(contentsOf: rows, at: Int.random(in: 0...models.count, using: &random))
        case 4: for index in range() { models[index].model = .string("\(next) changed") }
        default:
            for index in range() { models[index].id = models[index].id == nil ? RowID("again \(next + index)") : nil }
            next += models.count
        }
    }

    @Test(
        "After rows were replaced, the table contains the new rows, and so does a store that writes only the changes",
        arguments: [3, 60, 700, 3_000])
    func replacedRows(count: Int)
        throws
    {
        var random = SeededGenerator(seed: UInt64(count)), next = count
        var models = (0..<count).map { Self.model($0) }
        var table = try Self.table(models), stored = Stored()
        for row in try #require(table["s"]).rows { stored.rows[row.key] = (row.rank, row.id, row.model) }
        for step in 0..<TestEffort.cases(80) {
            let before = try #require(table["s"])
            for _ in 0...Int.random(in: 0...2, using: &random) { Self.change(&models, next: &next, &random) }
            var editor = TableEditor(table)
            // Exists only during this command.
            if step % 3 == 0 {
                try editor.insert(
                    .string("short"), id: RowID("short"), in: "s",
                    at: Int.random(in: 0...before.rows.count, using: &random))
            }
            try editor.setModels(models, in: "s")
            let section = try #require(editor.table["s"])
            #expect(Self.texts(section.rows.map { ($0.id, $0.model) }) == Self.texts(models), "step \(step)")
            #expect(zip(section.rows, section.rows.dropFirst()).allSatisfy { $0.rank < $1.rank }, "step \(step)")
            let keys = Dictionary(uniqueKeysWithValues: before.rows.compactMap { row in row.id.map { ($0, row.key) } })
            let strays = section.rows.enumerated().filter { index, row in
                row.id.map { section.index(of: $0) != index || keys[$0] ?? row.key != row.key } ?? false
            }
            #expect(strays.isEmpty, "step \(step)")
            #expect(
                Set(keys.keys).subtracting(models.lazy.compactMap(\.id)).allSatisfy { section.index(of: $0) == nil })
            stored.write(editor.change)
            #expect(stored.models == Self.texts(models), "step \(step)")
            table = editor.table
        }
    }

    /// About 24 inserts halve the gap; then some rows around get new ranks, but not the whole section.
    @Test("If no rank is free between two rows, only a few rows get new ranks")
    func exhaustedRanks() throws {
        var random = SeededGenerator(seed: 4)
        var models = (0..<20_000).map { Self.model($0) }, table = try Self.table(models), relabelled = 0
        for round in 0..<100 {
            models[10_000..<10_040].shuffle(using: &random)
            models.insert(contentsOf: (0..<30).map { Self.model(100_000 + round * 30 + $0) }, at: 10_020)
            models.removeSubrange(9_000..<9_030)
            var editor = TableEditor(table)
            try editor.setModels(models, in: "s")
            table = editor.table
            #expect(Self.texts(try #require(table["s"]).rows.map { ($0.id, $0.model) }) == Self.texts(models))
            let written = editor.change.placedRows.count + editor.change.writtenRows.count
            if written > 80 { relabelled += 1 }
            #expect(written < 2_000, "round \(round)")
        }
        #expect(relabelled > 3)
    }

    @Test(
        "Rows at the first and the last possible rank leave room for new rows everywhere",
        arguments: [[0], [0, 1], [0, .max], [.max - 1, .max], [0, 1, .max - 1, .max], Array(0..<200)])
    func endsOfTheRanks(offsets: [Int]) throws {
        let places = StoredSection.places, distance = places.upperBound - places.lowerBound
        for isReversed in [false, true] {
            let ranks = offsets.map { offset in
                let rank =
                    offset < 1_000 ? places.lowerBound + offset : places.lowerBound + distance - (Int.max - offset)
                return isReversed ? -rank : rank
            }.sorted()
            let rows = ranks.enumerated().map { StoredRow(key: $0 + 1, rank: $1, id: RowID("\($0)"), model: .null) }
            let table = TableModel(
                sections: [
                    try StoredSection(summary: StoredSectionSummary(number: 1, id: "s", ordinal: 1), rows: rows)
                ], nextKey: rows.count + 1)
            func check(_ editor: TableEditor, _ ids: [String]) throws {
                let section = try #require(editor.table["s"]), ranks = section.rows.map(\.rank)
                #expect(section.rows.map { $0.id?.text } == ids)
                #expect(zip(ranks, ranks.dropFirst()).allSatisfy { $0 < $1 } && ranks.allSatisfy(places.contains))
                #expect(ids.indices.allSatisfy { section.index(of: RowID(ids[$0])) == $0 })
                var stored = Stored()
                for row in rows { stored.rows[row.key] = (row.rank, row.id, row.model) }
                stored.write(editor.change)
                #expect(stored.models == Self.texts(section.rows.map { ($0.id, $0.model) }))
            }
            let ids = rows.indices.map { "\($0)" }
            for index in 0...rows.count {
                var editor = TableEditor(table), expected = ids
                for number in 0..<3 {
                    try editor.insert(.null, id: RowID("new \(number)"), in: "s", at: index)
                    expected.insert("new \(number)", at: index)
                }
                try check(editor, expected)
                editor = TableEditor(table)
                let new = (0..<70).map { "many \($0)" }
                expected = Array(ids[..<index] + new + ids[index...])
                try editor.setModels(expected.map { (RowID($0), .null) }, in: "s")
                try check(editor, expected)
            }
        }
    }

    @Test("Sections at the first and the last possible ordinal leave room for new sections everywhere")
    func endsOfTheOrdinals() throws {
        let places = StoredSection.places
        for ordinals in [
            [places.lowerBound], [places.upperBound], [places.lowerBound, places.upperBound],
            [places.lowerBound, places.lowerBound + 1], [places.upperBound - 1, places.upperBound],
        ] {
            let table = TableModel(
                sections: try ordinals.enumerated().map {
                    try StoredSection(
                        summary: StoredSectionSummary(number: $0 + 1, id: SectionID("\($0)"), ordinal: $1), rows: [])
                }, nextSection: ordinals.count + 1)
            var orders: [([SectionID], TableEditor)] = []
            for index in 0...ordinals.count {
                var editor = TableEditor(table), ids = table.sections.map(\.id)
                try editor.insertSection("new", before: index < ids.count ? ids[index] : nil)
                ids.insert("new", at: index)
                orders.append((ids, editor))
            }
            var editor = TableEditor(table)
            editor.arrangeSections(table.sections.map(\.id).reversed())
            orders.append((table.sections.map(\.id).reversed(), editor))
            for (ids, editor) in orders {
                let found = editor.table.sections.map(\.summary)
                #expect(found.map(\.id) == ids)
                #expect(zip(found, found.dropFirst()).allSatisfy { $0.ordinal < $1.ordinal })
                #expect(found.allSatisfy { places.contains($0.ordinal) })
                var stored = Dictionary(uniqueKeysWithValues: table.sections.map { ($0.summary.number, $0.summary) })
                for facts in editor.change.writtenSections { stored[facts.number] = facts }
                #expect(stored.values.sorted { $0.ordinal < $1.ordinal } == found)
            }
        }
    }

    @Test(
        "Replacing rows is refused if an id would be in the section twice, for few rows and for many",
        arguments: [1, 5_000])
    func duplicateIDs(count: Int) throws {
        let table = try Self.table((0..<10_000).map { Self.model($0) })
        let new = (20_000..<20_000 + count).map { Self.model($0) }
        // Outside the replaced range, or inside.
        for twin in [Self.model(9_999), new[0]] {
            var editor = TableEditor(table)
            #expect(throws: Refusal.self) {
                try editor.replace([(10..<10 + count, 10..<11 + count)], with: (new + [twin])[...], in: "s")
            }
        }
        var editor = TableEditor(table)
        try editor.replace(
            [(10..<10 + count, 10..<10 + count), (9_998..<9_999, 9_998..<9_999)], with: (new + [Self.model(10)])[...],
            in: "s")
        #expect(editor.table["s"]?.index(of: RowID("10")) == 9_998)
        #expect(editor.change.removedRows.count == count)
    }

    /// Replacements are recorded by the engine, or found by comparing snapshots.
    @Test("The update from recorded replacements equals the update from comparing the snapshots", arguments: 0..<8)
    func updateFromReplacements(seed: Int) throws {
        var random = SeededGenerator(seed: UInt64(seed)), next = 10_000
        let description = try TableDescription(
            JSONText(
                parsing: Array(
                    #"{"table":"t","sections":["s"],"cells":{"C":{}},"bindings":[{"on":"allOtherSections","cell":"C","models":{}}]}"#
                        .utf8)))
        func row(_ id: Int, _ version: Int) throws -> JSONText {
            try JSONText(parsing: Array(#"{"id":"\#(id)","v":\#(version)}"#.utf8))
        }
        var ids = Array(0..<300), versions: [Int: Int] = [:]
        func rows() throws -> [JSONText] { try ids.map { try row($0, versions[$0] ?? 0) } }
        var table = try description.openingTable(models: [(SectionID("s"), rows())])
        var shown = try description.binder.snapshot(of: table, revision: 0, now: RandomCommandTests.now)
        for _ in 0..<TestEffort.cases(60) {
            for _ in 0...1 {
                let start = Int.random(in: 0...ids.count, using: &random),
                    end = Int.random(in: start...min(ids.count, start + 90), using: &random)
                switch Int.random(in: 0..<4, using: &random) {
                case 0: ids.removeSubrange(start..<end)
                case 1:
                    ids.insert(contentsOf: next..<next + end - start, at: start)
                    next += end - start
                case 2: ids[start..<end].shuffle(using: &random)
                default: for id in ids[start..<end] { versions[id, default: 0] += 1 }
                }
            }
            let outcome = try description.binder.applying(
                .setModels([(SectionID("s"), rows())], merging: true), to: table, shown: shown, unpublished: nil,
                now: RandomCommandTests.now)
            #expect(try outcome.update.json == BatchUpdate(from: shown, to: outcome.snapshot).json)
            #expect(
                try description.binder.snapshot(
                    of: outcome.table, revision: outcome.snapshot.revision, now: RandomCommandTests.now
                ).json == outcome.snapshot.json)
            (table, shown) = (outcome.table, outcome.snapshot)
        }
    }
}
