/// The number of pages that SQLite's write-ahead log has after the last commit of one connection.
///
/// Unchecked: SQLite's hook sets `pages` on the thread that commits, and only that thread may read `pages`.
final class LogLength: @unchecked Sendable {
    var pages = 0
}
