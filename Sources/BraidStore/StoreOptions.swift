import BraidRuntime
import Glibc

/// The options that every store has.
///
///     let store = try SQLiteStore(path: "braid.sqlite", options: StoreOptions(journalLimit: 100))
public struct StoreOptions: Sendable {
    /// When the store reports a commit as done.
    public enum Synchronous: Sendable {
        /// After it is on disk, so it survives a power loss. One disk flush serves a group of commits. If PostgreSQL
        /// waits for a standby, the commit is on the standby's disk as well.
        case full
        /// Before the disk flush. The commit survives a crash of this process. A power loss, or a crash of the
        /// PostgreSQL server, can lose the last commits (by default those of 0.6 s); what remains is consistent.
        case normal
    }

    public var synchronous: Synchronous
    /// The most revisions in a session's journal. It may hold up to a 64th more, or more after the limit was lowered.
    public var journalLimit: Int
    /// The most bytes in a session's journal, which always keeps the last revision.
    public var journalBytes: Int
    /// Returns a suffix for the epochs of the database's sessions: a hyphen, and what differs from the current suffix
    /// `last` and all before it.
    public var newEpochSuffix: @Sendable (_ last: String) -> String
    /// Called on any thread; must not block.
    public var onChange: @Sendable (StoreChange) -> Void
    /// For tests: called before each statement of an upgrade of the schema, and before its COMMIT.
    package var upgrading: (@Sendable (Int) throws -> Void)?

    public init(
        synchronous: Synchronous = .full, journalLimit: Int = 1000, journalBytes: Int = 64 << 20,
        newEpochSuffix: @escaping @Sendable (String) -> String = EpochSuffix.random,
        onChange: @escaping @Sendable (StoreChange) -> Void = { _ in }
    ) {
        self.synchronous = synchronous
        self.journalLimit = journalLimit
        self.journalBytes = journalBytes
        self.newEpochSuffix = newEpochSuffix
        self.onChange = onChange
    }
}

/// The options of a store in an SQLite file, for the disk below it.
public struct SQLiteFileOptions: Sendable {
    /// The size of the reserve file, which the store deletes to make room when the disk is full. 0: no such file.
    public var reserveBytes: Int
    /// Called when a disk access of a COMMIT failed, so that the data may or may not be on disk. A later flush cannot
    /// find out, because the kernel reports a failed flush once. The program must not go on as usual: if this returns,
    /// the store refuses every further write.
    public var onLostWrite: @Sendable (_ explanation: String) -> Void
    /// For tests: the SQLite error code with which the next COMMIT fails, or `nil`.
    var simulatedFailure: (@Sendable () -> CInt?)?

    /// EX_IOERR, the exit status of `endProcess`.
    public static let lostWriteExitStatus: CInt = 74

    /// Writes the explanation to stderr and ends the process.
    public static let endProcess: @Sendable (String) -> Void = { explanation in
        Files.write("braid-server: \(explanation)\n".utf8, to: STDERR_FILENO)
        _exit(lostWriteExitStatus)
    }

    public init(reserveBytes: Int = 1 << 20, onLostWrite: @escaping @Sendable (String) -> Void = Self.endProcess) {
        self.reserveBytes = reserveBytes
        self.onLostWrite = onLostWrite
    }
}

/// The text that a database appends to the epochs of its sessions. A new one, after the database may have lost commits
/// that clients have seen, changes the epochs of all sessions that exist then.
public enum EpochSuffix {
    /// A hyphen and eight random letters and digits.
    public static func random(after last: String) -> String {
        let letters = Array("0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz")
        var generator = SystemRandomNumberGenerator()
        return "-" + String((0..<8).map { _ in letters[Int.random(in: 0..<letters.count, using: &generator)] })
    }

    /// `-1`, `-2`, …, for predictable tests. Not unique: a backup that is restored twice gets the same suffix twice.
    public static func counted(after last: String) -> String { "-\((Int(digits: last.dropFirst()) ?? 0) + 1)" }
}
