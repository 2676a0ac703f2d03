import BraidEngine
import Testing

@testable import BraidStore

/// Tests the store while the machine's time jumps back and ahead. The revisions, and not the times, define the order of
/// changes.
@Suite struct ClockTests {
    private static let hour = 60 * 60 * 1000

    @Test(
        "When the clock jumps, the revisions stay in order, and the answers of the last day are found",
        arguments: StoreKind.forTests)
    func jumps(kind: StoreKind) async throws {
        let store = try kind.open()
        let number = try await store.createSession(.make())
        let start = 1_000_000 * Self.hour
        for (index, time) in [start, start - 500 * Self.hour, 0, -Self.hour, start + Self.hour, start].enumerated() {
            var commit = SessionCommit.make(number, to: index + 1, at: time) {
                $0.writtenRows = [(1, .make(index + 1))]
            }
            commit.answer = KeptAnswer(
                session: number, requester: "", key: "k\(index)", at: time, request: index, answer: "{}")
            try await store.commit(commit)
        }
        #expect(try await store.journal(of: number, after: 0, limit: 10).map(\.revision) == Array(1...6))
        #expect(try await store.sessionSummary("s")?.updated == start)
        // When the clock was right again, the store deleted the answers that it had kept while the clock was more than
        // a day behind. The other answers are found, even if the clock is then set back by years.
        for index in [0, 4, 5] {
            #expect(
                try await store.answer(to: "k\(index)", by: "", of: number, now: -100 * Self.hour)?.request == index)
        }
        // An answer of the last day is found, even if the store also has answers from a clock that ran ahead.
        #expect(try await store.answer(to: "k5", by: "", of: number, now: start + 23 * Self.hour)?.request == 5)
        await store.close()
    }
}
