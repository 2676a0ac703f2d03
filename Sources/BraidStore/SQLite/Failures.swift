internal import GRDB
internal import GRDBSQLite
import Foundation

/// A flush failed: whether the transaction is on disk is not known, and will not be.
struct LostWrite: Error {
    let detail: String

    init(_ error: DatabaseError) { detail = error.detail }
}

extension StoreError {
    /// What an error of SQLite's means to a caller. Store errors stay what they are.
    init(_ error: any Error, path: String) {
        switch error {
        case let error as StoreError: self = error
        case let error as LostWrite: self = .io(error.detail)
        case let error as DatabaseError:
            switch error.resultCode {
            case .SQLITE_FULL: self = .full
            // The file that SQLite keeps in shared memory could not be made longer.
            case .SQLITE_IOERR where error.extendedResultCode == .SQLITE_IOERR_SHMSIZE: self = .full
            case .SQLITE_READONLY: self = .readOnly(path: path)
            case .SQLITE_BUSY, .SQLITE_LOCKED: self = .busy(path: path)
            case .SQLITE_NOTADB: self = .notADatabase(path: path)
            case .SQLITE_CORRUPT: self = .damaged(path, error.detail)
            default: self = .io(error.detail)
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

extension DatabaseError {
    /// Without the statement: it says nothing to who runs the server.
    var detail: String { "\(message ?? "no message") (SQLite \(extendedResultCode.rawValue))" }

    /// The fault of one request, which leaves the others of its group alone; any other befalls them all.
    var isOfOneRequest: Bool {
        switch resultCode {
        case .SQLITE_CONSTRAINT, .SQLITE_TOOBIG, .SQLITE_MISMATCH, .SQLITE_RANGE, .SQLITE_ERROR: true
        default: false
        }
    }

    var isFailedFlush: Bool {
        extendedResultCode == .SQLITE_IOERR_FSYNC || extendedResultCode == .SQLITE_IOERR_DIR_FSYNC
    }
}

extension Database {
    /// SQLite calls a disk full only for ENOSPC; a used-up quota or a file at its largest size is no different.
    func isOutOfRoom(_ error: any Error) -> Bool {
        guard let error = error as? DatabaseError else { return false }
        if StoreError(error, path: "") == .full { return true }
        guard error.resultCode == .SQLITE_IOERR else { return false }
        return [EDQUOT, EFBIG].contains(sqlite3_system_errno(sqliteConnection))
    }
}
