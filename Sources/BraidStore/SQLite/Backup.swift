extension SQLiteStore {
    /// Copies a database as it is at one moment, even while a server uses it, into a `NewFile` without unused pages.
    ///
    /// - Parameter progress: called from time to time with the bytes written and the most that there can be. Returns
    ///   whether to go on.
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
                // SQLite's code for a full disk can also mean damaged pages.
                throw StoreError.damaged(path, "SQLite's check finds damaged pages")
            } catch {
                throw StoreError(error, writing: file.partial, from: path)
            }
            try file.finish()
        }
    }

    /// A form that SQLite does not read as a URI.
    static func literal(_ path: String) -> String { path.hasPrefix("file:") ? "./" + path : path }

    private static func copy(
        _ source: SQLiteConnection, to partial: String, _ progress: @escaping @Sendable (Int, Int) -> Bool
    ) throws {
        let whole = try source.pragma("page_count") * source.pragma("page_size")
        // SQLite does not report the progress of VACUUM INTO, so watch the partial file grow.
        try source.withProgress(every: 20_000) {
            fileSize(partial).map { progress($0, whole) } ?? true
        } _: {
            // In one read transaction; flushes the copy before it ends.
            try source.run("VACUUM INTO ?", partial)
        }
    }

    private static func isDamaged(_ source: SQLiteConnection) -> Bool {
        (try? source.texts("PRAGMA quick_check(1)")) != ["ok"]
    }

    /// Lets the first server that opens the copy begin new epochs: it can lack revisions that clients have seen.
    private static func markAsBackup(_ partial: String) throws {
        let copy = try SQLiteConnection(path: partial, mode: .readWrite)
        defer { copy.close() }
        try copy.execute("PRAGMA synchronous = FULL")
        try SQLiteQueries(copy).setNewEpochsDue(true)
    }
}

extension StoreError {
    /// Names `target` if a write failed or the disk was full, otherwise `source`.
    init(_ error: any Error, writing target: String, from source: String) {
        guard let error = error as? SQLiteError, error.isOutOfRoom || error.isFailedWrite else {
            self.init(error, path: source)
            return
        }
        self = error.isOutOfRoom ? .noRoom(path: target) : .io("\(target): \(error.description)")
    }
}
