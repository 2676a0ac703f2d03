import Testing

@testable import BraidEngine

/// What is displayed follows from the state and the time, and from nothing that is forgotten with a restart.
@Suite struct DisplayTests {
    private static func session(_ display: String = #"{"behavior":"manuallyManaged"}"#, moving: String = #""anySection""#) throws -> Played {
        try Played("""
            {"table":"t","sections":["a","b"],"sectionDisplay":\(display),"cells":{"C":{"events":{"e":{}}}},"state":{"rank":{"a":1,"b":2},"open":true},
             "bindings":[{"on":"allSections","cell":"C","models":{"a":[{"id":"1"}],"b":[{"id":"2"}]},"moving":{"to":\(moving)}}]}
            """)
    }

    /// The sections stood as they had until a command touched one of them, or the server was started again.
    @Test func theSectionsAreOrderedAnewWithTheState() throws {
        var session = try Self.session(#"{"behavior":"hidesSectionsWithNoCellData","order":{"by":"state.rank[section.id]"}}"#)
        let before = session.snapshot
        let outcome = try session.perform(.patchState(JSONText(parsing: #"{"rank":{"a":3}}"#)))
        #expect(session.ids == ["b", "a"])
        #expect(try outcome.update.applied(to: before).text == session.snapshot.text)
        #expect(try session.snapshot.text == session.binder.snapshot(of: session.table, revision: 1, now: RandomCommandTests.now).text)
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
        (#"{"behavior":"hidesSectionsWithNoCellData","order":{"by":"state.rank[section.id] * (1 - number(now[3:4]) - number(now[3:4]))"}}"#, #""anySection""#),
        (#"{"behavior":"manuallyManaged"}"#, #"{"passing":"now < '2001' || section.id == 'a'"}"#),
    ])
    func orderAndMovesFollowTheTimeOfEachRevision(display: String, moving: String) throws {
        let session = try Self.session(display, moving: moving), later = "2001-01-01T00:00:00.000Z"
        let outcome = try session.binder.applying(
            .event(.at(.displayed(0), row: 0), name: "e", parameters: .null), to: session.table, shown: session.snapshot, unpublished: nil, now: later)
        #expect(try outcome.snapshot.text == session.binder.snapshot(of: session.table, revision: 1, now: later).text)
        #expect(!outcome.update.isEmpty)
        #expect(try outcome.update.applied(to: session.snapshot).text == outcome.snapshot.text)
    }

    /// A policy that lets every section pass was told to clients as it is, though the server refuses rows where they are derived, or of another type.
    @Test func rowsAreSaidToMoveOnlyWhereTheyMay() throws {
        var session = try Played("""
            {"table":"t","sections":["a","b","other","derived"],"modelTypes":{"Other":{}},"cells":{"C":{}},
             "bindings":[{"on":{"sections":["a","b"]},"cell":"C","models":{"a":[{"id":"1"}]}},
                         {"on":{"section":"other"},"cell":"C","modelType":"Other","models":[{"id":"2"}]},
                         {"on":{"section":"derived"},"cell":"C","modelsFrom":[{"id":"3"}]},
                         {"on":{"sections":["a","b","other"]},"moving":{"to":{"passing":"true"}}}]}
            """)
        #expect(session.snapshot.sections.map { $0.movesTo?.text } == [#"["a","b"]"#, #"["a","b"]"#, #"["other"]"#, nil])
        for target in [SectionID("other"), "derived"] {
            #expect(throws: Refusal.self) { try session.perform(.move(.at(.id("a"), row: 0), to: .id(target), row: 0)) }
        }
        try session.perform(.move(.at(.id("a"), row: 0), to: .id("b"), row: 0))
    }

    /// What was shown a while ago is what a client sees: its third row was another one's by the time of the command.
    @Test func aRowWithoutAnIDIsTheOneThatWasShownThere() throws {
        let description = #"{"table":"t","modelTypes":{"N":{"id":null}},"cells":{"C":{}},"bindings":[{"on":"table","cell":"C","modelType":"N","models":["2000","2001","2002","2003"],"shown":"now < model","editing":"delete"}]}"#
        var session = try Played(description)
        #expect(session.snapshot.brief == "-[2001 2002 2003]")
        let later = "2001-06-01T00:00:00.000Z"
        let outcome = try session.binder.applying(
            .delete(.at(.displayed(0), row: 1)), to: session.table, shown: session.snapshot, unpublished: nil, now: later)
        session.table = outcome.table
        #expect(session.contents.map { $0.rows.map(\.stringValue) } == [["2000", "2001", "2003"]])
        #expect(outcome.snapshot.brief == "-[2003]")
    }

    /// Each row was looked for from the section's beginning: 4,000 of them cost more steps than a command may take.
    @Test func manyRowsWithoutIDsAreFoundAtOnce() throws {
        let description = #"{"table":"t","modelTypes":{"N":{"id":null}},"cells":{"C":{}},"bindings":[{"on":"table","cell":"C","modelType":"N","models":[],"shown":"model > 0"}]}"#
        var session = try Played(description)
        let count = 4_000
        try session.perform(.setModels([("table", (0..<count).map { .number($0) })], partial: false))
        let rows = (0..<count - 1).map { (at: IndexPath(section: 0, row: $0), model: JSONText.number(2 * count + $0)) }
        try session.perform(.dataSource(.updateRows(rows), notify: true))
        #expect(session.contents.first?.rows == [.number(0)] + rows.map(\.model))
    }
}
