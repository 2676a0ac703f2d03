import BraidRuntime
import Glibc

/// The store's writing thread. The thread commits a group of waiting requests (`WriteQueue`) as one transaction, so
/// that they share one disk flush. While a transaction is under way, requests for the next group are queued.
///
/// The writer is a thread, not a task: a disk flush would block one of the few threads that run Swift's tasks.
final class SQLiteWriter: @unchecked Sendable {
    /// A request for a write in the next transaction.
    struct Request: Sendable {
        /// Whether the request deletes more than it writes. Such a request is performed even on a full disk.
        let makesRoom: Bool
        /// The estimated cost of the request, in rows. `nil` if the cost is not known.
        let cost: Int?
        /// Performs the write, or throws a `StoreError` before it has written anything. Returns a closure that reports
        /// the success, which is called after COMMIT. `perform` can be called again after a rollback.
        let perform: @Sendable (SQLiteConnection) throws -> @Sendable () -> Void
        let fail: @Sendable (StoreError) -> Void
    }

    /// Guards the properties from here to `isStopping`. The properties below `isStopping` belong to the writing thread.
    private let condition = Condition()
    private var waiting = WriteQueue<Request>()
    /// The time at which the current transaction began. `nil` while no transaction is under way.
    private var writingSince: ContinuousClock.Instant?
    /// Whether the last transaction was committed.
    private var lastSucceeded = true
    private var reads = 0
    private var isStopping = false

    /// Whether the last write failed because another program held the lock for too long. Later writes then wait for a
    /// shorter time.
    private var isHeldUp = false
    private static let heldUpMilliseconds: CInt = 100
    private let database: SQLiteDatabase
    private let path: String
    private let options: SQLiteStoreOptions
    private var lock: ProcessLock?
    /// The database's files. `nil` for a database in memory.
    private let files: OpenFiles?
    private var disk: DiskRoom
    let log = LogLength()
    /// The error of a failed disk flush. Once it is set, the writer writes nothing more.
    private var lostWrite: LostWrite?
    let counters = StoreCounters()
    private let end = Latch()

    /// Creates a writer. A database in memory has no lock and no reserve.
    init(
        database: SQLiteDatabase, path: String, lock: ProcessLock?, reserve: ReserveFile?,
        options: SQLiteStoreOptions
    ) throws {
        self.database = database
        self.path = path
        self.lock = lock
        files = lock == nil ? nil : OpenFiles(database: path)
        self.options = options
        disk = DiskRoom(reserve: reserve)
        if lock != nil { database.write { $0.follow(with: log) } }
        let failure = startThread(named: "store-writer") { [self] in run() }
        guard failure == 0 else {
            throw StoreError.io("no thread can be started: \(String(cString: strerror(failure)))")
        }
    }

    /// Writes with the next group of requests. Returns when the write is on disk, even if the task is cancelled while
    /// it waits.
    func write<Value: Sendable>(
        makesRoom: Bool = false, cost: Int? = nil, _ body: @escaping @Sendable (SQLiteConnection) throws -> Value
    ) async throws -> Value {
        try await withCheckedThrowingContinuation { continuation in
            let request = Request(
                makesRoom: makesRoom, cost: cost,
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

    /// Returns whether a read may begin. If so, `endRead` must follow, and the database stays open until `endRead`.
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

    /// The number of writes that wait for the next group.
    var queued: Int { condition.withLock { waiting.count } }

    /// Tells the writing thread to finish the waiting requests and to end.
    func stop() {
        condition.withLock {
            isStopping = true
            condition.signal()
        }
    }

    /// Stops the writer. Returns when the database is closed and its lock released.
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
            // This is the last write to the database. If it is on disk, so are all writes before it. If this write
            // fails, the next start begins new epochs.
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

    /// Performs a group of requests, on a full disk only those that make room. Returns whether the whole group was
    /// committed.
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
        return commit(group)
    }

    /// Commits a group of requests. Reports success or failure to the caller of each request. Returns whether any
    /// request was committed.
    private func commit(_ group: [Request]) -> Bool {
        let start = ContinuousClock.now
        do {
            let tell = try database.write { try transaction(group, $0) }
            let duration = ContinuousClock.now - start
            counters.count(writes: group.count, duration: duration)
            isHeldUp = false
            for tell in tell { tell() }
            return true
        } catch let error as SQLiteError where error.isOfOneRequest && group.count > 1 {
            // One request of the group is at fault, but its writes cannot be rolled back alone. Each request therefore
            // gets a separate transaction.
            return group.map { commit([$0]) }.contains(true)
        } catch let error as LostWrite {
            lose(error, group)
        } catch StoreError.full {
            diskIsFull()
            fail(group, .full)
        } catch {
            let error = StoreError(error, path: path)
            if case .busy = error { isHeldUp = true }
            fail(group, error)
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
            // The connection shows that the transaction was rolled back. The change can nevertheless be back after the
            // next start, because the log's last page may have reached the disk.
            if error.isFailedFlush || (isCommitting && error.code.primary == .ioError) { throw LostWrite(error) }
            throw error
        }
    }

    private func fail(_ group: [Request], _ error: StoreError) {
        counters.count(failures: group.count)
        // `lastSucceeded` is set before the callers learn of the failure. A check after the failure then does not see a
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

    /// The size of the database's unused pages. Deletes leave unused pages, and later writes use them.
    private var unusedBytes: Int {
        (try? database.write { db in
            try db.pragma("freelist_count") * db.pragma("page_size")
        }) ?? 0
    }

    private func diskIsFull() {
        // On a full disk, the checkpoint succeeds only if the database does not have to grow. The checkpoint frees the
        // room of the log.
        checkpoint(.truncate)
        disk.isFull()
    }

    /// Copies the log into the database, and empties the page cache, which a large write can fill with pages that
    /// nobody needs. SQLite's automatic checkpoint would run within COMMIT, before the callers get their answers, and
    /// would ignore a failed disk flush.
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
            // A reader is in the way, or the disk has no room. The log keeps its changes for a later checkpoint.
        }
    }
}
