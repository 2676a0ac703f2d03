import Testing
@testable import BraidEngine

/// Handlers of descriptions: stories of what went wrong once.
@Suite struct HandlerTests {
    struct Table {
        let description: TableDescription
        var model: TableModel
        var snapshot: Snapshot

        init(_ text: String) throws {
            description = try TableDescription(JSONText(parsing: text))
            model = try description.openingTable()
            snapshot = try description.binder.snapshot(of: model, revision: 0, now: "")
        }

        mutating func perform(_ command: Command) throws -> Outcome {
            let outcome = try description.binder.applying(command, to: model, shown: snapshot, unpublished: nil, now: "")
            (model, snapshot) = (outcome.table, outcome.snapshot)
            return outcome
        }
    }

    /// One that gave nothing was said to be missing.
    @Test(arguments: [("", "no `insert.template`"), (#","insert":{"template":{"$if":"state.ready","then":{"id":"1"}}}"#, "an `insert.template` that gives nothing")])
    func anInsertWithoutAModelIsToldWhyItNeedsOne(insert: String, why: String) throws {
        var table = try Table("""
            {"table":"t","cells":{"C":{}},"state":{"ready":false},"bindings":[{"on":"table","cell":"C","editing":"insert"\(insert)}]}
            """)
        let refusal = #expect(throws: Refusal.self) { _ = try table.perform(.insert(RowReference(path(0, 0)), model: nil)) }
        #expect(refusal?.detail.hasSuffix("its binding has \(why).") == true, "\(refusal?.detail ?? "")")
    }

    /// The row was looked for where it had been: after its own move the handler lost it.
    @Test func aHandlerThatMovesItsOwnRowKeepsIt() throws {
        var table = try Table("""
            {"table":"t","sections":["a","b"],"cells":{"C":{}},"bindings":[{"on":"allSections","cell":"C","models":{"a":[{"id":"1"}],"b":[{"id":"2"}]},
             "onTap":[{"move":{"id":{"$eval":"model.id"},"to":{"section":"b"}}},{"update":{"merge":{"done":true}}}]}]}
            """)
        _ = try table.perform(.tap(RowReference(path(0, 0))))
        #expect(table.snapshot.ids == [[], ["2", "1"]])
        #expect(table.snapshot.sections[1].rows[1].model?.text == #"{"id":"1","done":true}"#)
    }

    /// The handler was called for the first row reported, wherever it was.
    @Test func prefetchIsAboutTheRowNearestToTheEnd() throws {
        var table = try Table("""
            {"table":"t","cells":{"C":{}},"bindings":[{"on":"table","cell":"C","models":[{"id":"1"},{"id":"2"},{"id":"3"}],
             "prefetch":{"cellsFromEnd":2},"onPrefetch":[{"setState":{"row":{"$eval":"row"}}}]}]}
            """)
        _ = try table.perform(.displayedRows([0, 2, 1].map { RowReference(path(0, $0)) }))
        #expect(table.model.state.text == #"{"row":2}"#)
    }

    /// A feed that the state holds, and that was begun anew, never asked for more: only one of stored models did.
    @Test(arguments: [#""modelsFrom":{"$eval":"state.items"}"#, #""numberOfCells":"len(state.items)""#])
    func prefetchRunsAgainWhereModelsThatFollowFromTheStateBecameFewer(models: String) throws {
        var table = try Table("""
            {"table":"t","state":{"items":[{"id":"1"},{"id":"2"}],"asked":0},"cells":{"C":{}},"bindings":[{"on":"table","cell":"C","viewModel":{},\(models),
             "prefetch":{"cellsFromEnd":1},"onPrefetch":[{"setState":{"asked":{"$eval":"state.asked + 1"}}}]}]}
            """)
        func asked(_ items: String? = nil) throws -> String? {
            if let items { _ = try table.perform(.patchState(JSONText(parsing: #"{"items":\#(items)}"#))) }
            _ = try table.perform(.displayedRows([RowReference(path(0, 0))]))
            return table.model.state["asked"]?.text
        }
        #expect(try asked() == "1")
        #expect(try asked(#"[{"id":"3"},{"id":"4"}]"#) == "1", "as many as before")
        #expect(try asked(#"[{"id":"5"}]"#) == "2")
        #expect(try asked(#"[{"id":"5"},{"id":"6"}]"#) == "3")
    }

    /// A template that gave null made the state null, which no later command, and no client, could read.
    @Test(arguments: [#"{"setState":{"$eval":"null"}}"#, #"{"setState":{"$eval":"[1]"}}"#, #"{"update":{"merge":{"$eval":"5"}}}"#])
    func aMergePatchOfHandlersIsAnObject(step: String) throws {
        var table = try Table(#"{"table":"t","state":{"x":0},"cells":{"C":{}},"bindings":[{"on":"table","cell":"C","models":[{"id":"1"}],"onTap":[\#(step)]}]}"#)
        #expect { try table.perform(.tap(RowReference(path(0, 0)))) } throws: { ($0 as? Refusal)?.code == .handlerContract }
    }

    /// It was told as a fault of the request's body, which has no titles.
    @Test(arguments: ["setHeaders", "setFooters"]) func aTitleThatIsNoneIsTheHandlersFault(action: String) throws {
        var table = try Table(#"{"table":"t","cells":{"C":{}},"bindings":[{"on":"table","cell":"C","models":[{"id":"1"}],"onTap":[{"\#(action)":{"table":{"$eval":"count"}}}]}]}"#)
        let detail = #"A handler of the section "table" failed: the title of the section "table", from `\#(action)`, cannot be 1: it must be a string, null, or a view."#
        #expect(throws: Refusal(.handlerContract, detail)) { try table.perform(.tap(RowReference(path(0, 0)))) }
    }

    @Test func toSetWhatIsDisplayedWhereThatIsAutomaticIsIgnored() throws {
        var table = try Table(#"{"table":"t","sections":["a"],"sectionDisplay":{"behavior":"hidesSectionsWithNoData"},"cells":{"C":{}},"bindings":[{"on":{"section":"a"},"cell":"C","models":[{"id":"1"}],"onTap":[{"display":["a"]}]}]}"#)
        let outcome = try table.perform(.tap(RowReference(path(0, 0))))
        #expect(outcome.kind == .ignored(reason: "The sections' display is automatic (hidesSectionsWithNoData): it cannot be set."))
    }

    /// Reporting rows where nothing is to be prefetched made a revision.
    @Test func prefetchWithoutAHandlerDoesNothing() throws {
        var table = try Table(#"{"table":"t","cells":{"C":{}},"bindings":[{"on":"table","cell":"C","models":[{"id":"1"}],"prefetch":{"cellsFromEnd":2}}]}"#)
        #expect(try table.perform(.displayedRows([RowReference(path(0, 0))])).kind == .unchanged)
    }
}
