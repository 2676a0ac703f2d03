import BraidEngine
import BraidStore
import Foundation
import Testing

@Suite struct BackupTests {
    @Test("A backup copies a store that is in use, but fails if the target exists or the database is missing")
    func storeInUse() async throws {
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
            #expect(session?.summary.revision == copy - 1)
            #expect(session?.sections[0].rows.count == copy)
            await store.close()
        }
    }

    @Test("A backup does not change the partial file of a running backup, but replaces that of a killed one")
    func partialFile() async throws {
        let path = TestDirectory.make() + "/braid.sqlite", partial = path + ".1-partial"
        let store = try SQLiteStore(path: path)
        // Another backup holds this lock while it writes.
        let other = open(partial, O_RDWR | O_CREAT, 0o644)
        #expect(flock(other, LOCK_EX | LOCK_NB) == 0 && write(other, "half", 4) == 4)
        #expect(throws: StoreError.exists(path: partial)) { try SQLiteStore.backup(of: path, to: path + ".1") }
        #expect(FileManager.default.contents(atPath: partial) == Data("half".utf8))
        #expect(!FileManager.default.fileExists(atPath: path + ".1"))
        // A killed backup's lock is free. Unlock explicitly: a program that another test starts now may hold a copy
        // of the descriptor.
        flock(other, LOCK_UN)
        close(other)
        try SQLiteStore.backup(of: path, to: path + ".1")
        #expect(!FileManager.default.fileExists(atPath: partial))
        await store.close()
        let copy = try SQLiteStore(path: path + ".1")
        #expect(try await copy.sessions(after: nil, limit: 1).isEmpty)
        await copy.close()
    }
}
