import BraidEngine
import Synchronization
import Testing

@testable import BraidStore

@Suite("Sessions that share their opening and their rows with another session") struct SharedTableTests {
    private static let shared = NewSession.make("fork", rows: (1...3).map { (1, .make($0, id: "r\($0)")) }).sharing("1")

    @Test("A store in memory does not compute a shared table before it is read")
    func lazily() async throws {
        let store = try SQLiteStore(path: ":memory:"), calls = Mutex(0)
        var new = NewSession.make("fork")
        new.shared = SharedTable(
            opening: {
                calls.withLock { $0 += 1 }
                return "1"
            },
            rows: {
                calls.withLock { $0 += 1 }
                return [(1, .make(1))]
            })
        let number = try await store.createSession(new)
        try await store.commit(.make(number, to: 1) { $0.writtenRows = [(1, .make(1, "[2]"))] })
        try await store.commit(.make(number, to: 2) { $0.placedRows = [(1, 1, 7)] })
        #expect(calls.withLock { $0 } == 0)
        #expect(try await store.session("fork")?.sections.first?.rows.map(\.model) == ["[2]"])
        #expect(calls.withLock { $0 } == 1)
        await store.close()
    }

    @Test("After a commit that fails, a session shares exactly the data that it shared before")
    func rollback() async throws {
        let fails = Mutex(false)
        var file = SQLiteFileOptions()
        file.simulatedFailure = { fails.withLock { $0 } ? 7 : nil }  // SQLITE_NOMEM
        let store = try SQLiteStore(path: ":memory:", file: file)
        func failing(_ body: () async throws -> Void) async {
            fails.withLock { $0 = true }
            await #expect(throws: StoreError.self) { try await body() }
            fails.withLock { $0 = false }
        }
        // With the number of the failed session, but not its table.
        await failing { _ = try await store.createSession(Self.shared) }
        _ = try await store.createSession(.make("other", opening: "2", rows: [(1, .make(1))]))
        #expect(try await store.opening("other")?.body == "2")
        #expect(try await store.session("other")?.sections.first?.rows.count == 1)

        let number = try await store.createSession(Self.shared)
        let before = dump(try await store.session("fork"))
        await failing { try await store.commit(.make(number, to: 1) { $0.removedRows = [2] }) }
        await failing { try await store.commit(.make(number, to: 1, publishes: false) { $0.removedRows = [2] }) }
        await failing { _ = try await store.deleteSession("fork") }
        #expect(dump(try await store.session("fork")) == before)
        #expect(try await store.opening("fork")?.body == "1")
        #expect(try await store.deleteSession("fork") == number)
        #expect(try await store.session("fork") == nil)
        await store.close()
    }
}
