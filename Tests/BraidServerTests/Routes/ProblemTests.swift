import BraidEngine
import BraidSessions
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

    @Test("An error is a refusal for sessions exactly if its status is 4xx")
    func refusals() {
        let store: [StoreError] = [
            .sessionExists, .sessionMissing, .revisionConflict, .tableMissing, .exhausted, .closed, .full, .io("x"),
            .busy(path: "x"), .corrupt("x"), .unavailable("x"), .readOnly(path: "x"),
        ]
        let errors: [any Error] =
            SessionError.Code.allCases.map { SessionError($0, "x") } + Refusal.Code.allCases.map { Refusal($0, "x") }
            + store + [CancellationError()]
        for error in errors {
            let status = ProblemError(error)?.problem.status ?? 500
            #expect(SessionError.isRefusal(error) == (status < 500), "\(error)")
        }
    }
}
