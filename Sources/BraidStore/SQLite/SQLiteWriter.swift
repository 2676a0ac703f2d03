import BraidRuntime
import Glibc

/// The store's writing thread. It commits all waiting requests (`WriteQueue`) as one transaction, so that they share
/// one flush to the disk. The next group gathers while a transaction is under way.
///
/// A thread, not a task: a flush would block one of the few threads that run tasks.
final class SQLiteWriter: @unchecked Sendable {
    /// Something to be written in the next transaction.
    struct Request: Sendable {
        /// Deletes more than it writes: let through to the last room on a full disk.
        let makesRoom: Bool
        /// About how many rows it writes, or as much else; nil: nobody knows.
        let cost: Int?
        /// Writes, or throws a `StoreError` before it has written anything. Returns what tells the caller of the
        /// success, to be called after COMMIT. May be called a second time, if the first was rolled back.
        let perform: @Sendable (SQLiteConnection) throws -> @Sendable () -> Void
        let fail: @Sendable (StoreError) -> Void
    }

    /// Guards the properties down to `isStopping`. The ones below belong to the writing thread.
    private let condition = Condition()
    private var waiting = WriteQueue<Request>()
    /// When the transaction under way began; nil while there is none.
    private var writingSince: ContinuousClock.Instant?
    /// Whether the last transaction was committed.
    private var lastSucceeded = true
    private var reads = 0
    private var isStopping = false

    /// Whether another program kept the last write waiting for too long. Those behind it are told sooner.
    private var isHeldUp = false
    private static let heldUpMilliseconds: CInt = 100
    private let database: SQLiteDatabase
    private let path: String
    private let options: SQLiteStoreOptions
    private var lock: ProcessLock?
    /// Nil: a database in memory.
    private let files: OpenFiles?
    private var disk: DiskRoom
    let log = LogLength()
    /// Set once a flush has failed: nothing more is written.
    private var lostWrite: LostWrite?
    let counters = StoreCounters()
    private let end = Latch()

    /// Without a lock and a reserve: a database in memory.
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

    /// Writes with the next group. Returns when it is on disk, whether or not the task is cancelled meanwhile.
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

    /// Whether a transaction has been under way for less than `limit` and the one before it was committed: the database
    /// can be written, and an empty transaction would only wait behind this one.
    func isBusyAndHealthy(within limit: Duration) -> Bool {
        condition.withLock { lastSucceeded && (writingSince.map { .now - $0 < limit } ?? false) }
    }

    /// Whether a read may begin: `endRead` must follow, and the database stays open until then.
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

    /// How many writes wait for the next group.
    var queued: Int { condition.withLock { waiting.count } }

    /// Lets the thread finish what waits, and end.
    func stop() {
        condition.withLock {
            isStopping = true
            condition.signal()
        }
    }

    /// Returns when the database is closed and its lock gone.
    func stopped() async {
        stop()
        await end.opened()
    }
}

// The writing thread.
extension SQLiteWriter {
    private func run() {
        while let group = next() {
            let isCommitted = perform(group)
            condition.withLock { lastSucceeded = isCommitted }
            if isLogLong { checkpoint(.passive) }
            condition.withLock { writingSince = nil }
        }
        condition.withLock { while reads > 0 { condition.wait() } }
        if lock != nil, lostWrite == nil, files?.displaced == nil, options.synchronous == .normal {
            // The last write of all: if it is on disk, everything before it is. If it fails, the next start begins new
            // epochs.
            try? database.write { try $0.setNewEpochsDue(false) }
        }
        checkpoint(.truncate)
        database.close()
        lock = nil
        end.open()
    }

    /// The next group; nil when the thread is to end.
    private func next() -> [Request]? {
        condition.withLock {
            while waiting.isEmpty && !isStopping { condition.wait() }
            if waiting.isEmpty { return nil }
            writingSince = .now
            return waiting.takeGroup()
        }
    }

    /// Returns whether the group, or what the disk has room for, was committed.
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

    /// Returns whether the group was committed. Everyone in it is told.
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
            // One of them is at fault, and its writes cannot be taken back alone: each for itself.
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
            // The connection shows a rollback, and yet the change can be back after the next start: whether the log's
            // last page reached the disk is not known.
            if error.isFailedFlush || (isCommitting && error.code.primary == .ioError) { throw LostWrite(error) }
            throw error
        }
    }

    private func fail(_ group: [Request], _ error: StoreError) {
        counters.count(failures: group.count)
        // First, so that a check that follows the failure does not take this transaction for a healthy one.
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

    /// Of the database's pages those that nothing is stored in: what was deleted leaves them, and the next writes use
    /// them.
    private var unusedBytes: Int {
        (try? database.write { db in
            try db.pragma("freelist_count") * db.pragma("page_size")
        }) ?? 0
    }

    private func diskIsFull() {
        // Full as it is, the disk allows this only where the database need not grow, and it gives the log's room back.
        checkpoint(.truncate)
        disk.isFull()
    }

    /// Copies the log into the database, and empties the cache: a large write has filled it with what nobody needs.
    /// SQLite would do the first by itself, within COMMIT and before the callers are told, and would ignore a failed
    /// flush.
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
            // A reader in the way, or no room: the log stays as it is, and so do the changes in it.
        }
    }
}
