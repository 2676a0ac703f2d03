#if PostgreSQL
import BraidStore

/// The options of a PostgreSQL store.
public struct PostgresStoreOptions: Sendable {
    /// When the server acknowledges a commit to the client: after PostgreSQL's disk flush, or before it.
    public enum Synchronous: Sendable {
        /// A commit is acknowledged after it is on the database server's disk (`synchronous_commit = on`). If the
        /// database waits for a standby, the commit is on the standby's disk as well.
        case full
        /// A commit is acknowledged after the database server has received it (`synchronous_commit = off`).
        ///
        /// An acknowledged commit survives the end of this process. A crash of the database server can lose the last
        /// commits: by default, those of at most 0.6 s. The data that remains is consistent.
        case normal
    }

    /// When the server acknowledges a commit to the client: after PostgreSQL's disk flush, or before it.
    public var synchronous: Synchronous
    /// The largest number of revisions that each session's journal keeps. A journal may temporarily contain up to a
    /// 64th more revisions than this number, or more after the number was lowered.
    public var journalLimit: Int
    /// The size limit of each session's journal in bytes of its stored records. The journal always keeps the last
    /// revision, even if its record alone is larger.
    public var journalBytes: Int
    /// The largest number of connections for reads, in addition to the connection for writes. The store opens another
    /// connection for reads when all of these connections are busy.
    public var readers: Int
    /// If the database sends nothing on a connection for this time, the store closes the connection. A single statement
    /// may take up to three quarters of this time, and may wait for a lock up to a quarter of this time.
    public var timeout: Duration
    /// Returns a new epoch suffix, the text that the database appends to its sessions' epochs. The parameter `last` is
    /// the current suffix, as for `SQLiteStoreOptions.newEpochSuffix`.
    public var newEpochSuffix: @Sendable (_ last: String) -> String
    /// The store calls this closure when the store's state changes. The closure can run on any thread and must not
    /// block.
    public var onChange: @Sendable (StoreChange) -> Void
    /// For tests: the store calls this closure before each statement of an upgrade of the schema, and before the
    /// upgrade's COMMIT.
    var upgrading: (@Sendable (Int) throws -> Void)?

    /// Creates options for a PostgreSQL store.
    public init(
        synchronous: Synchronous = .full, journalLimit: Int = 1000, journalBytes: Int = 64 << 20, readers: Int = 4,
        timeout: Duration = .seconds(20),
        newEpochSuffix: @escaping @Sendable (String) -> String = EpochSuffix.random,
        onChange: @escaping @Sendable (StoreChange) -> Void = { _ in }
    ) {
        self.synchronous = synchronous
        self.journalLimit = journalLimit
        self.journalBytes = journalBytes
        self.readers = readers
        self.timeout = timeout
        self.newEpochSuffix = newEpochSuffix
        self.onChange = onChange
    }
}
#endif
