import BraidEngine
import Foundation
import TestSupport
import Testing

@testable import BraidStore

@Suite struct DiskFullTests {
    private func large(_ n: Int) -> JSONText { "\"\(String(repeating: "x", count: n))\"" }

    /// A limit of pages has the effect of a full disk.
    @Test(
        "On a full disk, a large commit fails, reads succeed, and a commit for which there is room succeeds",
        arguments: [StoreKind.file, .memory])
    func limitedSize(kind: StoreKind) async throws {
        let store = try SQLiteStore(path: kind.place())
        let number = try await store.createSession(.make(rows: [(1, .make(1))]))
        try await store.write { try $0.db.query("PRAGMA max_page_count = 40") { _ in } }
        await #expect(throws: StoreError.full) {
            try await store.commit(
                .make(number, to: 1) { [value = large(400_000)] in $0.writtenRows = [(1, .make(2, value))] })
        }
        #expect(try await store.session("s")?.sections[0].rows.count == 1)
        #expect(try await store.sessionSummary("s")?.revision == 0)
        #expect(
            await eventually {
                (try? await store.commit(.make(number, to: 1) { $0.writtenRows = [(1, .make(2))] })) != nil
            })
        #expect(try await store.check() == .writable)
        #expect(try await store.session("s")?.sections[0].rows.count == 2)
        await store.close()
    }

    @Test(
        "On a full disk, a store refuses commits but deletes sessions, and accepts commits when there is room again",
        .enabled(if: SmallDisk.isAvailable, "only root can mount a small disk"))
    func deletion() async throws {
        let disk = try SmallDisk(megabytes: 12)
        let path = disk.path + "/braid.sqlite"
        let store = try SQLiteStore(path: path)
        let number = try await store.createSession(.make())
        _ = try await store.createSession(.make("large", rows: (1...10).map { (1, .make($0, large(100_000))) }))
        #expect(access(path + "-reserve", F_OK) == 0)
        disk.fill()
        var revision = 0
        await #expect(throws: StoreError.full) {
            while revision < 1000 {
                try await store.commit(
                    .make(number, to: revision + 1, rows: revision + 1) { [value = large(50_000), revision] in
                        $0.writtenRows = [(1, .make(revision + 1, value))]
                    })
                revision += 1
            }
        }
        // Until the store can make the reserve file again, it accepts only requests that make room.
        #expect(access(path + "-reserve", F_OK) != 0)
        #expect(try await store.check() == .full)
        #expect(try await store.session("s")?.sections[0].rows.count == revision)
        #expect(try await store.deleteSession("large") != nil)
        // Another program makes room.
        disk.clear()
        #expect(await eventually { (try? await store.check()) == .writable })
        #expect(access(path + "-reserve", F_OK) == 0)
        try await store.commit(
            .make(number, to: revision + 1) { [revision] in $0.writtenRows = [(1, .make(revision + 1))] })
        await store.close()
        let again = try SQLiteStore(path: path)
        #expect(try await again.session("s")?.sections[0].rows.count == revision + 1)
        #expect(try await again.sessionSummary("large") == nil)
        await again.close()
    }

    /// Three times in a row, only deletes make room again.
    @Test(
        "Deleting a session on a full disk makes room for new commits",
        .enabled(if: SmallDisk.isAvailable, "only root can mount a small disk"))
    func reusedRoom() async throws {
        let disk = try SmallDisk(megabytes: 12)
        let store = try SQLiteStore(path: disk.path + "/braid.sqlite")
        for round in 1...3 {
            let number = try await store.createSession(.make("s\(round)"))
            var revision = 0
            await #expect(throws: StoreError.full) {
                while revision < 1000 {
                    try await store.commit(
                        .make(number, to: revision + 1, rows: revision + 1) { [value = large(20_000), revision] in
                            $0.writtenRows = [(1, .make(revision + 1, value))]
                        })
                    revision += 1
                }
            }
            #expect(revision > 100, "in round \(round) there was room again")
            #expect(try await store.session("s\(round)")?.sections[0].rows.count == revision)
            #expect(try await store.deleteSession("s\(round)") != nil)
            #expect(await eventually { (try? await store.check()) == .writable })
        }
        await store.close()
    }

    @Test(
        "A store opens on a full disk, and can read and delete its sessions",
        .enabled(if: SmallDisk.isAvailable, "only root can mount a small disk"))
    func reopening() async throws {
        let disk = try SmallDisk(megabytes: 8)
        let path = disk.path + "/braid.sqlite"
        let store = try SQLiteStore(path: path)
        let number = try await store.createSession(.make(rows: [(1, .make(1))]))
        _ = try await store.createSession(.make("other"))
        await store.close()
        disk.fill(all: true)
        let again = try SQLiteStore(path: path)
        #expect(try await again.session("s")?.sections[0].rows.count == 1)
        await #expect(throws: StoreError.full) { try await again.commit(.make(number, to: 1)) }
        #expect(try await again.deleteSession("other") != nil)
        disk.clear()
        #expect(await eventually { (try? await again.commit(.make(number, to: 1))) != nil })
        await again.close()
    }

    @Test(
        "Creating a database on a full disk fails with the error that the disk is full",
        .enabled(if: SmallDisk.isAvailable, "only root can mount a small disk"))
    func creation() throws {
        let disk = try SmallDisk(megabytes: 1)
        disk.fill(all: true)
        #expect(throws: StoreError.full) { try SQLiteStore(path: disk.path + "/braid.sqlite") }
    }
}

/// In memory, so that the machine's disk stays free.
final class SmallDisk {
    static let isAvailable = (try? SmallDisk(megabytes: 1)) != nil
    let path = TestDirectory.make()

    init(megabytes: Int) throws {
        guard mount("none", path, "tmpfs", 0, "size=\(megabytes)m") == 0 else { throw POSIXError(.EPERM) }
    }

    deinit { umount2(path, Int32(MNT_DETACH)) }

    /// Leaves 200 kB unless `all`.
    func fill(all: Bool = false) {
        let file = open(path + "/filler", O_WRONLY | O_CREAT | O_TRUNC, 0o644)
        let block = [UInt8](repeating: 0, count: 4096)
        var size = 0
        while write(file, block, block.count) == block.count { size += block.count }
        if !all { ftruncate(file, off_t(size - 200_000)) }
        close(file)
    }

    func clear() { unlink(path + "/filler") }
}
