import Glibc

/// A flush failed: whether the transaction is on disk is not known, and will not be.
struct LostWrite: Error {
    let detail: String

    init(_ error: SQLiteError) { detail = error.description }
}

extension StoreError {
    /// What an error of SQLite's means to a caller. Store errors stay what they are.
    init(_ error: any Error, path: String) {
        switch error {
        case let error as StoreError: self = error
        case let error as LostWrite: self = .io(error.detail)
        case let error as SQLiteError:
            switch error.code.primary {
            case .full: self = .full
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
    /// A database that was one, and is whole no longer.
    static func damaged(_ path: String, _ what: String) -> StoreError {
        .corrupt(
            "\(path): \(what). Stop the server, move the file aside with its -wal and -shm, and put the last backup (`braid-server backup`) in its place."
        )
    }
}

extension SQLiteError {
    /// Whether the error is the fault of one request and leaves the others of its group alone. Any other error befalls
    /// the whole group.
    var isOfOneRequest: Bool {
        switch code.primary {
        case .constraint, .tooBig, .mismatch, .range, .error: true
        default: false
        }
    }

    /// Whether a flush failed.
    var isFailedFlush: Bool { code == .ioErrorFsync || code == .ioErrorDirectoryFsync }

    /// Whether the disk has no room. SQLite says so only for ENOSPC; a used-up quota and a file of the largest size
    /// are the same to the store.
    var isOutOfRoom: Bool {
        if StoreError(self, path: "") == .full { return true }
        return code.primary == .ioError && [EDQUOT, EFBIG].contains(systemError)
    }
}
