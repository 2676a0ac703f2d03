import BraidEngine
import Testing

@testable import BraidSessions
@testable import BraidStore

@Suite("No revision is told before it can be read") struct ReadableRevisionTests {
    /// As a command does just before clients see its revision.
    private static func commit(to session: Session, in store: SQLiteStore) async throws {
        try await store.commit(
            SessionCommit(
                session: session.number, from: 0,
                record: JournalRecord(
                    revision: 1, at: 5, command: JSONText(parsing: "{}"),
                    update: JSONText(parsing: #"{"stages":[]}"#)),
                change: TableChange(), publishes: true, nextKey: 9, nextSection: 9, totalRowCount: 7,
                undo: JSONText(parsing: #"{"updated":1,"nextKey":1,"nextSection":1}"#)))
    }

    @Test("A session, the list and the journal show a stored revision only once snapshots can")
    func storedFirst() async throws {
        let store = try SQLiteStore(path: ":memory:"), sessions = SessionHost(store: store)
        let body = try JSONText(parsing: #"{"id":"s","rows":[{"id":1}]}"#)
        let session = try await sessions.open(SessionOpening(body), text: body).session
        try await Self.commit(to: session, in: store)
        let stored = try #require(try await store.sessionSummary("s"))
        #expect(stored.revision == 1 && stored.totalRowCount == 7 && session.revision == 0)

        let told = try #require(try await sessions.summary("s"))
        #expect(told.revision == 0 && told.totalRowCount == 1 && told.updated == told.created)
        #expect(try await sessions.summaries(of: nil, after: nil, limit: 9) == [told])
        #expect(try await session.journalPage(after: 0, limit: 9).records.isEmpty)

        // Loaded from now on, the session has the stored revision.
        session.markStale()
        #expect(try await sessions.summary("s") == stored)
        #expect(try await sessions.session("s").revision == 1)
        #expect(try await sessions.session("s").journalPage(after: 0, limit: 9).records.count == 1)
        await store.close()
    }
}
