import TestSupport
import Testing

@testable import BraidEngine

@Suite struct RowsByIDTests {
    static let description = """
        {"table":"t","sections":"dynamic","cells":{"C":{}},"bindings":[{"on":"allOtherSections","cell":"C","models":{"a":[{"id":"1"},{"id":"2"},{"id":3}],"b":[{"id":"4"}]},
         "shown":"!('hidden' in model)","viewModel":{"text":{"$eval":"model.id"}}}]}
        """

    static func call(_ call: String) throws -> Command {
        try Command(json: JSONText(parsing: #"{"dataSource":{\#(call)}}"#))
    }

    static func ids(_ session: Played, _ section: SectionID) -> [String] {
        session.table[section]?.rows.map { $0.id?.text ?? "" } ?? []
    }

    @Test(
        "A row is inserted at the start, at the end, before or after a row, or at an index",
        arguments: [
            ("", ["1", "2", "3", "n"]), (#""at":"end","#, ["1", "2", "3", "n"]),
            (#""at":"start","#, ["n", "1", "2", "3"]),
            (#""at":{"before":"1"},"#, ["n", "1", "2", "3"]), (#""at":{"before":3},"#, ["1", "2", "n", "3"]),
            (#""at":{"after":"1"},"#, ["1", "n", "2", "3"]), (#""at":{"after":"3"},"#, ["1", "2", "3", "n"]),
            (#""at":0,"#, ["n", "1", "2", "3"]), (#""at":2,"#, ["1", "2", "n", "3"]),
            (#""at":3,"#, ["1", "2", "3", "n"]),
        ])
    func placements(at: String, expected: [String]) throws {
        var session = try Played(Self.description)
        let outcome = try session.perform(Self.call(#""insertRow":{"section":"a",\#(at)"model":{"id":"n"}}"#))
        #expect(outcome.kind == .applied && outcome.notification == .section(0))
        #expect(outcome.inserted?.section == "a" && outcome.inserted?.id == RowID("n"))
        #expect(Self.ids(session, "a") == expected)
        #expect(session.snapshot.sections[0].rows.compactMap { $0.id?.text } == expected)
    }

    @Test("`putRow` replaces a row in its place or appends it, and repeating the call changes nothing")
    func putting() throws {
        var session = try Played(Self.description)
        for (call, ids, kind, isNew) in [
            (
                #"{"section":"a","rowId":"2","model":{"id":"2","name":"B"}}"#, ["1", "2", "3"], Outcome.Kind.applied,
                false
            ),
            (#"{"section":"a","rowId":"2","model":{"id":"2","name":"B"}}"#, ["1", "2", "3"], .unchanged, false),
            (#"{"section":"a","rowId":"3","model":{"id":3,"name":"C"}}"#, ["1", "2", "3"], .applied, false),
            (#"{"section":"a","rowId":9,"model":{"id":"9"}}"#, ["1", "2", "3", "9"], .applied, true),
            (#"{"section":"a","rowId":9,"model":{"id":"9"}}"#, ["1", "2", "3", "9"], .unchanged, false),
        ] {
            let outcome = try session.perform(Self.call(#""putRow":\#(call)"#))
            #expect(outcome.kind == kind && (outcome.inserted != nil) == isNew, "\(call)")
            #expect(Self.ids(session, "a") == ids)
        }
        #expect(session.table["a"]?.rows[1].model == #"{"id":"2","name":"B"}"#)
    }

    @Test("`patchRow` merges into the model, and `deleteRow` keeps a section that becomes empty")
    func patchingAndDeleting() throws {
        var session = try Played(Self.description)
        try session.perform(Self.call(#""patchRow":{"section":"a","rowId":"1","patch":{"name":"A","tags":{"x":1}}}"#))
        try session.perform(Self.call(#""patchRow":{"section":"a","rowId":"1","patch":{"name":null,"tags":{"y":2}}}"#))
        #expect(session.table["a"]?.rows[0].model == #"{"id":"1","tags":{"x":1,"y":2}}"#)
        let deleted = try session.perform(Self.call(#""deleteRow":{"section":"b","rowId":"4"}"#))
        #expect(deleted.notification == .dataSource)
        #expect(session.table["b"]?.rows.isEmpty == true)
    }

    @Test("Calls by id can change, delete and show a row that clients do not see")
    func hiddenRows() throws {
        var session = try Played(Self.description)
        try session.perform(Self.call(#""putRow":{"section":"a","rowId":"h","model":{"id":"h","hidden":true}}"#))
        #expect(Self.ids(session, "a") == ["1", "2", "3", "h"] && session.snapshot.sections[0].rows.count == 3)
        try session.perform(Self.call(#""patchRow":{"section":"a","rowId":"h","patch":{"hidden":null}}"#))
        #expect(session.snapshot.sections[0].rows.count == 4)
        try session.perform(Self.call(#""patchRow":{"section":"a","rowId":"h","patch":{"hidden":true}}"#))
        try session.perform(Self.call(#""deleteRow":{"section":"a","rowId":"h"}"#))
        #expect(Self.ids(session, "a") == ["1", "2", "3"])
        // A hidden section can get rows, too.
        try session.perform(.setDisplayedSections(["b"]))
        try session.perform(Self.call(#""insertRow":{"section":"a","model":{"id":"n"}}"#))
        #expect(Self.ids(session, "a") == ["1", "2", "3", "n"])
    }

    @Test("`insertRow` and `putRow` create a dynamic section that does not exist")
    func newSections() throws {
        for call in [
            #""insertRow":{"section":"new","model":{"id":"n"}}"#,
            #""putRow":{"section":"new","rowId":"n","model":{"id":"n"}}"#,
        ] {
            var session = try Played(Self.description)
            #expect(try session.perform(Self.call(call)).notification == .dataSource)
            #expect(session.snapshot.sections.last?.id == "new" && Self.ids(session, "new") == ["n"])
        }
    }

    @Test(
        "A refused call by ids changes nothing, and the refusal of a model points to the faulty member",
        arguments: [
            (#""insertRow":{"section":"a","model":{"id":"1"}}"#, Refusal.Code.duplicateRowID, nil),
            (#""insertRow":{"section":"a","model":{}}"#, .modelInvalid, "/model/id"),
            (#""insertRow":{"section":"a","at":4,"model":{"id":"n"}}"#, .rowNotFound, nil),
            (#""insertRow":{"section":"a","at":{"before":"4"},"model":{"id":"n"}}"#, .rowNotFound, nil),
            (#""putRow":{"section":"a","rowId":"1","model":{"id":"2"}}"#, .modelInvalid, "/id"),
            (#""putRow":{"section":"a","rowId":"1","model":{}}"#, .modelInvalid, "/id"),
            (#""patchRow":{"section":"a","rowId":"1","patch":{"id":"2"}}"#, .modelInvalid, "/id"),
            (#""patchRow":{"section":"a","rowId":"1","patch":{"id":null}}"#, .modelInvalid, "/id"),
            (#""patchRow":{"section":"a","rowId":"1","patch":7}"#, .badRequest, ""),
            (#""patchRow":{"section":"a","rowId":"4","patch":{}}"#, .rowNotFound, nil),
            (#""deleteRow":{"section":"a","rowId":"4"}"#, .rowNotFound, nil),
            (#""deleteRow":{"section":"c","rowId":"4"}"#, .sectionNotFound, nil),
            (#""patchRow":{"section":"c","rowId":"4","patch":{}}"#, .sectionNotFound, nil),
        ])
    func refusals(call: String, code: Refusal.Code, pointer: String?) throws {
        var session = try Played(Self.description)
        let before = session.table
        let refusal = #expect(throws: Refusal.self) { try session.perform(Self.call(call)) }
        #expect(refusal?.code == code && refusal?.faults.first?.pointer.description == pointer, "\(refusal as Any)")
        #expect(session.table.sections.map(\.rows.count) == before.sections.map(\.rows.count))
    }

    @Test(
        "The refusal of a malformed call by ids points to the faulty member",
        arguments: [
            (#""insertRow":{"section":"a","at":"middle","model":1}"#, "insertRow/at"),
            (#""insertRow":{"section":"a","at":null,"model":1}"#, "insertRow/at"),
            (#""insertRow":{"section":"a","at":-1,"model":1}"#, "insertRow/at"),
            (#""insertRow":{"section":"a","at":{},"model":1}"#, "insertRow/at"),
            (#""insertRow":{"section":"a","at":{"before":"1","after":"2"},"model":1}"#, "insertRow/at"),
            (#""insertRow":{"section":"a","at":{"before":[]},"model":1}"#, "insertRow/at/before"),
            (#""insertRow":{"section":null,"model":1}"#, "insertRow/section"),
            (#""putRow":{"section":"a","rowId":null,"model":1}"#, "putRow/rowId"),
            (#""putRow":{"section":"a","rowId":"1"}"#, "putRow"), (#""deleteRow":{"section":"a"}"#, "deleteRow"),
        ])
    func malformed(call: String, pointer: String) throws {
        let refusal = #expect(throws: Refusal.self) { try Self.call(call) }
        #expect(
            refusal?.code == .badRequest && refusal?.faults.map(\.pointer.description) == ["/dataSource/\(pointer)"])
    }

    @Test("Calls by ids cannot name derived rows, or rows of a model type without ids")
    func rowsWithoutIDs() throws {
        var session = try Played(
            #"{"table":"t","modelTypes":{"N":{"id":null}},"sections":["n","d"],"cells":{"C":{}},"bindings":[{"on":{"section":"n"},"cell":"C","modelType":"N","models":[1]},{"on":{"section":"d"},"cell":"C","modelsFrom":{"$eval":"[{'id': 'x'}]"}}]}"#
        )
        for (call, code) in [
            (#""putRow":{"section":"n","rowId":"1","model":1}"#, Refusal.Code.modelInvalid),
            (#""deleteRow":{"section":"n","rowId":"1"}"#, .rowNotFound),
            (#""putRow":{"section":"d","rowId":"x","model":{"id":"x"}}"#, .editingNotAllowed),
            (#""deleteRow":{"section":"d","rowId":"x"}"#, .editingNotAllowed),
            (#""insertRow":{"section":"other","model":1}"#, .sectionNotFound),
        ] {
            let refusal = #expect(throws: Refusal.self) { try session.perform(Self.call(call)) }
            #expect(refusal?.code == code, "\(call): \(refusal as Any)")
        }
        try session.perform(Self.call(#""insertRow":{"section":"n","at":"start","model":2}"#))
        #expect(session.table["n"]?.rows.map(\.model) == [.number(2), .number(1)])
    }

    @Test("A call by ids with `notify: false` is stored but not published, and a transaction reports no inserted row")
    func unpublishedAndInTransactions() throws {
        var session = try Played(Self.description)
        let call = #""putRow":{"section":"a","rowId":"n","model":{"id":"n"},"notify":false}"#
        let silent = try session.perform(Self.call(call))
        #expect(silent.notification == nil && session.snapshot.sections[0].rows.count == 3)
        let transaction = try session.perform(
            .transaction([Self.call(#""putRow":{"section":"a","rowId":"m","model":{"id":"m"}}"#)]))
        #expect(transaction.inserted == nil && session.snapshot.sections[0].rows.count == 5)
    }

    @Test(
        "A call by ids writes and renders only one row, whatever the size of the table",
        arguments: [100, 100_000])
    func cost(count: Int) throws {
        let description = Self.description.split(separator: #""shown":"!('hidden' in model)","#).joined()
        var session = try Played(description)
        let models = try (0..<count).map { try JSONText(parsing: #"{"id":"\#($0)"}"#) }
        try session.perform(.setModels([(SectionID("a"), models)], merging: true))
        // 2,000 steps for one call; rendering all rows of the larger table would need far more.
        var binder = session.binder
        binder.limits.templateSteps = 2_000 - 200 * session.table.rowCount
        for call in [
            #""putRow":{"section":"a","rowId":"7","model":{"id":"7","x":1}}"#,
            #""patchRow":{"section":"a","rowId":"8","patch":{"x":1}}"#,
            #""putRow":{"section":"a","rowId":"new","model":{"id":"new"}}"#,
            #""insertRow":{"section":"a","at":{"after":"50"},"model":{"id":"n"}}"#,
            #""deleteRow":{"section":"a","rowId":"9"}"#,
        ] {
            let outcome = try binder.applying(
                Self.call(call), to: session.table, shown: session.snapshot, unpublished: nil,
                now: RandomCommandTests.now)
            #expect(outcome.change.writtenRows.count + outcome.change.removedRows.count == 1, "\(call)")
            #expect(outcome.update.stages.count == 1, "\(call)")
        }
        #expect(
            binder.estimatedCost(of: try Self.call(#""deleteRow":{"section":"a","rowId":"9"}"#), rowCount: count) == 1)
    }
}
