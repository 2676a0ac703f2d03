import BraidStore
import Foundation
import Testing

/// The store could still write to its open files, but no later start would find that.
@Suite struct MovedFilesTests {
    private let path = TestDirectory.make() + "/braid.sqlite"

    @Test(
        "If the database file or its log is removed, replaced or renamed, writes are refused until the file is back",
        arguments: ["", "-wal"])
    func moved(file: String) async throws {
        let store = try SQLiteStore(path: path), file = path + file
        let number = try await store.createSession(.make())
        try await store.commit(.make(number, to: 1))
        #expect(rename(file, file + ".moved") == 0)
        func isRefused(_ write: () async throws -> Void) async {
            await #expect { try await write() } throws: {
                if case StoreError.io(let detail) = $0 { detail.hasPrefix("\(file) was removed") } else { false }
            }
        }
        await isRefused { try await store.commit(.make(number, to: 2)) }
        await isRefused { _ = try await store.createSession(.make("other")) }
        try Data("another".utf8).write(to: URL(fileURLWithPath: file))
        await isRefused { try await store.commit(.make(number, to: 2)) }
        #expect(rename(file + ".moved", file) == 0)
        try await store.commit(.make(number, to: 2))
        #expect(try await store.check() == .writable)
        await store.close()
        let again = try SQLiteStore(path: path)
        #expect(try await again.sessionSummary("s")?.revision == 2)
        await again.close()
    }
}
