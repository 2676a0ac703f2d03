import Glibc

/// Knows whether the disk has room for all writes.
///
/// When the disk is full, the reserve file is deleted, and from then on only requests that make room are performed,
/// until the file could be made again or deletes have left enough unused pages in the database. Without a reserve file,
/// every write is tried.
struct DiskRoom {
    private let reserve: ReserveFile?
    private var isOut = false
    private var nextTry = ContinuousClock.now

    init(reserve: ReserveFile?) { self.reserve = reserve }

    mutating func prepare() { isOut = reserve.map { !$0.make() } ?? false }

    /// Tries to make the reserve file again, at most once a second or after `retry`.
    ///
    /// - Parameter unused: the unused bytes in the database. With twice the reserve file's size, the database need not
    ///   grow, and the log can use the room of the deleted file.
    mutating func isShort(unused: () -> Int) -> Bool {
        guard isOut, let reserve else { return isOut }
        if ContinuousClock.now >= nextTry {
            isOut = !reserve.make()
            nextTry = .now + .seconds(1)
        }
        return isOut && unused() < 2 * reserve.size
    }

    mutating func isFull() {
        guard let reserve else { return }
        reserve.release()
        isOut = true
        nextTry = .now + .seconds(1)
    }

    mutating func retry() { nextTry = .now }

    /// Whether a write-ahead log of `pages` pages should be copied into the database now.
    ///
    /// The database can grow by the size of the log meanwhile. With little free space, a log of half the reserve file's
    /// size counts as long, because it can be copied even when the disk is full.
    func isLong(log pages: Int, limit: Int, at path: String) -> Bool {
        if pages >= limit { return true }
        let page = 4096
        guard let reserve, pages >= reserve.size / page / 2, let space = DiskSpace(of: path) else { return false }
        return space.free < 4 * limit * page
    }
}

/// A file that only occupies room, which its removal frees for requests that make more room.
struct ReserveFile {
    let path: String
    let size: Int

    var isInPlace: Bool { fileSize(path) == size }

    /// Makes the file if it does not exist, and returns whether it has its full size.
    ///
    /// Writes twice the size and then shortens the file: a disk with room only for the file itself counts as full.
    func make() -> Bool {
        if isInPlace { return true }
        let descriptor = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0o600)
        guard descriptor >= 0 else { return false }
        defer { close(descriptor) }
        // Not every file system supports `posix_fallocate`, and on some it would write the bytes itself.
        let block = [UInt8](repeating: 0, count: 1 << 16)
        var written = 0
        while written < 2 * size {
            let count = block.withUnsafeBytes { write(descriptor, $0.baseAddress, min($0.count, 2 * size - written)) }
            guard count > 0 else { break }
            written += count
        }
        if written == 2 * size, fsync(descriptor) == 0, ftruncate(descriptor, off_t(size)) == 0 { return true }
        unlink(path)
        return false
    }

    func release() { unlink(path) }
}

extension DiskSpace {
    /// The file system that contains a file, or `nil` if it cannot be asked.
    init?(of path: String) {
        var status = statvfs()
        guard statvfs(path, &status) == 0 else { return nil }
        self.init(size: Int(status.f_blocks) * Int(status.f_frsize), free: Int(status.f_bavail) * Int(status.f_frsize))
    }
}
