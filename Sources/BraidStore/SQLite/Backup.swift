extension SQLiteStore {
    /// Copies a database as of one moment, without unused pages, even while a server uses it. `progress` returns
    /// whether to go on.
    package static func backup(
        of path: String, to target: String,
        progress: @escaping @Sendable (_ written: Int, _ whole: Int) -> Bool = { _, _ in true }
    ) throws {
        try reading(path) { source, path in
            let file = try NewFile(literal(target), isDatabase: true)
            do {
                try copy(source, to: file.partial, progress)
                try markAsBackup(file.partial)
            } catch let error as SQLiteError where error.code.primary == .full && isDamaged(source) {
                // SQLite also reports damaged pages as a full disk.
                throw StoreError.damaged(path, "SQLite's check finds damaged pages")
            } catch {
                throw StoreError(error, writing: file.partial, from: path)
            }
            try file.finish()
        }
    }

    /// SQLite reads `file:` as a URI.
    static func literal(_ path: String) -> String { path.hasPrefix("file:") ? "./" + path : path }

    private static func copy(
        _ source: SQLiteConnection, to partial: String, _ progress: @escaping @Sendable (Int, Int) -> Bool
    ) throws {
        let whole = try source.pragma("page_count") * source.pragma("page_size")
        // VACUUM INTO reports no progress, so watch the file grow.
        try source.withProgress(every: 20_000) {
            fileSize(partial).map { progress($0, whole) } ?? true
        } _: {
            // One read transaction, flushed before it ends.
            try source.run("VACUUM INTO ?", partial)
        }
    }

    private static func isDamaged(_ source: SQLiteConnection) -> Bool {
        (try? source.texts("PRAGMA quick_check(1)")) != ["ok"]
    }

    /// The copy may lack revisions that clients have seen: new epochs are due.
    private static func markAsBackup(_ partial: String) throws {
        let copy = try SQLiteConnection(path: partial, mode: .readWrite)
        defer { copy.close() }
        try copy.execute("PRAGMA synchronous = FULL")
        try SQLiteQueries(copy).setNewEpochsDue(true)
    }
}

extension StoreError {
    init(_ error: any Error, writing target: String, from source: String) {
        guard let error = error as? SQLiteError, error.isOutOfRoom || error.isFailedWrite else {
            self.init(error, path: source)
            return
        }
        self = error.isOutOfRoom ? .noRoom(path: target) : .io("\(target): \(error.description)")
    }
}
