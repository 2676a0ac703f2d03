import Testing

@testable import BraidEngine

/// What is displayed follows from the state and the time, and from nothing that is forgotten with a restart.
@Suite struct DisplayTests {
    private static func session(
        _ display: String = #"{"behavior":"manuallyManaged"}"#, moving: String = #""anySection""#
    ) throws -> Played {
        try Played(
            """
            {"table":"t","sections":["a","b"],"sectionDisplay":\(display),"cells":{"C":{"events":{"e":{}}}},"state":{"rank":{"a":1,"b":2},"open":true},
             "bindings":[{"on":"allSections","cell":"C","models":{"a":[{"id":"1"}],"b":[{"id":"2"}]},"moving":{"to":\(moving)}}]}
            """)
    }

    /// The sections stood as they had until a command touched one of them, or the server was started again.
    @Test func theSectionsAreOrderedAnewWithTheState() throws {
        var session = try Self.session(
            #"{"behavior":"hidesSectionsWithNoCellData","order":{"by":"state.rank[section.id]"}}"#)
        let before = session.snapshot
        let outcome = try session.perform(.patchState(JSONText(parsing: #"{"rank":{"a":3}}"#)))
        #expect(session.ids == ["b", "a"])
        #expect(try outcome.update.applied(to: before).text == session.snapshot.text)
        #expect(
            try session.snapshot.text
                == session.binder.snapshot(of: session.table, revision: 1, now: RandomCommandTests.now).text)
    }

    /// A title kept the whole request that brought it in memory.
    @Test func aTitleStandsInBytesOfItsOwn() throws {
        var session = try Self.session()
        let outcome = try session.perform(Command(json: JSONText(parsing: #"{"headers":{"a":"A"}}"#)))
        let header = try #require(outcome.table["a"]?.facts.header)
        // Of a part of others they are a copy, made each time.
        #expect(header.bytes.hasSameStorage(as: header.bytes))
    }

    /// A cell event without a handler is a revision, and nothing else: what reads its time is made anew all the same.
    @Test(arguments: [
        (
            #"{"behavior":"hidesSectionsWithNoCellData","order":{"by":"state.rank[section.id] * (1 - number(now[3:4]) - number(now[3:4]))"}}"#,
            #""anySection""#
        ),
        (#"{"behavior":"manuallyManaged"}"#, #"{"passing":"now < '2001' || section.id == 'a'"}"#),
    ])
    func orderAndMovesFollowTheTimeOfEachRevision(display: String, moving: String) throws {
        let session = try Self.session(display, moving: moving), later = "2001-01-01T00:00:00.000Z"
        let outcome = try session.binder.applying(
            .event(.at(.displayed(0), row: 0), name: "e", parameters: .null), to: session.table,
            shown: session.snapshot, unpublished: nil, now: later)
        #expect(try outcome.snapshot.text == session.binder.snapshot(of: session.table, revision: 1, now: later).text)
        #expect(!outcome.update.isEmpty)
        #expect(try outcome.update.applied(to: session.snapshot).text == outcome.snapshot.text)
    }

    /// A policy that lets every section pass was told to clients as it is, though the server refuses rows where they
    /// are derived, or of another type.
    @Test func rowsAreSaidToMoveOnlyWhereTheyMay() throws {
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
            #expect(throws: Refusal.self) { try session.perform(.move(.at(.id("a"), row: 0), to: .id(target), row: 0)) }
        }
        try session.perform(.move(.at(.id("a"), row: 0), to: .id("b"), row: 0))
    }

    /// What was shown a while ago is what a client sees: its third row was another one's by the time of the command.
    @Test func aRowWithoutAnIDIsTheOneThatWasShownThere() throws {
        let description =
            #"{"table":"t","modelTypes":{"N":{"id":null}},"cells":{"C":{}},"bindings":[{"on":"table","cell":"C","modelType":"N","models":["2000","2001","2002","2003"],"shown":"now < model","editing":"delete"}]}"#
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

    /// Each row was looked for from the section's beginning: 4,000 of them cost more steps than a command may take.
    @Test func manyRowsWithoutIDsAreFoundAtOnce() throws {
        let description =
            #"{"table":"t","modelTypes":{"N":{"id":null}},"cells":{"C":{}},"bindings":[{"on":"table","cell":"C","modelType":"N","models":[],"shown":"model > 0"}]}"#
        var session = try Played(description)
        let count = 4_000
        try session.perform(.setModels([("table", (0..<count).map { .number($0) })], partial: false))
        let rows = (0..<count - 1).map { (at: RowPath(section: 0, row: $0), model: JSONText.number(2 * count + $0)) }
        try session.perform(.dataSource(.updateRows(rows), notify: true))
        #expect(session.contents.first?.rows == [.number(0)] + rows.map(\.model))
    }

    /// The first one's place was looked up, and taken for the second's.
    @Test func theRowsOfATransactionAreThoseThatTheOnesBeforeThemLeft() throws {
        var session = try Played(
            #"{"table":"t","modelTypes":{"N":{"id":null}},"cells":{"C":{}},"bindings":[{"on":"table","cell":"C","modelType":"N","models":[1,2,3,4],"shown":"model != 2","editing":"delete"}]}"#
        )
        try session.perform(.transaction([.delete(.at(.displayed(0), row: 0)), .delete(.at(.displayed(0), row: 0))]))
        #expect(session.contents.map(\.rows) == [["2", "4"]])
    }

    @Test func aPolicyIsAskedOfTheRowsThatAreDisplayed() throws {
        var session = try Played(
            """
            {"table":"t","sections":["a","b"],"cells":{"C":{}},"bindings":[{"on":"allSections","cell":"C","models":{"a":[{"id":"1"},{"id":"2"}],"b":[{"id":"3","off":true},{"id":"4"}]},
             "shown":"!('off' in model)","moving":{"to":{"passing":"section.rowCount < 2"}}}]}
            """)
        #expect(session.snapshot.sections[0].movesTo?.text == #"["b"]"#)
        try session.perform(.move(.at(.displayed(0), row: 0), to: .displayed(1), row: 1))
        #expect(session.snapshot.brief == "-[2] -[4 1]")
    }

    /// Whatever a part reads, it is made anew when that has changed.
    @Test(arguments: [
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
             "bindings":[{"on":"table",\(part.contains("cellProvider") ? "" : #""cell":"C","#)"models":[{"id":"1"}],\(part)}]}
            """)
        let update = try session.perform(.patchState(#"{"x":2,"cell":"D","style":"delete"}"#)).update
        #expect(!update.stages.isEmpty)
        #expect(
            try session.snapshot.text
                == session.binder.snapshot(of: session.table, revision: 1, now: RandomCommandTests.now).text)
    }

    @Test func aTitleIsWhatIsSetOrElseWhatIsBound() throws {
        var session = try Played(
            """
            {"table":"t","sections":["a","b"],"cells":{"C":{}},"bindings":[{"on":"allSections","cell":"C","models":{},"headers":{"a":"A"}}]}
            """)
        #expect(try session.perform(.setHeaders([("b", .null)])).kind == .unchanged)
        #expect(
            try session.perform(.transaction([.setHeaders([("b", "\"B\"")]), .setHeaders([("b", .null)])])).kind
                == .unchanged)
        try session.perform(.setHeaders([("a", .null), ("b", "\"B\"")]))
        #expect(session.snapshot.brief == "-[] B[]")
    }

    @Test func theTitlesOfDynamicSectionsMayBeBoundByTheirIDs() throws {
        let session = try Played(
            #"{"table":"t","sections":"dynamic","cells":{"C":{}},"bindings":[{"on":"allSections","cell":"C","models":{"a":[],"b":[]},"headers":{"b":"B"}}]}"#
        )
        #expect(session.snapshot.brief == "-[] B[]")
    }

    @Test func aFooterIsDataAndSectionsThatAreEqualInOrderStayAsDeclared() throws {
        let session = try Played(
            """
            {"table":"t","sections":["c","b","a","none"],"sectionDisplay":{"behavior":"hidesSectionsWithNoData","order":{"by":"0"}},"cells":{"C":{}},
             "bindings":[{"on":"allSections","cell":"C","models":{"a":[{"id":"1"}]},"headers":{"b":"B"},"footers":{"c":"F"}}]}
            """)
        #expect(session.snapshot.brief == "-/F[] B[] -[1]")
    }

    @Test func aResetBringsBackAllThatASessionWasOpenedWith() throws {
        var session = try Played(
            """
            {"table":"t","sections":"dynamic","cells":{"C":{},"D":{}},"cellsForModelTypes":{"object":"C"},"state":{"asked":0},
             "bindings":[{"on":"allSections","cell":{"byModelType":true},"models":{"a":[{"id":"1"}],"b":[{"id":"2"}]},"prefetch":{"cellsFromEnd":0},"onPrefetch":[{"setState":{"asked":{"$eval":"state.asked + 1"}}}]}]}
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

    /// Those that were all of them at that time.
    @Test func dynamicSectionsThatWereSetToBeDisplayedStayTheOnlyOnes() throws {
        var session = try Played(
            #"{"table":"t","sections":"dynamic","cells":{"C":{}},"bindings":[{"on":"allSections","cell":"C","models":{"a":[],"b":[]}}]}"#
        )
        try session.perform(.setDisplayedSections(["a", "b"]))
        try session.perform(.setModels([("c", [])], partial: true))
        #expect(session.ids == ["a", "b"])
    }

    @Test(arguments: [
        (#""editing":{"$eval":"state.x"}"#, #""none""#, [#""both""#, #""""#, "1"]),
        (#""dimensions":{"cellHeight":{"$eval":"state.x"}}"#, "0", ["-1", #""auto""#, "[]"]),
        (#""header":"H","dimensions":{"headerHeight":{"$eval":"state.x"}}"#, #""automatic""#, ["-1", "true"]),
    ])
    func whatATemplateGivesIsOfItsPartsKind(part: String, right: String, wrong: [String]) throws {
        var session = try Played(
            #"{"table":"t","cells":{"C":{}},"state":{"x":\#(right)},"bindings":[{"on":"table","cell":"C","models":[{"id":"1"}],\#(part)}]}"#
        )
        for value in wrong {
            #expect { try session.perform(.patchState(JSONText(parsing: #"{"x":\#(value)}"#))) } throws: {
                ($0 as? Refusal)?.code == .templateFailed
            }
        }
    }

    @Test func sectionsThatDerivedModelsDoNotNameAreEmpty() throws {
        let session = try Played(
            #"{"table":"t","sections":["a","b"],"cells":{"C":{}},"state":{"rows":{"b":[{"id":"1"}]}},"bindings":[{"on":"allSections","cell":"C","modelsFrom":{"$eval":"state.rows"}}]}"#
        )
        #expect(session.snapshot.brief == "-[] -[1]")
    }
}
