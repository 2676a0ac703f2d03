import Glibc
import Synchronization

/// Keeps other processes away from a database until this one ends. Locks two files:
///
/// - A lock file, because closing any descriptor of the database would drop SQLite's POSIX locks. It stays: two
///   processes could otherwise lock two files of the same name. Only its maker removes it, after it opened no
///   database or was `compact`.
/// - The database, which another process may use under another name, such as a hard link or a mount in another
///   container, with another lock file.
final class ProcessLock: Sendable {
    private let path: String
    private let descriptor: CInt
    private let isNew: Bool
    /// Closed after SQLite has closed the file.
    private let database = Mutex<CInt?>(nil)
    /// There was a database before. If it is empty now, it has lost its content.
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
        // Otherwise the maker has removed the file meanwhile, and the name may lead to another.
        var status = stat()
        guard fstat(descriptor, &status) == 0, status.st_nlink > 0 else {
            close(descriptor)
            throw StoreError.locked(path: path, holder: nil)
        }
        knowsDatabase = words.dropFirst().first == Self.mark
        write(knowsDatabase: knowsDatabase)
    }

    /// Unlocks explicitly: a child process that is just starting holds copies of the descriptors.
    deinit {
        if let database = database.withLock({ $0 }) {
            _ = Self.lock(database, F_UNLCK)
            close(database)
        }
        flock(descriptor, LOCK_UN)
        close(descriptor)
    }

    /// Throws `locked` if another process has the lock. Skips a file that is missing, write-protected or already
    /// locked: closing another descriptor would drop SQLite's locks.
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

    /// Locks one byte far past those that SQLite locks, for the open file, not the process: closing another descriptor
    /// does not drop it.
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

    // Linux's fcntl.h.
    private static let getLockOfOpenFile: CInt = 36
    private static let setLockOfOpenFile: CInt = 37

    /// Throws `usedByOtherName` if the database is locked, but not the lock file of this name. Call it before SQLite
    /// opens the file.
    static func refuseOtherName(of path: String) throws {
        let path = SQLiteOpening.followingLink(path)
        let database = open(path, O_RDONLY | O_CLOEXEC)
        guard database >= 0 else { return }
        defer { close(database) }
        var lock = lock(F_WRLCK)
        guard fcntl(database, getLockOfOpenFile, &lock) == 0, lock.l_type != Int16(F_UNLCK) else { return }
        let file = open(path + "-lock", O_RDONLY | O_CLOEXEC)
        // It may be the server's, which this user may not open.
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

    /// May fail on a full disk; the lock works without.
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

/// Notices that a database's open files were removed or replaced. They still accept writes, which the next start would
/// not find.
struct OpenFiles {
    private let files: [(path: String, status: stat)]

    init(database path: String) {
        files = [path, path + "-wal"].compactMap { path in fileStatus(path).map { (path, $0) } }
    }

    var displaced: String? {
        files.first { path, opened in
            guard let found = fileStatus(path) else { return true }
            return found.st_dev != opened.st_dev || found.st_ino != opened.st_ino
        }?.path
    }
}
