import Glibc

/// Knows whether the disk has enough free space for the SQLite writer.
///
/// When the disk is full, the writer deletes the reserve file (see `ReserveFile`). From then on, the writer performs
/// only requests that make room, such as deletes. It performs all requests again when it could write the reserve file
/// again, or when deletes have left enough unused pages in the database. Without a reserve file, the writer tries every
/// write, and the write fails if the disk is full.
struct DiskRoom {
    private let reserve: ReserveFile?
    private var isOut = false
    private var nextTry = ContinuousClock.now

    init(reserve: ReserveFile?) { self.reserve = reserve }

    /// Makes the reserve file. If that fails, the disk counts as full.
    mutating func prepare() { isOut = reserve.map { !$0.make() } ?? false }

    /// Returns whether the disk has too little free space for all requests. If the disk was full, the method tries to
    /// make the reserve file again, at most once a second or after a call of `retry`.
    ///
    /// `unused` returns the number of unused bytes in the database. If this number is at least twice the size of the
    /// reserve file, the disk does not count as short of space. The database then need not grow, and the write-ahead
    /// log can use the room of the deleted reserve file.
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

    /// Lets the next call of `isShort` try to make the reserve file at once. Called after deletes, which may have made
    /// room.
    mutating func retry() { nextTry = .now }
}

extension DiskRoom {
    /// Returns whether the writer should copy its write-ahead log of `pages` pages into the database now. If the log
    /// has at least `limit` pages, the result is always `true`.
    ///
    /// While the log is copied, the database can grow by the size of the log. With a reserve file and little free disk
    /// space, the result is therefore already `true` for a log of half that file's size. A log of this size can be
    /// copied even when the disk is full.
    func isLong(log pages: Int, limit: Int, at path: String) -> Bool {
        if pages >= limit { return true }
        let page = 4096
        guard let reserve, pages >= reserve.size / page / 2, let space = DiskSpace(of: path) else { return false }
        return space.free < 4 * limit * page
    }
}

extension DiskSpace {
    /// Reads the size and the free space of the file system that contains the given file. `nil` if this fails, for
    /// example because the file does not exist.
    init?(of path: String) {
        var facts = statvfs()
        guard statvfs(path, &facts) == 0 else { return nil }
        self.init(size: Int(facts.f_blocks) * Int(facts.f_frsize), free: Int(facts.f_bavail) * Int(facts.f_frsize))
    }
}
