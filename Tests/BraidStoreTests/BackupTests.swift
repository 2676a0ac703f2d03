import BraidEngine
import BraidStore
import Testing

@Suite struct BackupTests {
    @Test func aCopyIsTakenWhileTheStoreIsInUse() async throws {
        let path = TestDirectory.make() + "/braid.sqlite"
        let store = try SQLiteStore(path: path)
        let number = try await store.createSession(.make(rows: [(1, .make(1))]))
        try SQLiteStore.backup(of: path, to: path + ".1")
        try await store.commit(.make(number, to: 1) { $0.writtenRows = [(1, .make(2))] })
        try SQLiteStore.backup(of: path, to: path + ".2")
        #expect(throws: StoreError.self) { try SQLiteStore.backup(of: path, to: path + ".2") }
        #expect(throws: StoreError.self) { try SQLiteStore.backup(of: path + ".none", to: path + ".3") }
        await store.close()
        for copy in 1...2 {
            let store = try SQLiteStore(path: "\(path).\(copy)")
            let session = try await store.session("s")
            #expect(session?.facts.revision == copy - 1)
            #expect(session?.sections[0].rows.count == copy)
            await store.close()
        }
    }
}
