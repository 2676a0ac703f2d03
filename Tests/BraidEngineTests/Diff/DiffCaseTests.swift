import TestSupport
import Testing
@testable import BraidEngine

/// Tables and expected stages. Some once made Braid, Differ, Epoxy, ListKit, ListDiff, FlexibleDiff, Dwifft or a table
/// view fail.
@Suite struct DiffCaseTests {
    static let cases: [(name: String, old: Snapshot, new: Snapshot, stages: String)] = [
        ("nothing changed", .make("A: a b"), .make("A: a b"), "[]"),
        ("first to last", .make("A: a b c"), .make("A: b c a"), #"[{"moveRows":[{"from":[0,0],"to":[0,2]}]}]"#),
        ("last to first", .make("A: a b c"), .make("A: c a b"), #"[{"moveRows":[{"from":[0,2],"to":[0,0]}]}]"#),
        (
            "swap of the ends", .make("A: a b c d"), .make("A: d b c a"),
            #"[{"moveRows":[{"from":[0,0],"to":[0,3]},{"from":[0,3],"to":[0,0]}]}]"#
        ),
        (
            "reverse", .make("A: a b c"), .make("A: c b a"),
            #"[{"moveRows":[{"from":[0,0],"to":[0,2]},{"from":[0,1],"to":[0,1]}]}]"#
        ),
        (
            "moved and changed", .make("A: a b c"), .make("A: b c a1"),
            #"[{"moveRows":[{"from":[0,0],"to":[0,2]}]},{"reloadRows":[{"at":[0,2],"row":{"id":"a","cell":"Cell","model":1}}]}]"#
        ),
        (
            "moved and changed, no visual reload", .make("A: a b c"), .make("A: b c a/h"),
            #"[{"moveRows":[{"from":[0,0],"to":[0,2],"row":{"id":"a","cell":"Cell","movable":true}}]}]"#
        ),
        (
            "moved and changed, updated manually", .make("A: a b c"), .make("A: b c a1!"),
            #"[{"moveRows":[{"from":[0,0],"to":[0,2],"row":{"id":"a","cell":"Cell","model":1}}]}]"#
        ),
        (
            "changed row shifted by an insert", .make("A: a b"), .make("A: x a b1"),
            #"[{"insertRows":[{"at":[0,0],"row":{"id":"x","cell":"Cell"}}],"reloadRows":[{"at":[0,1],"row":{"id":"b","cell":"Cell","model":1}}]}]"#
        ),
        (
            "properties changed", .make("A: a b"), .make("A: a/h b1!"),
            #"[{"updateRows":[{"at":[0,0],"row":{"id":"a","cell":"Cell","movable":true}},{"at":[0,1],"row":{"id":"b","cell":"Cell","model":1}}]}]"#
        ),
        (
            "delete 1, move, reload 2", .make("A: a b c d"), .make("A: d a c1"),
            #"[{"deleteRows":[[0,1]],"moveRows":[{"from":[0,3],"to":[0,0]}]},{"reloadRows":[{"at":[0,2],"row":{"id":"c","cell":"Cell","model":1}}]}]"#
        ),
        // Sections move.
        (
            "a section moves", .make("A: a", "B: b", "C: c"), .make("B: b", "C: c", "A: a"),
            #"[{"moveSections":[{"from":0,"to":2}]}]"#
        ),
        (
            "a row into a section that could stay", .make("A: a", "B: b"), .make("B: b", "A: a x"),
            #"[{"moveSections":[{"from":1,"to":0}],"insertRows":[{"at":[1,1],"row":{"id":"x","cell":"Cell"}}]}]"#
        ),
        (
            "a row into a moved section", .make("A: a", "B: b", "C: c d"), .make("C: d", "A: a c", "B: b"),
            #"[{"moveSections":[{"from":2,"to":0}]},{"moveRows":[{"from":[0,0],"to":[1,1]}]}]"#
        ),
        (
            "an insert into a moved section", .make("A: a", "B: b", "C: c"), .make("C: c x", "A: a", "B: b"),
            #"[{"moveSections":[{"from":2,"to":0}]},{"insertRows":[{"at":[0,1],"row":{"id":"x","cell":"Cell"}}]}]"#
        ),
        (
            "a delete in a moved section", .make("A: a", "B: b", "C: c d"), .make("C: d", "A: a", "B: b"),
            #"[{"moveSections":[{"from":2,"to":0}]},{"deleteRows":[[0,0]]}]"#
        ),
        (
            "a change in a moved section", .make("A: a", "B: b", "C: c d"), .make("C: c d1", "A: a", "B: b"),
            #"[{"moveSections":[{"from":2,"to":0}]},{"reloadRows":[{"at":[0,1],"row":{"id":"d","cell":"Cell","model":1}}]}]"#
        ),
        (
            "a moved section's rows move and change", .make("A: a", "B: b", "C: c d"), .make("C: d c1", "A: a", "B: b"),
            #"[{"moveSections":[{"from":2,"to":0}]},{"moveRows":[{"from":[0,0],"to":[0,1]}]},{"reloadRows":[{"at":[0,1],"row":{"id":"c","cell":"Cell","model":1}}]}]"#
        ),
        (
            "a header in a moved section", .make("A: a", "B: b", "C: c"), .make("C=t: c", "A: a", "B: b"),
            #"[{"moveSections":[{"from":2,"to":0}]},{"updateSections":[{"at":0,"header":"t"}]}]"#
        ),
        (
            "rows elsewhere go with the moved section", .make("A: a b", "B: c d", "C: e"),
            .make("C: e x", "A: b a", "B: c1 d"),
            #"[{"moveSections":[{"from":2,"to":0}],"moveRows":[{"from":[0,0],"to":[1,1]}]},{"insertRows":[{"at":[0,1],"row":{"id":"x","cell":"Cell"}}],"reloadRows":[{"at":[2,0],"row":{"id":"c","cell":"Cell","model":1}}]}]"#
        ),
        (
            "a section moves to its own place while a row leaves it", .make("A: a", "B: b c", "C: d"),
            .make("C: d", "B: b", "A: a c"),
            #"[{"moveSections":[{"from":0,"to":2},{"from":2,"to":0}]},{"moveRows":[{"from":[1,1],"to":[2,1]}]}]"#
        ),
        (
            "a section moves to its own place", .make("A: a", "B: b", "C: c d"), .make("C: c", "B: b", "A: a"),
            #"[{"moveSections":[{"from":0,"to":2},{"from":1,"to":1}],"deleteRows":[[2,1]]}]"#
        ),
        // Sections come and go.
        (
            "a row out of a deleted section", .make("A: a", "B: b c"), .make("A: a b"),
            #"[{"deleteSections":[1],"insertRows":[{"at":[0,1],"row":{"id":"b","cell":"Cell"}}]}]"#
        ),
        (
            "a row into an inserted section", .make("A: a b"), .make("A: a", "B: b"),
            #"[{"insertSections":[{"at":1,"section":{"id":"B","header":null,"footer":null,"rowCount":1,"rows":[{"id":"b","cell":"Cell"}]}}],"deleteRows":[[0,1]]}]"#
        ),
        (
            "the only row leaves a vanishing section", .make("A: a", "B: b"), .make("B: a b"),
            #"[{"deleteSections":[0],"insertRows":[{"at":[0,0],"row":{"id":"a","cell":"Cell"}}]}]"#
        ),
        (
            "all section ids replaced, rows kept", .make("A: a", "B: b"), .make("C: a", "D: b"),
            #"[{"deleteSections":[0,1],"insertSections":[{"at":0,"section":{"id":"C","header":null,"footer":null,"rowCount":1,"rows":[{"id":"a","cell":"Cell"}]}},{"at":1,"section":{"id":"D","header":null,"footer":null,"rowCount":1,"rows":[{"id":"b","cell":"Cell"}]}}]}]"#
        ),
        (
            "header changed after a delete", .make("A: a", "B: b"), .make("B=t: b"),
            #"[{"deleteSections":[0],"updateSections":[{"at":1,"header":"t"}]}]"#
        ),
        (
            "empty to full", .make(), .make("A: a"),
            #"[{"insertSections":[{"at":0,"section":{"id":"A","header":null,"footer":null,"rowCount":1,"rows":[{"id":"a","cell":"Cell"}]}}]}]"#
        ),
        ("full to empty", .make("A: a"), .make(), #"[{"deleteSections":[0]}]"#),
        (
            "a section filled", .make("A:"), .make("A: a"),
            #"[{"insertRows":[{"at":[0,0],"row":{"id":"a","cell":"Cell"}}]}]"#
        ),
        ("a section emptied", .make("A: a b"), .make("A:"), #"[{"deleteRows":[[0,0],[0,1]]}]"#),
        (
            "empty sections", .make("A:", "B:"), .make("B:", "C:"),
            #"[{"deleteSections":[0],"insertSections":[{"at":1,"section":{"id":"C","header":null,"footer":null,"rowCount":0,"rows":[]}}]}]"#
        ),
        // Rows change their section.
        (
            "rows swapped across sections", .make("A: a", "B: b"), .make("A: b", "B: a"),
            #"[{"moveRows":[{"from":[0,0],"to":[1,0]},{"from":[1,0],"to":[0,0]}]}]"#
        ),
        (
            "cross-section move and change", .make("A: a b", "B: c"), .make("A: b", "B: a1 c"),
            #"[{"moveRows":[{"from":[0,0],"to":[1,0]}]},{"reloadRows":[{"at":[1,0],"row":{"id":"a","cell":"Cell","model":1}}]}]"#
        ),
        (
            "header changed and row moved out", .make("A: a b", "B: c"), .make("A=t: b", "B: c a"),
            #"[{"updateSections":[{"at":0,"header":"t"}],"moveRows":[{"from":[0,0],"to":[1,1]}]}]"#
        ),
        (
            "an id in two sections stays in each", .make("A: a b", "B: a"), .make("A: b", "B: a"),
            #"[{"deleteRows":[[0,0]]}]"#
        ),
        (
            "an id that two sections lose is no move", .make("A: a", "B: a", "C:"), .make("A:", "B:", "C: a"),
            #"[{"deleteRows":[[0,0],[1,0]],"insertRows":[{"at":[2,0],"row":{"id":"a","cell":"Cell"}}]}]"#
        ),
        (
            "an id that one of two sections loses is a move", .make("A: a", "B: a", "C:"), .make("A: a", "B:", "C: a"),
            #"[{"moveRows":[{"from":[1,0],"to":[2,0]}]}]"#
        ),
        // Ids.
        (
            "ids that differ only in Unicode form", .make("A: \u{E9}"), .make("A: e\u{301}"),
            "[{\"deleteRows\":[[0,0]],\"insertRows\":[{\"at\":[0,0],\"row\":{\"id\":\"e\u{301}\",\"cell\":\"Cell\"}}]}]"
        ),
        // Without ids.
        ("no identity, the same", .make("A~: -1 -2"), .make("A~: -1 -2"), "[]"),
        (
            "no identity, one more", .make("A~: -1"), .make("A~: -1 -2"),
            #"[{"insertRows":[{"at":[0,1],"row":{"cell":"Cell","model":2}}]}]"#
        ),
        ("no identity, one fewer", .make("A~: -1 -2"), .make("A~: -1"), #"[{"deleteRows":[[0,1]]}]"#),
        (
            "no identity, changed", .make("A~: -1 -2"), .make("A~: -2"),
            #"[{"reloadSections":[{"at":0,"section":{"id":"A","header":null,"footer":null,"rowCount":1,"diffable":false,"rows":[{"cell":"Cell","model":2}]}}]}]"#
        ),
        (
            "identity lost", .make("A: a"), .make("A~: -1"),
            #"[{"reloadSections":[{"at":0,"section":{"id":"A","header":null,"footer":null,"rowCount":1,"diffable":false,"rows":[{"cell":"Cell","model":1}]}}]}]"#
        ),
    ]

    @Test("The update between two tables of a known case is exactly the expected one", arguments: cases.indices)
    func givesThisUpdate(index: Int) throws {
        let (name, old, new, stages) = Self.cases[index]
        let update = try BatchUpdate(from: old, to: new.at(1))
        #expect(
            update.json.text == #"{"from":0,"to":1,"stages":\#(stages),"totalRowCount":\#(new.totalRowCount)}"#,
            "\(name)")
        try check(old, new)
        try check(new, old)
    }

    @Test("An update gives the value `null` for members that the new snapshot no longer has")
    func removedMembers() throws {
        var old = Snapshot.make("A=t: a"), new = Snapshot.make("A: a").at(1)
        old.sections[0].movesTo = .string("anySection")
        new.sections[0].footer = .string("f")
        old.empty = .string("none")
        new.state = .number(1)
        let update = try BatchUpdate(from: old, to: new)
        #expect(
            update.json.text
                == #"{"from":0,"to":1,"stages":[{"updateSections":[{"at":0,"header":null,"footer":"f","movesTo":null}]}],"totalRowCount":1,"state":1,"empty":null}"#
        )
        try check(update, old, new)
    }

    @Test("The sequential form of an update applies a swap of rows and a delete in order")
    func sequentialForm() throws {
        let old = Snapshot.make("A: a b c d", "B:", "C: x"), new = Snapshot.make("C: x", "A: d c1 a").at(1)
        let update = try BatchUpdate(from: old, to: new)
        #expect(
            update.sequentialJSON.text
                == #"{"from":0,"to":1,"operations":[{"deleteRow":[0,1]},{"moveRow":{"from":[0,0],"to":[0,2]}},{"moveRow":{"from":[0,0],"to":[0,1]}},{"deleteSection":1},{"moveSection":{"from":1,"to":0}},{"reloadRow":{"at":[1,1],"row":{"id":"c","cell":"Cell","model":1}}}],"totalRowCount":4}"#
        )
        try check(update, old, new)
    }

    @Test("A snapshot with a duplicate id is refused, and the error names the id")
    func duplicateIDs() throws {
        let good = Snapshot.make("A: a b c")
        for bad in [
            Snapshot.make("A: a a"), .make("A: a b c a"), .make("A: b a c b"), .make("A: x x"),
            .make("B: x y x", "A: a"),
        ] {
            #expect { try BatchUpdate(from: good, to: bad) } throws: { error in
                let refusal = error as? Refusal
                return refusal?.code == .duplicateRowID
                    && ["A", "B"].contains { section in
                        ["a", "b", "x"].contains {
                            refusal?.detail.contains("\"\(section)\" already has a row with the id \"\($0)\"") ?? false
                        }
                    }
            }
        }
        #expect(throws: Refusal.self) { try BatchUpdate(from: .make("A: a b a"), to: .make("A: b")) }
        for (id, bad) in [
            ("A", Snapshot.make("A: a", "A: b")), ("B", .make("B:", "A: a", "B:")), ("C", .make("A: a", "C:", "C:")),
        ] {
            #expect(throws: Refusal.duplicateSection(SectionID(id))) { try BatchUpdate(from: good, to: bad) }
            #expect(throws: Refusal.self) { try BatchUpdate(from: bad, to: good) }
        }
        #expect(throws: Refusal.rowWithoutID(at: 1, in: "A")) { try BatchUpdate(from: good, to: .make("A: a -1")) }
    }

    @Test("The diff of long lists with long ids does not take quadratic time", arguments: [1, 2, 3])
    func longLists(order: Int) throws {
        let prefix = String(repeating: "x", count: 300)
        func table(_ numbers: some Sequence<Int>) -> Snapshot {
            Snapshot(sections: [
                Section(
                    id: "A",
                    rows: PersistentList(
                        numbers.map { Row(parts: RowParts(id: RowID(prefix + String($0)), cell: "C")) }))
            ])
        }
        var random = SeededGenerator(seed: 1)
        let old = table(0..<10_000)
        let new =
            switch order {
            case 1: table((0..<10_000).reversed())
            case 2: table((0..<10_000).shuffled(using: &random))
            default: table(10_000..<20_000)
            }
        let update = try BatchUpdate(from: old, to: new)
        try check(update, old, new)
        #expect(
            update.rowOperationCount
                == [
                    9_999,
                    10_000
                        - DiffReference.longest(
                            new.sections[0].rows.map { Int($0.id!.text.dropFirst(300))! }.filter { $0 < 10_000 },
                            linearithmic: true), 20_000,
                ][order - 1])
    }
}
