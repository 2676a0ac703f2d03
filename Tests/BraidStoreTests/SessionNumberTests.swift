import BraidEngine
import Testing

@testable import BraidStore

@Suite("Session numbers") struct SessionNumberTests {
    @Test("The last session number can be used, and after it the error is not that the disk is full")
    func last() async throws {
        let store = try SQLiteStore(path: TestDirectory.make() + "/braid.sqlite")
        _ = try await store.createSession(.make("first"))
        try await store.write { _ = try $0.db.run("UPDATE sqlite_sequence SET seq = ?", Key.largestSession - 1) }
        let number = try await store.createSession(.make(rows: [(1, .make(1))]))
        #expect(number == Key.largestSession)
        try await store.commit(.make(number, to: 1) { $0.writtenRows = [(1, .make(2))] })
        #expect(try await store.session("s")?.sections[0].rows.count == 2)
        await #expect {
            _ = try await store.createSession(.make("one more"))
        } throws: {
            if case StoreError.corrupt = $0 { true } else { false }
        }
        #expect(try await store.check() == .writable)
        await store.close()
    }

    @Test("A damaged session number does not keep other sessions from being opened", arguments: [Int.max, 1 << 40, -1])
    func damaged(number: Int) async throws {
        let store = try SQLiteStore(path: TestDirectory.make() + "/braid.sqlite")
        _ = try await store.createSession(.make("damaged"))
        try await store.write { _ = try $0.db.run("UPDATE session SET number = ?", number) }
        #expect(try await store.createSession(.make()) == 2)
        #expect(try await store.sessions(after: nil, limit: 9).map(\.id) == ["s"])
        let reads: [() async throws -> Void] = [
            { _ = try await store.sessionSummary("damaged") }, { _ = try await store.deleteSession("damaged") },
        ]
        for read in reads {
            await #expect {
                try await read()
            } throws: {
                if case StoreError.corrupt(let detail) = $0 { detail.hasPrefix("number is \(number)") } else { false }
            }
        }
        await store.close()
    }
}
