/// Whether the disk has room, as the writer sees it.
///
/// When it has none the reserve is given back, and only what makes room is let through to it, until the reserve can be
/// made again. Without a reserve every write finds out for itself.
struct DiskRoom {
    private let reserve: ReserveFile?
    private var isOut = false
    private var nextTry = ContinuousClock.now

    init(reserve: ReserveFile?) {
        self.reserve = reserve
        isOut = reserve.map { !$0.make() } ?? false
    }

    /// Tries, once a second at most, to make the reserve again.
    mutating func isShort() -> Bool {
        guard isOut, let reserve, ContinuousClock.now >= nextTry else { return isOut }
        isOut = !reserve.make()
        nextTry = .now + .seconds(1)
        return isOut
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
