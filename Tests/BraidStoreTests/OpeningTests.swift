import BraidEngine
import Foundation
import CSQLite
import Testing

@testable import BraidStore

@Suite struct OpeningTests {
    private let path = TestDirectory.make() + "/braid.sqlite"

    private func make(_ change: String...) async throws {
        let store = try SQLiteStore(path: path)
        _ = try await store.createSession(.make(rows: (1...500).map { (1, .make($0, id: "row \($0)")) }))
        for sql in change { try await store.write { try $0.db.query(sql) { _ in } } }
        await store.close()
    }

    private func contents(_ path: String) -> Data? { FileManager.default.contents(atPath: path) }

    @Test("Closing a store copies its log into the database, and the store has all its rows when it is opened again")
    func reopening() async throws {
        try await make()
        #expect(contents(path + "-wal") == nil)  // copied into the database
        let store = try SQLiteStore(path: path)
        #expect(try await store.session("s")?.sections[0].rows.count == 500)
        await store.close()
    }

    @Test(
        "The connection for writes has the settings of the options and the required settings",
        arguments: [(StoreOptions.Synchronous.full, 2), (.normal, 1)])
    func settings(synchronous: StoreOptions.Synchronous, value: Int) async throws {
        let store = try SQLiteStore(path: path, options: StoreOptions(synchronous: synchronous))
        let expectations = [
            ("synchronous", "\(value)"), ("journal_mode", "wal"), ("mmap_size", "0"),
            ("application_id", "\(0x42726169)"),
        ]
        for (name, expected) in expectations {
            #expect(
                try await store.write { try $0.db.first("PRAGMA \(name)") { $0.text(0) } } == expected, "\(name)")
        }
        await store.close()
    }

    /// SQLite's own errors name no file: "unable to open database file" or, for a backup, "disk I/O error".
    @Test("The error for a directory in place of a database file names the directory")
    func directoryAsDatabase() throws {
        let directory = String(path.dropLast("/braid.sqlite".count))
        let refusal = StoreError.io("\(directory) is a directory. Name a file in it, such as \(path).")
        #expect(throws: refusal) { try SQLiteStore(path: directory) }
        #expect(throws: refusal) { try SQLiteStore.backup(of: directory, to: path) }
        #expect(contents(directory + "-lock") == nil)
    }

    @Test("A store that is opened through a symbolic link is locked under the name of its file")
    func symbolicLink() async throws {
        try await make()
        let link = path + "-link"
        #expect(symlink(path, link) == 0)
        let store = try SQLiteStore(path: link)
        #expect(throws: StoreError.locked(path: path, holder: "\(getpid())")) { try SQLiteStore(path: path) }
        await store.close()
    }

    // MARK: Two at once

    /// A program that is just starting holds copies of all descriptors for a moment.
    @Test("A store that was closed can be opened again while copies of its file descriptors are open")
    func copiedDescriptors() async throws {
        let store = try SQLiteStore(path: path)
        let copies = try FileManager.default.contentsOfDirectory(atPath: "/proc/self/fd").compactMap { CInt($0) }.filter
        { descriptor in
            let file = try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/fd/\(descriptor)")
            return file == path || file == path + "-lock"
        }.map { fcntl($0, F_DUPFD_CLOEXEC, 0) }
        defer { for copy in copies { close(copy) } }
        #expect(copies.count > 2 && copies.allSatisfy { $0 >= 0 })
        await store.close()
        let again = try SQLiteStore(path: path)
        await again.close()
    }

    @Test("While another program holds the write lock, writes fail, and not each waits for the full timeout")
    func foreignLock() async throws {
        let store = try SQLiteStore(path: path)
        _ = try await store.createSession(.make("before"))
        func shell(_ sql: String) throws {
            guard sqlite3_exec(other, sql, nil, nil, nil) == SQLITE_OK else {
                throw StoreError.io(String(cString: sqlite3_errmsg(other)))
            }
        }
        var other: OpaquePointer?
        #expect(sqlite3_open(path, &other) == SQLITE_OK)
        try shell("BEGIN IMMEDIATE")
        var waited: [Duration] = []
        for number in 0..<4 {
            let start = ContinuousClock.now
            await #expect { try await store.createSession(.make("\(number)")) } throws: {
                if case StoreError.busy = $0 { true } else { false }
            }
            waited.append(ContinuousClock.now - start)
        }
        #expect(waited.dropFirst().contains { $0 < waited[0] }, "\(waited)")
        try shell("ROLLBACK")
        _ = try await store.createSession(.make("after"))
        await store.close()
        sqlite3_close(other)
    }

    /// A hard link, or a mount into another container. Each name has its own lock file.
    @Test("A store that is open is locked under each name of its file") func hardLink() async throws {
        try await make()
        let other = path + "-other"
        #expect(link(path, other) == 0)
        let store = try SQLiteStore(path: path)
        await #expect(processExitsWith: .exitCode(3)) { [other = other as String] in
            do { _ = try SQLiteStore(path: other) } catch StoreError.locked { exit(3) } catch { exit(1) }
        }
        await store.close()
        await #expect(processExitsWith: .success) { [other = other as String] in _ = try SQLiteStore(path: other) }
    }

    @Test("A second store on the same file is refused, in the same process and in another one")
    func secondStore() async throws {
        let store = try SQLiteStore(path: path)
        #expect(throws: StoreError.locked(path: path, holder: "\(getpid())")) { try SQLiteStore(path: path) }
        await #expect(processExitsWith: .exitCode(3), observing: [\.standardErrorContent]) { [path = path as String] in
            do {
                _ = try SQLiteStore(path: path)
            } catch {
                FileHandle.standardError.write(Data("\(error)".utf8))
                guard case StoreError.locked = error else { exit(1) }
                exit(3)
            }
        }
        _ = try await store.createSession(.make())
        await store.close()
        await #expect(processExitsWith: .success) { [path = path as String] in _ = try SQLiteStore(path: path) }
    }

    // MARK: Files of others

    @Test(
        "A database of another application is refused and not changed",
        arguments: ["PRAGMA application_id = 5", "PRAGMA application_id = 0"])
    func otherApplications(change: String) async throws {
        try await make(change)
        // Its header says that it is not in WAL mode (SQLite file format, section 1.3.3), and must stay so.
        var before = try #require(contents(path))
        before[18...19] = Data([1, 1])
        try before.write(to: URL(fileURLWithPath: path))
        #expect(throws: StoreError.wrongApplication(path: path)) { try SQLiteStore(path: path) }
        #expect(contents(path) == before)
    }

    @Test("A file that is not a database is refused and not changed, and no lock file remains")
    func otherFiles() throws {
        let text = Data(String(repeating: "no database at all\n", count: 1000).utf8)
        try text.write(to: URL(fileURLWithPath: path))
        #expect(throws: StoreError.notADatabase(path: path)) { try SQLiteStore(path: path) }
        #expect(contents(path) == text)
        #expect(contents(path + "-lock") == nil, "nor is anything put beside it")
    }

    @Test("A lock file that existed before a failed start remains") func existingLockFile() async throws {
        try await make("DROP TABLE opening")
        #expect(throws: StoreError.self) { try SQLiteStore(path: path) }
        #expect(contents(path + "-lock")?.isEmpty == false)
    }

    @Test("The error for a database file in a missing directory contains the path") func missingDirectory() {
        let path = path + "/no/braid.sqlite"
        #expect { try SQLiteStore(path: path) } throws: { "\($0)".contains(path) }
        let directory = TestDirectory.make()
        #expect(throws: StoreError.self) { try SQLiteStore(path: directory) }
        #expect(contents(directory + "-lock") == nil)
    }

    // MARK: Damage

    @Test("A database file that was emptied is refused as corrupt and does not become a new database")
    func emptiedDatabase() async throws {
        try await make()
        #expect(truncate(path, 0) == 0)
        #expect { try SQLiteStore(path: path) } throws: { if case StoreError.corrupt = $0 { true } else { false } }
        #expect(contents(path)?.isEmpty == true)
    }

    @Test("An empty file that was never a database becomes a new database") func emptyFile() async throws {
        try Data().write(to: URL(fileURLWithPath: path))
        let store = try SQLiteStore(path: path)
        _ = try await store.createSession(.make())
        await store.close()
    }

    @Test("If the database file is deleted, a new database is created, although the lock file is still there")
    func deletedDatabase() async throws {
        try await make()
        #expect(unlink(path) == 0)
        #expect(contents(path + "-lock")?.isEmpty == false)
        let store = try SQLiteStore(path: path)
        #expect(try await store.sessionSummary("s") == nil)
        await store.close()
    }

    @Test("A write-ahead log without its database is refused as corrupt and kept") func logWithoutDatabase() throws {
        try Data("what is left".utf8).write(to: URL(fileURLWithPath: path + "-wal"))
        #expect { try SQLiteStore(path: path) } throws: { if case StoreError.corrupt = $0 { true } else { false } }
        #expect(contents(path + "-wal")?.isEmpty == false)
    }

    @Test("A truncated database is refused as corrupt", arguments: [4096, 8192, 20_000])
    func truncatedDatabase(length: Int) async throws {
        try await make()
        #expect(truncate(path, length) == 0)
        #expect { try SQLiteStore(path: path) } throws: { if case StoreError.corrupt = $0 { true } else { false } }
    }

    @Test("A damaged page fails only the requests that read the page") func damagedPage() async throws {
        try await make()
        let file = try #require(FileHandle(forUpdatingAtPath: path))
        let bytes = try #require(contents(path))
        let place = try #require(bytes.range(of: Data("row 250".utf8))).lowerBound / 4096 * 4096
        try file.seek(toOffset: UInt64(place))
        file.write(Data(repeating: 0xEE, count: 4096))
        try file.close()
        let store = try SQLiteStore(path: path)
        await #expect { try await store.session("s") } throws: {
            if case StoreError.corrupt = $0 { true } else { false }
        }
        #expect(try await store.sessionSummary("s")?.revision == 0)
        _ = try await store.createSession(.make("other"))
        await store.close()
    }

    // MARK: Permissions

    @Test(
        "A store refuses to open if it cannot write the database file or its directory",
        arguments: [(0o444, 0o777), (0o444, 0o555), (0o644, 0o555)])
    func permissions(file: Int, directory: Int) async throws {
        try await make()
        chmod(path, mode_t(file))
        if directory == 0o555 { unlink(path + "-lock") } else { chmod(path + "-lock", 0o666) }
        chmod((path as NSString).deletingLastPathComponent, mode_t(directory))
        await #expect(processExitsWith: .exitCode(3)) { [path = path as String] in
            if geteuid() == 0 { precondition(setgid(65534) == 0 && setuid(65534) == 0) }  // nobody
            do {
                _ = try SQLiteStore(path: path)
            } catch {
                exit(error as? StoreError == .readOnly(path: path) ? 3 : 1)
            }
        }
        chmod((path as NSString).deletingLastPathComponent, 0o755)
    }
}
