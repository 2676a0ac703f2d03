import BraidEngine
import Foundation
import TestSupport
import Testing

@testable import BraidStore

@Suite struct DurabilityTests {
    /// The process notes each acknowledged revision, until it is killed at a random moment.
    @Test("After a kill, each session is at one complete revision, and no acknowledged revision is lost")
    func killedProcess() async throws {
        let directory = TestDirectory.make()
        for round in 1...6 {
            await #expect(processExitsWith: .signal(SIGKILL)) {
                [directory = directory as String, round = round as Int] in
                let store = try SQLiteStore(path: directory + "/braid.sqlite")
                let log = open(directory + "/acknowledged", O_WRONLY | O_CREAT | O_APPEND, 0o644)
                Thread.detachNewThread {
                    usleep(useconds_t(.random(in: 20_000...150_000) + round))
                    kill(getpid(), SIGKILL)
                }
                await withTaskGroup { group in
                    for session in 0..<8 {
                        group.addTask { await Self.commitForEver(on: store, session: session, acknowledging: log) }
                    }
                }
            }
            try await check(directory, rounds: round)
        }
    }

    /// Revision n inserts row n; every third also removes row n - 1.
    private static func commitForEver(on store: SQLiteStore, session: Int, acknowledging log: CInt) async {
        do {
            var summary = try await store.sessionSummary("s\(session)")
            if summary == nil {
                _ = try await store.createSession(.make("s\(session)"))
                summary = try await store.sessionSummary("s\(session)")
            }
            guard let summary else { exit(1) }
            var revision = summary.revision
            while true {
                revision += 1
                try await store.commit(
                    .make(summary.number, to: revision, rows: revision) {
                        $0.writtenRows = [(1, .make(revision))]
                        if revision % 3 == 0 { $0.removedRows = [revision - 1] }
                    })
                let line = "s\(session) \(revision)\n"
                guard write(log, line, line.utf8.count) == line.utf8.count else { exit(1) }
            }
        } catch {
            exit(1)
        }
    }

    private func check(_ directory: String, rounds: Int) async throws {
        let text = (try? String(contentsOfFile: directory + "/acknowledged", encoding: .utf8)) ?? ""
        var acknowledged: [String: Int] = [:]
        for line in text.split(separator: "\n") {
            let words = line.split(separator: " ")
            acknowledged[String(words[0])] = Int(words[1])!
        }
        let store = try SQLiteStore(path: directory + "/braid.sqlite")
        for (id, revision) in acknowledged {
            let session = try #require(try await store.session(id))
            let stored = session.summary.revision
            // Each round may end between a commit and its acknowledgement.
            #expect(stored >= revision && stored <= revision + rounds)
            let expected = stored == 0 ? [] : (1...stored).filter { $0 % 3 != 2 || $0 == stored }
            #expect(session.sections[0].rows.map(\.key) == expected)
            #expect(
                try await store.journal(of: session.summary.number, after: 0, limit: .max).map(\.revision)
                    == Array(max(1, stored - 999)...max(1, stored)).filter { $0 <= stored })
        }
        await store.close()
    }

    /// As after a power loss during a flush.
    @Test("If the write-ahead log is cut off within a revision, the store opens at the revision before")
    func tornLog() async throws {
        let path = TestDirectory.make() + "/braid.sqlite"
        await #expect(processExitsWith: .signal(SIGKILL)) { [path = path as String] in
            let store = try SQLiteStore(path: path)
            let number = try await store.createSession(.make())
            for revision in 1...10 {
                try await store.commit(.make(number, to: revision) { $0.writtenRows = [(1, .make(revision))] })
            }
            kill(getpid(), SIGKILL)
        }
        let log = try #require(FileManager.default.contents(atPath: path + "-wal"))
        #expect(truncate(path + "-wal", log.count - 100) == 0)
        let store = try SQLiteStore(path: path)
        let session = try #require(try await store.session("s"))
        #expect(session.summary.revision == 9)
        #expect(session.sections[0].rows.map(\.key) == Array(1...9))
        #expect(try await store.journal(of: session.summary.number, after: 0, limit: 20).count == 9)
        try await store.commit(.make(session.summary.number, to: 10))
        await store.close()
    }

    // MARK: A failed flush

    private static let ioErrorFsync: CInt = 10 | 4 << 8

    @Test("A failed flush ends the process with an error that names the file") func failedFlush() async throws {
        let path = TestDirectory.make() + "/braid.sqlite"
        let result = await #expect(
            processExitsWith: .exitCode(SQLiteFileOptions.lostWriteExitStatus), observing: [\.standardErrorContent]
        ) { [path = path as String] in
            var file = SQLiteFileOptions()
            file.simulatedFailure = { 10 | 4 << 8 }
            let store = try SQLiteStore(path: path, file: file)
            _ = try await store.createSession(.make())
        }
        let said = String(decoding: result?.standardErrorContent ?? [], as: UTF8.self)
        #expect(said.contains("is not known") && said.contains(path))
        let store = try SQLiteStore(path: path)
        #expect(try await store.check() == .writable)
        await store.close()
    }

    @Test("After a failed flush, the outcome of its commit is unknown, and the store refuses all others")
    func commitsAfterAFailedFlush() async throws {
        let said = Flag()
        let fails = Flag()
        var file = SQLiteFileOptions(onLostWrite: { _ in said.set() })
        file.simulatedFailure = { fails.isSet ? Self.ioErrorFsync : nil }
        let store = try SQLiteStore(path: TestDirectory.make() + "/braid.sqlite", file: file)
        let number = try await store.createSession(.make())
        fails.set()
        await #expect { try await store.commit(.make(number, to: 1)) } throws: {
            if case StoreError.outcomeUnknown = $0 { true } else { false }
        }
        #expect(said.isSet)
        fails.set(false)
        await #expect { try await store.commit(.make(number, to: 1)) } throws: {
            if case StoreError.unavailable = $0 { true } else { false }
        }
        await #expect(throws: StoreError.self) { try await store.check() }
        await store.close()
    }

    /// Before COMMIT, nothing can have changed.
    @Test("An error before COMMIT fails only its group of commits, and the store continues")
    func otherErrors() async throws {
        let fails = Flag()
        var file = SQLiteFileOptions(onLostWrite: { _ in Issue.record("this is not a lost write") })
        file.simulatedFailure = { fails.isSet ? 7 : nil }  // SQLITE_NOMEM
        let store = try SQLiteStore(path: TestDirectory.make() + "/braid.sqlite", file: file)
        let number = try await store.createSession(.make())
        fails.set()
        await #expect(throws: StoreError.self) { try await store.commit(.make(number, to: 1)) }
        fails.set(false)
        try await store.commit(.make(number, to: 1))
        await store.close()
    }
}
