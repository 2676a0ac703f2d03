/// A disk access of COMMIT failed: nobody can find out whether the transaction is on disk.
struct LostWrite: Error {
    let detail: String

    init(_ error: SQLiteError) { detail = error.description }
}

extension StoreError {
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
    static func damaged(_ path: String, _ what: String) -> StoreError {
        .corrupt(
            "\(path): \(what). Stop the server, move the file aside with its -wal and -shm, and put the last backup (`braid-server backup`) in its place."
        )
    }
}

extension SQLiteError {
    /// Caused by one request's SQL or values, so the group's others can succeed.
    var isOfOneRequest: Bool {
        switch code.primary {
        case .constraint, .tooBig, .mismatch, .range, .error: true
        default: false
        }
    }

    var isFailedFlush: Bool { code == .ioErrorFsync || code == .ioErrorDirectoryFsync }

    /// SQLITE_IOERR with a detail from 3 to 6: not written, flushed or shortened.
    var isFailedWrite: Bool { code.primary == .ioError && (3...6).contains(code.rawValue >> 8) }

    /// The disk is full, a quota is used up, or a file has the largest size (`csqlite_report_full_disk`).
    var isOutOfRoom: Bool { StoreError(self, path: "") == .full }
}
