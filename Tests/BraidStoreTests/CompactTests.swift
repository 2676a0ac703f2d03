import BraidEngine
import Foundation
import Testing

@testable import BraidStore

@Suite("Compacting") struct CompactTests {
    private let path = TestDirectory.make() + "/braid.sqlite"

    @Test("Compacting shrinks the file after a large session was deleted, and keeps the other session")
    func shrinks() async throws {
        let store = try SQLiteStore(path: path)
        _ = try await store.createSession(.make("stays", rows: [(1, .make(1, id: "r", "[1.50]"))]))
        let text = JSONText(.string(String(repeating: "x", count: 10_000)))
        _ = try await store.createSession(.make("large", rows: (1...300).map { (1, .make($0, text)) }))
        let before = dump(try await store.session("stays"))
        _ = try await store.deleteSession("large")
        #expect(throws: StoreError.locked(path: path, holder: "\(getpid())")) { try SQLiteStore.compact(path) }
        await store.close()
        let sizes = try SQLiteStore.compact(path)
        #expect(sizes.before > 3_000_000 && sizes.after < 200_000, "\(sizes)")
        #expect(try FileManager.default.attributesOfItem(atPath: path)[.size] as? Int == sizes.after)
        #expect(!FileManager.default.fileExists(atPath: path + "-wal"))
        let again = try SQLiteStore(path: path)
        #expect(dump(try await again.session("stays")) == before, "the epoch is the same too")
        await again.close()
    }

    @Test("Compacting a backup keeps its mark for new epochs, and leaves no lock file in the directory")
    func backup() async throws {
        let store = try SQLiteStore(path: path)
        _ = try await store.createSession(.make())
        let epoch = try await store.sessionSummary("s")?.epoch
        await store.close()
        try SQLiteStore.backup(of: path, to: path + ".copy")
        _ = try SQLiteStore.compact(path + ".copy")
        #expect(!FileManager.default.fileExists(atPath: path + ".copy-lock"))
        let copy = try SQLiteStore(path: path + ".copy")
        #expect(try await copy.sessionSummary("s")?.epoch != epoch)
        await copy.close()
    }

    @Test("Compacting refuses a file that is not a database of Braid Server, and does not change it")
    func otherFiles() throws {
        #expect(throws: StoreError.missing(path: path)) { try SQLiteStore.compact(path) }
        try Data("text".utf8).write(to: URL(fileURLWithPath: path))
        #expect(throws: StoreError.self) { try SQLiteStore.compact(path) }
        #expect(FileManager.default.contents(atPath: path) == Data("text".utf8))
    }
}
