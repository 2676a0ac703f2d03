import TestSupport
import Testing
@testable import BraidEngine

@Suite struct SnapshotDecodingTests {
    private func faults(_ text: String) throws -> (code: Refusal.Code, pointers: [String])? {
        let json = try JSONText(parsing: text)
        do {
            _ = try Snapshot(json: json, at: JSONPointer.root.appending("from"))
            return nil
        } catch {
            return (error.code, error.faults.map(\.pointer.description))
        }
    }

    @Test("Decoding an encoded snapshot returns the same snapshot")
    func whatIsWrittenIsRead() throws {
        var random = SeededGenerator(seed: 3)
        for _ in 0..<300 {
            let snapshot = random.snapshot()
            #expect(try Snapshot(json: snapshot.json).json == snapshot.json)
        }
    }

    @Test("Rows are encoded with their members in the documented order")
    func memberOrder() throws {
        let text =
            #"{"sections":[{"rows":[{"height":44.0,"movable":false,"editing":"insert","viewModel":{"b":1,"a":2},"cell":"C","model":[1.50],"id":"a\u00e9"}],"id":"A"}]}"#
        let snapshot = try Snapshot(json: try JSONText(parsing: text))
        #expect(
            snapshot.json.text
                == #"{"revision":0,"totalRowCount":1,"sections":[{"id":"A","header":null,"footer":null,"rowCount":1,"rows":[{"id":"aé","cell":"C","model":[1.50],"viewModel":{"b":1,"a":2},"editing":"insert","height":44.0}]}],"state":{}}"#
        )
        #expect(snapshot.sections[0].rows[0].model?.text == "[1.50]")
    }

    @Test("Every fault in a snapshot's JSON is reported with its JSON pointer")
    func everyFaultIsNamed() throws {
        let text = #"""
            {"revision": -1, "colour": 1, "state": [], "totalRowCount": 9, "sections": [
              {"id": 1, "rows": [{"id": "a"}, {"cell": "C"}, {"id": "b", "cell": "C", "editing": "none", "movable": 1, "height": "x", "extra": 0}]},
              {"id": "A", "header": "t", "rowCount": 2, "movesTo": 1, "diffable": null, "rows": 1},
              {"id": "A", "rows": []}, 7]}
            """#
        let found = try faults(text)
        #expect(found?.code == .badRequest)
        #expect(
            found?.pointers.sorted() == [
                "/from/colour", "/from/revision", "/from/sections/0", "/from/sections/0/id", "/from/sections/0/rows/0",
                "/from/sections/0/rows/1",
                "/from/sections/0/rows/2/editing", "/from/sections/0/rows/2/extra", "/from/sections/0/rows/2/height",
                "/from/sections/0/rows/2/movable",
                "/from/sections/1/diffable", "/from/sections/1/header", "/from/sections/1/movesTo",
                "/from/sections/1/rowCount", "/from/sections/1/rows",
                "/from/sections/2/id", "/from/sections/3", "/from/state", "/from/totalRowCount",
            ])
        #expect(try faults("[]")?.pointers == ["/from"])
        #expect(try faults("{}")?.pointers == ["/from"])
    }

    @Test("A snapshot whose only fault is a duplicate id is refused with `duplicateRowID`")
    func duplicateID() throws {
        let rows = #"{"id":"a","cell":"C"},{"id":"b","cell":"C"},{"id":"a","cell":"C"}"#
        let found = try faults(#"{"sections":[{"id":"A","rows":[\#(rows)]}]}"#)
        #expect(found?.code == .duplicateRowID)
        #expect(found?.pointers == ["/from/sections/0/rows/2/id"])
        #expect(try faults(#"{"sections":[{"id":"A","diffable":false,"rows":[{"cell":"C"},{"cell":"C"}]}]}"#) == nil)
    }
}
