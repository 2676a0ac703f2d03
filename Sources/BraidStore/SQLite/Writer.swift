import Foundation
internal import GRDB
internal import GRDBSQLite

/// The one who writes: takes what waits (`WriteQueue`) and commits it as one transaction, so that one flush of the disk
/// serves all; while that is under way, the next group gathers.
///
/// A thread and not a task: GRDB's asynchronous writes end when their task is cancelled, and a flush would block one
/// of the few threads that run tasks. A caller with nothing else to do can lend its own thread instead.
final class Writer: @unchecked Sendable {
    /// Something to be written in the next transaction.
    struct Request: Sendable {
        /// Deletes more than it writes: let through to the last room on a full disk.
        let makesRoom: Bool
        /// About how many rows it writes, or as much else; nil: nobody knows.
        let cost: Int?
        /// Writes, or throws a `StoreError` before it has written anything. Returns what tells the caller of the
        /// success, to be called after COMMIT. May be called a second time, if the first was rolled back.
        let perform: @Sendable (Database) throws -> @Sendable () -> Void
        let fail: @Sendable (StoreError) -> Void

        /// Takes hardly longer than the flush: a lent thread may do it.
        var isSmall: Bool { cost.map { $0 <= 100 } ?? false }
    }

    /// Guards what follows down to `database`; everything below belongs to whoever has set `isWriting`.
    private let condition = NSCondition()
    private var waiting = WriteQueue<Request>()
    /// A group is being written. Whoever does so looks again for what has come meanwhile.
    private var isWriting = false
    /// The log is long, and a lent thread has left it to ours.
    private var needsCheckpoint = false
    /// The thread that is lent, if one is, and whether what waits was left to it: ours has not been woken.
    private var lender: pthread_t?
    private var isLeftToLender = false
    /// Whether the last commit took so little time that a lent thread may do the next.
    private var isQuick = true
    private var reads = 0
    private var isStopping = false

    private var isOnLentThread = false
    /// Whether another program kept the last write waiting for too long. Those behind it are told sooner.
    private var isHeldUp = false
    private static let heldUpMilliseconds: CInt = 100
    private let database: any DatabaseWriter
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
        database: any DatabaseWriter, path: String, lock: ProcessLock?, reserve: ReserveFile?, options: SQLiteStoreOptions
    ) {
        self.database = database
        self.path = path
        self.lock = lock
        files = lock == nil ? nil : OpenFiles(database: path)
        self.options = options
        disk = DiskRoom(reserve: reserve)
        if lock != nil { database.writeWithoutTransaction { log.follow($0) } }
        let thread = Thread { [self] in run() }
        thread.name = "store-writer"
        thread.start()
    }

    /// Writes with the next group. Returns when it is on disk, whether or not the task is cancelled meanwhile.
    func write<Value: Sendable>(
        makesRoom: Bool = false, cost: Int? = nil, _ body: @escaping @Sendable (Database) throws -> Value
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
            if isWriting { return true }
            let isAlone = waiting.count == 1
            if isAlone, isQuick, request.isSmall, !isHeldUpByReads, let lender, pthread_equal(lender, pthread_self()) != 0 {
                isLeftToLender = true
            } else if isAlone || isLeftToLender {
                isLeftToLender = false
                condition.signal()
            }
            return true
        }
    }

    /// Runs `body`, which must be short. If it leads to a single small write, that is done on this thread, which waits for the
    /// flush: where flushes are quick, waking another thread and being woken by it would take longer.
    func lendThread(for body: () -> Void) {
        let isLent = condition.withLock {
            if lender == nil { lender = pthread_self() }
            return lender.map { pthread_equal($0, pthread_self()) != 0 } ?? false
        }
        body()
        guard isLent else { return }
        let group: [Request]? = condition.withLock {
            lender = nil
            guard isLeftToLender else { return nil }
            isLeftToLender = false
            // One has begun since.
            guard !isHeldUpByReads else {
                condition.signal()
                return nil
            }
            return take()
        }
        guard let group else { return }
        isOnLentThread = true
        perform(group)
        isOnLentThread = false
        let isLogLong = isLogLong  // asks the disk: not under the lock
        condition.withLock {
            isWriting = false
            needsCheckpoint = isLogLong
            if needsCheckpoint || isStopping || !waiting.isEmpty { condition.signal() }
        }
    }

    /// A database in memory has one connection: whoever writes waits for those who read, however long that takes them.
    private var isHeldUpByReads: Bool { files == nil && reads > 0 }

    private func take() -> [Request] {
        isWriting = true
        return waiting.takeGroup()
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

// Whoever writes.
extension Writer {
    /// About what it takes to wake a thread and to be woken by it, several times over: nobody notices that others on the
    /// lent thread wait so long.
    private static let quick = Duration.milliseconds(1)

    private func run() {
        while let group = next() {
            if !group.isEmpty { perform(group) }
            if isLogLong { checkpoint(.passive) }
            condition.withLock { isWriting = false }
        }
        condition.withLock { while reads > 0 { condition.wait() } }
        checkpoint(.truncate)
        try? database.close()
        lock = nil
        end.open()
    }

    /// The next group, or nothing when the log is to be copied; nil when the thread is to end.
    private func next() -> [Request]? {
        condition.withLock {
            while isLeftToLender || isWriting || (waiting.isEmpty && !isStopping && !needsCheckpoint) { condition.wait() }
            if waiting.isEmpty && !needsCheckpoint { return nil }
            needsCheckpoint = false
            return take()
        }
    }

    private func perform(_ group: [Request]) {
        if let lostWrite { return fail(group, StoreError(lostWrite, path: path)) }
        if let file = files?.displaced {
            return fail(group, .io("\(file) was removed, replaced or renamed while it was in use. Nothing is written until it is back."))
        }
        guard !disk.isShort(unused: { unusedBytes }) else {
            fail(group.filter { !$0.makesRoom }, .full)
            let deletions = group.filter(\.makesRoom)
            if !deletions.isEmpty, commit(deletions) {
                checkpoint(.truncate)
                disk.retry()
            }
            return
        }
        commit(group)
    }

    /// Returns whether the group was committed. Everyone in it is told.
    @discardableResult
    private func commit(_ group: [Request]) -> Bool {
        let start = ContinuousClock.now
        do {
            let tell = try database.writeWithoutTransaction { try transaction(group, $0) }
            let duration = ContinuousClock.now - start
            counters.count(writes: group.count, duration: duration)
            condition.withLock { isQuick = duration < Self.quick }
            isHeldUp = false
            for tell in tell { tell() }
            return true
        } catch let error as DatabaseError where error.isOfOneRequest && group.count > 1 {
            // One of them is at fault, and its writes cannot be taken back alone: each for itself.
            return group.map { commit([$0]) }.contains(true)
        } catch let error as DatabaseError where error.resultCode == .SQLITE_BUSY && isOnLentThread {
            // Another program is writing: our own thread can wait for it.
            condition.withLock { for request in group { waiting.append(request, cost: request.cost ?? 0) } }
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

    private func transaction(_ group: [Request], _ db: Database) throws -> [@Sendable () -> Void] {
        var tell: [@Sendable () -> Void] = []
        tell.reserveCapacity(group.count)
        var isCommitting = false
        do {
            sqlite3_busy_timeout(db.sqliteConnection, isOnLentThread ? 0 : isHeldUp ? Self.heldUpMilliseconds : Opening.busyMilliseconds)
            // As `beginTransaction` and `commit` do, which prepare their statement each time.
            try db.cachedStatement(sql: "BEGIN IMMEDIATE").execute()
            for request in group {
                do {
                    tell.append(try request.perform(db))
                } catch let refusal as StoreError {
                    tell.append { request.fail(refusal) }
                }
            }
            isCommitting = true
            if let code = options.simulatedFailure?() { throw DatabaseError(resultCode: ResultCode(rawValue: code)) }
            try db.cachedStatement(sql: "COMMIT").execute()
            return tell
        } catch {
            let isOutOfRoom = db.isOutOfRoom(error)
            try? db.rollback()
            if isOutOfRoom { throw StoreError.full }
            guard let error = error as? DatabaseError else { throw error }
            // The connection shows a rollback, and yet the change can be back after the next start: whether the log's
            // last page reached the disk is not known.
            if error.isFailedFlush || (isCommitting && error.resultCode == .SQLITE_IOERR) { throw LostWrite(error) }
            throw error
        }
    }

    private func fail(_ group: [Request], _ error: StoreError) {
        counters.count(failures: group.count)
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

    /// Of the database's pages those that nothing is stored in: what was deleted leaves them, and the next writes use them.
    private var unusedBytes: Int {
        (try? database.writeWithoutTransaction { db in
            try (db.first("PRAGMA freelist_count") { $0.int(0) } ?? 0) * (db.first("PRAGMA page_size") { $0.int(0) } ?? 0)
        }) ?? 0
    }

    private func diskIsFull() {
        // Full as it is, the disk allows this only where the database need not grow, and it gives the log's room back.
        checkpoint(.truncate)
        disk.isFull()
    }

    /// Copies the log into the database, and empties the cache: a large write has filled it with what nobody needs. SQLite
    /// would do the first by itself, within COMMIT and before the callers are told, and would ignore a failed flush.
    private func checkpoint(_ mode: Database.CheckpointMode) {
        guard lock != nil, lostWrite == nil else { return }
        do {
            try database.writeWithoutTransaction { db in
                sqlite3_db_release_memory(db.sqliteConnection)
                _ = try db.checkpoint(mode)
            }
        } catch let error as DatabaseError where error.isFailedFlush {
            lose(LostWrite(error), [])
        } catch {
            // A reader in the way, or no room: the log stays as it is, and so do the changes in it.
        }
    }
}
