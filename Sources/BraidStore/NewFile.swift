import BraidRuntime
import Glibc

/// A file that gets its name only when it is complete and on disk. Until then, its name is PATH-partial.
///
/// A `NewFile` replaces no file. If it is not finished, it leaves nothing behind. Only its owner can read it, because
/// sessions are confidential.
package final class NewFile {
    package let path: String
    package let partial: String
    /// The open, locked partial file. It is closed last, because closing it also drops SQLite's locks on this file.
    private let descriptor: CInt
    /// Whether this object must not remove the partial file.
    private var isFinished = false

    /// Creates the partial file, and locks it against other processes that write a file of the same name. A partial
    /// file that a killed process has left is reused.
    ///
    /// - Parameter isDatabase: whether the file will be a database, so that an old write-ahead log of that name would
    ///   damage it.
    package init(_ path: String, isDatabase: Bool) throws {
        self.path = path
        partial = path + "-partial"
        guard access(path, F_OK) != 0 else { throw StoreError.exists(path: path) }
        var log = stat()
        if isDatabase, stat(path + "-wal", &log) == 0, log.st_size > 0 { throw StoreError.exists(path: path + "-wal") }
        descriptor = open(partial, O_RDWR | O_CREAT | O_CLOEXEC, 0o600)
        guard descriptor >= 0 else {
            isFinished = true
            throw StoreError.writing(partial, errno)
        }
        var own = stat(), named = stat()
        // If the opened file has lost its name `…-partial` in the meantime, it is the finished file of another process.
        guard flock(descriptor, LOCK_EX | LOCK_NB) == 0 || errno != EWOULDBLOCK, fstat(descriptor, &own) == 0,
            stat(partial, &named) == 0, own.st_ino == named.st_ino, own.st_nlink == 1,
            ftruncate(descriptor, 0) == 0
        else {
            isFinished = true  // The partial file belongs to another process.
            throw StoreError.exists(path: partial)
        }
    }

    deinit {
        if !isFinished { for suffix in ["-journal", "-wal", "-shm", ""] { unlink(partial + suffix) } }
        if descriptor >= 0 { close(descriptor) }
    }

    /// Appends bytes to the file.
    package func write(_ bytes: [UInt8]) throws {
        lseek(descriptor, 0, SEEK_END)
        guard Files.write(bytes, to: descriptor) else { throw StoreError.writing(partial, errno) }
    }

    /// Flushes the file to disk and gives it its name. `link`, unlike `rename`, replaces no file that another program
    /// has created with this name.
    package func finish() throws {
        guard fsync(descriptor) == 0 else { throw StoreError.writing(partial, errno) }
        if link(partial, path) == 0 {
            unlink(partial)
        } else if errno == EEXIST {
            throw StoreError.exists(path: path)
        } else if Glibc.rename(partial, path) != 0 {  // The file system has no hard links.
            throw StoreError.writing(path, errno)
        }
        isFinished = true
        let directory = open(Self.directory(of: path), O_RDONLY | O_DIRECTORY | O_CLOEXEC)
        guard directory >= 0 else { return }  // The directory may be written, but not read.
        defer { close(directory) }
        guard fsync(directory) == 0 else { throw StoreError.writing(path, errno) }
    }

    private static func directory(of path: String) -> String {
        guard let slash = path.utf8.lastIndex(of: UInt8(ascii: "/")) else { return "." }
        return slash == path.startIndex ? "/" : String(path[..<slash])
    }
}

extension StoreError {
    /// Creates the error of a file that cannot be written, from `errno`.
    static func writing(_ path: String, _ error: CInt) -> StoreError {
        [ENOSPC, EDQUOT, EFBIG].contains(error)
            ? .noRoom(path: path) : .io("\(path): \(String(cString: strerror(error)))")
    }
}
