import Glibc

extension SQLiteStore {
    /// Writes a copy of a database as it is at one moment, even while a server uses the database. The copy has no
    /// unused pages, and a server can open it like any database. Throws if a file exists at `target`.
    ///
    /// The copy is written to `target` + "-partial", and is renamed to `target` when it is on disk. `progress` is
    /// called from time to time with the number of written bytes and the largest number that the copy can have.
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
            // Close the lock's descriptor of the partial file last, because closing it also drops SQLite's locks on
            // this file.
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

    /// Returns the path in a form that SQLite does not read as a URI: `./file:x` instead of `file:x`.
    private static func literal(_ path: String) -> String { path.hasPrefix("file:") ? "./" + path : path }

    /// Opens an empty file for the partial copy, and locks it against other backups to the same name. A file that a
    /// broken-off backup left is reused.
    private static func locked(_ partial: String) throws -> CInt {
        let file = open(partial, O_RDWR | O_CREAT | O_CLOEXEC, 0o600)
        guard file >= 0 else { throw StoreError.io("\(partial): \(String(cString: strerror(errno)))") }
        var own = stat(), named = stat()
        // If the opened file has lost its name `…-partial` in the meantime, it is the finished backup of another
        // process.
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
        // Refuse to copy an empty database: it is not worth a backup, and may be what is left of a damaged database.
        guard try source.pragma("application_id") == SQLiteSchema.applicationID else {
            throw StoreError.wrongApplication(path: path)
        }
        let whole = try source.pragma("page_count") * source.pragma("page_size")
        // SQLite does not report the progress of VACUUM INTO, so report the growing length of the partial file.
        try source.withProgress(every: 20_000) {
            var facts = stat()
            if stat(partial, &facts) == 0 { progress(Int(facts.st_size), whole) }
            return true
        } _: {
            // VACUUM INTO uses one read transaction, and flushes the copy to disk before it ends.
            try source.run("VACUUM INTO ?", partial)
        }
    }

    /// Marks the copy, so that the first server that starts with it begins new epochs for all sessions. A restored
    /// database can lack revisions that clients have seen.
    private static func markAsBackup(_ partial: String) throws {
        let copy = try SQLiteConnection(path: partial, mode: .readWrite)
        defer { copy.close() }
        try copy.execute("PRAGMA synchronous = FULL")
        try copy.setNewEpochsDue(true)
    }

    /// Gives the finished copy its name. `link`, unlike `rename`, replaces no file that another program has created
    /// with this name.
    private static func rename(_ partial: String, to target: String) throws {
        if link(partial, target) == 0 {
            unlink(partial)
        } else if errno == EEXIST {
            throw StoreError.exists(path: target)
        } else if Glibc.rename(partial, target) != 0 {  // The file system has no hard links.
            throw StoreError.io("\(target): \(String(cString: strerror(errno)))")
        }
        let directory = open(directory(of: target), O_RDONLY | O_DIRECTORY | O_CLOEXEC)
        guard directory >= 0 else { return }  // The directory may be written, but not read.
        defer { Glibc.close(directory) }
        guard fsync(directory) == 0 else { throw StoreError.io("\(target): \(String(cString: strerror(errno)))") }
    }

    private static func directory(of path: String) -> String {
        guard let slash = path.utf8.lastIndex(of: UInt8(ascii: "/")) else { return "." }
        return slash == path.startIndex ? "/" : String(path[..<slash])
    }
}
