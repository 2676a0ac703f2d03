import BraidRuntime
import Glibc

/// The SQLite store's writing thread. This thread commits a group of waiting requests (`WriteQueue`) as one
/// transaction, so that they share one disk flush. While a transaction is under way, requests for the next group are
/// queued.
///
/// The writer is a thread, not a task: a disk flush would block one of the few threads that run Swift's tasks.
final class SQLiteWriter: @unchecked Sendable {
    /// One caller's request for a write, which the writer performs in its next transaction.
    struct Request: Sendable {
        /// Whether the request deletes more than it writes. The writer performs such a request even when the disk is
        /// full.
        let makesRoom: Bool
        /// Whether the request only tests if the database accepts writes. The statistics of commits do not count such a
        /// request.
        let isTest: Bool
        /// The estimated cost of the request, in rows. `nil` if the cost is not known.
        let cost: Int?
        /// Performs the request's write, or throws a `StoreError` before it has written anything. Returns a closure for
        /// the writer to call after COMMIT, which reports the success. After a rollback, the writer can call `perform`
        /// again.
        let perform: @Sendable (SQLiteConnection) throws -> @Sendable () -> Void
        let fail: @Sendable (StoreError) -> Void
    }

    /// Guards the writer's properties from here to `isStopping`. Only the writing thread uses the properties below
    /// `isStopping`.
    private let condition = Condition()
    private var waiting = WriteQueue<Request>()
    /// The time at which the writer began its current transaction. `nil` while no transaction is under way.
    private var writingSince: ContinuousClock.Instant?
    /// Whether the writer's last transaction was committed, as opposed to failed.
    private var lastSucceeded = true
    private var reads = 0
    private var isStopping = false

    /// Whether the last write failed because another program held the database's write lock for too long. Later writes
    /// then wait for the lock for a shorter time.
    private var isHeldUp = false
    private static let heldUpMilliseconds: CInt = 100
    private let database: SQLiteDatabase
    private let path: String
    private let options: SQLiteStoreOptions
    private var lock: ProcessLock?
    /// The database's files as they were opened, so that the writer notices when one of them is removed or replaced.
    /// `nil` for a database in memory.
    private let files: OpenFiles?
    private var disk: DiskRoom
    let log = LogLength()
    /// The error of a failed disk flush, or `nil`. After such an error, the writer writes nothing more.
    private var lostWrite: LostWrite?
    let counters = StoreCounters()
    private let trouble: StoreTrouble
    private let end = Latch()

    /// Creates the writer of a database and starts its thread. A database in memory has no process lock and no reserve
    /// file.
    init(
        database: SQLiteDatabase, path: String, lock: ProcessLock?, reserve: ReserveFile?,
        options: SQLiteStoreOptions
    ) throws {
        self.database = database
        self.path = path
        self.lock = lock
        files = lock == nil ? nil : OpenFiles(database: path)
        self.options = options
        trouble = StoreTrouble(options.onChange)
        disk = DiskRoom(reserve: reserve)
        if lock != nil { database.write { $0.follow(with: log) } }
        let failure = startThread(named: "store-writer") { [self] in run() }
        guard failure == 0 else {
            throw StoreError.io("no thread can be started: \(String(cString: strerror(failure)))")
        }
    }

    /// Queues a write, which is committed with the writer's next group of requests. Returns when the write is
    /// committed, even if the task is cancelled while it waits. With `synchronous` `full`, a committed write is on disk.
    func write<Value: Sendable>(
        makesRoom: Bool = false, isTest: Bool = false, cost: Int? = nil,
        _ body: @escaping @Sendable (SQLiteConnection) throws -> Value
    ) async throws -> Value {
        try await withCheckedThrowingContinuation { continuation in
            let request = Request(
                makesRoom: makesRoom, isTest: isTest, cost: cost,
                perform: { db in
                    let value = try body(db)
                    return { continuation.resume(returning: value) }
                },
                fail: { continuation.resume(throwing: $0) })
            if !enqueue(request) { request.fail(.closed) }
        }
    }

    private func enqueue(_ request: Request) -> Bool {
        condition.withLock {
            if isStopping { return false }
            waiting.append(request, cost: request.cost ?? 0)
            if waiting.count == 1, writingSince == nil { condition.signal() }
            return true
        }
    }

    /// Whether a transaction has been under way for less than `limit`, and the transaction before it was committed. If
    /// so, the database can be written, and an empty transaction would only wait for the current one.
    func isBusyAndHealthy(within limit: Duration) -> Bool {
        condition.withLock { lastSucceeded && (writingSince.map { .now - $0 < limit } ?? false) }
    }

    /// Returns whether a read may begin, which is not allowed while the store is closing. If the result is `true`, the
    /// caller must call `endRead` after the read, and the database stays open until this call.
    func beginRead() -> Bool {
        condition.withLock {
            if !isStopping { reads += 1 }
            return !isStopping
        }
    }

    func endRead() {
        condition.withLock {
            reads -= 1
            if isStopping { condition.signal() }
        }
    }

    /// The number of write requests that wait for the writer's next group.
    var queued: Int { condition.withLock { waiting.count } }

    /// Tells the writing thread to finish the waiting requests, to close the database, and to end. Returns at once.
    func stop() {
        condition.withLock {
            isStopping = true
            condition.signal()
        }
    }

    /// Stops the writer, and returns only when the database is closed and its process lock released.
    func stopped() async {
        stop()
        await end.opened()
    }
}

// The writing thread.
extension SQLiteWriter {
    private func run() {
        disk.prepare()
        while let group = next() {
            let isCommitted = perform(group)
            condition.withLock { lastSucceeded = isCommitted }
            if isLogLong { checkpoint(.passive) }
            condition.withLock { writingSince = nil }
        }
        condition.withLock { while reads > 0 { condition.wait() } }
        if lock != nil, lostWrite == nil, files?.displaced == nil, options.synchronous == .normal {
            // This is the last write to the database. If this write reaches the disk, all writes before it have reached
            // the disk as well. If this write fails, the next start begins new epochs.
            try? database.write { try $0.setNewEpochsDue(false) }
        }
        checkpoint(.truncate)
        database.close()
        lock = nil
        end.open()
    }

    /// Waits for the next group of requests. Returns `nil` when the writing thread should end.
    private func next() -> [Request]? {
        condition.withLock {
            while waiting.isEmpty && !isStopping { condition.wait() }
            if waiting.isEmpty { return nil }
            writingSince = .now
            return waiting.takeGroup()
        }
    }

    /// Performs a group of requests. On a full disk, performs only the requests that make room, and fails the others.
    /// Returns whether the whole group was committed.
    private func perform(_ group: [Request]) -> Bool {
        if let lostWrite {
            fail(group, StoreError(lostWrite, path: path))
            return false
        }
        if let file = files?.displaced {
            fail(
                group,
                .io(
                    "\(file) was removed, replaced or renamed while it was in use. Nothing is written until it is back."
                ))
            return false
        }
        guard !disk.isShort(unused: { unusedBytes }) else {
            fail(group.filter { !$0.makesRoom }, .full)
            let deletions = group.filter(\.makesRoom)
            if !deletions.isEmpty, commit(deletions) {
                checkpoint(.truncate)
                disk.retry()
            }
            return false
        }
        guard commit(group) else { return false }
        trouble.succeeded()
        return true
    }

    /// Commits a group of requests. Reports success or failure to the caller of each request. Returns whether any
    /// request was committed.
    private func commit(_ group: [Request]) -> Bool {
        let start = ContinuousClock.now
        do {
            let tell = try database.write { try transaction(group, $0) }
            let duration = ContinuousClock.now - start
            counters.count(writes: group.count { !$0.isTest }, duration: duration)
            isHeldUp = false
            for tell in tell { tell() }
            return true
        } catch let error as SQLiteError where error.isOfOneRequest && group.count > 1 {
            // One request of the group caused the error, but SQLite cannot roll back its writes alone. The writer
            // therefore repeats each request in a separate transaction.
            return group.map { commit([$0]) }.contains(true)
        } catch let error as LostWrite {
            lose(error, group)
        } catch StoreError.full {
            diskIsFull()
            fail(group, .full)
        } catch let cause {
            let error = StoreError(cause, path: path)
            if case .busy = error { isHeldUp = true }
            fail(group, error, isOfOneRequest: (cause as? SQLiteError)?.isOfOneRequest ?? false)
        }
        return false
    }

    private func transaction(_ group: [Request], _ db: SQLiteConnection) throws -> [@Sendable () -> Void] {
        var tell: [@Sendable () -> Void] = []
        tell.reserveCapacity(group.count)
        var isCommitting = false
        do {
            db.setBusyTimeout(isHeldUp ? Self.heldUpMilliseconds : Opening.busyMilliseconds)
            try db.begin(.immediate)
            for request in group {
                do {
                    tell.append(try request.perform(db))
                } catch let refusal as StoreError {
                    tell.append { request.fail(refusal) }
                }
            }
            isCommitting = true
            if let code = options.simulatedFailure?() { throw SQLiteError(code: SQLiteResultCode(rawValue: code)) }
            try db.commit()
            return tell
        } catch {
            try? db.rollback()
            guard let error = error as? SQLiteError else { throw error }
            if error.isOutOfRoom { throw StoreError.full }
            // The transaction is rolled back in this process. Its changes can nevertheless be back after the next
            // start, because the last page of the log may have reached the disk.
            if error.isFailedFlush || (isCommitting && error.code.primary == .ioError) { throw LostWrite(error) }
            throw error
        }
    }

    /// Fails requests. `isOfOneRequest` says that other requests can nevertheless succeed.
    private func fail(_ group: [Request], _ error: StoreError, isOfOneRequest: Bool = false) {
        if !group.isEmpty, !isOfOneRequest, error.kind != nil { trouble.failed(error) }
        counters.count(failures: group.count { !$0.isTest })
        // `lastSucceeded` is set before the callers receive the error, so that a later health check does not see a
        // healthy writer.
        condition.withLock { lastSucceeded = false }
        for request in group { request.fail(error) }
    }

    private func lose(_ error: LostWrite, _ group: [Request]) {
        lostWrite = error
        options.onLostWrite(
            "writing the database \(path) to disk failed: \(error.detail). Whether the last changes are stored is not known; "
                + "stopping, so that nobody is told either. Check the disk, then start again.")
        fail(group, StoreError(error, path: path))
    }

    private var isLogLong: Bool { disk.isLong(log: log.pages, limit: options.checkpointPages, at: path) }

    /// The size of the database's unused pages in bytes. Deletes leave such pages in the file, and later writes use
    /// them.
    private var unusedBytes: Int {
        (try? database.write { db in
            try db.pragma("freelist_count") * db.pragma("page_size")
        }) ?? 0
    }

    private func diskIsFull() {
        // On a full disk, the checkpoint succeeds only if the database does not have to grow. The checkpoint then frees
        // the room that the log file occupies.
        checkpoint(.truncate)
        disk.isFull()
    }

    /// Copies the write-ahead log into the database. Empties the writing connection's page cache as well, which a large
    /// write can fill with pages that nobody needs. SQLite's automatic checkpoint would run within COMMIT, before the
    /// callers get their answers, and would ignore a failed disk flush.
    private func checkpoint(_ mode: SQLiteConnection.CheckpointMode) {
        guard lock != nil, lostWrite == nil else { return }
        do {
            try database.write { db in
                db.releaseMemory()
                try db.checkpoint(mode)
            }
        } catch let error as SQLiteError where error.isFailedFlush {
            lose(LostWrite(error), [])
        } catch {
            // The checkpoint failed because a reader is in the way, or the disk has no room. The log keeps its changes
            // for a later checkpoint.
        }
    }
}
