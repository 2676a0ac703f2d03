import BraidRuntime
import Glibc

/// How an SQLite store keeps its promises.
public struct SQLiteStoreOptions: Sendable {
    /// When a commit counts as done.
    public enum Synchronous: Sendable {
        /// On disk: survives a power loss. One flush for each group of commits.
        case full
        /// With the operating system: survives the end of the process, however it ends, but not a power loss.
        case normal
    }

    public var synchronous: Synchronous
    /// How many revisions of each session the journal keeps, and up to a 64th more.
    public var journalLimit: Int
    /// How many bytes of commands and updates each session's journal keeps; the last revision is kept whatever its
    /// size.
    public var journalBytes: Int
    /// Connections that read, beside the one that writes.
    public var readers: Int
    /// The write-ahead log is copied into the database when it has so many pages.
    public var checkpointPages: Int
    /// Room on the disk that is kept for the day it is full; 0: none.
    public var reserveBytes: Int
    /// Called when a flush has failed: what was being written may or may not be on disk, and no later flush can tell
    /// (the kernel reports such an error once and then forgets it). Must not return to business as usual; if it
    /// returns, the store refuses every further write. The default says so on stderr and ends the process.
    public var onLostWrite: @Sendable (_ explanation: String) -> Void

    /// The exit status of a process that ended because a flush had failed (EX_IOERR).
    public static let lostWriteExitStatus: CInt = 74

    /// The suffix of new epochs, other than the last one and all before it: it begins with a hyphen.
    public var newEpochSuffix: @Sendable (_ last: String) -> String

    /// For tests: the SQLite code with which the next COMMIT fails; nil: it goes ahead.
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
