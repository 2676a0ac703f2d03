/// The number of pages that the write-ahead log had after a connection's last commit.
///
/// Unchecked: SQLite's hook sets `pages` on the thread that commits, and only that thread may read it.
final class LogLength: @unchecked Sendable {
    var pages = 0
}
