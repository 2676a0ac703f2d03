import TestSupport
import Testing
@testable import BraidEngine

@Suite struct UpdateDecodingTests {
    private func faults(_ text: String) throws -> [String]? {
        let json = try JSONText(parsing: text)
        do {
            _ = try BatchUpdate(json: json, at: JSONPointer.root.appending("updates").appending(0))
            return nil
        } catch {
            #expect(error.code == .badRequest)
            return error.faults.map(\.pointer.description).sorted()
        }
    }

    @Test("Decoding an encoded update returns the same update")
    func whatIsWrittenIsRead() throws {
        var random = SeededGenerator(seed: 29 << 32)
        for _ in 0..<DiffRuns.count / 20 {
            let old = random.snapshot(), new = random.snapshot()
            let update = try BatchUpdate(from: old, to: new)
            let decoded = try BatchUpdate(json: JSONText(parsing: update.json.bytes))
            #expect(decoded.json == update.json)
            #expect(try decoded.applied(to: Snapshot(json: old.json)).json == new.json)
        }
    }

    @Test("Every member of an update is decoded")
    func everyMemberIsRead() throws {
        let row =
            #"{"id":"a\n","cell":"C","model":[1.50],"viewModel":{},"editing":"delete","movable":true,"height":44.0,"estimatedHeight":"automatic"}"#
        let section =
            #"{"id":"A","header":null,"footer":{"title":"f"},"rowCount":1,"movesTo":["A"],"diffable":false,"rows":[{"cell":"C"}]}"#
        let text = #"""
            {"from":1,"to":9,"stages":[{"deleteSections":[9223372036854775807],"insertSections":[{"at":0,"section":\#(section)}],"moveSections":[{"from":1,"to":2}],
            "reloadSections":[{"at":1,"section":\#(section)}],"updateSections":[{"at":0,"header":null,"movesTo":null},{"at":1,"footer":{"title":"x"},"movesTo":"anySection"}],
            "deleteRows":[[0,3]],"insertRows":[{"at":[0,0],"row":\#(row)}],"moveRows":[{"from":[0,1],"to":[1,0]},{"from":[0,2],"to":[1,1],"row":\#(row)}],
            "reloadRows":[{"at":[0,2],"row":\#(row)}],"updateRows":[{"at":[0,2],"row":\#(row)}]},{}],"totalRowCount":3,"state":{"a":1.0},"empty":null}
            """#
        let json = try JSONText(parsing: text)
        #expect(try BatchUpdate(json: json).json == json)
    }

    /// They must not overflow.
    @Test("The sequential form of an update with impossible indexes can be computed")
    func impossibleIndexes() throws {
        let text = #"""
            {"from":0,"to":1,"totalRowCount":0,"stages":[{"moveSections":[{"from":0,"to":9223372036854775807},{"from":1,"to":9223372036854775807}],
            "deleteRows":[[0,0],[0,9223372036854775807]],"moveRows":[{"from":[0,1],"to":[0,9223372036854775807]},{"from":[0,2],"to":[0,9223372036854775807]}],
            "insertRows":[{"at":[9223372036854775807,0],"row":{"cell":"C"}}]}]}
            """#
        let update = try BatchUpdate(json: JSONText(parsing: text))
        #expect(update.sequential().count == 7)
        #expect(throws: InvalidUpdate.self) { try update.applied(to: Snapshot()) }
    }

    @Test("Every fault in an update's JSON is reported with its JSON pointer")
    func everyFaultIsNamed() throws {
        #expect(try faults("[]") == ["/updates/0"])
        #expect(try faults("{}") == ["/updates/0", "/updates/0", "/updates/0", "/updates/0"])
        #expect(
            try faults(#"{"from":0,"to":1.5,"stages":{},"totalRowCount":-1,"state":[],"operations":[]}"#)
                == [
                    "/updates/0/operations", "/updates/0/stages", "/updates/0/state", "/updates/0/to",
                    "/updates/0/totalRowCount",
                ])
        let text = #"""
            {"from":0,"to":1,"totalRowCount":0,"stages":[7,{"deleteSections":[-1,"1"],"insertSections":[{"at":0},{"section":{"id":"A","rows":[{"cell":"C"}]}}],
            "moveSections":[{"from":0}],"updateSections":[{"at":0,"header":1,"movesTo":1,"rows":[]}],"deleteRows":[[0],[0,1,2],{},[0,-1]],
            "insertRows":[{"at":[0,0],"row":{"id":"a"}}],"moveRows":[{"from":[0,0],"to":0,"row":null}],"deleteRow":[]}]}
            """#
        #expect(
            try faults(text) == [
                "/updates/0/stages/0", "/updates/0/stages/1/deleteRow", "/updates/0/stages/1/deleteRows/0",
                "/updates/0/stages/1/deleteRows/1",
                "/updates/0/stages/1/deleteRows/2", "/updates/0/stages/1/deleteRows/3/1",
                "/updates/0/stages/1/deleteSections/0",
                "/updates/0/stages/1/deleteSections/1", "/updates/0/stages/1/insertRows/0/row",
                "/updates/0/stages/1/insertSections/0",
                "/updates/0/stages/1/insertSections/1", "/updates/0/stages/1/insertSections/1/section/rows/0",
                "/updates/0/stages/1/moveRows/0/row",
                "/updates/0/stages/1/moveRows/0/to", "/updates/0/stages/1/moveSections/0",
                "/updates/0/stages/1/updateSections/0/header",
                "/updates/0/stages/1/updateSections/0/movesTo", "/updates/0/stages/1/updateSections/0/rows",
            ])
    }
}
