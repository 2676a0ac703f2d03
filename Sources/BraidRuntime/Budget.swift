import Synchronization

/// A limited amount of something that requests share: bytes of memory, requests under way, subscribers.
///
/// One resource (here: a session) and one client (here: a token) can hold a share of it at most, so that neither can
/// take what the others need.
public final class Budget: Sendable {
    /// Who holds a lease. Nil: not counted against a share.
    public struct Account: Sendable, Hashable {
        public var resource: String?
        public var client: String?

        public init(resource: String? = nil, client: String? = nil) {
            self.resource = resource
            self.client = client
        }
    }

    /// Why a lease was refused.
    public enum Refusal: Error, Sendable {
        /// The budget is used up.
        case budget
        /// The account has its share of the budget already.
        case share
    }

    public let limit: Int
    /// The most that one resource can hold, and the most that one client can hold.
    public let resourceShare: Int
    public let clientShare: Int
    private let used = Atomic<Int>(0)
    private let held = Mutex<[Account: Int]>([:])

    /// Shares are parts of the limit: 2 is a half of it.
    public init(_ limit: Int, resourcePart: Int = 1, clientPart: Int = 1) {
        self.limit = limit
        resourceShare = max(1, limit / resourcePart)
        clientShare = max(1, limit / clientPart)
    }

    /// How much is leased.
    public var taken: Int { used.load(ordering: .relaxed) }
    /// Whether more than half is leased.
    public var isShort: Bool { taken > limit / 2 }

    /// Whether the amount could be leased now, shares aside.
    public func has(_ amount: Int) -> Bool { Self.fits(amount, own: 0, taken: taken, limit) }

    /// A lease of the amount. It ends when nobody holds it, or with `end()`.
    public func lease(_ amount: Int = 1, to account: Account = Account()) throws(Refusal) -> Lease {
        let lease = Lease(of: self, to: account)
        try lease.grow(to: amount)
        return lease
    }

    /// A single lease may be larger than the limit, or than its share: otherwise it would never be granted.
    ///
    /// - Parameter own: the part of `taken` that the lease has already.
    private static func fits(_ amount: Int, own: Int, taken: Int, _ limit: Int) -> Bool {
        taken == own || amount <= limit - taken
    }

    fileprivate func take(_ amount: Int, own: Int, for account: Account) throws(Refusal) {
        guard charge(amount, own: own, to: account) else { throw .share }
        // Compared and set: adding first and checking then would refuse a smaller request in the meantime.
        var before = taken
        while Self.fits(amount, own: own, taken: before, limit) {
            let (isTaken, present) = used.weakCompareExchange(
                expected: before, desired: before + amount, ordering: .relaxed)
            if isTaken { return }
            before = present
        }
        discharge(amount, from: account)
        throw .budget
    }

    fileprivate func give(_ amount: Int, from account: Account) {
        used.subtract(amount, ordering: .relaxed)
        discharge(amount, from: account)
    }

    /// The accounts of the session as a whole and of the token as a whole, with their shares.
    private func shares(of account: Account) -> [(Account, Int)] {
        var shares: [(Account, Int)] = []
        if let resource = account.resource, resourceShare < limit {
            shares.append((Account(resource: resource), resourceShare))
        }
        if let client = account.client, clientShare < limit { shares.append((Account(client: client), clientShare)) }
        return shares
    }

    private func charge(_ amount: Int, own: Int, to account: Account) -> Bool {
        let shares = shares(of: account)
        if shares.isEmpty { return true }
        return held.withLock { held in
            for (holder, share) in shares where !Self.fits(amount, own: own, taken: held[holder] ?? 0, share) {
                return false
            }
            for (holder, _) in shares { held[holder, default: 0] += amount }
            return true
        }
    }

    private func discharge(_ amount: Int, from account: Account) {
        let shares = shares(of: account)
        if shares.isEmpty { return }
        held.withLock { held in
            for (holder, _) in shares {
                let left = (held[holder] ?? 0) - amount
                held[holder] = left > 0 ? left : nil
            }
        }
    }

    /// An account's part of a budget. It is returned at the latest when the lease is released.
    public final class Lease: Sendable {
        private let budget: Budget
        private let account: Account
        private let amount = Atomic<Int>(0)

        public init(of budget: Budget, to account: Account = Account()) {
            self.budget = budget
            self.account = account
        }
        deinit { end() }

        /// Returns the amount to the budget now, whoever still holds the lease.
        public func end() {
            let amount = amount.exchange(0, ordering: .relaxed)
            if amount > 0 { budget.give(amount, from: account) }
        }

        /// Makes the lease larger, if it is smaller than `wanted`. If that is refused, it stays as it is. One caller at
        /// a time.
        public func grow(to wanted: Int) throws(Refusal) {
            let own = amount.load(ordering: .relaxed)
            guard wanted > own else { return }
            try budget.take(wanted - own, own: own, for: account)
            amount.store(wanted, ordering: .relaxed)
        }
    }
}
