/// Why a store refused, or could not be opened.
public enum StoreError: Error, Sendable, Equatable {
    // What a caller can cause. Nothing was changed.
    case sessionExists
    case sessionMissing
    /// The stored session is at another revision than the commit starts from.
    case revisionConflict
    /// Another server has kept an answer to the same key meanwhile.
    case answered
    /// The table description is not registered.
    case tableMissing
    /// A session has used up its 2^32 row keys or revisions.
    case exhausted
    case closed

    // What befell the disk. Nothing was changed, except as said.
    case full
    case io(String)
    /// Another process holds the database's write lock.
    case busy(path: String)
    case corrupt(String)
    /// The database cannot be reached, or does not take requests now.
    case unavailable(String)

    // Why a database was not opened.
    /// Another process has opened it; `holder` says which, if it left word.
    case locked(path: String, holder: String?)
    case readOnly(path: String)
    case notADatabase(path: String)
    /// A database, but not one of Braid Server's.
    case wrongApplication(path: String)
    case newerVersion(found: Int, known: Int)

    // Why a database was not backed up.
    case missing(path: String)
    case exists(path: String)
}

extension StoreError: CustomStringConvertible {
    public var description: String {
        switch self {
        case .sessionExists: "A session with this id is there already."
        case .sessionMissing: "There is no such session."
        case .revisionConflict: "The stored session is at another revision than the one the change starts from."
        case .answered: "The request has been answered meanwhile."
        case .tableMissing: "There is no such table description."
        case .exhausted: "The session has used up its 4,294,967,295 row keys or revisions; open a new one."
        case .closed: "The store is closed."
        case .full: "The disk is full: nothing was changed. Reads go on; writes come back once there is room."
        case .io(let detail): "The database could not be read or written: \(detail)"
        case .busy(let path): "The database \(path) is locked for writing by another program."
        case .corrupt(let detail): "The database is damaged: \(detail)"
        case .unavailable(let detail): "The database is not available: \(detail)"
        case .locked(let path, let holder):
            "The database \(path) is in use by another Braid Server\(holder.map { " (process \($0))" } ?? ""). "
                + "Stop that one first, or give this one a database of its own."
        case .readOnly(let path):
            path.hasPrefix("postgres://")
                ? "The database \(path) cannot be written: it is read-only, as a standby is."
                : "The database \(path) cannot be written: check the permissions of the file and of its directory."
        case .notADatabase(let path): "The file \(path) is not an SQLite database."
        case .wrongApplication(let path): "The database \(path) belongs to another application; it was left as it is."
        case .newerVersion(let found, let known):
            "The database has schema version \(found), made by a newer Braid Server; this one knows versions up to \(known)."
        case .missing(let path): "There is no file \(path)."
        case .exists(let path): "There is a file \(path) already, and a backup replaces none: give it another name."
        }
    }
}
