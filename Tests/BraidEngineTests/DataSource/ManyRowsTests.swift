import TestSupport
import Testing

@testable import BraidEngine

/// `insertRow` with several models, and `putRows`.
@Suite struct ManyRowsTests {
    static let description = """
        {"table":"t","sections":"dynamic","cells":{"C":{}},"bindings":[{"on":"allOtherSections","cell":"C","models":{"a":[{"id":"1"},{"id":"2"},{"id":"3"}],"b":[{"id":"4"},{"id":"5"}]}}]}
        """

    static func model(_ id: String, _ value: Int = 0) throws -> JSONText {
        try JSONText(parsing: value == 0 ? #"{"id":"\#(id)"}"# : #"{"id":"\#(id)","v":\#(value)}"#)
    }

    /// Each row's id and value, by section.
    struct Rows: Equatable {
        var sections: [(id: String, rows: [Row])]
        struct Row: Equatable {
            var id: String
            var value: Int
        }

        init(_ table: TableModel) {
            sections = table.sections.map { section in
                (
                    section.id.text,
                    section.rows.map { Row(id: $0.id?.text ?? "", value: $0.model["v"]?.intValue ?? 0) }
                )
            }
        }

        static func == (one: Rows, other: Rows) -> Bool {
            one.sections.map(\.id) == other.sections.map(\.id) && one.sections.map(\.rows) == other.sections.map(\.rows)
        }

        /// What the call should do, model by model; `nil` if it should be refused.
        mutating func put(_ models: [Row], at placement: RowPlacement, in section: String, moves: Bool) -> RowTally? {
            var tally = RowTally(section: SectionID(section)), arriving: [Row] = []
            let count = sections.first { $0.id == section }?.rows.count ?? 0
            let anchor: (id: String, offset: Int)? =
                switch placement {
                case .before(let id): (id.text, 0)
                case .after(let id): (id.text, 1)
                case .start, .end, .index: nil
                }
            let target = sections.first { $0.id == section }
            let place: Int? =
                switch placement {
                case .start: 0
                case .end: count
                case .index(let index): index <= count ? index : nil
                case .before, .after:
                    anchor.flatMap { anchor in
                        target?.rows.firstIndex { $0.id == anchor.id }.map { $0 + anchor.offset }
                    }
                }
            guard Set(models.map(\.id)).count == models.count else { return nil }
            for model in models {
                let own = sections.indices.filter {
                    sections[$0].id == section && sections[$0].rows.contains { $0.id == model.id }
                }
                let holders =
                    own.isEmpty ? sections.indices.filter { sections[$0].rows.contains { $0.id == model.id } } : own
                guard holders.count <= 1 else { return nil }
                guard let holder = holders.first,
                    let row = sections[holder].rows.firstIndex(where: { $0.id == model.id })
                else {
                    tally.inserted += 1
                    arriving.append(model)
                    continue
                }
                if moves, sections[holder].id != section {
                    tally.moved += 1
                    arriving.append(model)
                    sections[holder].rows.remove(at: row)
                } else if sections[holder].rows[row] == model {
                    tally.unchanged += 1
                } else {
                    tally.replaced += 1
                    sections[holder].rows[row] = model
                }
            }
            if arriving.isEmpty { return tally }
            guard let place else { return nil }
            if !sections.contains(where: { $0.id == section }) { sections.append((section, [])) }
            guard let target = sections.firstIndex(where: { $0.id == section }) else { return nil }
            sections[target].rows.insert(contentsOf: arriving, at: place)
            return tally
        }
    }

    @Test("`putRows` does what putting its models one by one would do", arguments: 0..<8)
    func puts(seed: Int) throws {
        var random = SeededGenerator(seed: UInt64(seed) &+ 40)
        func number(_ limit: Int) -> Int { Int.random(in: 0..<limit, using: &random) }
        var refused = 0, moved = 0
        for _ in 0..<TestEffort.cases(30) {
            var session = try Played(Self.description)
            for _ in 0..<8 {
                var expected = Rows(session.table)
                let models = (0..<number(7)).map { _ in Rows.Row(id: String(number(9)), value: number(3)) }
                let section = ["a", "b", "c"][number(3)], moves = number(2) == 0
                let placement: RowPlacement =
                    switch number(6) {
                    case 0: .start
                    case 1: .before(RowID(String(number(9))))
                    case 2: .after(RowID(String(number(9))))
                    case 3: .index(number(5))
                    default: .end
                    }
                let tally = expected.put(models, at: placement, in: section, moves: moves)
                let call = DataSourceCommand.putRows(
                    try models.map { try Self.model($0.id, $0.value) }, at: placement, in: .id(SectionID(section)),
                    moves: moves)
                let before = session
                let outcome = try? session.perform(.dataSource(call, notify: true))
                #expect(outcome?.tally == tally, "\(call)")
                guard let outcome, let tally else {
                    refused += 1
                    continue
                }
                moved += tally.moved
                #expect(Rows(session.table) == expected)
                #expect(
                    (outcome.kind == .unchanged) == (tally.inserted + tally.replaced + tally.moved == 0), "\(call)")
                #expect(try outcome.update.applied(to: before.snapshot).text == session.snapshot.text)
                // Rows are found by id, and the call changes nothing the second time.
                for stored in session.table.sections {
                    for (index, row) in stored.rows.enumerated() {
                        #expect(row.id.flatMap { stored.index(of: $0) } == index)
                    }
                }
                var again = session
                #expect((try? again.perform(.dataSource(call, notify: true)).kind) != .applied)
                try session.restart()
                #expect(Rows(session.table) == expected)
                if number(4) == 0 {
                    let id = RowID(String(number(9)))
                    _ = try? session.perform(
                        .dataSource(.insertRow(Self.model(id.text), at: .end, in: .id("b")), notify: true))
                }
            }
        }
        #expect(refused > 0 && moved > 0)
    }

    @Test("Several rows are inserted in order at any place, as one row is")
    func insertsInOrder() throws {
        for (at, expected) in [
            ("", "1 2 3 x y"), (#""at":"start","#, "x y 1 2 3"), (#""at":{"before":"2"},"#, "1 x y 2 3"),
            (#""at":{"after":"3"},"#, "1 2 3 x y"), (#""at":1,"#, "1 x y 2 3"),
        ] {
            var session = try Played(Self.description)
            let outcome = try session.perform(
                RowsByIDTests.call(#""insertRow":{"section":0,\#(at)"models":[{"id":"x"},{"id":"y"}]}"#))
            #expect(RowsByIDTests.ids(session, "a").joined(separator: " ") == expected)
            #expect(outcome.tally == RowTally(section: "a", inserted: 2) && outcome.notification == .section(0))
            #expect(outcome.update.stages.map(\.insertRows.count) == [2])
        }
        var session = try Played(Self.description)
        let none = try session.perform(RowsByIDTests.call(#""insertRow":{"section":"a","models":[]}"#))
        #expect(none.kind == .unchanged && none.inserted == nil && none.tally == RowTally(section: "a"))
    }

    @Test(
        "A refused call for many rows changes nothing, and its refusal points to the model",
        arguments: [
            (#""insertRow":{"section":"a","models":[{"id":"n"},{"id":"2"}]}"#, .duplicateRowID, "/models/1/id"),
            (#""insertRow":{"section":"a","models":[{"id":"n"},{"id":"n"}]}"#, .duplicateRowID, "/models/1/id"),
            (#""insertRow":{"section":"a","models":[{"id":"n"},{}]}"#, .modelInvalid, "/models/1/id"),
            (#""insertRow":{"section":9,"models":[{"id":"n"}]}"#, .sectionNotFound, nil),
            (#""putRows":{"section":"a","models":[{"id":"2"},{"id":"2"}]}"#, .duplicateRowID, "/models/1/id"),
            (#""putRows":{"section":"a","models":[{"id":"2","v":1},{"id":true}]}"#, .modelInvalid, "/models/1/id"),
            (#""putRows":{"section":"a","at":{"before":"4"},"models":[{"id":"n"}]}"#, .rowNotFound, nil),
            (#""putRows":{"section":"c","models":[{"id":"t"}]}"#, .ambiguousRow, nil),
            (#""putRows":{"section":3,"models":[]}"#, .sectionNotFound, nil),
        ] as [(String, Refusal.Code, String?)])
    func refusals(call: String, code: Refusal.Code, pointer: String?) throws {
        var session = try Played(Self.description)
        for section in ["a", "b"] {
            try session.perform(RowsByIDTests.call(#""insertRow":{"section":"\#(section)","model":{"id":"t"}}"#))
        }
        let before = Rows(session.table)
        let refusal = #expect(throws: Refusal.self) { try session.perform(RowsByIDTests.call(call)) }
        #expect(refusal?.code == code && refusal?.faults.first?.pointer.description == pointer, "\(refusal as Any)")
        #expect(Rows(session.table) == before)
    }

    @Test(
        "The refusal of a malformed call for many rows points to the faulty member",
        arguments: [
            (#""insertRow":{"section":"a"}"#, "insertRow"),
            (#""insertRow":{"section":"a","model":1,"models":[1]}"#, "insertRow/models"),
            (#""insertRow":{"section":"a","models":1}"#, "insertRow/models"),
            (#""putRows":{"section":"a"}"#, "putRows"), (#""putRows":{"models":[]}"#, "putRows"),
            (#""putRows":{"section":-1,"models":[]}"#, "putRows/section"),
            (#""putRows":{"section":"a","models":[],"move":1}"#, "putRows/move"),
        ])
    func malformed(call: String, pointer: String) throws {
        let refusal = #expect(throws: Refusal.self) { try RowsByIDTests.call(call) }
        #expect(
            refusal?.code == .badRequest && refusal?.faults.map(\.pointer.description) == ["/dataSource/\(pointer)"])
    }

    @Test("Models of a type without ids cannot be put, and a model must fit the section that has its row")
    func typesOfModels() throws {
        var session = try Played(
            #"{"table":"t","modelTypes":{"N":{"id":null},"M":{"id":"/id"},"K":{"id":"/key"}},"sections":["n","m","k"],"cells":{"C":{}},"bindings":[{"on":{"section":"n"},"cell":"C","modelType":"N","models":[1]},{"on":{"section":"m"},"cell":"C","modelType":"M","models":[{"id":"1"}]},{"on":{"section":"k"},"cell":"C","modelType":"K","models":[{"key":"2"}]}]}"#
        )
        for (call, code, pointer) in [
            (#""putRows":{"section":"n","models":[1]}"#, .modelInvalid, "/models/0"),
            (#""putRows":{"section":"m","models":[{"id":"2"}]}"#, .modelInvalid, "/models/0/key"),
            (#""putRows":{"section":"m","models":[{"id":"2","key":"3"}]}"#, .modelInvalid, "/models/0/key"),
            (#""putRows":{"section":"x","models":[]}"#, .sectionNotFound, nil),
        ] as [(String, Refusal.Code, String?)] {
            let refusal = #expect(throws: Refusal.self) { try session.perform(RowsByIDTests.call(call)) }
            #expect(refusal?.code == code && refusal?.faults.first?.pointer.description == pointer, "\(refusal as Any)")
        }
        let put = try session.perform(RowsByIDTests.call(#""putRows":{"section":"m","models":[{"id":"2","key":"2"}]}"#))
        #expect(put.tally == RowTally(section: "m", replaced: 1))
        let moved = try session.perform(
            RowsByIDTests.call(#""putRows":{"section":"m","models":[{"id":"2"}],"move":true}"#))
        #expect(moved.tally == RowTally(section: "m", moved: 1) && moved.notification == .dataSource)
        #expect(RowsByIDTests.ids(session, "m") == ["1", "2"] && RowsByIDTests.ids(session, "k") == [])
    }

    @Test("Section calls accept a section's id, also of a section that is not displayed")
    func sectionsByID() throws {
        var session = try Played(Self.description)
        try session.perform(.setDisplayedSections(["b"]))
        for (call, notification) in [
            (#""updateRowsOfSection":{"at":"a","rows":[{"id":"9"}]}"#, DataSourceNotification.dataSource),
            (#""updateSectionData":{"at":"b","header":"B"}"#, .section(0)),
            (#""updateSection":{"at":"a","rows":[{"id":"8"}]}"#, .dataSource),
            (#""deleteRow":{"section":0,"rowId":"4"}"#, .dataSource),
            (#""updateRowsOfSection":{"at":"b","rows":[{"id":"7"}]}"#, .rows([RowPath(section: 0, row: 0)])),
        ] { #expect(try session.perform(RowsByIDTests.call(call)).notification == notification, "\(call)") }
        #expect(RowsByIDTests.ids(session, "a") == ["8"] && RowsByIDTests.ids(session, "b") == ["7"])
        try session.perform(RowsByIDTests.call(#""removeSection":{"at":"a"}"#))
        #expect(session.table.sections.map(\.id) == ["b"])
        for call in [
            #""updateRowsOfSection":{"at":"a","rows":[]}"#, #""updateSectionData":{"at":"a"}"#,
            #""updateSection":{"at":"a","rows":[]}"#, #""removeSection":{"at":"a"}"#,
        ] { #expect(try session.perform(RowsByIDTests.call(call)).isIgnored) }
    }

    @Test("The cost of a call for many rows is their number, and it writes only what changed")
    func cost() throws {
        var session = try Played(Self.description)
        let binder = session.binder, models = try (0..<5_000).map { try Self.model("m\($0)") }
        for call in [
            DataSourceCommand.insertRows(models, at: .end, in: .id("a")),
            .putRows(models, at: .end, in: .id("a"), moves: false),
        ] { #expect(binder.estimatedCost(of: .dataSource(call, notify: true), rowCount: 100_000) == 5_001) }
        try session.perform(.dataSource(.insertRows(models, at: .index(1), in: .id("a")), notify: true))
        var changed = models
        changed[17] = try Self.model("m17", 1)
        let outcome = try session.perform(
            .dataSource(.putRows(changed, at: .end, in: .id("a"), moves: false), notify: true))
        #expect(outcome.change.writtenRows.count == 1 && outcome.change.placedRows.isEmpty)
    }
}
