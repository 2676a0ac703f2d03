import BraidEngine
import Foundation
import TestSupport
import Testing

@testable import BraidStore

@Suite struct GroupCommitTests {
    /// Holds one transaction until `count` writes wait, which the next one commits together.
    private func gather(
        _ count: Int, in store: any HoldableStore, _ write: @escaping @Sendable (Int) async throws -> Void
    ) async throws {
        let (release, end) = try await store.hold()
        try await withThrowingTaskGroup { group in
            for index in 0..<count { group.addTask { try await write(index) } }
            group.addTask {
                #expect(await store.hasQueued(count))
                release()
            }
            try await group.waitForAll()
        }
        try await end.value
    }

    @Test("Writes that wait at the same time are committed in one transaction", arguments: StoreKind.forTests)
    func waitingWrites(kind: StoreKind) async throws {
        let store = try kind.openHoldable()
        var numbers: [Int] = []
        for index in 0..<50 { numbers.append(try await store.createSession(.make("s\(index)"))) }
        let before = store.statistics
        try await gather(52, in: store) { [numbers] (index: Int) async throws -> Void in
            switch index {
            case 50: #expect(try await store.createSession(.make("new")) > 0)
            case 51: #expect(try await store.putTable("t", description: "1", at: 1) == 1)
            default: await #expect(throws: Never.self) { try await store.commit(.make(numbers[index], to: 1)) }
            }
        }
        let after = store.statistics
        #expect(after.groupSizes.sum - before.groupSizes.sum == 53)
        #expect(after.groupSizes.count - before.groupSizes.count == 2)
        #expect(after.groupSizes.counts[6] == 1, "52 writes in one transaction, of 33 to 64")
        #expect(try await store.sessions(after: nil, limit: 100).filter { $0.revision == 1 }.count == 50)
        await store.close()
    }

    @Test("In a group of commits, a revision conflict fails only its own commit", arguments: StoreKind.forTests)
    func conflict(kind: StoreKind) async throws {
        let store = try kind.openHoldable()
        var numbers: [Int] = []
        for index in 0..<20 { numbers.append(try await store.createSession(.make("s\(index)"))) }
        try await gather(20, in: store) { [numbers] (index: Int) async throws -> Void in
            let commit = SessionCommit.make(numbers[index], to: index == 7 ? 5 : 1) { $0.writtenRows = [(1, .make(1))] }
            if index == 7 {
                await #expect(throws: StoreError.revisionConflict) { try await store.commit(commit) }
            } else {
                await #expect(throws: Never.self) { try await store.commit(commit) }
            }
        }
        for index in 0..<20 {
            let stored = try await store.session("s\(index)")
            #expect(stored?.summary.revision == (index == 7 ? 0 : 1))
            #expect(stored?.sections[0].rows.count == (index == 7 ? 0 : 1))
        }
        await store.close()
    }

    /// As a session sends them: each is computed on the one before, which is not stored yet.
    @Test(
        "Commits on top of each other are stored in the order of the calls, and none after one that is refused",
        arguments: StoreKind.forTests)
    func onTopOfEachOther(kind: StoreKind) async throws {
        let place = try kind.place(), store = try kind.openHoldable(at: place)
        let number = try await store.createSession(.make())
        func outcomes(of revisions: ClosedRange<Int>) async throws -> [StoreError?] {
            let (release, end) = try await store.hold(), told = Watched<[StoreError?]>([])
            for revision in revisions {
                var commit = SessionCommit.make(number, to: revision)
                commit.followsInTransaction = revision > revisions.lowerBound
                if revision > 1 { commit.fromTime = 2000 }
                store.commit(commit) { result in
                    told.withLock { told in
                        if case .failure(let error) = result {
                            told.append(error as? StoreError)
                        } else {
                            told.append(nil)
                        }
                    }
                }
            }
            release()
            try await end.value
            #expect(await told.wait { $0.count == revisions.count })
            return told.value
        }
        #expect(try await outcomes(of: 1...4) == [nil, nil, nil, nil])
        #expect(try await outcomes(of: 6...8) == [.revisionConflict, .revisionConflict, .revisionConflict])
        #expect(try await store.sessionSummary("s")?.revision == 4)
        #expect(try await store.journal(of: number, after: 0, limit: 9).map(\.revision) == [1, 2, 3, 4])
        if kind == .postgres {
            // Another server's revision has the number and the time of one that was refused here.
            let other = try kind.open(at: place)
            try await other.commit(.make(number, to: 5))
            await other.close()
            #expect(try await outcomes(of: 5...6) == [.revisionConflict, .revisionConflict])
            #expect(try await store.sessionSummary("s")?.revision == 5)
        }
        await store.close()
    }

    @Test(
        "When a request of a group fails after it has written something, only its own writes are rolled back",
        arguments: [StoreKind.file, .memory])
    func faultyWrite(kind: StoreKind) async throws {
        let store = try SQLiteStore(path: kind.place())
        let number = try await store.createSession(.make())
        try await gather(2, in: store) { index in
            if index == 0 {
                await #expect(throws: StoreError.self) {
                    try await store.write { queries in
                        try queries.db.run("UPDATE session SET revision = 99")
                        try queries.db.run("INSERT INTO session (id) VALUES (NULL)")
                    }
                }
            } else {
                await #expect(throws: Never.self) { try await store.commit(.make(number, to: 1)) }
            }
        }
        #expect(try await store.sessionSummary("s")?.revision == 1)
        await store.close()
    }

    /// Not in memory, where one connection reads and writes.
    @Test(
        "A read does not wait for a write that is in progress",
        arguments: StoreKind.forTests.filter { $0 != .memory })
    func readDuringAWrite(kind: StoreKind) async throws {
        let store = try kind.openHoldable()
        let number = try await store.createSession(.make())
        let (release, end) = try await store.hold()
        async let commit: Void = store.commit(.make(number, to: 1))
        #expect(await store.hasQueued(1))
        #expect(try await store.session("s")?.summary.revision == 0)
        release()
        try await commit
        try await end.value
        #expect(try await store.session("s")?.summary.revision == 1)
        await store.close()
    }

    @Test(
        "Closing the store finishes the waiting writes and refuses later ones",
        arguments: StoreKind.forTests.filter { $0 != .memory })
    func closing(kind: StoreKind) async throws {
        let place = try kind.place()
        let store = try kind.openHoldable(at: place)
        let number = try await store.createSession(.make())
        let (release, end) = try await store.hold()
        async let commit: Void = store.commit(.make(number, to: 1))
        #expect(await store.hasQueued(1))
        store.stopWriting()
        await #expect(throws: StoreError.closed) { try await store.commit(.make(number, to: 2)) }
        release()
        await store.close()
        try await commit
        try await end.value
        let again = try kind.open(at: place)
        #expect(try await again.sessionSummary("s")?.revision == 1)
        await again.close()
    }
}
