import Glibc

/// The database and its log, as they were opened. They stay open when somebody removes or replaces them, and take what
/// is written to them; but the next start would not find it.
struct OpenFiles {
    private let files: [(path: String, facts: stat)]

    init(database path: String) {
        files = [path, path + "-wal"].compactMap { path in Self.facts(of: path).map { (path, $0) } }
    }

    /// One that does not stand under its name any more.
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
