import Glibc

package enum StoreError: Error, Sendable, Equatable {
    // A caller's mistakes. The store has changed nothing.
    case sessionExists
    case sessionMissing
    /// Or, in PostgreSQL, another server has locked the session.
    case revisionConflict
    /// The idempotency key has an answer, perhaps by another server.
    case answered
    case tableMissing
    case tableChanged
    /// A session's 2^32 − 1 row keys, section numbers or revisions are used up.
    case exhausted
    case tooLarge
    case closed

    // Failures of the disk or the database. The store has changed nothing, except after `outcomeUnknown`.
    case full
    case io(String)
    /// A lock was held for too long. In PostgreSQL also a lost conflict or a deadlock.
    case busy(path: String)
    case corrupt(String)
    /// Not reachable, or accepting no requests for now.
    case unavailable(String)
    /// The change may be stored or not.
    case outcomeUnknown(String)

    // Why a database was not opened. `readOnly` and `newerVersion` can also come later.

    /// Another process uses the database. `holder` is its ID, if known.
    case locked(path: String, holder: String?)
    case readOnly(path: String)
    case notADatabase(path: String)
    /// A server uses the file under another name, such as a hard link, where the log with the latest changes is.
    case usedByOtherName(path: String)
    /// For commands such as `backup` also an empty file.
    case wrongApplication(path: String)
    case newerVersion(found: Int, known: Int)
    case differentSchema(path: String, version: Int, differences: [String])

    // Why a command such as `braid-server backup` failed.
    case missing(path: String)
    case exists(path: String)
    /// For a new file, which was removed.
    case noRoom(path: String)
    case otherVersion(found: Int, known: Int)
    /// An import needs an empty database.
    case notEmpty(path: String)
}

extension StoreError {
    package static func noThread(_ failure: Int32) -> StoreError {
        .io("no thread can be started: \(String(cString: strerror(failure)))")
    }

    static func rowsWithoutSection(_ session: Int) -> StoreError {
        .corrupt("session \(session) has rows of a section that it has not")
    }
}

extension StoreError: CustomStringConvertible {
    package var description: String {
        switch self {
        case .sessionExists: "A session with this id already exists."
        case .sessionMissing: "There is no such session."
        case .revisionConflict: "The stored session is at another revision than the one the change starts from."
        case .answered: "The request has been answered meanwhile."
        case .tableMissing: "There is no such table description."
        case .tableChanged: "The table description has another latest version than the change starts from."
        case .exhausted:
            "The session has used up its 4,294,967,295 row keys, section numbers or revisions; open a new one."
        case .tooLarge: "The change is larger than the database accepts at once."
        case .closed: "The store is closed."
        case .full: "The disk is full: nothing was changed. Reads continue; writes continue once there is room."
        case .io(let detail): "The database could not be read or written: \(detail)"
        case .busy(let path): "The database \(path) is locked for writing by another program."
        case .corrupt(let detail): "The database is damaged: \(detail)"
        case .unavailable(let detail): "The database is not available: \(detail)"
        case .outcomeUnknown(let detail): "Whether the change is stored is not known: \(detail)"
        case .locked(let path, let holder):
            "The database \(path) is in use by another Braid Server\(holder.map { " (process \($0))" } ?? ""). "
                + "Stop that one first, or give this one a database of its own."
        case .usedByOtherName(let path):
            "The database \(path) is in use by a Braid Server under another name of the file. Use that name: the latest changes are in a file next to it."
        case .readOnly(let path):
            path.hasPrefix("postgres://")
                ? "The database \(path) cannot be written: it is read-only, as a standby is."
                : "The database \(path) cannot be written: check the permissions of the file and of its directory."
        case .notADatabase(let path): "The file \(path) is not an SQLite database."
        case .wrongApplication(let path): "The database \(path) belongs to another application; it was left as it is."
        case .newerVersion(let found, let known):
            "The database has schema version \(found), made by a newer Braid Server; this one knows versions up to \(known). "
                + "Start the newer server, or restore the backup from before the upgrade."
        case .differentSchema(let path, let version, let differences):
            "The database \(path) is not as schema version \(version) has to be: \(differences.joined(separator: "; ")). "
                + "It was left as it is. Undo what changed its schema, or restore a backup."
        case .missing(let path): "There is no file \(path)."
        case .exists(let path):
            "There is a file \(path) already, and this command replaces none. Choose another name, or move the file away."
        case .noRoom(let path): "There is no room for \(path): the disk is full. Nothing was left behind."
        case .otherVersion(let found, let known):
            "The database has schema version \(found), and this command needs version \(known). "
                + (found < known
                    ? "Start the server on it once: the start upgrades it."
                    : "Use the braid-server that upgraded it.")
        case .notEmpty(let path):
            "The database \(path) is not empty, and an import replaces nothing. Import into a new database."
        }
    }
}
