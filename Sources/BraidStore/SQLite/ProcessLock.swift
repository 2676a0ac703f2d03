import Foundation

/// A lock on a file beside the database: one process at a time, until it ends, however it ends.
///
/// A file of its own, because SQLite holds POSIX locks on the database's, and a process that closes any descriptor of
/// a file drops all its POSIX locks on it. The file stays when the lock goes: removing it would let two processes hold
/// locks on two files of the same name.
final class ProcessLock: Sendable {
    private let descriptor: CInt
    /// Whether a database has been made beside this file: then an empty one was emptied.
    let knowsDatabase: Bool

    /// Throws `locked`, or why the file cannot be made.
    init(database path: String) throws {
        descriptor = open(path + "-lock", O_RDWR | O_CREAT | O_CLOEXEC, 0o644)
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
        knowsDatabase = words.dropFirst().first == Self.mark
        write(knowsDatabase: knowsDatabase)
    }

    deinit { close(descriptor) }

    /// To be called once the database is there.
    func rememberDatabase() { write(knowsDatabase: true) }

    private static let mark = "database"

    /// `<process id> database`. Only a help: a disk that is full makes no difference to the lock.
    private func write(knowsDatabase: Bool) {
        let text = "\(getpid())" + (knowsDatabase ? " \(Self.mark)\n" : "\n")
        if pwrite(descriptor, text, text.utf8.count, 0) == text.utf8.count { ftruncate(descriptor, off_t(text.utf8.count)) }
    }

    private static func words(in descriptor: CInt) -> [String] {
        var bytes = [UInt8](repeating: 0, count: 64)
        let count = pread(descriptor, &bytes, bytes.count, 0)
        return String(decoding: bytes.prefix(max(0, count)), as: UTF8.self).split(whereSeparator: \.isWhitespace).map(String.init)
    }
}
