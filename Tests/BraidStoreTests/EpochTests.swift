import BraidEngine
import BraidStore
import Foundation
import Testing

/// In a backup, or after a power loss.
@Suite struct EpochTests {
    private let directory = TestDirectory.make()
    private let path: String

    init() { path = directory + "/braid.sqlite" }

    private func epochs(of path: String, _ synchronous: StoreOptions.Synchronous = .full) async throws -> [String] {
        let store = try SQLiteStore(path: path, options: StoreOptions(synchronous: synchronous))
        let epochs = try await store.sessions(after: nil, limit: 10).map(\.epoch)
        await store.close()
        return epochs
    }

    /// As a crash would leave them, with or without the write-ahead log.
    private func crashed(log: Bool = true) throws -> String {
        let copy = directory + "/\(UUID().uuidString)"
        try FileManager.default.copyItem(atPath: path, toPath: copy)
        if log { try FileManager.default.copyItem(atPath: path + "-wal", toPath: copy + "-wal") }
        return copy
    }

    @Test(
        "With synchronous normal, sessions have new epochs after a power loss, with or without the log",
        arguments: [true, false])
    func powerLosses(log: Bool) async throws {
        let first = try SQLiteStore(path: path)
        let number = try await first.createSession(.make())
        await first.close()
        let store = try SQLiteStore(path: path, options: StoreOptions(synchronous: .normal))
        try await store.commit(.make(number, to: 1))
        let left = try crashed(log: log)
        await store.close()
        #expect(try await epochs(of: path) == ["e-s"])
        let found = try await epochs(of: left)
        #expect(found.count == 1 && found != ["e-s"] && found[0].hasPrefix("e-s-"))
        #expect(try await epochs(of: left) == found, "with full there is nothing to lose")
    }

    @Test("With synchronous full, sessions keep their epochs after a crash")
    func crashesWithFull() async throws {
        let store = try SQLiteStore(path: path)
        _ = try await store.createSession(.make())
        let left = try crashed()
        await store.close()
        #expect(try await epochs(of: left, .normal) == ["e-s"])
    }

    @Test("Every read of an old session returns its new epoch, and new sessions keep the epoch of their opening")
    func readsAgree() async throws {
        var store = try SQLiteStore(path: path)
        _ = try await store.createSession(.make())
        try SQLiteStore.backup(of: path, to: path + ".copy")
        await store.close()
        store = try SQLiteStore(
            path: path + ".copy", options: StoreOptions(newEpochSuffix: { EpochSuffix.counted(after: $0) }))
        _ = try await store.createSession(.make("t"))
        #expect(try await store.sessions(after: nil, limit: 10).map(\.epoch) == ["e-s-1", "e-t"])
        for (id, epoch) in [("s", "e-s-1"), ("t", "e-t")] {
            #expect(try await store.sessionSummary(id)?.epoch == epoch)
            #expect(try await store.session(id)?.summary.epoch == epoch)
            #expect(try await store.opening(id)?.summary.epoch == epoch)
        }
        // A backup of the backup.
        try SQLiteStore.backup(of: path + ".copy", to: path + ".second")
        await store.close()
        store = try SQLiteStore(
            path: path + ".second", options: StoreOptions(newEpochSuffix: { EpochSuffix.counted(after: $0) }))
        #expect(try await store.sessions(after: nil, limit: 10).map(\.epoch) == ["e-s-2", "e-t-2"])
        await store.close()
    }

    @Test("`setEpoch` gives one session a new epoch, and changes nothing else")
    func newEpochOfASession() async throws {
        let store = try SQLiteStore(path: path), number = try await store.createSession(.make())
        _ = try await store.createSession(.make("t"))
        try await store.commit(.make(number, to: 1))
        try await store.setEpoch("new", of: number)
        #expect(try await store.sessions(after: nil, limit: 10).map(\.epoch) == ["new", "e-t"])
        let session = try await store.session("s")
        #expect(session?.summary.epoch == "new" && session?.summary.revision == 1)
        #expect(try await store.journal(of: number, after: 0, limit: 10, bytes: .max).map(\.revision) == [1])
        try await store.setEpoch("none", of: 99)
        #expect(try await store.sessions(after: nil, limit: 10).map(\.epoch) == ["new", "e-t"])
        await store.close()
    }
}
