import BraidEngine
import Testing

@testable import BraidSessions
@testable import BraidStore

@Suite("Ids that an earlier version has stored") struct EarlierIDTests {
    private static let table =
        #"{"table":"t","sections":["","a"],"cells":{"C":{}},"bindings":[{"on":"allOtherSections","cell":"C","models":{"":[{"id":"."},{"id":""}],"a":[{"id":"x"}]},"moving":{"to":"anySection"}}]}"#

    @Test(
        "A session with ids that are refused today can be read, changed, repaired and forked",
        arguments: [
            #"{"id":"s","table":\#(table)}"#,
            #"{"id":"s","sections":[{"id":"","rows":[{"id":"."},{"id":""}]},{"id":"a","rows":[{"id":"x"}]}]}"#,
        ])
    func usable(opening: String) async throws {
        let store = try SQLiteStore(path: ":memory:"), body = try JSONText(parsing: opening)
        var limits = SessionLimits()
        limits.table.checksIDs = false
        _ = try await SessionHost(store: store, limits: limits).open(SessionOpening(body), text: body)

        let sessions = SessionHost(store: store)
        func rows() async throws -> [[String?]] {
            try await sessions.session("s").current.snapshot.sections.map { $0.rows.map { $0.id?.text } }
        }
        func perform(_ command: String) async throws {
            let text = try JSONText(parsing: command)
            _ = try await sessions.execute(CommandRequest(session: "s", try Command(json: text), text: text))
        }
        #expect(try await rows() == [[".", ""], ["x"]])
        try await perform(#"{"dataSource":{"updateRow":{"at":[0,0],"model":{"id":".","n":1}}}}"#)
        try await perform(#"{"patchModels":{"":[{"id":""},{"id":"."}]}}"#)
        #expect(try await rows() == [["", "."], ["x"]])
        for command in [
            #"{"dataSource":{"updateRow":{"at":[1,0],"model":{"id":".."}}}}"#,
            #"{"dataSource":{"insertRow":{"section":"","model":{"id":".."}}}}"#,
        ] {
            let refusal = await #expect(throws: Refusal.self) { try await perform(command) }
            #expect(refusal?.code == .idInvalid)
        }
        let fork = try JSONText(parsing: #"{"from":{"session":"s"},"id":"f"}"#)
        #expect(try await sessions.open(SessionOpening(fork), text: fork).session.current.snapshot.totalRowCount == 3)
        try await perform(#"{"dataSource":{"updateRow":{"at":[0,1],"model":{"id":"y"}}}}"#)
        try await perform(#"{"dataSource":{"deleteRow":{"section":"","rowId":""}}}"#)
        #expect(try await rows() == [["y"], ["x"]])
        await store.close()
    }
}
