import BraidRuntime
import Glibc

/// The SQLite store's writing thread. This thread commits a group of waiting requests (`WriteQueue`) as one
/// transaction, so that the requests share one disk flush. While a transaction is under way, new requests wait for the
/// next group.
///
/// The writer is a thread, not a task, because a disk flush would block one of the few threads that run Swift's tasks.
final class SQLiteWriter: @unchecked Sendable {
    /// One caller's request for a write. The writer performs the request in one of its next transactions.
    struct Request: Sendable {
        /// Whether the writer performs the request even when the disk is full. Such a request deletes or replaces data
        /// of the database.
        let makesRoom: Bool
        /// Whether the request only tests if the database accepts writes. The statistics of commits do not count such a
        /// request.
        let isTest: Bool
        /// The estimated cost of the request, in rows. `nil` if the cost is not known.
        let cost: Int?
        /// Performs the request's write, or throws a `StoreError` before it has written anything. Returns a closure
        /// that reports the success to the caller. The writer calls that closure after COMMIT. If the writer rolls the
        /// transaction back, it can call `perform` again.
        let perform: @Sendable (SQLiteConnection) throws -> @Sendable () -> Void
        let fail: @Sendable (StoreError) -> Void
    }

    /// A lock that guards the properties `waiting`, `writingSince`, `lastSucceeded`, `reads` and `isStopping`. Only the
    /// writing thread uses the writer's other variables.
    private let condition = Condition()
    private var waiting = WriteQueue<Request>()
    /// The time at which the writer began its current transaction. The value stays until the checkpoint of SQLite's log
    /// that may follow has ended. `nil` while the writer waits for requests, and after it has stopped.
    private var writingSince: ContinuousClock.Instant?
    /// Whether the writer committed the last group of requests. `true` before the first group. `false` also if the disk
    /// was full.
    private var lastSucceeded = true
    private var reads = 0
    private var isStopping = false

    /// Whether the last write failed because another program held the database's write lock for too long. While this is
    /// so, writes wait for that lock for a shorter time.
    private var isHeldUp = false
    private static let heldUpMilliseconds: CInt = 100
    private let database: SQLiteDatabase
    private let path: String
    private let options: SQLiteStoreOptions
    private var lock: ProcessLock?
    /// The database's files as the server opened them, so that the writer notices when somebody removes or replaces one
    /// of them. `nil` for a database in memory.
    private let files: OpenFiles?
    private var disk: DiskRoom
    let log = LogLength()
    /// The error after which it is unknown whether the last transaction is on disk, or `nil` if there was no such
    /// error. After such an error, the writer writes nothing more.
    private var lostWrite: LostWrite?
    let counters = StoreCounters()
    private let trouble: StoreTrouble
    private let end = Latch()

    /// Creates the writer of a database and starts its thread. `lock` and `reserve` are `nil` for a database in memory.
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
        guard failure == 0 else { throw StoreError.noThread(failure) }
    }

    /// Queues a write, which the writer commits in one of its next transactions, together with other writes. Returns
    /// when the write is committed, even if the calling task is cancelled while it waits. With the option `synchronous
    /// = full`, a committed write is on disk.
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

    /// Whether a transaction has been under way for less than `limit`, and the group of requests before it was
    /// committed. If so, the database accepts writes, and a test with an empty transaction would only wait for the
    /// current one.
    func isBusyAndHealthy(within limit: Duration) -> Bool {
        condition.withLock { lastSucceeded && (writingSince.map { .now - $0 < limit } ?? false) }
    }

    /// Returns whether a read may begin. No read may begin while the store is closing. If the result is `true`, the
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

    /// The number of write requests that wait for the writer.
    var queued: Int { condition.withLock { waiting.count } }

    /// Tells the writing thread to finish the waiting requests, to close the database, and to end. Returns at once.
    func stop() {
        condition.withLock {
            isStopping = true
            condition.signal()
        }
    }

    /// Stops the writer, and returns only when the database is closed and its process lock is released.
    func stopped() async {
        stop()
        await end.opened()
    }
}

// The methods that run on the writing thread.
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
            // The store's last commit removes the mark that new epochs are due. If this commit reaches the disk, all
            // earlier commits have reached the disk as well. Otherwise, the next start of a server begins new epochs.
            try? database.write { try $0.setNewEpochsDue(false) }
        }
        checkpoint(.truncate)
        database.close()
        lock = nil
        end.open()
    }

    /// Waits for requests, and returns the next group of them. Returns `nil` when the writing thread should end.
    private func next() -> [Request]? {
        condition.withLock {
            while waiting.isEmpty && !isStopping { condition.wait() }
            if waiting.isEmpty { return nil }
            writingSince = .now
            return waiting.takeGroup()
        }
    }

    /// Performs a group of requests. On a full disk, performs only the requests that make room, and fails the group's
    /// other requests. Returns `false` if no request was committed, or if the disk is full.
    private func perform(_ group: [Request]) -> Bool {
        if let lostWrite {
            fail(group, .unavailable(lostWrite.detail))
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

    /// Commits a group of requests. Reports success or failure to the caller of each request. Returns whether a
    /// transaction was committed.
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
            // One request of the group caused the error, but SQLite cannot roll back the writes of this request alone.
            // The writer therefore repeats each request in a separate transaction.
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
            // The transaction is rolled back in this process. Its changes can nevertheless be in the database after the
            // next start, because the last page of the log may have reached the disk.
            if error.isFailedFlush || (isCommitting && error.code.primary == .ioError) { throw LostWrite(error) }
            throw error
        }
    }

    /// Fails all given requests with `error`. If `isOfOneRequest` is `true`, the error says nothing about the store,
    /// because other requests can still succeed.
    private func fail(_ group: [Request], _ error: StoreError, isOfOneRequest: Bool = false) {
        if !group.isEmpty, !isOfOneRequest, error.kind != nil { trouble.failed(error) }
        counters.count(failures: group.count { !$0.isTest })
        // Set `lastSucceeded` before the callers receive the error. So a health check that begins after that sees that
        // the writer has failed.
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

    /// The size of the database's unused pages in bytes. Deletes leave such pages in the database file, and later
    /// writes use them.
    private var unusedBytes: Int {
        (try? database.write { db in
            try db.pragma("freelist_count") * db.pragma("page_size")
        }) ?? 0
    }

    private func diskIsFull() {
        // On a full disk, a checkpoint (copying the log into the database) succeeds only if the database does not have
        // to grow. The checkpoint then frees the room of the log file.
        checkpoint(.truncate)
        disk.isFull()
    }

    /// Copies the write-ahead log into the database. Also empties the writing connection's page cache, which a large
    /// write can fill with pages that nobody needs.
    ///
    /// The writer does not use SQLite's automatic checkpoints. They would run within COMMIT, before the callers get
    /// their answers, and would ignore a failed disk flush.
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
            // This checkpoint failed, for example because a reader is in the way, or because the disk has no room. The
            // log keeps its changes for a later checkpoint.
        }
    }
}
