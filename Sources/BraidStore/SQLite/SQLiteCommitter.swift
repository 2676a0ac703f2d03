import Glibc

/// Unchecked: only the writer's thread uses the variables.
final class SQLiteCommitter: GroupCommitter, @unchecked Sendable {
    struct Work: Sendable {
        /// Only deletes or replaces: runs even on a full disk.
        let makesRoom: Bool
        /// Throws a `StoreError` before it has written anything, or returns what reports success after COMMIT. Runs
        /// again if the transaction is repeated.
        let run: @Sendable (SQLiteQueries) throws -> @Sendable () -> Void
    }
    typealias Request = WriteRequest<Work>
    typealias Writer = StoreWriter<SQLiteCommitter>

    private let database: SQLiteDatabase
    private let readers: ReaderPool<SQLiteQueries>
    private let path: String
    /// With `synchronous = normal`.
    private let losesCommits: Bool
    private let file: SQLiteFileOptions
    /// `nil` in memory, like `files`.
    private var lock: ProcessLock?
    private let files: OpenFiles?
    private var disk: DiskRoom
    /// Once set, nothing is written any more.
    private var lostWrite: LostWrite?
    /// Another program held the write lock at the last write, so the next ones wait less for it.
    private var isHeldUp = false
    private static let heldUpMilliseconds: CInt = 100
    /// From this many pages on, the log is copied into the database.
    private static let checkpointPages = 4000
    var pause: Duration? { nil }

    init(_ opened: SQLiteOpening.Opened, path: String, losesCommits: Bool, file: SQLiteFileOptions) {
        database = opened.database
        readers = opened.readers
        lock = opened.lock
        self.path = path
        self.losesCommits = losesCommits
        self.file = file
        files = opened.lock == nil ? nil : OpenFiles(database: path)
        disk = DiskRoom(reserve: opened.reserve)
        if opened.lock != nil { database.use { $0.db.countLogPages() } }
    }

    func prepare() { disk.prepare() }

    func commitGroup(_ group: [Request], for writer: Writer) -> Bool {
        defer { if isLogLong { checkpoint(.passive, for: writer) } }
        if let lostWrite {
            writer.fail(group, .unavailable(lostWrite.detail), isTrouble: true)
            return false
        }
        if let file = files?.displaced {
            writer.fail(
                group,
                .io(
                    "\(file) was removed, replaced or renamed while it was in use. Nothing is written until it is back."
                ), isTrouble: true)
            return false
        }
        guard !disk.isShort(unused: { unusedBytes }) else {
            writer.fail(group.filter { !$0.work.makesRoom }, .full, isTrouble: true)
            let deletions = group.filter(\.work.makesRoom)
            if !deletions.isEmpty, transact(deletions, isShort: true, for: writer) {
                checkpoint(.truncate, for: writer)
                disk.retry()
            }
            return false
        }
        return transact(group, isShort: false, for: writer)
    }

    func close(for writer: Writer) {
        readers.close()
        if lock != nil, lostWrite == nil, files?.displaced == nil, losesCommits {
            // If this last commit reaches the disk, all earlier ones have. Otherwise the next start begins new
            // epochs.
            try? database.use { try $0.setNewEpochsDue(false) }
        }
        checkpoint(.truncate, for: writer)
        // The last connection to close removes the log.
        database.close()
        lock = nil  // Last: it covers the file until SQLite has closed it.
    }

    /// Returns whether it committed.
    private func transact(_ group: [Request], isShort: Bool, for writer: Writer) -> Bool {
        let start = ContinuousClock.now
        do {
            let tell = try database.use { try transaction(group, $0) }
            writer.committed(group, since: start, isWhole: !isShort)
            isHeldUp = false
            for tell in tell { tell() }
            return true
        } catch let error as SQLiteError where error.isOfOneRequest && group.count > 1 {
            // SQLite cannot roll back only the request that failed, so each gets its own transaction. `map` runs them
            // all; `contains { }` would stop at the first success.
            return group.map { transact([$0], isShort: isShort, for: writer) }.contains(true)
        } catch let error as LostWrite {
            lose(error, group, for: writer)
        } catch StoreError.full {
            diskIsFull(for: writer)
            writer.fail(group, .full, isTrouble: true)
        } catch let cause {
            let error = StoreError(cause, path: path)
            if case .busy = error { isHeldUp = true }
            let isOfOneRequest = (cause as? SQLiteError)?.isOfOneRequest ?? false
            writer.fail(group, error, isTrouble: error.kind != nil && !isOfOneRequest)
        }
        return false
    }

    private func transaction(_ group: [Request], _ queries: SQLiteQueries) throws -> [@Sendable () -> Void] {
        let db = queries.db
        var tell: [@Sendable () -> Void] = []
        tell.reserveCapacity(group.count)
        var isCommitting = false
        do {
            db.setBusyTimeout(isHeldUp ? Self.heldUpMilliseconds : SQLiteOpening.busyMilliseconds)
            try db.begin(.immediate)
            for request in group {
                do {
                    tell.append(try request.work.run(queries))
                } catch let refusal as StoreError {
                    tell.append { request.fail(refusal) }
                }
            }
            isCommitting = true
            if let code = file.simulatedFailure?() { throw SQLiteError(code: SQLiteResultCode(rawValue: code)) }
            try db.commit()
            return tell
        } catch {
            try? db.rollback()
            guard let error = error as? SQLiteError else { throw error }
            if error.isOutOfRoom { throw StoreError.full }
            // It is rolled back here, but if the log's last page has reached the disk, the next start finds the
            // changes.
            if error.isFailedFlush || (isCommitting && error.code.primary == .ioError) { throw LostWrite(error) }
            throw error
        }
    }

    private func lose(_ error: LostWrite, _ group: [Request], for writer: Writer) {
        lostWrite = error
        file.onLostWrite(
            "writing the database \(path) to disk failed: \(error.detail). Whether the last changes are stored is not known; "
                + "stopping, so that nobody is told either. Check the disk, then start again.")
        writer.fail(group, StoreError(error, path: path), isTrouble: true)
    }

    private var isLogLong: Bool {
        disk.isLong(log: database.use { $0.db.logPages }, limit: Self.checkpointPages, at: path)
    }

    private var unusedBytes: Int {
        (try? database.use { try $0.db.pragma("freelist_count") * $0.db.pragma("page_size") }) ?? 0
    }

    private func diskIsFull(for writer: Writer) {
        // Works if the database need not grow. Frees the log's room.
        checkpoint(.truncate, for: writer)
        disk.isFull()
    }

    /// Also empties the page cache, which a large write fills with pages that nobody needs. SQLite's automatic
    /// checkpoints would run within COMMIT, before the callers get their answers, and ignore a failed flush.
    private func checkpoint(_ mode: SQLiteConnection.CheckpointMode, for writer: Writer) {
        guard lock != nil, lostWrite == nil else { return }
        do {
            try database.use {
                $0.db.releaseMemory()
                try $0.db.checkpoint(mode)
            }
        } catch let error as SQLiteError where error.isFailedFlush {
            lose(LostWrite(error), [], for: writer)
        } catch {
            // A reader is in the way, or the disk is full: the log keeps its changes.
        }
    }
}
