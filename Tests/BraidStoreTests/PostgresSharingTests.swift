#if PostgreSQL
import BraidEngine
import BraidStore
import Synchronization
import TestSupport
import Testing

@testable import BraidPostgres

@Suite(.enabled(if: PostgresCluster.isThere, "needs to be run by Scripts/with-postgres")) struct PostgresSharingTests {
    private let stores: [PostgresStore]
    private let url: String

    init() throws {
        let url = try PostgresCluster.newDatabase()
        self.url = url
        stores = try (0..<2).map { _ in try PostgresStore(url: url, timeout: .patient) }
    }

    private func close() async { for store in stores { await store.close() } }

    private func commit(_ session: Int, to revision: Int, answer: KeptAnswer? = nil, by store: Int) async throws {
        var commit = SessionCommit.make(session, to: revision) { $0.writtenRows = [(1, .make(revision))] }
        commit.answer = answer
        try await stores[store].commit(commit)
    }

    private func answer(_ session: Int, _ key: String, _ text: JSONText, at: Int = 1_000) -> KeptAnswer {
        KeptAnswer(session: session, requester: "", key: key, at: at, request: 7, answer: text)
    }

    // MARK: Revisions

    @Test("A store returns the revision that another store has just committed") func latestRevision() async throws {
        let session = try await stores[0].createSession(.make())
        for revision in 1...100 {
            try await commit(session, to: revision, by: revision % 2)
            #expect(try await stores[(revision + 1) % 2].revision(of: session)?.number == revision)
        }
        _ = try await stores[0].deleteSession("s")
        #expect(try await stores[1].revision(of: session) == nil)
        await close()
    }

    @Test("Each of many concurrent requests for a revision receives its own session's revision")
    func concurrentRequests() async throws {
        var sessions: [Int] = []
        for number in 0..<20 {
            sessions.append(try await stores[0].createSession(.make("s\(number)")))
            for revision in 0..<number { try await commit(sessions[number], to: revision + 1, by: 0) }
        }
        let known = sessions
        try await withThrowingTaskGroup(of: (Int, Int?).self) { group in
            for round in 0..<500 {
                group.addTask { (round % 20, try await stores[1].revision(of: known[round % 20])?.number) }
            }
            for try await (number, revision) in group { #expect(revision == number) }
        }
        await close()
    }

    // MARK: Turns

    @Test("While one store holds the lock of a session, another store cannot commit on the session")
    func sessionLock() async throws {
        let session = try await stores[0].createSession(.make())
        try await stores[0].takeTurn(of: session)
        await #expect(throws: StoreError.revisionConflict) { try await commit(session, to: 1, by: 1) }
        try await commit(session, to: 1, by: 0)
        await stores[0].endTurn(of: session)
        try await commit(session, to: 2, by: 1)
        await close()
    }

    @Test("A store that waits for the lock of a session gets it when the holder releases it")
    func waitForTheLock() async throws {
        let session = try await stores[0].createSession(.make())
        let order = Mutex<[Int]>([])
        try await stores[0].takeTurn(of: session)
        async let waiting: Void = {
            try await stores[1].takeTurn(of: session)
            order.withLock { $0.append(1) }
        }()
        // The second store tries in vain.
        try await Task.sleep(for: .milliseconds(20))
        order.withLock { $0.append(0) }
        await stores[0].endTurn(of: session)
        try await waiting
        #expect(order.withLock { $0 } == [0, 1])
        await close()
    }

    @Test("Closing a store releases the locks of its sessions") func lockOfAClosedStore() async throws {
        let session = try await stores[0].createSession(.make())
        try await stores[0].takeTurn(of: session)
        let hasty = try PostgresStore(url: url, timeout: .seconds(10))
        await #expect { try await hasty.takeTurn(of: session) } throws: {
            if case StoreError.busy = $0 { true } else { false }
        }
        await hasty.close()
        await stores[0].close()
        try await stores[1].takeTurn(of: session)
        await close()
    }

    // MARK: Keys

    @Test("An idempotency key that another store has answered is not answered again for a day")
    func answeredKey() async throws {
        let session = try await stores[0].createSession(.make())
        try await commit(session, to: 1, answer: answer(session, "k", "1"), by: 0)
        await #expect(throws: StoreError.answered) {
            try await commit(session, to: 2, answer: answer(session, "k", "2"), by: 1)
        }
        await #expect(throws: StoreError.answered) { try await stores[1].keep(answer(session, "k", "3")) }
        #expect(try await stores[1].answer(to: "k", by: "", of: session, now: 1_000)?.answer == "1")
        #expect(try await stores[1].revision(of: session)?.number == 1)
        // A day later, the key belongs to a new request.
        try await commit(session, to: 2, answer: answer(session, "k", "4", at: 1_000 + KeptAnswer.lifetime), by: 1)
        await close()
    }

    @Test("Of concurrent answers to one idempotency key, exactly one is kept") func concurrentAnswers() async throws {
        for round in 0..<40 {
            let session = try await stores[0].createSession(.make("s\(round)"))
            let kept = try await withThrowingTaskGroup(of: String?.self) { group in
                for store in 0..<2 {
                    group.addTask {
                        try await isKept {
                            try await stores[store].keep(answer(session, "k", .string("keep \(store)")))
                        } ? "keep \(store)" : nil
                    }
                }
                group.addTask {
                    try await isKept {
                        try await commit(session, to: 1, answer: answer(session, "k", "\"commit\""), by: 1)
                    } ? "commit" : nil
                }
                return try await group.compactMap { $0 }.reduce(into: []) { $0.append($1) }
            }
            #expect(kept.count == 1)
            #expect(
                try await stores[0].answer(to: "k", by: "", of: session, now: 1_000)?.answer.stringValue == kept.first)
            #expect(try await stores[0].revision(of: session)?.number == (kept == ["commit"] ? 1 : 0))
        }
        await close()
    }

    @Test("Of concurrent openings with one idempotency key, exactly one creates a session")
    func concurrentOpenings() async throws {
        for round in 0..<40 {
            let made = try await withThrowingTaskGroup(of: Bool.self) { group in
                for store in 0..<2 {
                    group.addTask {
                        var session = NewSession.make("s\(round)-\(store)")
                        session.answer = answer(0, "k\(round)", "1")
                        let opening = session
                        return try await isKept { _ = try await stores[store].createSession(opening) }
                    }
                }
                return try await group.reduce(0) { $0 + ($1 ? 1 : 0) }
            }
            #expect(made == 1)
        }
        #expect(try await stores[0].size().sessions == 40)
        await close()
    }

    private func isKept(_ body: () async throws -> Void) async throws -> Bool {
        do {
            try await body()
            return true
        } catch StoreError.answered {
            return false
        }
    }

    // MARK: Notices

    @Test("A store receives notices of the other store's actions, and not of its own") func notices() async throws {
        let heard = Watched<[StoreNotice]>([])
        for store in stores[1...] { try store.listen { notice in heard.withLock { $0.append(notice) } } }
        #expect(await heard.wait { $0.contains(.hearing) })
        let session = try await stores[0].createSession(.make())
        try await stores[0].createToken(NewToken(id: "t", role: "viewer", created: 1, expires: 2, hash: "h"), for: "s")
        try await commit(session, to: 1, by: 0)
        try await commit(session, to: 2, by: 1)
        #expect(try await stores[0].deleteToken("t", of: "s"))
        _ = try await stores[0].deleteSession("s")
        #expect(await heard.wait { $0.contains(.ended(session: session)) })
        #expect(
            heard.withLock { $0.filter { $0 != .look } } == [
                .hearing, .committed(session: session, revision: 1), .revoked(token: "t"), .ended(session: session),
            ])
        // A server may stop between its commit and the notification.
        #expect(await heard.wait { $0.contains(.look) })
        await close()
    }

    @Test("A store receives a notice for each commit of the other store, even if there are many at the same time")
    func manyNotices() async throws {
        let heard = Watched<Set<Int>>([]), isHearing = Watched(false)
        try stores[1].listen { notice in
            switch notice {
            case .committed(let session, 1): heard.withLock { _ = $0.insert(session) }
            case .hearing: isHearing.withLock { $0 = true }
            default: break
            }
        }
        #expect(await isHearing.wait { $0 })
        // More than one notification can name.
        let made = try await withThrowingTaskGroup(of: Int.self) { group in
            for number in 0..<400 {
                group.addTask { [store = stores[0]] in
                    let session = try await store.createSession(.make("s\(number)"))
                    try await store.commit(SessionCommit.make(session, to: 1))
                    return session
                }
            }
            return try await group.reduce(into: Set<Int>()) { $0.insert($1) }
        }
        #expect(await heard.wait { $0 == made })
        await close()
    }

    @Test("A store that has lost its connection restores it, reports this, and receives notices again")
    func lostConnection() async throws {
        let heard = Watched<[StoreNotice]>([])
        try stores[1].listen { notice in heard.withLock { $0.append(notice) } }
        #expect(await heard.wait { $0.contains(.hearing) })
        // Otherwise one could end in the middle of a commit below.
        try PostgresCluster.run(
            "SELECT pg_terminate_backend(pid, 20000) FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()",
            in: url)
        #expect(await heard.wait { Array($0.filter { $0 != .look }.prefix(2)) == [.hearing, .hearing] })
        let session = try await stores[0].createSession(.make())
        try await commit(session, to: 1, by: 0)
        #expect(await heard.wait { $0.contains(.committed(session: session, revision: 1)) })
        await close()
    }
}
#endif
