import BraidStore
import Testing

@testable import BraidServer

@Suite struct ProblemTests {
    @Test(
        "What the database does not take now can be tried again: a standby, a disk that is read-only, one that is locked or gone"
    )
    func triedAgain() {
        for error: StoreError in [
            .readOnly(path: "x"), .busy(path: "x"), .unavailable("x"), .closed, .revisionConflict,
        ] {
            let problem = ProblemError(error)
            #expect(problem?.problem == .unavailable && problem?.headers.first?.0 == "Retry-After", "\(error)")
        }
    }
}
