import Glibc

/// When the disk is full, the reserve file is deleted. Then only requests that make room run, until the file can be
/// made again or deletes have left enough unused pages. Without a reserve file, every write is tried.
struct DiskRoom {
    private let reserve: ReserveFile?
    private var isOut = false
    private var nextTry = ContinuousClock.now

    init(reserve: ReserveFile?) { self.reserve = reserve }

    mutating func prepare() { isOut = reserve.map { !$0.make() } ?? false }

    /// Whether only requests that make room may run. Tries to make the file, at most once a second or after `retry`.
    /// With twice its size `unused`, the database need not grow, and the log has the deleted file's room.
    mutating func isShort(unused: () -> Int) -> Bool {
        guard isOut, let reserve else { return isOut }
        if ContinuousClock.now >= nextTry {
            isOut = !reserve.make()
            nextTry = .now + .seconds(1)
        }
        return isOut && unused() < 2 * reserve.size
    }

    /// Call it when a write has found the disk full.
    mutating func isFull() {
        guard let reserve else { return }
        reserve.release()
        isOut = true
        nextTry = .now + .seconds(1)
    }

    mutating func retry() { nextTry = .now }

    /// The database can grow by the log that is copied into it. With little free space, a log of half the reserve
    /// file's size is long: it can be copied even on a full disk.
    func isLong(log pages: Int, limit: Int, at path: String) -> Bool {
        if pages >= limit { return true }
        let page = 4096
        guard let reserve, pages >= reserve.size / page / 2, let space = DiskSpace(of: path) else { return false }
        return space.free < 4 * limit * page
    }
}

/// A file that occupies room, which its removal frees for requests that make more.
struct ReserveFile {
    let path: String
    let size: Int

    var isInPlace: Bool { fileSize(path) == size }

    /// Returns whether the file has its full size. Writes twice as much first, so that a disk with room only for the
    /// file counts as full.
    func make() -> Bool {
        if isInPlace { return true }
        let descriptor = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0o600)
        guard descriptor >= 0 else { return false }
        defer { close(descriptor) }
        // Not every file system has `posix_fallocate`, and some would write the bytes themselves.
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
    init?(of path: String) {
        var status = statvfs()
        guard statvfs(path, &status) == 0 else { return nil }
        self.init(size: Int(status.f_blocks) * Int(status.f_frsize), free: Int(status.f_bavail) * Int(status.f_frsize))
    }
}
