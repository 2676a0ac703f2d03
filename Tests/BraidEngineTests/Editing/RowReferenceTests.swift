import Testing

@testable import BraidEngine

/// How commands and data source calls can name a row.
@Suite struct RowReferenceTests {
    static func session(editing: String = "delete") throws -> Played {
        try Played(
            """
            {"table":"t","sections":"dynamic","cells":{"C":{"events":{"e":{}}}},"bindings":[{"on":"allOtherSections","cell":"C","models":{"a":[{"id":"1"},{"id":"2"},{"id":"3"}],"b":[{"id":"4"}]},
             "editing":"\(editing)","moving":{"to":"anySection"},"onTap":[{"setState":{"tapped":{"$eval":"model.id"}}}],
             "onEvent":{"C":{"e":[{"setState":{"sent":{"$eval":"model.id"}}}]}},
             "prefetch":{"cellsFromEnd":1},"onPrefetch":[{"setState":{"seen":{"$eval":"count"}}}]}]}
            """)
    }

    /// All mean row 1 of the section "a", with the id "2".
    static let forms = [
        #"{"section":"a","row":1}"#, #"{"section":0,"row":1}"#, #"["a",1]"#, "[0,1]", #"{"id":"2"}"#,
        #"{"id":"2","section":"a"}"#, #"{"id":"2","section":0}"#,
    ]

    @Test(
        "Every command and data source call with a row reference accepts all forms of the reference",
        arguments: [
            #"{"edits":{"delete":ROW}}"#, #"{"edits":{"insert":ROW,"model":{"id":"n"}}}"#,
            #"{"moves":{"from":ROW,"to":["b",0]}}"#, #"{"moves":{"from":{"id":"4"},"to":ROW}}"#,
            #"{"taps":{"at":ROW}}"#, #"{"events":{"at":ROW,"event":{"e":{}}}}"#, #"{"displayedRows":{"rows":[ROW]}}"#,
            #"{"dataSource":{"addRow":{"at":ROW,"model":{"id":"n"}}}}"#,
            #"{"dataSource":{"updateRow":{"at":ROW,"model":{"id":"2","new":true}}}}"#,
            #"{"dataSource":{"updateRows":{"rows":[{"at":ROW,"model":{"id":"2","new":true}}]}}}"#,
            #"{"dataSource":{"removeRow":{"at":ROW}}}"#,
        ])
    func everyFormIsAccepted(command: String) throws {
        var updates: Set<String> = []
        for form in Self.forms {
            var session = try Self.session(editing: command.contains("insert") ? "insert" : "delete")
            let text = command.split(separator: "ROW", omittingEmptySubsequences: false).joined(separator: form)
            let outcome = try session.perform(Command(json: JSONText(parsing: text)))
            #expect(outcome.kind == .applied, "\(text)")
            updates.insert(outcome.update.json.text)
        }
        #expect(updates.count == 1)
    }

    @Test(
        "A malformed row reference is refused with the JSON pointer to its fault",
        arguments: [
            ("[0]", "/taps/at"), ("[0,1,2]", "/taps/at"), ("[null,1]", "/taps/at/0"), ("[0,-1]", "/taps/at/1"),
            (#"[0,"1"]"#, "/taps/at/1"), (#""2""#, "/taps/at"), (#"{"id":true}"#, "/taps/at/id"),
            (#"{"section":1.5,"row":0}"#, "/taps/at/section"), (#"{"section":0}"#, "/taps/at"),
        ])
    func aMalformedReferenceIsRefused(reference: String, pointer: String) throws {
        let refusal = #expect(throws: Refusal.self) {
            try Command(json: JSONText(parsing: #"{"taps":{"at":\#(reference)}}"#))
        }
        #expect(refusal?.code == .badRequest && refusal?.faults.map(\.pointer.description) == [pointer])
    }

    @Test(
        "A move whose target is a row puts the moved row before that row",
        arguments: ["1", "2", "3"], ["1", "2", "3", "4"])
    func moveToRow(from: String, to: String) throws {
        var expected = [["1", "2", "3"], ["4"]]
        if from != to {
            expected[0].removeAll { $0 == from }
            for section in expected.indices {
                if let row = expected[section].firstIndex(of: to) { expected[section].insert(from, at: row) }
            }
        }
        let move = Command.move(.id(RowID(from), in: nil), to: .id(RowID(to), in: nil))
        func ids(_ snapshot: Snapshot) -> [[String]] { snapshot.sections.map { $0.rows.compactMap { $0.id?.text } } }
        var session = try Self.session()
        let isMoved = expected != [["1", "2", "3"], ["4"]]
        #expect(try session.perform(move).kind == (isMoved ? .applied : .unchanged))
        #expect(ids(session.snapshot) == expected)

        // Again with a row at the front that the client has not seen, published or not.
        for notify in [true, false] {
            var session = try Self.session()
            let before = session.snapshot
            let add = DataSourceCommand.addRow(#"{"id":"0"}"#, at: .init(section: 0, row: 0))
            let update = try session.perform(.dataSource(add, notify: notify)).update
            let history = try RowHistory([(update.json, update.hidden(in: before))], now: session.snapshot)
            try session.perform(history.rebased(move).command)
            // A move that changes nothing publishes nothing.
            let new = notify || isMoved ? ["0"] : []
            #expect(ids(session.snapshot) == [new + expected[0], expected[1]], "\(notify)")
        }
    }

    @Test("An update or removal of a row that is not displayed is ignored, and so is adding a row before it")
    func missingRow() throws {
        for reference in [
            #"{"id":"x"}"#, #"{"id":"4","section":"a"}"#, #"{"id":"2","section":7}"#, #"["x",0]"#, "[7,0]", "[0,3]",
        ] {
            for call in [
                #"{"updateRow":{"at":\#(reference),"model":{"id":"n"}}}"#, #"{"removeRow":{"at":\#(reference)}}"#,
            ] {
                var session = try Self.session()
                let command = try Command(json: JSONText(parsing: #"{"dataSource":\#(call)}"#))
                #expect(try session.perform(command).isIgnored, "\(call)")
            }
        }
        var session = try Self.session()
        let add = try Command(
            json: JSONText(parsing: #"{"dataSource":{"addRow":{"at":{"id":"x"},"model":{"id":"n"}}}}"#))
        #expect(try session.perform(add).isIgnored)
    }

    @Test("A row can be added to a section that the call names by id, even if it is hidden or does not exist yet")
    func addToSection() throws {
        var session = try Self.session()
        try session.perform(.dataSource(.addRow(#"{"id":"n"}"#, at: .at(.id("new"), row: 0)), notify: true))
        #expect(session.table[SectionID("new")]?.rows.count == 1)
        try session.perform(.setDisplayedSections(["b"]))
        try session.perform(.dataSource(.addRow(#"{"id":"n"}"#, at: .at(.id("a"), row: 0)), notify: true))
        #expect(session.table[SectionID("a")]?.rows.last?.id == RowID("n"))
    }

    @Test("A data source call is refused if its row id is in several displayed sections and it names no section")
    func anAmbiguousIDIsRefused() throws {
        var session = try Self.session()
        try session.perform(.dataSource(.addRow(#"{"id":"2"}"#, at: .at(.id("b"), row: 0)), notify: true))
        let refusal = #expect(throws: Refusal.self) {
            try session.perform(.dataSource(.removeRow(at: .id(RowID("2"), in: nil)), notify: true))
        }
        #expect(refusal?.code == .ambiguousRow)
        try session.perform(.dataSource(.removeRow(at: .id(RowID("2"), in: .id("b"))), notify: true))
        #expect(session.table[SectionID("b")]?.rows.count == 1)
    }

    @Test("A data source call that names the same row twice, in two forms, is refused")
    func oneRowInTwoForms() throws {
        var session = try Self.session()
        let rows: [(at: RowReference, model: JSONText)] = [
            (.init(section: 0, row: 1), #"{"id":"8"}"#), (.id(RowID("2"), in: nil), #"{"id":"9"}"#),
        ]
        let refusal = #expect(throws: Refusal.self) {
            try session.perform(.dataSource(.updateRows(rows), notify: true))
        }
        #expect(refusal?.faults.map(\.pointer.description) == ["/rows/1/at"])
    }
}
