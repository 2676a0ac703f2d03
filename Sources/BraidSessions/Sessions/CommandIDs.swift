import BraidEngine
import BraidRuntime

/// UUIDs of version 8 (RFC 9562) for `uuid()`: a SHA-256 of session, revision, time and the id's number in the command,
/// so a replay makes the same. The epoch's random part makes them unique and hard to guess (not with
/// `--deterministic`).
struct CommandIDs {
    private let session: String

    /// A restored database changes the epoch after its first hyphen.
    init(session: String, epoch: String, created: String) {
        self.session = "\(session)\n\(epoch.prefix { $0 != "-" })\n\(created)"
    }

    /// `at` in RFC 3339.
    func source(revision: Int, at: String) -> IDSource {
        IDSource { [session] number in
            var bytes = SHA256Digest(of: Array("\(session)\n\(revision)\n\(at)\n\(number)".utf8)).bytes
            return IDSource.uuid(&bytes, version: 8)
        }
    }
}
