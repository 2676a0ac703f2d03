import BraidEngine
import BraidRuntime

/// The ids that `uuid()` makes in a session's commands: UUIDs of version 8 (RFC 9562).
///
/// Each is a SHA-256 of session, revision, the command's time and the id's number in it, so a replay makes the same
/// ones. The epoch's random part makes them unique and hard to guess (not with `--deterministic`).
struct CommandIDs {
    private let session: String

    /// Of the epoch, only the part before the first hyphen: a restored database changes the rest.
    init(session: String, epoch: String, created: String) {
        self.session = "\(session)\n\(epoch.prefix { $0 != "-" })\n\(created)"
    }

    /// `at` is the command's time in RFC 3339.
    func source(revision: Int, at: String) -> IDSource {
        IDSource { [session] number in
            var bytes = SHA256Digest(of: Array("\(session)\n\(revision)\n\(at)\n\(number)".utf8)).bytes
            return IDSource.uuid(&bytes, version: 8)
        }
    }
}
