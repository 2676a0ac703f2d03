import Glibc

extension SQLiteStore {
    /// Writes a copy of a database as it is at one moment, even while a server uses the database. The copy has no
    /// unused pages, and a server can open it like any database. Throws an error if a file exists at `target`.
    ///
    /// The copy is written to the file `target` + "-partial", which is renamed to `target` when it is complete and on
    /// disk. If the backup fails before that, the partial file is removed.
    ///
    /// - Parameter progress: called from time to time with the number of written bytes and the largest number that the
    ///   copy can have. Returns whether to continue the backup.
    public static func backup(
        of path: String, to target: String,
        progress: @escaping @Sendable (_ written: Int, _ whole: Int) -> Bool = { _, _ in true }
    ) throws {
        try reading(path) { source, path in
            let file = try NewFile(literal(target), isDatabase: true)
            do {
                try copy(source, to: file.partial, progress)
                try markAsBackup(file.partial)
            } catch let error as SQLiteError where error.code.primary == .full && isDamaged(source) {
                // SQLite's error code for a full disk can also mean damaged pages, even though the disk is not full.
                throw StoreError.damaged(path, "SQLite's check finds damaged pages")
            } catch {
                throw StoreError(error, writing: file.partial, from: path)
            }
            try file.finish()
        }
    }

    /// Returns the path in a form that SQLite does not read as a URI: `./file:x` instead of `file:x`.
    static func literal(_ path: String) -> String { path.hasPrefix("file:") ? "./" + path : path }

    private static func copy(
        _ source: SQLiteConnection, to partial: String, _ progress: @escaping @Sendable (Int, Int) -> Bool
    ) throws {
        let whole = try source.pragma("page_count") * source.pragma("page_size")
        // SQLite does not report the progress of VACUUM INTO. So report the growing length of the partial file as the
        // progress.
        try source.withProgress(every: 20_000) {
            var facts = stat()
            return stat(partial, &facts) != 0 || progress(Int(facts.st_size), whole)
        } _: {
            // VACUUM INTO uses one read transaction, and flushes the copy to disk before it ends.
            try source.run("VACUUM INTO ?", partial)
        }
    }

    private static func isDamaged(_ source: SQLiteConnection) -> Bool {
        (try? source.texts("PRAGMA quick_check(1)")) != ["ok"]
    }

    /// Marks the copy in the partial file, so that the first server that opens it begins new epochs for all sessions. A
    /// restored backup can lack revisions that clients have seen.
    private static func markAsBackup(_ partial: String) throws {
        let copy = try SQLiteConnection(path: partial, mode: .readWrite)
        defer { copy.close() }
        try copy.execute("PRAGMA synchronous = FULL")
        try copy.setNewEpochsDue(true)
    }
}

extension StoreError {
    /// Converts an error that occurred while SQLite copied the database `source` into the file `target`. The resulting
    /// error names `target` if a write failed or the disk was full, and `source` in every other case.
    init(_ error: any Error, writing target: String, from source: String) {
        guard let error = error as? SQLiteError, error.isOutOfRoom || error.isFailedWrite else {
            self.init(error, path: source)
            return
        }
        self = error.isOutOfRoom ? .noRoom(path: target) : .io("\(target): \(error.description)")
    }
}
