import Glibc
import Synchronization

/// A lock on a file next to the database, which only one process at a time can hold. The lock ends with the process,
/// however the process ends.
///
/// The lock has a separate file, because SQLite holds POSIX locks on the database file. A process that closes any
/// descriptor of a file drops all its POSIX locks on that file. The lock file stays after the lock ends. If it were
/// removed, two processes could lock two different files of the same name. Only a process that made the lock file
/// removes it: a server that then opened no database, or the command `compact`.
///
/// The database file itself is locked as well. Another process may use the database under another name, for example a
/// hard link or a mount in another container. Another lock file can be next to that name.
final class ProcessLock: Sendable {
    private let path: String
    private let descriptor: CInt
    private let isNew: Bool
    /// The descriptor of the locked database file. It must be closed only after SQLite has closed the file, because
    /// closing it earlier would drop SQLite's locks.
    private let database = Mutex<CInt?>(nil)
    /// Whether the lock file says that a database existed next to it. If so, and the database file is empty now, the
    /// database has lost its content.
    let knowsDatabase: Bool

    /// Creates and locks the lock file. Throws `locked` if another process holds the lock, or another `StoreError` if
    /// the lock file cannot be made.
    init(database path: String) throws {
        self.path = path + "-lock"
        isNew = access(self.path, F_OK) != 0
        descriptor = open(self.path, O_RDWR | O_CREAT | O_CLOEXEC, 0o600)
        guard descriptor >= 0 else {
            switch errno {
            case EACCES, EPERM, EROFS: throw StoreError.readOnly(path: path)
            case ENOSPC, EDQUOT: throw StoreError.full
            default: throw StoreError.io("\(path)-lock: \(String(cString: strerror(errno)))")
            }
        }
        let words = Self.words(in: descriptor)
        guard flock(descriptor, LOCK_EX | LOCK_NB) == 0 else {
            let isHeld = errno == EWOULDBLOCK
            let reason = String(cString: strerror(errno))
            close(descriptor)
            throw isHeld ? StoreError.locked(path: path, holder: words.first) : .io("\(path)-lock: \(reason)")
        }
        // If this check fails, the opened lock file no longer has its name, because the process that made the file has
        // removed it in the meantime. The name now leads to no file, or to another process's lock file.
        var facts = stat()
        guard fstat(descriptor, &facts) == 0, facts.st_nlink > 0 else {
            close(descriptor)
            throw StoreError.locked(path: path, holder: nil)
        }
        knowsDatabase = words.dropFirst().first == Self.mark
        write(knowsDatabase: knowsDatabase)
    }

    /// Releases the locks before closing the files. If this process is just starting another program, that program has
    /// a copy of every descriptor for a moment. Without the release, these copies would keep the locks.
    deinit {
        if let database = database.withLock({ $0 }) {
            _ = Self.lock(database, F_UNLCK)
            close(database)
        }
        flock(descriptor, LOCK_UN)
        close(descriptor)
    }

    /// Locks the database file, if the file exists and can be written. Throws `locked` if another process has locked
    /// the file. Once the file is locked, a further call does nothing, because opening and closing the file again
    /// would drop SQLite's locks.
    func lockDatabase(_ path: String) throws {
        try database.withLock { database in
            guard database == nil else { return }
            let opened = open(path, O_RDWR | O_CLOEXEC)
            guard opened >= 0 else { return }
            guard Self.lock(opened, F_WRLCK) || ![EAGAIN, EACCES].contains(errno) else {
                close(opened)
                throw StoreError.locked(path: path, holder: nil)
            }
            database = opened
        }
    }

    /// Locks or unlocks one byte of the database file, far behind the bytes that SQLite locks. This lock belongs to the
    /// open file, not to the process. So closing another descriptor of the file does not drop this lock.
    private static func lock(_ database: CInt, _ type: CInt) -> Bool {
        var lock = lock(type)
        return fcntl(database, setLockOfOpenFile, &lock) == 0
    }

    private static func lock(_ type: CInt) -> Glibc.flock {
        var lock = Glibc.flock()
        lock.l_type = Int16(type)
        lock.l_whence = Int16(SEEK_SET)
        lock.l_start = .max - 1
        lock.l_len = 1
        return lock
    }

    // The constants F_OFD_GETLK and F_OFD_SETLK of Linux's fcntl.h, for locks that belong to an open file.
    private static let getLockOfOpenFile: CInt = 36
    private static let setLockOfOpenFile: CInt = 37

    /// Throws `usedByOtherName` if the database file is locked, but not the lock file next to the given name. Must be
    /// called before SQLite opens the file, because closing a descriptor drops SQLite's locks.
    static func refuseOtherName(of path: String) throws {
        let path = Opening(path: path, options: SQLiteStoreOptions()).path
        let database = open(path, O_RDONLY | O_CLOEXEC)
        guard database >= 0 else { return }
        defer { close(database) }
        var lock = lock(F_WRLCK)
        guard fcntl(database, getLockOfOpenFile, &lock) == 0, lock.l_type != Int16(F_UNLCK) else { return }
        let file = open(path + "-lock", O_RDONLY | O_CLOEXEC)
        // A lock file that this user may not open can be the server's.
        guard file >= 0 || errno == ENOENT else { return }
        defer { if file >= 0 { close(file) } }
        if file >= 0, flock(file, LOCK_SH | LOCK_NB) != 0 { return }
        throw StoreError.usedByOtherName(path: path)
    }

    /// Removes the lock file if this process has made it. Called when the database could not be opened, and at the end
    /// of the command `compact`.
    func removeIfNew() {
        if isNew { unlink(path) }
    }

    /// Writes into the lock file that a database exists next to it. Called after the database was opened.
    func rememberDatabase() { write(knowsDatabase: true) }

    private static let mark = "database"

    /// Writes this process's ID into the lock file, followed by the word `database` if a database exists. This write
    /// fails on a full disk, but the lock works without the file's content.
    private func write(knowsDatabase: Bool) {
        let text = "\(getpid())" + (knowsDatabase ? " \(Self.mark)\n" : "\n")
        if pwrite(descriptor, text, text.utf8.count, 0) == text.utf8.count {
            ftruncate(descriptor, off_t(text.utf8.count))
        }
    }

    private static func words(in descriptor: CInt) -> [String] {
        var bytes = [UInt8](repeating: 0, count: 64)
        let count = pread(descriptor, &bytes, bytes.count, 0)
        return String(decoding: bytes.prefix(max(0, count)), as: UTF8.self).split(whereSeparator: \.isWhitespace).map(
            String.init)
    }
}
