import Synchronization

/// What there is only so much of: bytes of memory, requests under way, subscribers. Shared by all who take of it.
final class Budget: Sendable {
    let limit: Int
    private let used = Atomic<Int>(0)

    init(_ limit: Int) { self.limit = limit }

    /// How much is taken.
    var taken: Int { used.load(ordering: .relaxed) }
    /// Whether more than half is taken.
    var isShort: Bool { taken > limit / 2 }

    /// Whether so much could be had now: the first may have more than there is, or one that is too large would never get it.
    func has(_ amount: Int) -> Bool { has(amount, beside: taken) }

    private func has(_ amount: Int, beside taken: Int) -> Bool { taken == 0 || amount <= limit - taken }

    /// Nil when it is used up. Given back with the share.
    func share(_ amount: Int = 1) -> Share? {
        let share = Share(of: self)
        return share.grow(to: amount) ? share : nil
    }

    fileprivate func take(_ amount: Int) -> Bool {
        // Never taken and given back where there is not so much: who asks for less at that moment would be refused, too.
        var before = taken
        while has(amount, beside: before) {
            let (isTaken, present) = used.weakCompareExchange(expected: before, desired: before + amount, ordering: .relaxed)
            if isTaken { return true }
            before = present
        }
        return false
    }

    fileprivate func give(_ amount: Int) { used.subtract(amount, ordering: .relaxed) }

    /// Somebody's part of a budget, given back when nobody holds it any more at the latest.
    final class Share: Sendable {
        private let budget: Budget
        private let amount = Atomic<Int>(0)

        init(of budget: Budget) { self.budget = budget }
        deinit { giveBack() }

        /// At once, whoever still holds the share.
        func giveBack() { budget.give(amount.exchange(0, ordering: .relaxed)) }

        /// One caller at a time. False, and as it was: there is not so much.
        func grow(to wanted: Int) -> Bool {
            let missing = wanted - amount.load(ordering: .relaxed)
            guard missing > 0 else { return true }
            guard budget.take(missing) else { return false }
            amount.store(wanted, ordering: .relaxed)
            return true
        }
    }
}
