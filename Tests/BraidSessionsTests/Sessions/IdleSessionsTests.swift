import BraidStore
import Testing

@testable import BraidEngine
@testable import BraidSessions

@Suite struct IdleSessionsTests {
    @Test("An unused session is removed from memory, and is unchanged when it is read again")
    func unusedSession() async throws {
        let test = try await TestSession()
        try await test.setState(1)
        let before = String(decoding: test.session.displayed.encodedSnapshot().bytes.plain, as: UTF8.self)
        // Just used, so it survives two sweeps.
        #expect((0..<3).map { _ in test.sessions.unloadIdle(after: 3) } == [0, 0, 1])
        #expect(test.sessions.inMemory.isEmpty && test.session.isStale)
        let again = try await test.sessions.session("s")
        #expect(again !== test.session)
        #expect(String(decoding: again.displayed.encodedSnapshot().bytes.plain, as: UTF8.self) == before)
        #expect(try await test.perform("patchState", #"{"n":2}"#) == 2)
    }

    @Test("A session stays in memory while requests use it") func usedSession() async throws {
        let test = try await TestSession()
        for _ in 0..<10 {
            #expect(test.sessions.unloadIdle(after: 2) == 0)
            #expect(try await test.sessions.session("s") === test.session)
        }
    }

    @Test("A session with a subscriber stays in memory until the subscriber disconnects")
    func followedSession() async throws {
        let test = try await TestSession()
        let reader = test.subscribe()
        for _ in 0..<5 { #expect(test.sessions.unloadIdle(after: 1) == 0) }
        try await test.setState(1)
        reader.subscriber.stream.close()
        #expect((0..<3).contains { _ in test.sessions.unloadIdle(after: 1) == 1 })
    }

    /// A task may hold a session object that was dropped: its command goes to the one that is read again.
    @Test("Commands succeed while their session is removed from memory, and the journal has no gap", arguments: 0..<4)
    func concurrentCommands(seed: Int) async throws {
        let test = try await TestSession()
        try await withThrowingTaskGroup(of: Void.self) { group in
            for task in 0..<4 {
                group.addTask { for number in 0..<50 { try await test.setState(task * 1_000 + number + seed) } }
            }
            group.addTask {
                for _ in 0..<200 {
                    _ = test.sessions.unloadIdle(after: 1)
                    await Task.yield()
                }
            }
            try await group.waitForAll()
        }
        let session = try await test.sessions.session("s")
        let revision = session.current.snapshot.revision
        #expect(revision > 0 && revision <= 200)
        #expect(try await session.history(after: 0, limit: 1_000, bytes: .max).map(\.revision) == Array(1...revision))
    }
}
