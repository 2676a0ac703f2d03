internal import GRDB
internal import GRDBSQLite

/// How many pages the write-ahead log has, as of the last commit.
///
/// SQLite has one hook for this and uses it for its own automatic checkpoints, which end by its being taken.
/// Used by whoever writes alone, on whose thread the hook is called too.
final class LogLength: @unchecked Sendable {
    private(set) var pages = 0

    /// `self` must outlive the connection.
    func follow(_ db: Database) {
        let hook: @convention(c) (UnsafeMutableRawPointer?, OpaquePointer?, UnsafePointer<CChar>?, CInt) -> CInt = {
            context, _, _, pages in
            Unmanaged<LogLength>.fromOpaque(context!).takeUnretainedValue().pages = Int(pages)
            return SQLITE_OK
        }
        sqlite3_wal_hook(db.sqliteConnection, hook, Unmanaged.passUnretained(self).toOpaque())
    }
}
