import CSQLite
import Foundation
import Synchronization
import TestSupport
import Testing

@testable import BraidStore

@Suite("The pool of SQLite connections for reads") struct SQLiteReaderPoolTests {
    private let path = TestDirectory.make() + "/file.sqlite"
    private let writer: SQLiteConnection

    init() throws {
        writer = try SQLiteConnection(path: path, mode: .readWrite, busyTimeout: 5000)
        try writer.execute("PRAGMA journal_mode = WAL; CREATE TABLE t (v); INSERT INTO t VALUES (1), (-1)")
    }

    /// Calls that run at the same time.
    private final class Gauge: Sendable {
        private let state = Watched((now: 0, most: 0))
        var most: Int { state.value.most }

        /// Blocks the thread.
        func wait(for count: Int) { _ = state.wait { $0.most >= count } }

        func during<Value>(_ body: () throws -> Value) rethrows -> Value {
            state.withLock {
                $0.now += 1
                $0.most = max($0.most, $0.now)
            }
            defer { state.withLock { $0.now -= 1 } }
            return try body()
        }
    }

    private final class Served: Sendable {
        private let state = Mutex<[Int]>([])
        var numbers: [Int] { state.withLock { $0 } }
        func add(_ number: Int) { state.withLock { $0.append(number) } }
    }

    private func pool(_ count: Int) -> ReaderPool<SQLiteQueries> { SQLiteOpening.readers(of: path, limit: count) }

    @Test("Reads run at the same time, up to the pool's number of connections", arguments: [1, 3])
    func bounds(count: Int) async throws {
        let pool = pool(count), gauge = Gauge()
        try await withThrowingTaskGroup { group in
            for _ in 0..<40 {
                group.addTask {
                    // For each other: a thread of the pool may start late.
                    try await pool.read { _ in
                        gauge.during {
                            gauge.wait(for: count)
                            // One read too many could begin.
                            usleep(500)
                        }
                    }
                }
            }
            try await group.waitForAll()
        }
        #expect(gauge.most == count)
        pool.close()
    }

    @Test("Reads that wait for a connection do not block the threads that run Swift tasks")
    func waiting() async throws {
        let pool = pool(1), gate = DispatchSemaphore(value: 0)
        let held = Task { try await pool.read { _ in gate.wait() } }
        let waiting = (0..<100).map { number in Task { try await pool.read { _ in number } } }
        // Each needs one of Swift's threads.
        for _ in 0..<100 { await Task { await Task.yield() }.value }
        gate.signal()
        try await held.value
        for (number, task) in waiting.enumerated() { #expect(try await task.value == number) }
        pool.close()
    }

    @Test("A pool with one connection serves reads in the order in which they arrive") func order() async throws {
        let pool = pool(1), gate = DispatchSemaphore(value: 0)
        let served = Served()
        let isHeld = Flag()
        let held = Task {
            try await pool.read { _ in
                isHeld.set()
                gate.wait()
            }
        }
        await isHeld.wait()
        var tasks: [Task<Void, any Error>] = []
        for number in 0..<10 {
            tasks.append(Task { try await pool.read { _ in served.add(number) } })
            #expect(await eventually { pool.queued > number })
        }
        gate.signal()
        try await held.value
        for task in tasks { try await task.value }
        #expect(served.numbers == Array(0..<10))
        pool.close()
    }

    @Test("A read sees the data of one moment, even while another connection writes") func snapshots() async throws {
        let pool = pool(4)
        let isDone = Flag(), isWriting = Flag()
        let path = path
        // In a thread: a task that never suspends would block one of the few that run tests.
        let (results, result) = AsyncStream.makeStream(of: Result<Int, any Error>.self)
        Thread.detachNewThread {
            result.yield(
                Result {
                    let writer = try SQLiteConnection(path: path, mode: .readWrite, busyTimeout: 5000)
                    var number = 1
                    while !isDone.isSet, number < 2_000 {
                        number += 1
                        try writer.inTransaction(.immediate) {
                            try writer.run("INSERT INTO t VALUES (?)", number)
                            try writer.run("INSERT INTO t VALUES (?)", -number)
                        }
                        isWriting.set()
                    }
                    return number
                })
            isWriting.set()
            result.finish()
        }
        await isWriting.wait()
        try await withThrowingTaskGroup { group in
            for _ in 0..<8 {
                group.addTask { [pool] in
                    for _ in 0..<50 {
                        let (sum, first, second) = try await pool.read { queries in
                            let db = queries.db
                            let sum = try db.first("SELECT sum(v) FROM t") { $0.int(0) }
                            let first = try db.first("SELECT count(*) FROM t") { $0.int(0) }
                            // The writer could write.
                            usleep(100)
                            return (sum, first, try db.first("SELECT count(*) FROM t") { $0.int(0) })
                        }
                        #expect(sum == 0 && first == second)
                    }
                }
            }
            try await group.waitForAll()
        }
        isDone.set()
        for await result in results { #expect(try result.get() > 1) }
        pool.close()
    }

    @Test("A read sees every write that was committed before the read was requested") func recentWrites() async throws {
        let pool = pool(2)
        for number in 2...100 {
            try writer.run("INSERT INTO t VALUES (?)", number)
            #expect(try await pool.read { try $0.db.first("SELECT max(v) FROM t") { $0.int(0) } } == number)
        }
        pool.close()
    }

    @Test("After a read that fails or tries to write, its connection works as before") func failures() async throws {
        let pool = pool(1)
        for _ in 0..<3 {
            await #expect(throws: CancellationError.self) { try await pool.read { _ in throw CancellationError() } }
            await #expect { try await pool.read { try $0.db.run("INSERT INTO t VALUES (1)") } } throws: {
                has($0, .readOnly)
            }
            await #expect { try await pool.read { try $0.db.run("nonsense") } } throws: { has($0, .error) }
            await #expect(throws: Never.self) {
                try await pool.read {
                    try $0.db.commit()
                    try $0.db.begin(.deferred)
                }
            }
            #expect(try await pool.read { try $0.db.first("SELECT count(*) FROM t") { $0.int(0) } } == 2)
        }
        pool.close()
    }

    @Test("If a connection cannot be opened, the read fails, and the next read tries to open it again")
    func failedConnections() async throws {
        let path = path + ".later", pool = SQLiteOpening.readers(of: path, limit: 2)
        for _ in 0..<5 {
            await #expect { try await pool.read { _ in } } throws: { has($0, .cannotOpen) }
        }
        try SQLiteConnection(path: path, mode: .readWrite).execute("CREATE TABLE t (v)")
        for _ in 0..<5 { #expect(try await pool.read { try $0.db.first("SELECT 1") { $0.int(0) } } == 1) }
        pool.close()
    }

    @Test("A read in a cancelled task still returns its result") func cancellation() async throws {
        let pool = pool(1)
        let task = Task {
            while !Task.isCancelled { await Task.yield() }
            return try await pool.read { try $0.db.first("SELECT 1") { $0.int(0) } }
        }
        task.cancel()
        #expect(try await task.value == 1)
        pool.close()
    }

    @Test("Closing the pool finishes the waiting reads and refuses later ones") func closing() async throws {
        let pool = pool(2), gate = DispatchSemaphore(value: 0), started = DispatchSemaphore(value: 0)
        let tasks = (0..<2).map { _ in
            Task {
                try await pool.read { queries in
                    started.signal()
                    gate.wait()
                    return try queries.db.first("SELECT 7") { $0.int(0) }
                }
            }
        }
        await Task.detached { for _ in 0..<2 { started.waitNow() } }.value
        let waiting = Task { try await pool.read { try $0.db.first("SELECT 8") { $0.int(0) } } }
        #expect(await eventually { pool.queued > 0 })
        let isClosed = Flag()
        let thread = Thread {
            pool.close()
            isClosed.set()
        }
        thread.start()
        // Those before `close` wait for the gate; the first after it is refused.
        let isRefused = Flag()
        let isClosing = await eventually {
            Task {
                do { try await pool.read { _ in } } catch { isRefused.set(error as? StoreError == .closed) }
            }
            return isRefused.isSet
        }
        #expect(isClosing)
        #expect(!isClosed.isSet)
        await #expect(throws: StoreError.closed) { try await pool.read { _ in } }
        for _ in 0..<2 { gate.signal() }
        for task in tasks { #expect(try await task.value == 7) }
        #expect(try await waiting.value == 8)
        await isClosed.wait()
        await #expect(throws: StoreError.closed) { try await pool.read { _ in } }
        pool.close()
    }

    @Test("A pool without any reads closes at once") func unused() { pool(4).close() }

    @Test("A shared connection is used by only one thread at a time") func shared() async throws {
        let connection = SQLiteDatabase(try SQLiteConnection(path: "", mode: .inMemory))
        try connection.use { try $0.db.execute("CREATE TABLE t (v); INSERT INTO t VALUES (0)") }
        let gauge = Gauge()
        try await withThrowingTaskGroup { group in
            for _ in 0..<8 {
                group.addTask {
                    for _ in 0..<100 {
                        try connection.use { queries in
                            try gauge.during {
                                let value = try queries.db.first("SELECT v FROM t") { $0.int(0) } ?? 0
                                try queries.db.run("UPDATE t SET v = ?", value + 1)
                            }
                        }
                    }
                }
            }
            try await group.waitForAll()
        }
        #expect(gauge.most == 1)
        #expect(try connection.use { try $0.db.first("SELECT v FROM t") { $0.int(0) } } == 800)
        connection.close()
        #expect(throws: SQLiteError.closed) { try connection.use { try $0.db.run("SELECT 1") } }
    }
}

extension DispatchSemaphore {
    /// For a task that may block; Swift refuses `wait()` there.
    fileprivate func waitNow() { wait() }
}
