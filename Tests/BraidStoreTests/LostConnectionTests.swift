#if PostgreSQL
import BraidEngine
import BraidStore
import Foundation
import TestSupport
import Testing

@testable import BraidPostgres

@Suite(.enabled(if: PostgresCluster.isThere, "needs to be run by Scripts/with-postgres")) struct LostConnectionTests {
    private let url: String

    init() throws { url = try PostgresCluster.newDatabase() }

    private func connect() throws -> PostgresConnection {
        try PostgresConnection(url: url, timeout: .seconds(30), settings: [])
    }

    /// Process ids of the other connections.
    private func processes(_ condition: String = "true") throws -> [Int] {
        try connect().query(
            "SELECT pid::bigint FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid() AND \(raw: condition)"
        )
        .map { $0.int(0) }
    }

    /// As a restart does. Returns when they have ended.
    private func endConnections() throws {
        // Not those that the store opens meanwhile.
        let all = Set(try processes())
        // Waiting ones first: they would get the lock of an ended holder.
        for condition in ["wait_event_type = 'Lock'", "true"] {
            let ended = try processes(condition).filter { all.contains($0) }
            _ = try connect().query("SELECT pg_terminate_backend(p::int) FROM unnest(\(ended)) p")
            #expect(try eventually { try !processes().contains(where: ended.contains) })
        }
    }

    @Test("After the database has ended all connections, reads and writes continue on new ones")
    func newConnections() async throws {
        let store = try PostgresStore(url: url)
        let number = try await store.createSession(.make())
        for revision in 1...3 {
            #expect(try await store.sessionSummary("s")?.revision == revision - 1)
            try endConnections()
            #expect(try await store.sessionSummary("s")?.revision == revision - 1)
            try await store.commit(.make(number, to: revision))
        }
        await store.close()
    }

    @Test("A transaction whose connection is lost fails, and the commits that wait behind it succeed")
    func interruptedTransaction() async throws {
        let store = try PostgresStore(url: url, timeout: .patient)
        let number = try await store.createSession(.make())
        let (release, end) = try await store.hold()
        // The commit behind it is queued, and not sent yet.
        async let commit: Void = store.commit(.make(number, to: 1))
        #expect(await store.hasQueued(1))
        try endConnections()
        await #expect { try await end.value } throws: { if case StoreError.unavailable = $0 { true } else { false } }
        try await commit
        release()
        #expect(try await store.sessionSummary("s")?.revision == 1)
        #expect(store.statistics.failures == 1)
        await store.close()
    }

    /// Of a transaction that has written a journal record.
    private func beforeCommit(_ statement: String) throws {
        try connect().script(
            """
            CREATE FUNCTION first() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN \(statement); RETURN NULL; END $$;
            CREATE CONSTRAINT TRIGGER first AFTER INSERT ON journal DEFERRABLE INITIALLY DEFERRED
                FOR EACH ROW EXECUTE FUNCTION first();
            """)
    }

    @Test("If a connection is lost in COMMIT before the change is stored, the commit fails and is not stored")
    func lostInCommit() async throws {
        let store = try PostgresStore(url: url, timeout: .patient), holder = try connect()
        let number = try await store.createSession(.make())
        _ = try holder.query("SELECT pg_advisory_lock(1)")
        try beforeCommit("PERFORM pg_advisory_xact_lock_shared(1)")
        let commit = Task { try await store.commit(.make(number, to: 1)) }
        #expect(try await eventually { try !processes("wait_event = 'advisory'").isEmpty })
        try endConnections()
        await #expect { try await commit.value } throws: { if case StoreError.unavailable = $0 { true } else { false } }
        #expect(try await store.sessionSummary("s")?.revision == 0)
        try await store.commit(.make(number, to: 1))
        #expect(store.statistics.failures == 1)
        await store.close()
    }

    /// The database hangs, or its machine has failed.
    @Test("If the database does not tell in time whether a commit is stored, its outcome is unknown")
    func silentDatabase() async throws {
        let store = try PostgresStore(url: url, timeout: .seconds(10))
        let number = try await store.createSession(.make())
        let writer = try #require(try processes().first)
        // Suspends the database's process.
        try beforeCommit("COPY (SELECT) TO PROGRAM 'cat >/dev/null; kill -STOP $PPID'")
        await #expect { try await store.commit(.make(number, to: 1)) } throws: {
            if case StoreError.outcomeUnknown = $0 { true } else { false }
        }
        // Although the suspended process holds its locks.
        #expect(try await store.putTable("t", description: "1", at: 1) == 1)
        #expect(kill(pid_t(writer), SIGCONT) == 0)
        #expect(try await eventually { try !processes().contains(writer) })
        let revision = try #require(try await store.sessionSummary("s")?.revision)
        #expect([0, 1].contains(revision))
        await store.close()
    }

    @Test("Only a transaction that writes leaves a mark, and the marks of old connections are deleted")
    func marks() async throws {
        let store = try PostgresStore(url: url)
        let number = try await store.createSession(.make())
        func marks() throws -> [Int] {
            try connect().query("SELECT number FROM last_commit ORDER BY at").map { $0.int(0) }
        }
        #expect(try marks() == [1])
        await #expect(throws: StoreError.revisionConflict) { try await store.commit(.make(number, to: 5)) }
        #expect(try await store.check() == .writable)
        #expect(try marks() == [1])
        try await store.commit(.make(number, to: 1))
        #expect(try marks() == [2])
        await store.close()
        let now = "extract(epoch FROM clock_timestamp()) * 1000"
        try connect().script(
            "INSERT INTO last_commit VALUES (1, 7, \(now) - 86400000), (2, 8, \(now) - 80000000)")
        let next = try PostgresStore(url: url)
        try await next.commit(.make(number, to: 2))
        #expect(try marks() == [8, 2, 1])
        await next.close()
    }

    @Test("A write that waits too long for another connection's lock is refused, and the store still works")
    func foreignLock() async throws {
        let store = try PostgresStore(url: url, timeout: .seconds(10))
        let number = try await store.createSession(.make())
        let other = try connect()
        // It looks like another server's commit, which would make this revision a conflict.
        _ = try other.all(["BEGIN", "SELECT 1 FROM session FOR UPDATE"])
        await #expect(throws: StoreError.revisionConflict) { try await store.commit(.make(number, to: 1)) }
        _ = try other.all(["LOCK TABLE journal"])
        await #expect { try await store.commit(.make(number, to: 1)) } throws: {
            if case StoreError.busy = $0 { true } else { false }
        }
        _ = try other.all(["COMMIT"])
        try await store.commit(.make(number, to: 1))
        await store.close()
    }

    /// As a server that hangs does, or a person with `psql`.
    @Test("While writes wait for another program's lock, commits on other sessions succeed")
    func otherWrites() async throws {
        let store = try PostgresStore(url: url, timeout: .patient)
        _ = try await store.createSession(.make("held"))
        let number = try await store.createSession(.make("other")), holder = try connect()
        _ = try holder.all([
            "BEGIN", "SELECT 1 FROM session WHERE id = 'held' FOR UPDATE",
            "LOCK TABLE table_description IN SHARE ROW EXCLUSIVE MODE",
        ])
        async let ended = store.deleteSession("held")
        async let registered = store.putTable("t", description: "1", at: 1)
        #expect(try await eventually { try !processes("wait_event_type = 'Lock'").isEmpty })
        for revision in 1...3 { try await store.commit(.make(number, to: revision)) }
        _ = try holder.all(["COMMIT"])
        #expect(try await ended != nil)
        #expect(try await registered == 1)
        #expect(try await store.sessionSummary("held") == nil)
        await store.close()
    }

    @Test("When a request of a group fails after it has written something, only its own writes are rolled back")
    func faultyWrite() async throws {
        let store = try PostgresStore(url: url, timeout: .patient)
        let number = try await store.createSession(.make())
        let (release, end) = try await store.hold()
        async let faulty: Void = store.write([
            "UPDATE session SET revision = 99", "INSERT INTO session (id) VALUES (NULL)",
        ]) { _ in }
        async let commit: Void = store.commit(.make(number, to: 1))
        #expect(await store.hasQueued(2))
        release()
        try await commit
        try await end.value
        do {
            try await faulty
            Issue.record("the faulty write was taken")
        } catch { #expect("\(error)".contains("23502")) }
        #expect(try await store.sessionSummary("s")?.revision == 1)
        await store.close()
    }
}
#endif
