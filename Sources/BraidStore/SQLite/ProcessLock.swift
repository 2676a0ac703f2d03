import Glibc
import Synchronization

/// A lock on a file beside the database: one process at a time, until it ends, however it ends.
///
/// A file of its own, because SQLite holds POSIX locks on the database's, and a process that closes any descriptor of
/// a file drops all its POSIX locks on it. The file stays when the lock goes: removing it would let two processes hold
/// locks on two files of the same name. Only who made it, and then opened no database, takes it away again.
///
/// The database itself is locked as well, for it may have another name, and there another file beside it: by a hard
/// link, or mounted into another container.
final class ProcessLock: Sendable {
    private let path: String
    private let descriptor: CInt
    private let isNew: Bool
    /// The database's; closed only when SQLite has closed it, and then without regard to SQLite's locks.
    private let database = Mutex<CInt?>(nil)
    /// Whether a database has been made beside this file: then an empty one was emptied.
    let knowsDatabase: Bool

    /// Throws `locked`, or why the file cannot be made.
    init(database path: String) throws {
        self.path = path + "-lock"
        isNew = access(self.path, F_OK) != 0
        descriptor = open(self.path, O_RDWR | O_CREAT | O_CLOEXEC, 0o644)
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
        // Who made it has taken it away since it was opened here: the name leads to none, or to another's.
        var facts = stat()
        guard fstat(descriptor, &facts) == 0, facts.st_nlink > 0 else {
            close(descriptor)
            throw StoreError.locked(path: path, holder: nil)
        }
        knowsDatabase = words.dropFirst().first == Self.mark
        write(knowsDatabase: knowsDatabase)
    }

    /// Lets go of the locks before the files: a program that is just being started has a copy of every descriptor for a
    /// moment, and would keep what is merely closed here.
    deinit {
        if let database = database.withLock({ $0 }) {
            _ = Self.lock(database, F_UNLCK)
            close(database)
        }
        flock(descriptor, LOCK_UN)
        close(descriptor)
    }

    /// Locks the database, if it is there and can be written. Throws `locked`. While SQLite has it open in this
    /// process, the first call must have been made before.
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

    /// Locks, or unlocks, a byte far behind those that SQLite locks, for this open file and not for the process: it
    /// stays whatever else is closed.
    private static func lock(_ database: CInt, _ type: CInt) -> Bool {
        var lock = Glibc.flock()
        lock.l_type = Int16(type)
        lock.l_whence = Int16(SEEK_SET)
        lock.l_start = .max - 1
        lock.l_len = 1
        return fcntl(database, setLockOfOpenFile, &lock) == 0
    }

    /// F_OFD_SETLK of Linux' fcntl.h.
    private static let setLockOfOpenFile: CInt = 37

    /// To be called when no database was opened.
    func removeIfNew() {
        if isNew { unlink(path) }
    }

    /// To be called once the database is there.
    func rememberDatabase() { write(knowsDatabase: true) }

    private static let mark = "database"

    /// `<process id> database`. Only a help: a disk that is full makes no difference to the lock.
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
