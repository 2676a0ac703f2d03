import Foundation
import Testing

@testable import BraidClient

/// What stands in answers, as the client has it.
@Suite struct ValuesTests {
    @Test(
        "Sections whose ids differ in the spelling of a character are two: rows that may move to one may not move to the other"
    )
    func spellings() {
        let targets = Snapshot.MovesTo.sections(["caf\u{E9}"])
        #expect(targets.allows("caf\u{E9}") && !targets.allows("cafe\u{301}"))
    }

    @Test(
        "A number beyond what fits is rounded, and not the end of the snapshot that it stands in",
        arguments: [
            ("1e400", Double.infinity), ("-1e400", -Double.infinity), ("1e-400", 0),
            ("12345678901234567890123", 12_345_678_901_234_567_741_440),
        ])
    func numbers(text: String, rounded: Double) throws {
        let json = """
            {"revision":0,"totalRowCount":1,"state":{"n":\(text)},
             "sections":[{"id":"s","header":null,"footer":null,"rowCount":1,"rows":[{"id":"1","cell":"C","model":[\(text)]}]}]}
            """
        let snapshot = try JSONDecoder().decode(Snapshot.self, from: Data(json.utf8))
        #expect(snapshot.state["n"]?.number == rounded && snapshot.sections[0].rows[0].model?[0]?.number == rounded)
    }
}
