import BraidRuntime
import Glibc

/// A file, for its owner only, that is `PATH-partial` until it is complete and on disk. Replaces nothing, except what
/// appears meanwhile on a file system without hard links. Without `finish`, `deinit` removes it.
package final class NewFile {
    package let path: String
    package let partial: String
    /// Closed last: closing any descriptor drops SQLite's locks.
    private let descriptor: CInt
    /// Also true if the partial file is another process's or could not be opened: `deinit` leaves it.
    private var isFinished = false

    /// Reuses what a killed process has left, but no write-ahead log, which would damage a database.
    package init(_ path: String, isDatabase: Bool) throws {
        self.path = path
        partial = path + "-partial"
        guard access(path, F_OK) != 0 else { throw StoreError.exists(path: path) }
        if isDatabase, fileSize(path + "-wal") ?? 0 > 0 { throw StoreError.exists(path: path + "-wal") }
        descriptor = open(partial, O_RDWR | O_CREAT | O_CLOEXEC, 0o600)
        guard descriptor >= 0 else {
            isFinished = true
            throw errno == ENOENT
                ? StoreError.io("there is no directory \(Self.directory(of: path)); create it first")
                : .writing(partial, errno)
        }
        var own = stat(), named = stat()
        // Another process may have finished or removed the file meanwhile.
        guard flock(descriptor, LOCK_EX | LOCK_NB) == 0 || errno != EWOULDBLOCK, fstat(descriptor, &own) == 0,
            stat(partial, &named) == 0, own.st_ino == named.st_ino, own.st_nlink == 1,
            ftruncate(descriptor, 0) == 0
        else {
            isFinished = true
            throw StoreError.exists(path: partial)
        }
    }

    deinit {
        if !isFinished { for suffix in ["-journal", "-wal", "-shm", ""] { unlink(partial + suffix) } }
        if descriptor >= 0 { close(descriptor) }
    }

    package func write(_ bytes: [UInt8]) throws {
        lseek(descriptor, 0, SEEK_END)
        guard Files.write(bytes, to: descriptor) else { throw StoreError.writing(partial, errno) }
    }

    /// Gives the file its name by `link`, because `rename` would replace another program's file.
    package func finish() throws {
        guard fsync(descriptor) == 0 else { throw StoreError.writing(partial, errno) }
        if link(partial, path) == 0 {
            unlink(partial)
        } else if errno == EEXIST {
            throw StoreError.exists(path: path)
        } else if Glibc.rename(partial, path) != 0 {  // without hard links
            throw StoreError.writing(path, errno)
        }
        isFinished = true
        let directory = open(Self.directory(of: path), O_RDONLY | O_DIRECTORY | O_CLOEXEC)
        // An unreadable directory cannot be flushed.
        guard directory >= 0 else { return }
        defer { close(directory) }
        guard fsync(directory) == 0 else { throw StoreError.writing(path, errno) }
    }

    private static func directory(of path: String) -> String {
        guard let slash = path.utf8.lastIndex(of: UInt8(ascii: "/")) else { return "." }
        return slash == path.startIndex ? "/" : String(path[..<slash])
    }
}

extension StoreError {
    static func writing(_ path: String, _ error: CInt) -> StoreError {
        [ENOSPC, EDQUOT, EFBIG].contains(error)
            ? .noRoom(path: path) : .io("\(path): \(String(cString: strerror(error)))")
    }
}

/// Does not open the file: closing would drop SQLite's locks.
func fileStatus(_ path: String) -> stat? {
    var status = stat()
    return stat(path, &status) == 0 ? status : nil
}

func fileSize(_ path: String) -> Int? { fileStatus(path).map { Int($0.st_size) } }
