import BraidRuntime
import Glibc

/// Options of every store.
///
///     let store = try SQLiteStore(path: "braid.sqlite", options: StoreOptions(journalLimit: 100))
package struct StoreOptions: Sendable {
    /// When a commit counts as done.
    package enum Synchronous: Sendable {
        /// On disk: survives a power loss. One disk flush serves a group of commits. If PostgreSQL waits for a
        /// standby, on that one's disk as well.
        case full
        /// Before the disk flush: survives a crash of this process. A power loss or a crash of PostgreSQL can lose
        /// the last commits (by default those of 0.6 s); the rest is consistent.
        case normal
    }

    package var synchronous: Synchronous
    /// Revisions per session, up to a 64th more, or more after the limit was lowered.
    package var journalLimit: Int
    /// Per session. The last revision always stays.
    package var journalBytes: Int
    /// A hyphen, and what differs from all suffixes before.
    package var newEpochSuffix: @Sendable (_ last: String) -> String
    /// Called on any thread; must not block.
    package var onChange: @Sendable (StoreChange) -> Void
    /// For tests: before each statement of a schema upgrade and before COMMIT.
    package var upgrading: (@Sendable (Int) throws -> Void)?

    package init(
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

package struct SQLiteFileOptions: Sendable {
    /// The size of the `ReserveFile`, which is deleted when the disk is full. 0: no file.
    package var reserveBytes: Int
    /// Called when a disk access of a COMMIT has failed: the data may be on disk or not, and no later flush can tell,
    /// because the kernel reports a failed one once. The program must not go on as usual. If this returns, the store
    /// refuses all writes.
    package var onLostWrite: @Sendable (_ explanation: String) -> Void
    /// For tests: an SQLite code for the next COMMIT.
    var simulatedFailure: (@Sendable () -> CInt?)?

    /// EX_IOERR.
    package static let lostWriteExitStatus: CInt = 74

    package static let endProcess: @Sendable (String) -> Void = { explanation in
        Files.write("braid-server: \(explanation)\n".utf8, to: STDERR_FILENO)
        _exit(lostWriteExitStatus)
    }

    package init(reserveBytes: Int = 1 << 20, onLostWrite: @escaping @Sendable (String) -> Void = Self.endProcess) {
        self.reserveBytes = reserveBytes
        self.onLostWrite = onLostWrite
    }
}

/// After the database may have lost commits that clients have seen, a new suffix gives all sessions new epochs.
package enum EpochSuffix {
    package static func random(after last: String) -> String {
        let letters = Array("0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz")
        var generator = SystemRandomNumberGenerator()
        return "-" + String((0..<8).map { _ in letters[Int.random(in: 0..<letters.count, using: &generator)] })
    }

    /// `-1`, `-2`, … for tests. Not unique: restoring one backup twice gives the same.
    package static func counted(after last: String) -> String { "-\((Int(digits: last.dropFirst()) ?? 0) + 1)" }
}
