import Glibc

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
            defer { Glibc.close(lock) }
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
            Glibc.close(file)
            throw StoreError.exists(path: partial)
        }
        return file
    }

    private static func copy(_ path: String, to partial: String, _ progress: @escaping @Sendable (Int, Int) -> Void)
        throws
    {
        let source = try SQLiteConnection(path: path, mode: .readOnly, busyTimeout: Opening.busyMilliseconds)
        defer { source.close() }
        try Opening.recognise(source, path: path)
        // An empty one is no database to restore, and may be what is left of one.
        guard try source.pragma("application_id") == SQLiteSchema.applicationID else {
            throw StoreError.wrongApplication(path: path)
        }
        let whole = try source.pragma("page_count") * source.pragma("page_size")
        // SQLite does not say how far it is: the copy's length does.
        try source.withProgress(every: 20_000) {
            var facts = stat()
            if stat(partial, &facts) == 0 { progress(Int(facts.st_size), whole) }
            return true
        } _: {
            // One read transaction; the copy is flushed before it ends.
            try source.run("VACUUM INTO ?", partial)
        }
    }

    /// What is restored may be behind what clients have seen: the first start from the copy begins new epochs.
    private static func markAsBackup(_ partial: String) throws {
        let copy = try SQLiteConnection(path: partial, mode: .readWrite)
        defer { copy.close() }
        try copy.execute("PRAGMA synchronous = FULL")
        try copy.setNewEpochsDue(true)
    }

    /// A name that someone else took meanwhile stays theirs: `link`, unlike `rename`, replaces nothing.
    private static func rename(_ partial: String, to target: String) throws {
        if link(partial, target) == 0 {
            unlink(partial)
        } else if errno == EEXIST {
            throw StoreError.exists(path: target)
        } else if Glibc.rename(partial, target) != 0 {  // a file system without links
            throw StoreError.io("\(target): \(String(cString: strerror(errno)))")
        }
        let directory = open(directory(of: target), O_RDONLY | O_DIRECTORY | O_CLOEXEC)
        guard directory >= 0 else { return }  // one that may be written and not read
        defer { Glibc.close(directory) }
        guard fsync(directory) == 0 else { throw StoreError.io("\(target): \(String(cString: strerror(errno)))") }
    }

    private static func directory(of path: String) -> String {
        guard let slash = path.utf8.lastIndex(of: UInt8(ascii: "/")) else { return "." }
        return slash == path.startIndex ? "/" : String(path[..<slash])
    }
}
