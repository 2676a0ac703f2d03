import BraidEngine
import Testing

@testable import BraidStore

/// The machine's time jumps. Revisions, not times, define the order of changes.
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
        // Once the clock was right again, the answers from more than a day behind went. The others are found, even if
        // the clock is then set back by years.
        for index in [0, 4, 5] {
            #expect(
                try await store.answer(to: "k\(index)", by: "", of: number, now: -100 * Self.hour)?.request == index)
        }
        // Even if other answers are from a clock that ran ahead.
        #expect(try await store.answer(to: "k5", by: "", of: number, now: start + 23 * Self.hour)?.request == 5)
        await store.close()
    }
}
