import Glibc

/// The database file and its write-ahead log, as they were when the server opened them. If somebody removes or replaces
/// these files, the opened files still accept writes, but the next start of the server would not find these writes.
struct OpenFiles {
    private let files: [(path: String, facts: stat)]

    init(database path: String) {
        files = [path, path + "-wal"].compactMap { path in Self.facts(of: path).map { (path, $0) } }
    }

    /// The path of one of these files if the file was removed, replaced or renamed after it was opened. `nil` if all
    /// files are still in their places.
    var displaced: String? {
        files.first { path, opened in
            guard let found = Self.facts(of: path) else { return true }
            return found.st_dev != opened.st_dev || found.st_ino != opened.st_ino
        }?.path
    }

    private static func facts(of path: String) -> stat? {
        var facts = stat()
        return stat(path, &facts) == 0 ? facts : nil
    }
}
