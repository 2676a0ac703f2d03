import BraidRuntime
import Glibc

/// The options of an SQLite store: durability, the length of journals, connections and disk room.
public struct SQLiteStoreOptions: Sendable {
    /// When the store reports a commit as done: after the disk flush, or before it.
    public enum Synchronous: Sendable {
        /// A commit counts as done only when it is on disk, so it survives a power loss. The disk is flushed once for
        /// each group of commits.
        case full
        /// A commit counts as done when it is written to the operating system's cache. Such a commit survives a crash
        /// of the server process, but perhaps not a power loss.
        case normal
    }

    public var synchronous: Synchronous
    /// The number of revisions that each session's journal keeps. A journal can temporarily exceed this limit by a
    /// 64th.
    public var journalLimit: Int
    /// The number of bytes of commands and updates that each session's journal keeps. The journal always keeps the last
    /// revision, even if it is larger.
    public var journalBytes: Int
    /// The most connections for reading, in addition to the one connection that writes.
    public var readers: Int
    /// The number of pages in the write-ahead log from which the store copies the log into the database.
    public var checkpointPages: Int
    /// The size of the reserve file in bytes. When the disk is full, this file is deleted to make room. 0 means no
    /// reserve file.
    public var reserveBytes: Int
    /// Called when a disk flush has failed: the written data may or may not be on disk. A later flush cannot find out,
    /// because the kernel reports such an error once and then forgets it. The program must not continue as usual after
    /// this call. If the call returns, the store refuses every further write. The default writes the explanation to
    /// stderr and ends the process.
    public var onLostWrite: @Sendable (_ explanation: String) -> Void

    /// The exit status with which `onLostWrite` ends the process by default, after a failed disk flush (EX_IOERR).
    public static let lostWriteExitStatus: CInt = 74

    /// Returns a new epoch suffix, which begins with a hyphen. The new suffix must differ from `last`, the current
    /// suffix, and from all suffixes before `last`.
    public var newEpochSuffix: @Sendable (_ last: String) -> String
    /// Called when the store's state changes, from any thread. Must not block.
    public var onChange: @Sendable (StoreChange) -> Void

    /// For tests: returns the SQLite error code with which the next COMMIT fails, or `nil` to perform the COMMIT.
    var simulatedFailure: (@Sendable () -> CInt?)?
    /// For tests: called before each statement of an upgrade of the schema, and before its COMMIT.
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
