import BraidRuntime
import Glibc

/// A new file that gets its final name PATH only when the file is complete and on disk. Before that, the file's name is
/// `PATH-partial`.
///
/// A `NewFile` does not replace a file that exists when the `NewFile` is created. It replaces a file that is created
/// later only if the file system has no hard links. If `finish` is not called or fails, the partial file is removed,
/// unless the process is killed. Only the file's owner can read the file, because the data of sessions is confidential.
package final class NewFile {
    package let path: String
    package let partial: String
    /// The descriptor of the locked file `PATH-partial`. This descriptor is closed last, because closing any descriptor
    /// of the file also drops SQLite's locks on the file.
    private let descriptor: CInt
    /// Whether this object must not remove the partial file, because the file has its final name, could not be opened,
    /// or belongs to another process.
    private var isFinished = false

    /// Creates the file `PATH-partial`, and locks it against other processes that write a file of the same name. If a
    /// killed process has left such a file, this file is reused.
    ///
    /// - Parameter isDatabase: whether the file will be an SQLite database. If so, the initializer also throws if an
    ///   old write-ahead log PATH-wal with content exists, which would damage the new database.
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
        // If the name `…-partial` no longer leads to the opened file, another process has finished or removed the file
        // in the meantime.
        guard flock(descriptor, LOCK_EX | LOCK_NB) == 0 || errno != EWOULDBLOCK, fstat(descriptor, &own) == 0,
            stat(partial, &named) == 0, own.st_ino == named.st_ino, own.st_nlink == 1,
            ftruncate(descriptor, 0) == 0
        else {
            isFinished = true  // The partial file belongs to another process, so this object must not remove it.
            throw StoreError.exists(path: partial)
        }
    }

    deinit {
        if !isFinished { for suffix in ["-journal", "-wal", "-shm", ""] { unlink(partial + suffix) } }
        if descriptor >= 0 { close(descriptor) }
    }

    /// Appends bytes to the partial file.
    package func write(_ bytes: [UInt8]) throws {
        lseek(descriptor, 0, SEEK_END)
        guard Files.write(bytes, to: descriptor) else { throw StoreError.writing(partial, errno) }
    }

    /// Flushes the file to disk and gives it its final name. The method uses `link` because `rename` would replace a
    /// file that another program has created with this name.
    package func finish() throws {
        guard fsync(descriptor) == 0 else { throw StoreError.writing(partial, errno) }
        if link(partial, path) == 0 {
            unlink(partial)
        } else if errno == EEXIST {
            throw StoreError.exists(path: path)
        } else if Glibc.rename(partial, path) != 0 {  // `rename` also works on file systems without hard links.
            throw StoreError.writing(path, errno)
        }
        isFinished = true
        let directory = open(Self.directory(of: path), O_RDONLY | O_DIRECTORY | O_CLOEXEC)
        // If this process cannot open the directory for reading, the method returns without flushing the directory.
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
    /// Creates the error for a file that cannot be written, from the value of `errno`.
    static func writing(_ path: String, _ error: CInt) -> StoreError {
        [ENOSPC, EDQUOT, EFBIG].contains(error)
            ? .noRoom(path: path) : .io("\(path): \(String(cString: strerror(error)))")
    }
}
