import BraidEngine
import BraidRuntime

/// The ids that `uuid()` makes in a session's commands: UUIDs of version 8 (RFC 9562).
///
/// An id is made from a SHA-256 of the session, the revision, the command's time and the id's number in the command, so
/// that a command of the journal makes the same ids when it is executed again. The random part of the epoch makes them
/// unique among all sessions and hard to guess (except with `--deterministic`).
struct CommandIDs {
    private let session: String

    /// - Parameters:
    ///   - epoch: only the part before the first hyphen is used, because a restored database changes the rest.
    ///   - created: when the session was opened, in RFC 3339.
    init(session: String, epoch: String, created: String) {
        self.session = "\(session)\n\(epoch.prefix { $0 != "-" })\n\(created)"
    }

    /// Returns the source of ids for the command that leads to `revision`. `at` is the command's time in RFC 3339.
    func source(revision: Int, at: String) -> IDSource {
        IDSource { [session] number in
            var bytes = SHA256Digest(of: Array("\(session)\n\(revision)\n\(at)\n\(number)".utf8)).bytes
            return IDSource.uuid(&bytes, version: 8)
        }
    }
}
