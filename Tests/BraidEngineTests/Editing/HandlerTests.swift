import Testing
@testable import BraidEngine

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
            let outcome = try description.binder.applying(
                command, to: model, shown: snapshot, unpublished: nil, now: "")
            (model, snapshot) = (outcome.table, outcome.snapshot)
            return outcome
        }
    }

    /// A template that renders nothing is not missing.
    @Test(
        "An insert that gets no model is refused, and the message says why",
        arguments: [
            ("", "no `insert.template`"),
            (
                #","insert":{"template":{"$if":"state.ready","then":{"id":"1"}}}"#,
                "an `insert.template` that gives nothing"
            ),
        ])
    func insertWithoutModel(insert: String, why: String) throws {
        var table = try Table(
            """
            {"table":"t","cells":{"C":{}},"state":{"ready":false},"bindings":[{"cell":"C","editing":"insert"\(insert)}]}
            """)
        let refusal = #expect(throws: Refusal.self) {
            _ = try table.perform(.insert(RowReference(path(0, 0)), model: nil))
        }
        #expect(refusal?.detail.hasSuffix("its binding has \(why).") == true, "\(refusal?.detail ?? "")")
    }

    /// And no Swift value such as `UTF8Key(string: "Person")`.
    @Test(
        "The refusal of a model without an id contains the name of the model type",
        arguments: [
            (#"{"nom":"Ada"}"#, "needs its id"), (#"{"name":true}"#, "at \"/name\" must be a string or an integer"),
        ])
    func modelWithoutID(model: String, why: String) throws {
        var table = try Table(
            #"{"table":"t","cells":{"C":{}},"modelTypes":{"Person":{"id":"/name"}},"bindings":[{"cell":"C","modelType":"Person"}]}"#
        )
        let refusal = #expect(throws: Refusal.self) {
            _ = try table.perform(.setModels([("table", [try JSONText(parsing: model)])], merging: false))
        }
        #expect(refusal?.detail.contains(#"of the type "Person" \#(why)"#) == true, "\(refusal?.detail ?? "")")
    }

    /// The next action must find it at the new place.
    @Test("A handler that moves its own row can still change that row")
    func movedOwnRow() throws {
        var table = try Table(
            """
            {"table":"t","sections":["a","b"],"cells":{"C":{}},"bindings":[{"on":"allOtherSections","cell":"C","models":{"a":[{"id":"1"}],"b":[{"id":"2"}]},
             "onTap":[{"move":{"id":{"$eval":"model.id"},"to":{"section":"b"}}},{"update":{"merge":{"done":true}}}]}]}
            """)
        _ = try table.perform(.tap(RowReference(path(0, 0))))
        #expect(table.snapshot.ids == [[], ["2", "1"]])
        #expect(table.snapshot.sections[1].rows[1].model?.text == #"{"id":"1","done":true}"#)
    }

    /// Even if the client reports another first.
    @Test("`onPrefetch` runs for the displayed row nearest to the section's end")
    func prefetchNearEnd() throws {
        var table = try Table(
            """
            {"table":"t","cells":{"C":{}},"bindings":[{"cell":"C","models":[{"id":"1"},{"id":"2"},{"id":"3"}],
             "prefetch":{"cellsFromEnd":2},"onPrefetch":[{"setState":{"row":{"$eval":"row"}}}]}]}
            """)
        _ = try table.perform(.displayedRows([0, 2, 1].map { RowReference(path(0, $0)) }))
        #expect(table.model.state.text == #"{"row":2}"#)
    }

    /// Rows derived from the state must load more after they became fewer, as stored ones do after their models were
    /// replaced.
    @Test(
        "`onPrefetch` runs again after there are fewer derived rows, or another last one",
        arguments: [
            (#""modelsFrom":{"$eval":"state.items"}"#, ["1", "1", "2", "3", "4"]),
            (#""numberOfCells":"len(state.items)""#, ["1", "1", "1", "2", "3"]),
        ])
    func prefetchDerivedRows(models: String, runs: [String]) throws {
        var table = try Table(
            """
            {"table":"t","state":{"items":[{"id":"1"},{"id":"2"}],"asked":0},"cells":{"C":{}},"bindings":[{"cell":"C","viewModel":{},\(models),
             "prefetch":{"cellsFromEnd":1},"onPrefetch":[{"setState":{"asked":{"$eval":"state.asked + 1"}}}]}]}
            """)
        func asked(_ items: String? = nil) throws -> String? {
            if let items { _ = try table.perform(.setState(JSONText(parsing: #"{"items":\#(items)}"#), merging: true)) }
            _ = try table.perform(.displayedRows([RowReference(path(0, 0))]))
            return table.model.state["asked"]?.text
        }
        let items = [
            nil, #"[{"id":"2"},{"id":"1"}]"#, #"[{"id":"3"},{"id":"4"}]"#, #"[{"id":"5"}]"#,
            #"[{"id":"5"},{"id":"6"}]"#,
        ]
        #expect(try items.map { try asked($0) } == runs)
    }

    @Test(
        "`onPrefetch` runs again after the last row was replaced, but not after it was changed or moved",
        arguments: [
            (#"{"models":{"table":[{"id":"1"},{"id":"2"},{"id":"new"}]}}"#, true),
            (#"{"models":{"table":[{"id":"4"},{"id":"5"},{"id":"6"}]}}"#, true),
            (#"{"dataSource":{"updateRow":{"at":[0,2],"model":{"id":"new"}}}}"#, true),
            (#"{"moves":{"from":{"id":"x"},"to":{"section":"table","row":3}}}"#, true),
            (
                """
                {"edits":{"delete":{"id":"3"}}}
                {"dataSource":{"insertRow":{"section":"table","model":{"id":"new"}}}}
                """, true
            ),
            (#"{"models":{"table":[{"id":"3"},{"id":"2"},{"id":"1"}]}}"#, false),
            (#"{"models":{"table":[{"id":"new"},{"id":"2"},{"id":"3"}]}}"#, false),
            (#"{"models":{"table":[{"id":"1"},{"id":"2"},{"id":"3","read":true}]}}"#, false),
            (#"{"dataSource":{"updateRow":{"at":[0,2],"model":{"id":"3","read":true}}}}"#, false),
            (#"{"moves":{"from":{"id":"1"},"to":{"section":"table","row":2}}}"#, false),
            (#"{"edits":{"delete":{"id":"3"}}}"#, false),
        ])
    func prefetchRunsAgainForAnotherLastRow(command: String, runs: Bool) throws {
        try expectPrefetch(after: command, runs, idOf: #""/id""#)
    }

    @Test(
        "`onPrefetch` runs again after a list of models has replaced the last row without an id",
        arguments: [
            (#"{"models":{"table":[{"id":"1"},{"id":"2"},{"id":"new"}]}}"#, true),
            (#"{"models":{"table":[{"id":"new"},{"id":"2"},{"id":"3"}]}}"#, false),
            (#"{"dataSource":{"updateRow":{"at":[0,2],"model":{"id":"3","read":true}}}}"#, false),
            (#"{"edits":{"delete":{"section":0,"row":2}}}"#, false),
        ])
    func prefetchWithoutIDs(command: String, runs: Bool) throws {
        try expectPrefetch(after: command, runs, idOf: "null")
    }

    private func expectPrefetch(after commands: String, _ runs: Bool, idOf pointer: String) throws {
        var table = try Table(
            """
            {"table":"t","sections":["table","other"],"state":{"asked":0},"cells":{"C":{}},"modelTypes":{"M":{"id":\(pointer)}},
             "bindings":[{"on":"allOtherSections","cell":"C","modelType":"M","models":{"table":[{"id":"1"},{"id":"2"},{"id":"3"}],"other":[{"id":"x"}]},
             "editing":"delete","moving":{"to":"anySection"},
             "prefetch":{"cellsFromEnd":2},"onPrefetch":[{"setState":{"asked":{"$eval":"state.asked + 1"}}}]}]}
            """)
        func report() throws { _ = try table.perform(.displayedRows([.at(.id("table"), row: 1)])) }
        try report()
        try report()
        #expect(table.model.state["asked"]?.text == "1")
        for command in commands.split(separator: "\n") {
            _ = try table.perform(Command(json: JSONText(parsing: String(command))))
        }
        try report()
        try report()
        #expect(table.model.state["asked"]?.text == (runs ? "2" : "1"))
    }

    /// Null would replace the whole state, which nobody could read then.
    @Test(
        "A handler's merge patch must be an object",
        arguments: [
            #"{"setState":{"$eval":"null"}}"#, #"{"setState":{"$eval":"[1]"}}"#, #"{"update":{"merge":{"$eval":"5"}}}"#,
        ])
    func mergePatchKind(step: String) throws {
        var table = try Table(
            #"{"table":"t","state":{"x":0},"cells":{"C":{}},"bindings":[{"cell":"C","models":[{"id":"1"}],"onTap":[\#(step)]}]}"#
        )
        #expect { try table.perform(.tap(RowReference(path(0, 0)))) } throws: {
            ($0 as? Refusal)?.code == .handlerContract
        }
    }

    /// The client's request contains no titles.
    @Test(
        "An invalid title that a handler sets is reported as a fault of the handler",
        arguments: ["setHeaders", "setFooters"])
    func invalidTitle(action: String) throws {
        var table = try Table(
            #"{"table":"t","cells":{"C":{}},"bindings":[{"cell":"C","models":[{"id":"1"}],"onTap":[{"\#(action)":{"table":{"$eval":"count"}}}]}]}"#
        )
        let detail =
            #"A handler of the section "table" failed: the title of the section "table", from `\#(action)`, cannot be 1: it must be a string, null, or a view."#
        #expect(throws: Refusal(.handlerContract, detail)) { try table.perform(.tap(RowReference(path(0, 0)))) }
    }

    @Test("A handler cannot set the displayed sections if the description chooses them automatically")
    func displayedSectionsStayAutomatic() throws {
        var table = try Table(
            #"{"table":"t","sections":["a","b"],"sectionDisplay":{"behavior":"hidesSectionsWithNoData"},"cells":{"C":{}},"bindings":[{"on":{"section":"a"},"cell":"C","models":[{"id":"1"}],"onTap":[{"display":["b"]}]},{"on":{"section":"b"},"cell":"C","models":[]}]}"#
        )
        let outcome = try table.perform(.tap(RowReference(path(0, 0))))
        #expect(outcome.kind == .applied && outcome.update.isEmpty && outcome.snapshot.sections.map(\.id) == ["a"])
    }

    /// Above all, it makes no revision.
    @Test("Without `onPrefetch`, a report of displayed rows changes nothing")
    func prefetchWithoutHandler() throws {
        var table = try Table(
            #"{"table":"t","cells":{"C":{}},"bindings":[{"cell":"C","models":[{"id":"1"}],"prefetch":{"cellsFromEnd":2}}]}"#
        )
        #expect(try table.perform(.displayedRows([RowReference(path(0, 0))])).kind == .unchanged)
    }

    @Test("`onDelete` runs after the engine has removed the row, and `onInsert` after it has inserted the row")
    func momentOfHandlers() throws {
        var table = try Table(
            """
            {"table":"t","sections":["a","b"],"cells":{"C":{}},"bindings":[{"on":"allOtherSections","cell":"C","models":{"a":[{"id":"1"},{"id":"2"}],"b":[]},"insert":{"template":{"id":"new","from":"template"}},
             "onDelete":[{"setState":{"left":{"$eval":"count"}}}],"onInsert":[{"update":{"merge":{"of":{"$eval":"count"}}}}]},
             {"on":{"section":"a"},"editing":"delete"},{"on":{"section":"b"},"editing":"insert"}]}
            """)
        _ = try table.perform(.delete(RowReference(path(0, 0))))
        #expect(table.model.state.text == #"{"left":1}"#)
        _ = try table.perform(.insert(RowReference(path(1, 0)), model: #"{"from":"request"}"#))
        #expect(table.snapshot.sections[1].rows[0].model?.text == #"{"id":"new","from":"request","of":1}"#)
    }

    @Test(
        "A command is refused if `onDelete` or `onInsert` leaves one row too many in the section",
        arguments: [
            (#"{"delete":{"id":"1"}}"#, "onDelete", "a"),
            (#"{"insert":{"section":"a","row":0},"model":{"id":"new"}}"#, "onInsert", "a"),
            (#"{"from":{"id":"1"},"to":{"section":"a","row":1}}"#, "onDelete", "a"),
            (#"{"from":{"id":"1"},"to":{"section":"a","row":1}}"#, "onInsert", "a"),
            (#"{"from":{"id":"1"},"to":{"section":"b","row":0}}"#, "onDelete", "a"),
            (#"{"from":{"id":"1"},"to":{"section":"b","row":0}}"#, "onInsert", "b"),
        ])
    func oneRowTooMany(command: String, handler: String, section: String) throws {
        let editing = command.hasPrefix(#"{"insert"#) ? "insert" : "delete"
        var table = try Table(
            """
            {"table":"t","sections":["a","b"],"cells":{"C":{}},"bindings":[{"on":"allOtherSections","cell":"C","models":{"a":[{"id":"1"},{"id":"2"}],"b":[{"id":"3"}]},
             "editing":"\(editing)","moving":{"to":"anySection"},"\(handler)":[{"insert":{"section":"\(section)","model":{"id":"extra"}}}]}]}
            """)
        #expect { try table.perform(Command(json: JSONText(parsing: command))) } throws: {
            ($0 as? Refusal)?.code == .handlerContract
        }
    }

    @Test("An action that deletes, inserts or moves a row runs no handlers and ignores policies")
    func actionsRunNoHandlers() throws {
        var table = try Table(
            """
            {"table":"t","sections":["a","b"],"cells":{"C":{}},"bindings":[{"on":"allOtherSections","cell":"C","models":{"a":[{"id":"1"},{"id":"2"}],"b":[{"id":"3"}]},
             "onDelete":[{"reject":"deleted"}],"onInsert":[{"reject":"inserted"}]},
             {"on":{"section":"a"},"onTap":[{"move":{"id":"1","to":{"section":"b"}}},{"remove":{"id":"2"}},{"insert":{"section":"a","model":{"id":"4"}}}]}]}
            """)
        _ = try table.perform(.tap(RowReference(path(0, 0))))
        #expect(table.snapshot.ids == [["4"], ["3", "1"]], "without a row, at the end")
    }

    @Test("A move to the row's own place changes nothing and runs no handler")
    func moveToOwnPlace() throws {
        var table = try Table(
            #"{"table":"t","cells":{"C":{}},"bindings":[{"cell":"C","models":[{"id":"1"},{"id":"2"}],"moving":{"to":"anySection"},"onDelete":[{"reject":"no"}]}]}"#
        )
        #expect(try table.perform(.move(RowReference(path(0, 1)), to: .at(.displayed(0), row: 1))).kind == .unchanged)
        #expect(throws: Refusal(.rejected, "no")) {
            try table.perform(.move(RowReference(path(0, 1)), to: .at(.displayed(0), row: 0)))
        }
    }

    /// The first row of each section is hidden.
    @Test("The row indexes in a handler's `reason` count stored rows")
    func reasonIndexes() throws {
        var table = try Table(
            """
            {"table":"t","sections":["a","b"],"cells":{"C":{}},"bindings":[{"on":"allOtherSections","cell":"C","models":{"a":[{"id":"0","hidden":true},{"id":"1"}],"b":[{"id":"2","hidden":true},{"id":"3"}]},
             "shown":"!('hidden' in model)","moving":{"to":"anySection"},
             "onDelete":[{"setState":{"to":{"$eval":"reason"}}}],"onInsert":[{"setState":{"from":{"$eval":"reason"}}}]}]}
            """)
        _ = try table.perform(.move(RowReference(path(0, 0)), to: .at(.displayed(1), row: 0)))
        #expect(table.snapshot.ids == [[], ["1", "3"]])
        #expect(
            table.model.state.text
                == #"{"to":{"moved":{"toSection":"b","row":1}},"from":{"moved":{"fromSection":"a","row":1}}}"#)
    }

    @Test("Each action of a handler reads the table after the preceding actions")
    func actionsInOrder() throws {
        var table = try Table(
            """
            {"table":"t","state":{"n":0},"cells":{"C":{}},"bindings":[{"cell":"C","models":[{"id":"1"}],"onTap":[
             {"setState":{"n":{"$eval":"state.n + 1"}}},{"insert":{"section":"table","model":{"id":"2"}}},{"setState":{"n":{"$eval":"state.n + 1"},"rows":{"$eval":"len(models.table)"}}}]}]}
            """)
        _ = try table.perform(.tap(RowReference(path(0, 0))))
        #expect(table.model.state.text == #"{"n":2,"rows":2}"#)
    }

    /// `onDelete` of the source section runs when the row is already in the target section.
    @Test("After a move, both `onDelete` and `onInsert` find the row at its new place")
    func moveHandlers() throws {
        for handler in ["onDelete", "onInsert"] {
            var table = try Table(
                """
                {"table":"t","sections":["a","b"],"cells":{"C":{}},"bindings":[{"on":"allOtherSections","cell":"C","models":{"a":[{"id":"1"}],"b":[]},"moving":{"to":"anySection"},
                 "\(handler)":[{"update":{"merge":{"moved":true}}}]}]}
                """)
            _ = try table.perform(.move(RowReference(path(0, 0)), to: .at(.displayed(1), row: 0)))
            #expect(table.snapshot.sections[1].rows[0].model?.text == #"{"id":"1","moved":true}"#)
        }
    }

    @Test(
        "An action that cannot be carried out is reported as a fault of the handler",
        arguments: [
            #"{"move":{"id":"1","to":{"section":"other"}}}"#, #"{"remove":{"id":"both"}}"#,
            #"{"update":{"section":"a","row":9,"merge":{}}}"#,
        ])
    func impossibleAction(action: String) throws {
        var table = try Table(
            """
            {"table":"t","sections":["a","b","other"],"modelTypes":{"O":{}},"cells":{"C":{}},"bindings":[
             {"on":{"sections":["a","b"]},"cell":"C","models":{"a":[{"id":"1"},{"id":"both"}],"b":[{"id":"both"}]},"onTap":[\(action)]},{"on":{"section":"other"},"cell":"C","modelType":"O"}]}
            """)
        #expect { try table.perform(.tap(RowReference(path(0, 0)))) } throws: {
            ($0 as? Refusal)?.code == .handlerContract
        }
    }

    @Test("In a handler of a derived row, `count` is the number of derived rows")
    func countOfDerivedRows() throws {
        var table = try Table(
            """
            {"table":"t","cells":{"C":{}},"bindings":[{"cell":"C","modelsFrom":[{"id":"1"},{"id":"2"}],"onTap":[{"setState":{"at":["${row}","${count}"]}}]}]}
            """)
        _ = try table.perform(.tap(RowReference(path(0, 1))))
        #expect(table.model.state.text == #"{"at":["1","2"]}"#)
    }

    /// `onPrefetch` replaces all rows by fewer.
    @Test("`onPrefetch` runs again if it has left the section with fewer rows")
    func prefetchAfterShrinking() throws {
        var table = try Table(
            """
            {"table":"t","state":{"asked":0},"cells":{"C":{}},"bindings":[{"cell":"C","models":[{"id":"1"},{"id":"2"},{"id":"3"}],"prefetch":{"cellsFromEnd":0},
             "onPrefetch":[{"setState":{"asked":{"$eval":"state.asked + 1"}}},{"setModels":{"table":[{"id":"4"}]}}]}]}
            """)
        for (row, asked) in [(1, "0"), (2, "1"), (0, "2"), (0, "2")] {
            _ = try table.perform(.displayedRows([RowReference(path(0, row))]))
            #expect(table.model.state["asked"]?.text == asked)
        }
    }

    @Test("A handler's `setModels` for a section that no binding binds is refused, as for a client's command")
    func modelsOfUnboundSections() throws {
        var session = try Played(
            """
            {"table":"t","sections":"dynamic","cells":{"C":{}},"bindings":[{"on":{"section":"a"},"cell":"C",
             "models":[{"id":"1"}],"onTap":[{"setModels":{"ghost":[]}}]}]}
            """)
        let before = session.table.sections.map(\.id)
        #expect(throws: Refusal.self) { try session.perform(.tap(.at(.displayed(0), row: 0))) }
        #expect(session.table.sections.map(\.id) == before)
    }
}
