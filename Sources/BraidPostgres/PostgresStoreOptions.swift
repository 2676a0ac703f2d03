#if PostgreSQL
import BraidStore

/// How a PostgreSQL store keeps its promises.
public struct PostgresStoreOptions: Sendable {
    /// When a commit counts as done.
    public enum Synchronous: Sendable {
        /// On the database server's disk, and on its standby's where it waits for one (`synchronous_commit = on`).
        case full
        /// With the database server: it survives the end of this process, but a crash of the database server loses what
        /// was committed in its last moments, 0.6 s at most as it comes (`synchronous_commit = off`). What is there is
        /// whole.
        case normal
    }

    public var synchronous: Synchronous
    /// How many revisions of each session the journal keeps, and up to a 64th more.
    public var journalLimit: Int
    /// How many bytes of commands and updates each session's journal keeps; the last revision is kept whatever its
    /// size.
    public var journalBytes: Int
    /// Connections that read, beside the one that writes. Each is opened when the others are busy for the first time.
    public var readers: Int
    /// How long the database may be silent before a connection to it is given up. A statement gets three quarters of
    /// it, and a lock a quarter.
    public var timeout: Duration
    /// As `SQLiteStoreOptions.newEpochSuffix`.
    public var newEpochSuffix: @Sendable (_ last: String) -> String

    public init(
        synchronous: Synchronous = .full, journalLimit: Int = 1000, journalBytes: Int = 64 << 20, readers: Int = 4,
        timeout: Duration = .seconds(20),
        newEpochSuffix: @escaping @Sendable (String) -> String = EpochSuffix.random
    ) {
        self.synchronous = synchronous
        self.journalLimit = journalLimit
        self.journalBytes = journalBytes
        self.readers = readers
        self.timeout = timeout
        self.newEpochSuffix = newEpochSuffix
    }
}
#endif
