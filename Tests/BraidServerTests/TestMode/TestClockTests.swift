import BraidEngine
import BraidSessions
import BraidStore
import Testing

@testable import BraidTestMode

@Suite struct TestClockTests {
    @Test("However often a test sets the clock back and forth, a later time still makes kept answers expire")
    func backAndForth() async throws {
        let store = try SQLiteStore(path: ":memory:"), sessions = SessionHost(store: store)
        let clock = TestClock(sessions: sessions, idleSessions: IdleSessions(time: .zero))
        // The clock's first and last time, in the years 1 and 9999.
        let times = [Int.min, Int.max].map { Instant(millisecondsSince1970: $0) }
        for turn in 0..<60_000 { clock.set(.time(times[turn % 2])) }
        clock.set(.time(times[0]))
        let answers = store.answerClock
        try await store.keep(
            KeptAnswer(session: 0, requester: "", key: "k", at: answers.now(), request: 1, answer: .emptyObject))
        func isKept() async throws -> Bool {
            try await store.answer(to: "k", by: "", of: 0, now: answers.now()) != nil
        }
        clock.set(.advance(milliseconds: 1_000))
        #expect(try await isKept())
        clock.set(.time(times[1]))
        #expect(try await !isKept())
        await store.close()
    }
}
