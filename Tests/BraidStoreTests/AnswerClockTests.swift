import BraidEngine
import Foundation
import Testing

@testable import BraidStore

#if PostgreSQL
@testable import BraidPostgres
#endif

/// The machine's clock can be set back.
@Suite struct AnswerClockTests {
    private static let day = 24 * 60 * 60 * 1000

    @Test("After a restart, the clock continues at the newest kept answer, whatever the machine's time is")
    func goesOn() async throws {
        for distance in [-1_000 * Self.day, 1_000 * Self.day] {
            let path = TestDirectory.make() + "/braid.sqlite"
            var store = try SQLiteStore(path: path)
            let start = store.answerClock.now() + distance
            for age in [0, Self.day / 2, 2 * Self.day] {
                try await store.keep(
                    KeptAnswer(session: 0, requester: "", key: "\(age)", at: start - age, request: 1, answer: "{}"))
            }
            await store.close()
            store = try SQLiteStore(path: path)
            let now = store.answerClock.now()
            #expect(now >= start && now < start + Self.day / 2)
            #expect(try await store.answer(to: "0", by: "", of: 0, now: now) != nil)
            #expect(try await store.answer(to: "\(Self.day / 2)", by: "", of: 0, now: now) != nil)
            #expect(try await store.answer(to: "\(2 * Self.day)", by: "", of: 0, now: now) == nil)
            await store.close()
        }
    }

    @Test("`advance(to:)` sets the clock for kept answers ahead, but never back")
    func advances() {
        let clock = AnswerClock(from: 1_000_000)
        clock.advance(to: 10)
        #expect(clock.now() >= 1_000_000)
        clock.advance(to: 5_000_000)
        #expect(clock.now() >= 5_000_000)
    }

    #if PostgreSQL
    @Test("Servers that share a database also share the clock for kept answers", .enabled(if: PostgresCluster.isThere))
    func shared() async throws {
        let place = try PostgresCluster.newSchema()
        let first = try PostgresStore(url: place)
        // As if it had run for three days without keeping an answer.
        let later = first.answerClock.now() + 3 * Self.day
        first.answerClock.advance(to: later)
        let isShared = AsyncStream.makeStream(of: Void.self)
        try first.listen { if case .look = $0 { isShared.continuation.yield() } }
        for await _ in isShared.stream { break }
        let second = try PostgresStore(url: place)
        #expect(second.answerClock.now() >= later)
        // As a running server, too.
        second.answerClock.advance(to: later + Self.day)
        let isSharedBack = AsyncStream.makeStream(of: Void.self)
        try second.listen { if case .look = $0 { isSharedBack.continuation.yield() } }
        for await _ in isSharedBack.stream { break }
        for await _ in isShared.stream where first.answerClock.now() >= later + Self.day { break }
        await first.close()
        await second.close()
    }
    #endif
}
