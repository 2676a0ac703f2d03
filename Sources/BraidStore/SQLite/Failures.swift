/// The error of a failed disk flush, or of another failed disk access during COMMIT. After such an error, no program
/// can find out whether the transaction is on disk.
struct LostWrite: Error {
    let detail: String

    init(_ error: SQLiteError) { detail = error.description }
}

extension StoreError {
    /// Converts an error of SQLite to the `StoreError` that the store's callers receive. An error that already is a
    /// `StoreError` stays as it is.
    init(_ error: any Error, path: String) {
        switch error {
        case let error as StoreError: self = error
        case let error as LostWrite: self = .outcomeUnknown(error.detail)
        case let error as SQLiteError:
            switch error.code.primary {
            case .full: self = .full
            case .tooBig: self = .tooLarge
            case .ioError where error.code == .ioErrorSharedMemorySize: self = .full
            case .readOnly: self = .readOnly(path: path)
            case .busy, .locked: self = .busy(path: path)
            case .notADatabase: self = .notADatabase(path: path)
            case .corrupt: self = .damaged(path, error.description)
            default: self = .io(error.description)
            }
        default: self = .io("\(error)")
        }
    }
}

extension StoreError {
    /// Creates the error for a damaged database file. `what` is a clause that says what is damaged.
    static func damaged(_ path: String, _ what: String) -> StoreError {
        .corrupt(
            "\(path): \(what). Stop the server, move the file aside with its -wal and -shm, and put the last backup (`braid-server backup`) in its place."
        )
    }
}

extension SQLiteError {
    /// Whether one request of a group caused the error by its own SQL or values. If so, the group's other requests can
    /// succeed without this request. Any other error fails the whole group.
    var isOfOneRequest: Bool {
        switch code.primary {
        case .constraint, .tooBig, .mismatch, .range, .error: true
        default: false
        }
    }

    /// Whether the error is a failed flush (fsync) of a file or a directory to disk.
    var isFailedFlush: Bool { code == .ioErrorFsync || code == .ioErrorDirectoryFsync }

    /// Whether SQLite could not write, flush or shorten a file. SQLite reports these failures as SQLITE_IOERR with a
    /// detail from 3 to 6.
    var isFailedWrite: Bool { code.primary == .ioError && (3...6).contains(code.rawValue >> 8) }

    /// Whether the error means that the disk has no room. A used-up disk quota and a file of the largest size count as
    /// a full disk (`csqlite_report_full_disk`).
    var isOutOfRoom: Bool { StoreError(self, path: "") == .full }
}
