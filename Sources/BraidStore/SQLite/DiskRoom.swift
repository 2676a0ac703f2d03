import Glibc

/// Whether the disk has room, as the writer sees it.
///
/// When it has none the reserve is given back, and only what makes room is let through to it: until the reserve can be
/// made again, or so much was deleted that the database has room within itself. Without a reserve every write finds out
/// for itself.
struct DiskRoom {
    private let reserve: ReserveFile?
    private var isOut = false
    private var nextTry = ContinuousClock.now

    init(reserve: ReserveFile?) {
        self.reserve = reserve
        isOut = reserve.map { !$0.make() } ?? false
    }

    /// Tries, once a second at most, to make the reserve again.
    ///
    /// `unused`: bytes of the database that nothing is stored in. Twice the reserve of them is room enough, like on the
    /// disk; what the log needs is where the reserve was.
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

    /// Something was deleted: the next write may find room.
    mutating func retry() { nextTry = .now }
}

extension DiskRoom {
    /// Whether it is time to copy a log of so many pages into the database; at `limit` it always is.
    ///
    /// The database may have to grow by as much for that, while the log is still there. Where the disk has little room,
    /// the log is therefore kept to half of the reserve, so that it can be copied on the day that there is none.
    func isLong(log pages: Int, limit: Int, at path: String) -> Bool {
        if pages >= limit { return true }
        let page = 4096
        guard let reserve, pages >= reserve.size / page / 2 else { return false }
        var facts = statvfs()
        return statvfs(path, &facts) == 0 && Int(facts.f_bavail) * Int(facts.f_frsize) < 4 * limit * page
    }
}
