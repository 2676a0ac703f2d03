import Foundation
internal import GRDB
internal import GRDBSQLite

extension SQLiteStore {
    /// Writes a copy of a database, whole and of one moment, also while a server is using it. The copy is compact, and
    /// opens as any other. Throws if there is a file at `target`.
    ///
    /// It is written to `target` + "-partial", which takes its name when it is on disk. `progress` is told now and then
    /// how many bytes are written, and how many there will be at most.
    public static func backup(
        of path: String, to target: String,
        progress: @escaping @Sendable (_ written: Int, _ whole: Int) -> Void = { _, _ in }
    ) throws {
        let path = literal(path), target = literal(target)
        do {
            guard access(path, F_OK) == 0 else { throw StoreError.missing(path: path) }
            try Opening.refuseDirectory(path)
            guard access(target, F_OK) != 0 else { throw StoreError.exists(path: target) }
            let partial = target + "-partial"
            let lock = try locked(partial)
            // Last of all: it lets go of SQLite's locks on the file, too.
            defer { Foundation.close(lock) }
            do {
                try copy(path, to: partial, progress)
                try markAsBackup(partial)
                try rename(partial, to: target)
            } catch {
                unlink(partial)
                throw error
            }
        } catch {
            throw StoreError(error, path: path)
        }
    }

    /// A path that SQLite does not take for a URI, of another file.
    private static func literal(_ path: String) -> String { path.hasPrefix("file:") ? "./" + path : path }

    /// Opens the file, empty, for this backup alone: another one to the same name would take this one's file for its
    /// own. What an earlier one has left is nobody's.
    private static func locked(_ partial: String) throws -> CInt {
        let file = open(partial, O_RDWR | O_CREAT | O_CLOEXEC, 0o644)
        guard file >= 0 else { throw StoreError.io("\(partial): \(String(cString: strerror(errno)))") }
        var own = stat(), named = stat()
        // One that has another name by now is a backup that is done.
        guard flock(file, LOCK_EX | LOCK_NB) == 0 || errno != EWOULDBLOCK, fstat(file, &own) == 0,
            stat(partial, &named) == 0, own.st_ino == named.st_ino, own.st_nlink == 1,
            ftruncate(file, 0) == 0
        else {
            Foundation.close(file)
            throw StoreError.exists(path: partial)
        }
        return file
    }

    private static func copy(_ path: String, to partial: String, _ progress: @escaping @Sendable (Int, Int) -> Void)
        throws
    {
        var configuration = Configuration()
        configuration.readonly = true
        configuration.busyMode = .timeout(5)
        let source = try DatabaseQueue(path: path, configuration: configuration)
        try source.inDatabase { db in
            try Opening.recognise(db, path: path)
            // An empty one is no database to restore, and may be what is left of one.
            guard try Int.fetchOne(db, sql: "PRAGMA application_id") == SQLiteSchema.applicationID else {
                throw StoreError.wrongApplication(path: path)
            }
            let whole =
                try (Int.fetchOne(db, sql: "PRAGMA page_count") ?? 0) * (Int.fetchOne(db, sql: "PRAGMA page_size") ?? 0)
            let watch = BackupProgress(partial: partial, whole: whole, tell: progress)
            let connection = db.sqliteConnection
            let call: @convention(c) (UnsafeMutableRawPointer?) -> CInt = { context in
                if let context { Unmanaged<BackupProgress>.fromOpaque(context).takeUnretainedValue().look() }
                return 0
            }
            sqlite3_progress_handler(connection, 20_000, call, Unmanaged.passUnretained(watch).toOpaque())
            defer { sqlite3_progress_handler(connection, 0, nil, nil) }
            // One read transaction; the copy is flushed before it ends.
            try withExtendedLifetime(watch) { try db.execute(sql: "VACUUM INTO ?", arguments: [partial]) }
        }
    }

    /// What is restored may be behind what clients have seen: the first start from the copy begins new epochs.
    private static func markAsBackup(_ partial: String) throws {
        let copy = try DatabaseQueue(path: partial)
        try copy.writeWithoutTransaction { db in
            try db.execute(sql: "PRAGMA synchronous = FULL")
            try db.setNewEpochsDue(true)
        }
        try copy.close()
    }

    /// A name that someone else took meanwhile stays theirs: `link`, unlike `rename`, replaces nothing.
    private static func rename(_ partial: String, to target: String) throws {
        if link(partial, target) == 0 {
            unlink(partial)
        } else if errno == EEXIST {
            throw StoreError.exists(path: target)
        } else if Foundation.rename(partial, target) != 0 {  // a file system without links
            throw StoreError.io("\(target): \(String(cString: strerror(errno)))")
        }
        let directory = open(URL(fileURLWithPath: target).deletingLastPathComponent().path, O_RDONLY | O_DIRECTORY)
        guard directory >= 0 else { return }  // one that may be written and not read
        defer { Foundation.close(directory) }
        guard fsync(directory) == 0 else { throw StoreError.io("\(target): \(String(cString: strerror(errno)))") }
    }
}

/// Looks at the copy's length: SQLite does not say how far it is.
private final class BackupProgress {
    private let partial: String
    private let whole: Int
    private let tell: @Sendable (Int, Int) -> Void

    init(partial: String, whole: Int, tell: @escaping @Sendable (Int, Int) -> Void) {
        self.partial = partial
        self.whole = whole
        self.tell = tell
    }

    func look() {
        var facts = stat()
        if stat(partial, &facts) == 0 { tell(Int(facts.st_size), whole) }
    }
}
