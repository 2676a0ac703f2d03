import Glibc
import Synchronization

/// A lock on a file next to the database, which one process at a time holds until it ends.
///
/// A file of its own, because closing any descriptor of the database drops SQLite's POSIX locks on it. The file stays:
/// were it removed, two processes could lock two files of the same name. Only its maker removes it, if it then opened no
/// database or was the command `compact`.
///
/// The database file is locked as well, because another process may use it under another name, such as a hard link or a
/// mount in another container, with another lock file.
final class ProcessLock: Sendable {
    private let path: String
    private let descriptor: CInt
    private let isNew: Bool
    /// The descriptor of the locked database file, which must be closed after SQLite has closed the file.
    private let database = Mutex<CInt?>(nil)
    /// Whether a database existed next to the lock file. If it is empty now, it has lost its content.
    let knowsDatabase: Bool

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
        // Otherwise the process that made the file has removed it meanwhile, and its name may lead to another file.
        var status = stat()
        guard fstat(descriptor, &status) == 0, status.st_nlink > 0 else {
            close(descriptor)
            throw StoreError.locked(path: path, holder: nil)
        }
        knowsDatabase = words.dropFirst().first == Self.mark
        write(knowsDatabase: knowsDatabase)
    }

    /// Releases the locks explicitly: a program that this process is just starting has copies of the descriptors for a
    /// moment, which would keep the locks.
    deinit {
        if let database = database.withLock({ $0 }) {
            _ = Self.lock(database, F_UNLCK)
            close(database)
        }
        flock(descriptor, LOCK_UN)
        close(descriptor)
    }

    /// Locks the database file if it exists and can be written. Throws `locked` if another process has locked it. Does
    /// nothing once it is locked, because closing another descriptor would drop SQLite's locks.
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

    /// Locks or unlocks one byte far behind those that SQLite locks. This lock belongs to the open file, not to the
    /// process, so closing another descriptor does not drop it.
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

    // F_OFD_GETLK and F_OFD_SETLK of Linux's fcntl.h.
    private static let getLockOfOpenFile: CInt = 36
    private static let setLockOfOpenFile: CInt = 37

    /// Throws `usedByOtherName` if the database file is locked, but not the lock file next to this name. Must be called
    /// before SQLite opens the file.
    static func refuseOtherName(of path: String) throws {
        let path = SQLiteOpening.followingLink(path)
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

    func removeIfNew() {
        if isNew { unlink(path) }
    }

    func rememberDatabase() { write(knowsDatabase: true) }

    private static let mark = "database"

    /// Writes this process's ID, and the word `database` if there is one. Fails on a full disk, but the lock works
    /// without content.
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

/// The database file and its log as the server opened them. If they are removed or replaced, the opened files still
/// accept writes that the next start would not find.
struct OpenFiles {
    private let files: [(path: String, status: stat)]

    init(database path: String) {
        files = [path, path + "-wal"].compactMap { path in fileStatus(path).map { (path, $0) } }
    }

    /// The path of a file that was removed, replaced or renamed.
    var displaced: String? {
        files.first { path, opened in
            guard let found = fileStatus(path) else { return true }
            return found.st_dev != opened.st_dev || found.st_ino != opened.st_ino
        }?.path
    }
}
