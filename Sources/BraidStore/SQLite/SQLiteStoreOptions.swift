import BraidRuntime
import Glibc

/// The options of an SQLite store: durability, the length of journals, connections and disk room.
public struct SQLiteStoreOptions: Sendable {
    /// When a commit counts as done.
    public enum Synchronous: Sendable {
        /// A commit counts as done when it is on disk, and survives a power loss. The disk is flushed once for each
        /// group of commits.
        case full
        /// A commit counts as done when the operating system has it. The commit survives the end of the process,
        /// however the process ends, but not a power loss.
        case normal
    }

    public var synchronous: Synchronous
    /// The number of revisions that each session's journal keeps. A journal can exceed this limit by a 64th.
    public var journalLimit: Int
    /// The number of bytes of commands and updates that each session's journal keeps. The journal keeps the last
    /// revision whatever its size.
    public var journalBytes: Int
    /// The number of connections that read, in addition to the connection that writes.
    public var readers: Int
    /// The number of pages at which the write-ahead log is copied into the database.
    public var checkpointPages: Int
    /// The size of the reserve file, whose room is used when the disk is full. 0 means no reserve.
    public var reserveBytes: Int
    /// Called when a disk flush has failed: the written data may or may not be on disk. No later flush can tell,
    /// because the kernel reports such an error once and then forgets it. The program must not continue as usual after
    /// this call. If the call returns, the store refuses every further write. The default writes the explanation to
    /// stderr and ends the process.
    public var onLostWrite: @Sendable (_ explanation: String) -> Void

    /// The exit status of a process that ended because a flush had failed (EX_IOERR).
    public static let lostWriteExitStatus: CInt = 74

    /// Returns the suffix of new epochs, which begins with a hyphen. The suffix differs from `last` and from all
    /// suffixes before `last`.
    public var newEpochSuffix: @Sendable (_ last: String) -> String

    /// For tests: returns the SQLite code with which the next COMMIT fails, or `nil` if the COMMIT is performed.
    var simulatedFailure: (@Sendable () -> CInt?)?

    public init(
        synchronous: Synchronous = .full, journalLimit: Int = 1000, journalBytes: Int = 64 << 20, readers: Int = 4,
        checkpointPages: Int = 4000, reserveBytes: Int = 1 << 20,
        onLostWrite: @escaping @Sendable (String) -> Void = Self.endProcess,
        newEpochSuffix: @escaping @Sendable (String) -> String = EpochSuffix.random
    ) {
        self.synchronous = synchronous
        self.journalLimit = journalLimit
        self.journalBytes = journalBytes
        self.readers = readers
        self.checkpointPages = checkpointPages
        self.reserveBytes = reserveBytes
        self.onLostWrite = onLostWrite
        self.newEpochSuffix = newEpochSuffix
    }

    public static let endProcess: @Sendable (String) -> Void = { explanation in
        Files.write("braid-server: \(explanation)\n".utf8, to: STDERR_FILENO)
        _exit(lostWriteExitStatus)
    }
}
