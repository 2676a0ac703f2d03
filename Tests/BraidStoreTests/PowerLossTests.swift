import BraidEngine
import Foundation
import TestSupport
import Testing

@testable import BraidStore

/// Whatever part of the last commit a power loss left, the store must open at a complete revision.
/// `BRAID_POWER_LOSSES=all` cuts the log at every byte of the last commit.
@Suite struct PowerLossTests {
    private static let isExhaustive = ProcessInfo.processInfo.environment["BRAID_POWER_LOSSES"] == "all"
    private static let revisions = 6

    /// Before any part of the log was copied into the database.
    struct Files {
        var database: Data
        var log: Data
        /// As offsets in the log.
        var commits: [Int]
    }

    /// Of a process killed after six commits. Revision n inserts row n, gives row n - 1 another rank, and keeps an
    /// answer.
    private static func files() async throws -> Files {
        let path = TestDirectory.make() + "/braid.sqlite"
        await #expect(processExitsWith: .signal(SIGKILL)) { [path = path as String] in
            let store = try SQLiteStore(path: path, file: SQLiteFileOptions(reserveBytes: 0))
            let number = try await store.createSession(.make())
            for revision in 1...6 {
                var commit = SessionCommit.make(number, to: revision, rows: revision) {
                    $0.writtenRows = [(1, .make(revision, "\"\(String(repeating: "x", count: 3000))\""))]
                    if revision > 1 {
                        $0.placedRows = [(section: 1, key: revision - 1, rank: (revision - 1) * 1000 + 1)]
                    }
                }
                commit.answer = KeptAnswer(
                    session: number, requester: "", key: "k\(revision)", at: 2000, request: revision, answer: "{}")
                try await store.commit(commit)
            }
            kill(getpid(), SIGKILL)
        }
        let contents = { FileManager.default.contents(atPath: $0) ?? Data() }
        let log = contents(path + "-wal")
        return Files(database: contents(path), log: log, commits: ends(of: log))
    }

    /// A frame is 24 bytes and a page. In a commit's last one, bytes 4 to 7 have the database's size (SQLite file
    /// format, section 4.1).
    private static func ends(of log: Data) -> [Int] {
        func number(_ offset: Int) -> Int { log[offset..<offset + 4].reduce(0) { $0 << 8 | Int($1) } }
        let frame = 24 + number(8)
        return stride(from: 32, to: log.count - frame + 1, by: frame).filter { number($0 + 4) != 0 }.map { $0 + frame }
    }

    /// After the power loss. Also checks the session.
    private func revision(_ files: Files, at path: String) async throws -> Int {
        try files.database.write(to: URL(fileURLWithPath: path))
        try files.log.write(to: URL(fileURLWithPath: path + "-wal"))
        unlink(path + "-shm")
        let store = try SQLiteStore(
            path: path, options: StoreOptions(synchronous: .normal), file: SQLiteFileOptions(reserveBytes: 0))
        let session = try #require(try await store.session("s"))
        let revision = session.summary.revision, number = session.summary.number
        #expect(session.sections[0].rows.map(\.key) == (0..<revision).map { $0 + 1 })
        #expect(
            session.sections[0].rows.map(\.rank)
                == (0..<revision).map { $0 + 1 == revision ? ($0 + 1) * 1000 : ($0 + 1) * 1000 + 1 })
        #expect(session.summary.totalRowCount == revision)
        #expect(
            try await store.journal(of: number, after: 0, limit: 100).map(\.revision) == (0..<revision).map { $0 + 1 })
        for other in 1...Self.revisions {
            #expect(
                try await store.answer(to: "k\(other)", by: "", of: number, now: 2000) != nil || other > revision,
                "an answer goes with its revision")
            if other > revision {
                #expect(try await store.answer(to: "k\(other)", by: "", of: number, now: 2000) == nil)
            }
        }
        await store.close()
        return revision
    }

    /// In memory, if the machine can, because the tests open many stores.
    private var path: String {
        let directory = "/dev/shm/power-loss-\(getpid())-\(UUID().uuidString)"
        if mkdir(directory, 0o755) == 0 { return directory + "/braid.sqlite" }
        return TestDirectory.make() + "/braid.sqlite"
    }

    private enum Tear: CaseIterable { case cutOff, zeros, noise }

    @Test("If the log is torn at any byte of the last commit, exactly this commit is lost")
    func tornCommit() async throws {
        let files = try await Self.files()
        try #require(files.commits.count > Self.revisions)
        let start = files.commits[files.commits.count - 2], end = files.commits[files.commits.count - 1]
        let path = path
        defer { try? FileManager.default.removeItem(atPath: (path as NSString).deletingLastPathComponent) }
        var random = SeededGenerator(seed: 1)
        var torn = 0
        for offset in start..<end {
            // The header and the edges of each frame, and some bytes of its page.
            let inFrame = (offset - 32) % 4120
            guard Self.isExhaustive || inFrame < 26 || inFrame > 4117 || offset % 211 == 0 else { continue }
            for tear in Tear.allCases where Self.isExhaustive || tear == Tear.allCases[offset % 3] {
                var left = files
                left.log.removeSubrange(offset...)
                switch tear {
                case .cutOff: break
                case .zeros: left.log.append(Data(count: end - offset))
                case .noise:
                    left.log.append(
                        Data((offset..<end).map { files.log[$0] ^ UInt8.random(in: 1...255, using: &random) }))
                }
                try #expect(await revision(left, at: path) == Self.revisions - 1, "\(tear) at \(offset)")
                torn += 1
            }
        }
        #expect(torn > 100)
        #expect(try await revision(files, at: path) == Self.revisions, "nothing was torn")
    }

    /// A disk may write its sectors in any order.
    @Test(
        "If sectors of the last commits are missing, the store opens at a complete revision with all flushed ones",
        arguments: 0..<(isExhaustive ? 3000 : 100))
    func missingSectors(seed: Int) async throws {
        var random = SeededGenerator(seed: UInt64(seed))
        var left = try await Self.shared.files()
        let path = path
        defer { try? FileManager.default.removeItem(atPath: (path as NSString).deletingLastPathComponent) }
        // The first commits were flushed before they were acknowledged.
        let flushed = Int.random(in: 1..<Self.revisions, using: &random)
        let start = left.commits[left.commits.count - 1 - Self.revisions + flushed]
        for sector in stride(from: start / 512 * 512, to: left.log.count, by: 512)
        where Int.random(in: 0..<4, using: &random) == 0 {
            for offset in max(start, sector)..<min(sector + 512, left.log.count) { left.log[offset] = 0 }
        }
        let found = try await revision(left, at: path)
        #expect((flushed...Self.revisions).contains(found), "\(flushed) revisions were flushed, \(found) are there")
    }

    /// While the log is copied into the database: pages are old, new or both. The complete log repairs them.
    @Test("A checkpoint that is interrupted at any point loses nothing", arguments: 0..<(isExhaustive ? 1000 : 40))
    func interruptedCheckpoint(seed: Int) async throws {
        var random = SeededGenerator(seed: UInt64(seed))
        let files = try await Self.shared.files()
        let path = path
        defer { try? FileManager.default.removeItem(atPath: (path as NSString).deletingLastPathComponent) }
        _ = try await revision(files, at: path)
        let after = FileManager.default.contents(atPath: path) ?? Data()
        try #require(after.count >= files.database.count && after != files.database)
        var mixed = Data()
        for page in stride(from: 0, to: after.count, by: 4096) {
            let new = after[page..<page + 4096],
                old = page < files.database.count ? files.database[page..<page + 4096] : Data(count: 4096)
            let cut = [0, 4096, Int.random(in: 0...4096, using: &random)][Int.random(in: 0..<3, using: &random)]
            mixed += new.prefix(cut) + old.suffix(4096 - cut)
        }
        // Not yet grown to its full size.
        if Bool.random(using: &random) {
            mixed = mixed.prefix(Int.random(in: files.database.count...after.count, using: &random))
        }
        var left = files
        left.database = mixed
        try #expect(await revision(left, at: path) == Self.revisions)
    }

    /// Made once, for all seeds.
    private actor Shared {
        private var made: Task<Files, any Error>?
        func files() async throws -> Files {
            if let made { return try await made.value }
            let task = Task { try await PowerLossTests.files() }
            made = task
            return try await task.value
        }
    }
    private static let shared = Shared()
}
