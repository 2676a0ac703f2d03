import Glibc

/// The writer's knowledge of whether the disk has room.
///
/// When the disk is full, the reserve file is deleted, and only writes that make room are performed. All writes are
/// performed again when the reserve can be made again, or when deletes have left enough unused pages in the database.
/// Without a reserve, every write finds out for itself whether the disk has room.
struct DiskRoom {
    private let reserve: ReserveFile?
    private var isOut = false
    private var nextTry = ContinuousClock.now

    init(reserve: ReserveFile?) { self.reserve = reserve }

    /// Makes the reserve file. Without room for the file, the disk is full.
    mutating func prepare() { isOut = reserve.map { !$0.make() } ?? false }

    /// Returns whether the disk is short of room. Tries, once a second at most, to make the reserve again.
    ///
    /// `unused` returns the number of unused bytes in the database. If it is twice the size of the reserve, there is
    /// room enough. The log has the room in which the reserve was.
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

    /// Lets the next write look for room at once, because something was deleted.
    mutating func retry() { nextTry = .now }
}

extension DiskRoom {
    /// Returns whether a log of `pages` pages should be copied into the database. A log of `limit` pages always should.
    ///
    /// While the log is copied, the database can grow by the size of the log. If the disk has little room, the log is
    /// therefore limited to half of the reserve. A log of this size can be copied even when the disk is full.
    func isLong(log pages: Int, limit: Int, at path: String) -> Bool {
        if pages >= limit { return true }
        let page = 4096
        guard let reserve, pages >= reserve.size / page / 2 else { return false }
        var facts = statvfs()
        return statvfs(path, &facts) == 0 && Int(facts.f_bavail) * Int(facts.f_frsize) < 4 * limit * page
    }
}
