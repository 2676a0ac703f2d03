import Foundation
import Testing

@testable import BraidClient

/// What stands in answers, as the client has it.
@Suite struct ValuesTests {
    @Test("Sections whose ids differ in the spelling of a character are two: rows that may move to one may not move to the other")
    func spellings() {
        let targets = Snapshot.MovesTo.sections(["caf\u{E9}"])
        #expect(targets.allows("caf\u{E9}") && !targets.allows("cafe\u{301}"))
    }
}
