import Testing

@testable import BraidEngine

/// What is displayed depends only on stored data, state and time, not on anything that a restart forgets.
@Suite struct DisplayTests {
    private static func session(
        _ display: String = #"{"behavior":"manuallyManaged"}"#, moving: String = #""anySection""#
    ) throws -> Played {
        try Played(
            """
            {"table":"t","sections":["a","b"],"sectionDisplay":\(display),"cells":{"C":{"events":{"e":{}}}},"state":{"rank":{"a":1,"b":2},"open":true},
             "bindings":[{"on":"allOtherSections","cell":"C","models":{"a":[{"id":"1"}],"b":[{"id":"2"}]},"moving":{"to":\(moving)}}]}
            """)
    }

    /// Not only when a command touches a section or the server restarts.
    @Test("A change of the state reorders the sections if their order depends on the state")
    func orderFromState() throws {
        var session = try Self.session(
            #"{"behavior":"hidesSectionsWithNoCellData","order":{"by":"state.rank[section]"}}"#)
        let before = session.snapshot
        let outcome = try session.perform(.setState(JSONText(parsing: #"{"rank":{"a":3}}"#), merging: true))
        #expect(session.ids == ["b", "a"])
        #expect(try outcome.update.applied(to: before).text == session.snapshot.text)
        #expect(
            try session.snapshot.text
                == session.binder.snapshot(of: session.table, revision: 1, now: RandomCommandTests.now).text)
    }

    /// A slice would keep the request in memory.
    @Test("A stored title is a copy of its bytes, not a slice of the request")
    func copiedTitle() throws {
        var session = try Self.session()
        let outcome = try session.perform(Command(json: JSONText(parsing: #"{"headers":{"a":"A"}}"#)))
        let header = try #require(outcome.table["a"]?.summary.header)
        // `bytes` of a slice copies at every access.
        #expect(header.bytes.hasSameStorage(as: header.bytes))
    }

    /// An event without a handler changes no data, but makes a revision, at whose time expressions are evaluated.
    @Test(
        "The order of sections and the targets of moves are computed again at the time of each revision",
        arguments: [
            (
                #"{"behavior":"hidesSectionsWithNoCellData","order":{"by":"state.rank[section] * (1 - number(now[3:4]) - number(now[3:4]))"}}"#,
                #""anySection""#
            ),
            (#"{"behavior":"manuallyManaged"}"#, #"{"passing":"now < '2001' || section == 'a'"}"#),
        ])
    func orderFromTime(display: String, moving: String) throws {
        let session = try Self.session(display, moving: moving), later = "2001-01-01T00:00:00.000Z"
        let outcome = try session.binder.applying(
            .event(.at(.displayed(0), row: 0), name: "e", parameters: .null), to: session.table,
            shown: session.snapshot, unpublished: nil, now: later)
        #expect(try outcome.snapshot.text == session.binder.snapshot(of: session.table, revision: 1, now: later).text)
        #expect(!outcome.update.isEmpty)
        #expect(try outcome.update.applied(to: session.snapshot).text == outcome.snapshot.text)
    }

    /// Even if the policy allows every section, some would be refused: those with derived rows or another model type.
    @Test("The targets that clients see for moves are only sections that accept the rows")
    func moveTargets() throws {
        var session = try Played(
            """
            {"table":"t","sections":["a","b","other","derived"],"modelTypes":{"Other":{}},"cells":{"C":{}},
             "bindings":[{"on":{"sections":["a","b"]},"cell":"C","models":{"a":[{"id":"1"}]}},
                         {"on":{"section":"other"},"cell":"C","modelType":"Other","models":[{"id":"2"}]},
                         {"on":{"section":"derived"},"cell":"C","modelsFrom":[{"id":"3"}]},
                         {"on":{"sections":["a","b","other"]},"moving":{"to":{"passing":"true"}}}]}
            """)
        #expect(
            session.snapshot.sections.map { $0.movesTo?.text } == [#"["a","b"]"#, #"["a","b"]"#, #"["other"]"#, nil])
        for target in [SectionID("other"), "derived"] {
            #expect(throws: Refusal.self) {
                try session.perform(.move(.at(.id("a"), row: 0), to: .at(.id(target), row: 0)))
            }
        }
        try session.perform(.move(.at(.id("a"), row: 0), to: .at(.id("b"), row: 0)))
    }

    /// `shown` depends on the time: at the command's time, the path would mean another row.
    @Test("The index path of a row without an id refers to the row that was displayed there")
    func rowWithoutID() throws {
        let description =
            #"{"table":"t","modelTypes":{"N":{"id":null}},"cells":{"C":{}},"bindings":[{"cell":"C","modelType":"N","models":["2000","2001","2002","2003"],"shown":"now < model","editing":"delete"}]}"#
        var session = try Played(description)
        #expect(session.snapshot.brief == "-[2001 2002 2003]")
        let later = "2001-06-01T00:00:00.000Z"
        let outcome = try session.binder.applying(
            .delete(.at(.displayed(0), row: 1)), to: session.table, shown: session.snapshot, unpublished: nil,
            now: later)
        session.table = outcome.table
        #expect(session.contents.map { $0.rows.map(\.stringValue) } == [["2000", "2001", "2003"]])
        #expect(outcome.snapshot.brief == "-[2003]")
    }

    /// Otherwise the first command would keep "2001", and the second one's path would mean another row.
    @Test(
        "Rows that `fromNow` hides leave the snapshot with the next command",
        arguments: ["fromNow('', '') < model", "fromNow('', model[:0]) < model", "[fromNow][0]('') < model"])
    func hiddenFromNow(shown: String) throws {
        var session = try Played(
            #"{"table":"t","modelTypes":{"N":{"id":null}},"cells":{"C":{}},"bindings":[{"cell":"C","modelType":"N","models":["2000","2001","2002","2003"],"shown":"\#(shown)","editing":"delete"}]}"#
        )
        func perform(_ command: Command) throws {
            let outcome = try session.binder.applying(
                command, to: session.table, shown: session.snapshot, unpublished: nil,
                now: "2001-06-01T00:00:00.000Z")
            (session.table, session.snapshot) = (outcome.table, outcome.snapshot)
        }
        #expect(session.snapshot.brief == "-[2001 2002 2003]")
        try perform(.setState(#"{"q":1}"#, merging: true))
        #expect(session.snapshot.brief == "-[2002 2003]")
        try perform(.delete(.at(.displayed(0), row: 1)))
        #expect(session.contents.map { $0.rows.map(\.stringValue) } == [["2000", "2001", "2002"]])
    }

    /// Searching each from the section's beginning would exceed the limit of steps.
    @Test("A command that names many rows without ids finds them in one pass")
    func manyRowsWithoutIDs() throws {
        let description =
            #"{"table":"t","modelTypes":{"N":{"id":null}},"cells":{"C":{}},"bindings":[{"cell":"C","modelType":"N","models":[],"shown":"model > 0"}]}"#
        var session = try Played(description)
        let count = 4_000
        try session.perform(.setModels([("table", (0..<count).map { .number($0) })], merging: false))
        let rows = (0..<count - 1).map {
            (at: RowReference(section: 0, row: $0), model: JSONText.number(2 * count + $0))
        }
        try session.perform(.dataSource(.updateRows(rows), notify: true))
        #expect(session.contents.first?.rows == [.number(0)] + rows.map(\.model))
    }

    /// Both delete row 0.
    @Test("A transaction's index paths count in the table after the preceding commands")
    func pathsInTransactions() throws {
        var session = try Played(
            #"{"table":"t","modelTypes":{"N":{"id":null}},"cells":{"C":{}},"bindings":[{"cell":"C","modelType":"N","models":[1,2,3,4],"shown":"model != 2","editing":"delete"}]}"#
        )
        try session.perform(.transaction([.delete(.at(.displayed(0), row: 0)), .delete(.at(.displayed(0), row: 0))]))
        #expect(session.contents.map(\.rows) == [["2", "4"]])
    }

    @Test("A move policy that reads `displayedCount` does not count hidden rows")
    func policyAndHiddenRows() throws {
        var session = try Played(
            """
            {"table":"t","sections":["a","b"],"cells":{"C":{}},"bindings":[{"on":"allOtherSections","cell":"C","models":{"a":[{"id":"1"},{"id":"2"}],"b":[{"id":"3","off":true},{"id":"4"}]},
             "shown":"!('off' in model)","moving":{"to":{"passing":"displayedCount < 2"}}}]}
            """)
        #expect(session.snapshot.sections[0].movesTo?.text == #"["b"]"#)
        try session.perform(.move(.at(.displayed(0), row: 0), to: .at(.displayed(1), row: 1)))
        #expect(session.snapshot.brief == "-[2] -[4 1]")
    }

    @Test(
        "Every part of a row or section that reads the state follows its changes",
        arguments: [
            #""viewModel":{"$eval":"state.x"}"#, #""cellProvider":"${state.cell}""#, #""shown":"state.x > 1""#,
            #""editing":"${state.style}""#,
            #""moving":{"to":"anySection","movable":"state.x > 1"}"#, #""moving":{"to":{"passing":"state.x > 1"}}"#,
            #""header":"${state.x}""#, #""footer":"${state.x}""#,
            #""dimensions":{"cellHeight":{"$eval":"state.x"}}"#,
            #""dimensions":{"estimatedCellHeight":{"$eval":"state.x"}}"#,
            #""header":"H","dimensions":{"headerHeight":{"$eval":"state.x"}}"#,
            #""header":"H","dimensions":{"estimatedHeaderHeight":{"$eval":"state.x"}}"#,
            #""footer":"F","dimensions":{"footerHeight":{"$eval":"state.x"}}"#,
            #""footer":"F","dimensions":{"estimatedFooterHeight":{"$eval":"state.x"}}"#,
        ])
    func everyPartFollowsTheState(part: String) throws {
        var session = try Played(
            """
            {"table":"t","cells":{"C":{},"D":{}},"state":{"x":1,"cell":"C","style":"none"},
             "bindings":[{\(part.contains("cellProvider") ? "" : #""cell":"C","#)"models":[{"id":"1"}],\(part)}]}
            """)
        let update = try session.perform(.setState(#"{"x":2,"cell":"D","style":"delete"}"#, merging: true)).update
        #expect(!update.stages.isEmpty)
        #expect(
            try session.snapshot.text
                == session.binder.snapshot(of: session.table, revision: 1, now: RandomCommandTests.now).text)
    }

    @Test("A title that a command has set replaces the title that the description binds")
    func titles() throws {
        var session = try Played(
            """
            {"table":"t","sections":["a","b"],"cells":{"C":{}},"bindings":[{"on":"allOtherSections","cell":"C","models":{},"headers":{"a":"A"}}]}
            """)
        #expect(try session.perform(.setHeaders([("b", .null)], merging: true)).kind == .unchanged)
        #expect(
            try session.perform(
                .transaction([.setHeaders([("b", "\"B\"")], merging: true), .setHeaders([("b", .null)], merging: true)])
            ).kind
                == .unchanged)
        try session.perform(.setHeaders([("a", .null), ("b", "\"B\"")], merging: true))
        #expect(session.snapshot.brief == "-[] B[]")
    }

    @Test("Titles of dynamic sections can be bound by section id")
    func titlesOfDynamicSections() throws {
        let session = try Played(
            #"{"table":"t","sections":"dynamic","cells":{"C":{}},"bindings":[{"on":"allOtherSections","cell":"C","models":{"a":[],"b":[]},"headers":{"b":"B"}}]}"#
        )
        #expect(session.snapshot.brief == "-[] B[]")
    }

    @Test("A section with only a footer is displayed, and sections with equal order values keep their declared order")
    func footerAndEqualOrder() throws {
        let session = try Played(
            """
            {"table":"t","sections":["c","b","a","none"],"sectionDisplay":{"behavior":"hidesSectionsWithNoData","order":{"by":"0"}},"cells":{"C":{}},
             "bindings":[{"on":"allOtherSections","cell":"C","models":{"a":[{"id":"1"}]},"headers":{"b":"B"},"footers":{"c":"F"}}]}
            """)
        #expect(session.snapshot.brief == "-/F[] B[] -[1]")
    }

    @Test("A reset restores all the data with which the session was opened")
    func resetData() throws {
        var session = try Played(
            """
            {"table":"t","sections":"dynamic","cells":{"C":{},"D":{}},"cellsForModelTypes":{"object":"C"},"state":{"asked":0},
             "bindings":[{"on":"allOtherSections","cell":{"byModelType":true},"models":{"a":[{"id":"1"}],"b":[{"id":"2"}]},"prefetch":{"cellsFromEnd":0},"onPrefetch":[{"setState":{"asked":{"$eval":"state.asked + 1"}}}]}]}
            """)
        let opening = session.table, display = Command.displayedRows([.at(.displayed(0), row: 0)])
        try session.perform(display)
        try session.perform(
            .dataSource(
                .updateAllSections([
                    SectionContent(id: "b", rows: [#"{"id":"2"}"#]), SectionContent(id: "a", rows: [#"{"id":"1"}"#]),
                ]), notify: true))
        try session.perform(.dataSource(.registerCell("D", modelType: "object"), notify: true))
        #expect(session.cells == ["D", "D"], "the session's own registration wins")
        try session.perform(.setDisplayedSections(["b"]))
        let outcome = try session.perform(.reset(to: opening))
        #expect(session.ids == ["a", "b"] && session.cells == ["C", "C"] && session.snapshot.brief == "-[1] -[2]")
        #expect(outcome.change.displayedSections == .null, "no list is stored any more")
        try session.perform(display)
        #expect(session.table.state.text == #"{"asked":1}"#)
    }

    /// A command has set all sections that existed then.
    @Test("If displayed sections were set, a dynamic section that new models create later is not displayed")
    func displayedDynamicSections() throws {
        var session = try Played(
            #"{"table":"t","sections":"dynamic","cells":{"C":{}},"bindings":[{"on":"allOtherSections","cell":"C","models":{"a":[],"b":[]}}]}"#
        )
        try session.perform(.setDisplayedSections(["a", "b"]))
        try session.perform(.setModels([("c", [])], merging: true))
        #expect(session.ids == ["a", "b"])
    }

    @Test(
        "A command is refused if a template renders a value of the wrong kind, such as a text for a height",
        arguments: [
            (#""editing":{"$eval":"state.x"}"#, #""none""#, [#""both""#, #""""#, "1"]),
            (#""dimensions":{"cellHeight":{"$eval":"state.x"}}"#, "0", ["-1", #""auto""#, "[]"]),
            (#""header":"H","dimensions":{"headerHeight":{"$eval":"state.x"}}"#, #""automatic""#, ["-1", "true"]),
        ])
    func wrongKinds(part: String, right: String, wrong: [String]) throws {
        var session = try Played(
            #"{"table":"t","cells":{"C":{}},"state":{"x":\#(right)},"bindings":[{"cell":"C","models":[{"id":"1"}],\#(part)}]}"#
        )
        for value in wrong {
            #expect { try session.perform(.setState(JSONText(parsing: #"{"x":\#(value)}"#), merging: true)) } throws: {
                ($0 as? Refusal)?.code == .templateFailed
            }
        }
    }

    @Test("Sections that the result of `modelsFrom` does not name are empty")
    func unnamedSections() throws {
        let session = try Played(
            #"{"table":"t","sections":["a","b"],"cells":{"C":{}},"state":{"rows":{"b":[{"id":"1"}]}},"bindings":[{"on":"allOtherSections","cell":"C","modelsFrom":{"$eval":"state.rows"}}]}"#
        )
        #expect(session.snapshot.brief == "-[] -[1]")
    }
}
