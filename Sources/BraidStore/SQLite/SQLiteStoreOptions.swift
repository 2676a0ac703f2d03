import BraidRuntime
import Glibc

/// The options of an SQLite store: durability, the length of journals, connections and disk room.
public struct SQLiteStoreOptions: Sendable {
    /// When the store reports a commit as done: after the disk flush, or before it.
    public enum Synchronous: Sendable {
        /// A commit is done only when it is on disk, so it survives a power loss. The store flushes the disk once for
        /// each group of commits.
        case full
        /// A commit is done when it is written to the operating system's cache. Such a commit survives a crash of the
        /// server process, but perhaps not a power loss.
        case normal
    }

    public var synchronous: Synchronous
    /// The largest number of revisions that each session's journal keeps. A journal can temporarily contain up to a
    /// 64th more revisions than this number, or more after the number was lowered.
    public var journalLimit: Int
    /// The size limit of each session's journal in bytes of its stored records. The journal always keeps the last
    /// revision, even if its record alone is larger.
    public var journalBytes: Int
    /// The largest number of connections for reading, in addition to the one connection that writes.
    public var readers: Int
    /// The number of pages from which the write-ahead log counts as long. The store copies a long log into the
    /// database.
    public var checkpointPages: Int
    /// The size of the reserve file in bytes. When the disk is full, the store deletes this file to make room. 0 means
    /// that the store has no reserve file.
    public var reserveBytes: Int
    /// The store calls this closure when a disk flush or another disk access of a COMMIT has failed, so that the
    /// written data may or may not be on disk. A later flush cannot find out, because the kernel reports a failed flush
    /// once and then forgets it.
    ///
    /// The program must not continue as usual after this call. If the closure returns, the store refuses every further
    /// write. The default closure writes the explanation to stderr and ends the process.
    public var onLostWrite: @Sendable (_ explanation: String) -> Void

    /// The exit status with which the default closure of `onLostWrite` ends the process after a failed disk flush
    /// (EX_IOERR).
    public static let lostWriteExitStatus: CInt = 74

    /// Returns a new epoch suffix (the text that the database appends to its sessions' epochs), which begins with a
    /// hyphen. The new suffix must differ from `last`, the current suffix, and from all earlier suffixes.
    public var newEpochSuffix: @Sendable (_ last: String) -> String
    /// The store calls this closure when the store's state changes. The closure can run on any thread and must not
    /// block.
    public var onChange: @Sendable (StoreChange) -> Void

    /// For tests: returns the SQLite error code with which the next COMMIT fails. If the closure returns `nil`, the
    /// COMMIT is performed.
    var simulatedFailure: (@Sendable () -> CInt?)?
    /// For tests: the store calls this closure before each statement of an upgrade of the schema, and before the
    /// upgrade's COMMIT.
    var upgrading: (@Sendable (Int) throws -> Void)?

    public init(
        synchronous: Synchronous = .full, journalLimit: Int = 1000, journalBytes: Int = 64 << 20, readers: Int = 4,
        checkpointPages: Int = 4000, reserveBytes: Int = 1 << 20,
        onLostWrite: @escaping @Sendable (String) -> Void = Self.endProcess,
        newEpochSuffix: @escaping @Sendable (String) -> String = EpochSuffix.random,
        onChange: @escaping @Sendable (StoreChange) -> Void = { _ in }
    ) {
        self.synchronous = synchronous
        self.journalLimit = journalLimit
        self.journalBytes = journalBytes
        self.readers = readers
        self.checkpointPages = checkpointPages
        self.reserveBytes = reserveBytes
        self.onLostWrite = onLostWrite
        self.newEpochSuffix = newEpochSuffix
        self.onChange = onChange
    }

    public static let endProcess: @Sendable (String) -> Void = { explanation in
        Files.write("braid-server: \(explanation)\n".utf8, to: STDERR_FILENO)
        _exit(lostWriteExitStatus)
    }
}
