import Testing

@testable import BraidEngine

/// JSON of commands in requests, transactions and the journal.
@Suite struct CommandTests {
    @Test(
        "A malformed command is refused with the JSON pointer to its fault",
        arguments: [
            (#"{"delete":{"section":0,"row":0},"model":{}}"#, "/model"),
            (#"{"taps":{"at":{"id":"1","row":0}}}"#, "/taps/at"),
            (#"{"displayedSections":["a","b","a"]}"#, "/displayedSections/2"),
            (#"{"headers":{"a":{"view":1}}}"#, "/headers/a/view"),
            (
                #"{"dataSource":{"updateRows":{"rows":[{"at":[0,1],"model":1},{"at":[0,1],"model":2}]}}}"#,
                "/dataSource/updateRows/rows/1/at"
            ),
            (#"{"dataSource":{"addrow":{"at":[0,1],"model":1}}}"#, "/dataSource/addrow"),
        ])
    func malformedCommands(command: String, pointer: String) throws {
        let refusal = #expect(throws: Refusal.self) { try Command(json: JSONText(parsing: command)) }
        #expect(refusal?.code == .badRequest && refusal?.faults.map(\.pointer.description) == [pointer])
    }

    /// Since the base, a section was inserted at the front, and the old first section lost its first row.
    @Test(
        "The form in which the journal stores a rebased command has the same effect as that command",
        arguments: [
            #"{"edits":{"delete":{"section":0,"row":1}}}"#,
            #"{"edits":{"insert":{"section":0,"row":1},"model":{"id":"n"}}}"#,
            #"{"moves":{"from":{"section":"a","row":1},"to":{"section":1,"row":1}}}"#,
            #"{"taps":{"at":{"section":0,"row":2}}}"#,
            #"{"events":{"at":{"section":0,"row":2},"event":{"e":{}}}}"#,
            #"{"dataSource":{"addRow":{"at":[0,2],"model":{"id":"n"}}}}"#,
            #"{"dataSource":{"updateRow":{"at":[0,2],"model":{"id":"n"},"notify":true}}}"#,
            #"{"dataSource":{"removeRow":{"at":[0,1]}}}"#,
            #"{"dataSource":{"updateRows":{"rows":[{"at":[1,0],"model":{"id":"m"}},{"at":[0,1],"model":{"id":"n"}}]}}}"#,
            #"{"dataSource":{"updateRowsOfSection":{"at":0,"rows":[{"id":"n"}]}}}"#,
            #"{"dataSource":{"updateSectionData":{"at":0,"header":"H"}}}"#,
            #"{"dataSource":{"updateSection":{"at":1,"rows":[]}}}"#, #"{"dataSource":{"removeSection":{"at":0}}}"#,
            #"{"dataSource":{"addSection":{"at":1,"section":{"id":"n","rows":[]}}}}"#,
        ])
    func whatTheJournalHasOfACommandDoesTheSame(command: String) throws {
        var session = try Played(
            """
            {"table":"t","sections":"dynamic","cells":{"C":{"events":{"e":{}}}},"bindings":[{"on":"allOtherSections","cell":"C","models":{"a":[{"id":"1"},{"id":"2"},{"id":"3"}],"b":[{"id":"4"}]},
             "editing":\(command.contains("insert") ? #""insert""# : #""delete""#),"moving":{"to":"anySection"},"onTap":[{"setState":{"tapped":{"$eval":"model"}}}]}]}
            """)
        var history: [(JSONText, JSONText?)] = []
        for change: DataSourceCommand in [
            .addSection(SectionContent(id: "front"), at: 0), .removeRow(at: .init(section: 1, row: 0)),
        ] {
            let before = session.snapshot, update = try session.perform(.dataSource(change, notify: true)).update
            history.append((update.json, update.hidden(in: before)))
        }
        let given = try JSONText(parsing: command)
        let present = try RowHistory(history, now: session.snapshot).rebased(Command(json: given)).command
        var replayed = session
        let done = try session.perform(present), again = try replayed.perform(Command(json: present.rewriting(given)))
        #expect(done.kind == .applied)
        #expect(again.update.json == done.update.json && again.notification == done.notification)
        #expect(again.controllerEvents.map { $0.json() } == done.controllerEvents.map { $0.json() })
    }
}
