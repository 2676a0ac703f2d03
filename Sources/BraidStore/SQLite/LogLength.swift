/// The number of pages in SQLite's write-ahead log after the last commit of one connection.
///
/// Unchecked: SQLite's hook sets `pages` on the thread that commits, and only that thread may read it.
final class LogLength: @unchecked Sendable {
    var pages = 0
}
