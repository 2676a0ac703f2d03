import BraidEngine
import Foundation
import GRDBSQLite
import Synchronization
import Testing

@testable import BraidStore

/// An event loop lends its thread: a single write is done on it, everything else on the store's own.
@Suite struct LentThreadTests {
    /// Runs tasks when it is told to, on the thread that tells it to.
    private final class Loop: TaskExecutor {
        private let jobs = Mutex<[UnownedJob]>([])

        func enqueue(_ job: consuming ExecutorJob) {
            let job = UnownedJob(job)
            jobs.withLock { $0.append(job) }
        }

        /// What there is, and what that leads to.
        func run() {
            while true {
                let taken = jobs.withLock { jobs in
                    defer { jobs = [] }
                    return jobs
                }
                if taken.isEmpty { return }
                for job in taken { job.runSynchronously(on: asUnownedTaskExecutor()) }
            }
        }
    }

    /// Which threads committed.
    private let threads = Recorder<UInt>()
    private let versions = Recorder<Int>()
    private let loop = Loop()
    private let path = TestDirectory.make() + "/braid.sqlite"

    private final class Recorder<Value: Sendable>: Sendable {
        private let recorded = Mutex<[Value]>([])
        var values: [Value] { recorded.withLock { $0 } }
        func add(_ value: Value) { recorded.withLock { $0.append(value) } }
    }

    /// A store each of whose commits takes so many microseconds longer.
    private func store(_ path: String? = nil, commitTime: UInt32 = 0) throws -> SQLiteStore {
        var options = SQLiteStoreOptions(synchronous: .normal, checkpointPages: 8, reserveBytes: 0)
        options.simulatedFailure = { [threads] in
            threads.add(UInt(pthread_self()))
            usleep(commitTime)
            return nil
        }
        return try SQLiteStore(path: path ?? self.path, options: options)
    }

    /// Each a write of its own.
    private func write(_ count: Int = 1, cost: Int = 1, in store: SQLiteStore, on loop: Loop) {
        for _ in 0..<count {
            Task(executorPreference: loop) { [versions] in
                let text = JSONText(stringLiteral: "[\(Int.random(in: .min ... .max))]")
                versions.add(try await store.writer.write(cost: cost) { try $0.putTable("t", description: text, at: 1).version })
            }
        }
    }

    /// The same, from a thread of its own, once `condition` holds. (Tests that wait as these do would have the tasks' threads.)
    private func writeElsewhere(_ count: Int, in store: SQLiteStore, when condition: @escaping @Sendable () -> Bool) {
        Thread { [versions] in
            while !condition() { usleep(100) }
            let loop = Loop(), all = versions.values.count + count
            write(count, in: store, on: loop)
            for _ in 0..<60_000 where versions.values.count < all {
                loop.run()
                usleep(1000)
            }
        }.start()
    }

    /// Runs what the writes lead to until so many were acknowledged; a store that forgot one would be waited for for a minute.
    private func wait(for count: Int) {
        for _ in 0..<60_000 where versions.values.count < count {
            loop.run()
            usleep(1000)
        }
        #expect(versions.values.sorted() == Array(1...count))
    }

    private var here: UInt { UInt(pthread_self()) }

    /// Whether the read had begun before the write came, or begins before the thread would be given back.
    @Test(arguments: [true, false]) func aDatabaseInMemoryIsNotWrittenOnALentThreadWhileItIsRead(readsFirst: Bool) throws {
        let store = try store(":memory:")
        if readsFirst { #expect(store.writer.beginRead()) }
        store.lendThread {
            write(in: store, on: loop)
            loop.run()
            if !readsFirst { #expect(store.writer.beginRead()) }
        }
        wait(for: 1)
        #expect(threads.values.count == 1 && threads.values.first != here)
        store.writer.endRead()
        store.lendThread {
            write(in: store, on: loop)
            loop.run()
        }
        wait(for: 2)
    }

    @Test func aSingleWriteIsDoneOnTheLentThreadBeforeItIsGivenBack() throws {
        let store = try store()
        write(in: store, on: loop)
        store.lendThread { loop.run() }
        loop.run()
        #expect(threads.values == [here] && versions.values == [1])
    }

    @Test func severalWritesAreTheStoresThreads() throws {
        let store = try store()
        write(5, in: store, on: loop)
        store.lendThread { loop.run() }
        wait(for: 5)
        #expect(!threads.values.contains(here))
    }

    @Test func aLargeWriteIsTheStoresThreads() throws {
        let store = try store()
        write(cost: 101, in: store, on: loop)
        store.lendThread { loop.run() }
        wait(for: 1)
        #expect(!threads.values.contains(here))
    }

    @Test func theLentThreadWaitsForNoOtherProgram() throws {
        let store = try store()
        var other: OpaquePointer?
        #expect(sqlite3_open(path, &other) == SQLITE_OK && sqlite3_exec(other, "BEGIN IMMEDIATE", nil, nil, nil) == SQLITE_OK)
        write(in: store, on: loop)
        store.lendThread { loop.run() }
        #expect(threads.values.isEmpty)
        sqlite3_close(other)
        wait(for: 1)
        #expect(threads.values.count == 1 && !threads.values.contains(here))
    }

    @Test func aWriteFromElsewhereIsTheStoresThreads() throws {
        let store = try store()
        store.lendThread {
            writeElsewhere(1, in: store) { true }
            for _ in 0..<60_000 where versions.values.isEmpty { usleep(1000) }
        }
        wait(for: 1)
        #expect(!threads.values.contains(here))
    }

    @Test func whereCommitsTakeLongTheThreadIsNotHeldUpAgain() throws {
        let store = try store(commitTime: 2_000)
        for count in 1...3 {
            write(in: store, on: loop)
            store.lendThread { loop.run() }
            wait(for: count)
        }
        #expect(threads.values.map { $0 == here } == [true, false, false])
    }

    @Test func whatComesWhileTheLentThreadWritesIsWrittenNext() throws {
        let store = try store(commitTime: 100_000)
        write(in: store, on: loop)
        writeElsewhere(3, in: store) { [threads] in !threads.values.isEmpty }
        store.lendThread { loop.run() }
        wait(for: 4)
        #expect(threads.values.first == here && !threads.values.dropFirst().contains(here))
    }

    @Test func theLogIsCopiedWhoeverWrites() throws {
        let store = try store()
        for count in 1...200 {
            write(in: store, on: loop)
            store.lendThread { loop.run() }
            wait(for: count)
        }
        #expect(threads.values.contains(here))
        // 200 commits of 3 pages and more; a copied log is written from its start again.
        let pages = try #require(try FileManager.default.attributesOfItem(atPath: path + "-wal")[.size] as? Int) / 4096
        #expect(pages < 200)
    }

    @Test func aStopLeavesNothingThatWasLeftToTheLentThread() async throws {
        let store = try store()
        lend(store)
        await store.close()
        let again = try SQLiteStore(path: path)
        #expect(try await again.table("t")?.version == 1)
    }

    /// A stop comes between the write and the return of the thread.
    private func lend(_ store: SQLiteStore) {
        write(in: store, on: loop)
        store.lendThread {
            loop.run()
            store.writer.stop()
            usleep(10_000)
        }
        wait(for: 1)
    }
}
