import Synchronization

/// A limited amount of something that requests share: bytes of memory, requests or subscribers.
///
/// A lease is a part of the quota that is in use. All leases of one resource (a session) together can hold at most a
/// share of the quota. The same is true of one client (a token). If this share is less than the quota, many leases of
/// one session or token therefore cannot use up the whole quota. A single lease may be larger than the share, so that
/// it can be granted at all.
public final class Quota: Sendable {
    /// The session and the token whose shares of a quota a lease uses. `resource` is the session and `client` the
    /// token. If one of them is `nil`, its share does not limit the lease.
    public struct Account: Sendable, Hashable {
        public var resource: String?
        public var client: String?

        public init(resource: String? = nil, client: String? = nil) {
            self.resource = resource
            self.client = client
        }
    }

    /// The reason why a quota refused a lease.
    public enum Refusal: Error, Sendable {
        /// The whole quota is used up, or has too little left for the lease.
        case quota
        /// The lease would exceed the share of the account's session or token.
        case share
    }

    public let limit: Int
    /// The largest part of the quota that several leases of one resource (a session) can hold together.
    public let resourceShare: Int
    /// The largest part of the quota that several leases of one client (a token) can hold together.
    public let clientShare: Int
    private let used = Atomic<Int>(0)
    private let held = Mutex<[Account: Int]>([:])

    /// Creates a quota. The shares are given as divisors of the limit: `resourcePart` 2 means that one resource can
    /// lease half of the limit.
    public init(_ limit: Int, resourcePart: Int = 1, clientPart: Int = 1) {
        self.limit = limit
        resourceShare = max(1, limit / resourcePart)
        clientShare = max(1, limit / clientPart)
    }

    /// The amount that all leases of the quota hold together.
    public var taken: Int { used.load(ordering: .relaxed) }
    /// Whether leases hold more than half of the quota.
    public var isShort: Bool { taken > limit / 2 }

    /// Returns whether a new lease of the amount would fit into the quota now. This method ignores the shares of
    /// sessions and tokens.
    public func has(_ amount: Int) -> Bool { Self.fits(amount, own: 0, taken: taken, limit) }

    /// Returns a lease of the given amount. The lease ends with `end()`, or when its last reference is released. Throws
    /// a `Refusal` if the quota or the account's share has no room for the amount.
    public func lease(_ amount: Int = 1, to account: Account = Account()) throws(Refusal) -> Lease {
        let lease = Lease(of: self, to: account)
        try lease.grow(to: amount)
        return lease
    }

    /// Returns whether a lease can grow by the amount without exceeding the limit. If nobody else holds a lease, the
    /// result is always `true`: otherwise an amount above the limit could never be leased.
    ///
    /// - Parameter own: the part of `taken` that the growing lease already holds.
    private static func fits(_ amount: Int, own: Int, taken: Int, _ limit: Int) -> Bool {
        taken == own || amount <= limit - taken
    }

    fileprivate func take(_ amount: Int, own: Int, for account: Account) throws(Refusal) {
        guard charge(amount, own: own, to: account) else { throw .share }
        // Add the amount with compare-and-exchange. If the amount were added first and checked afterwards, a concurrent
        // smaller request could be refused for no reason.
        var before = taken
        while Self.fits(amount, own: own, taken: before, limit) {
            let (isTaken, present) = used.weakCompareExchange(
                expected: before, desired: before + amount, ordering: .relaxed)
            if isTaken { return }
            before = present
        }
        discharge(amount, from: account)
        throw .quota
    }

    fileprivate func give(_ amount: Int, from account: Account) {
        used.subtract(amount, ordering: .relaxed)
        discharge(amount, from: account)
    }

    /// Returns the accounts whose shares limit a lease, with these shares: an account of the resource alone, and one of
    /// the client alone.
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

    /// A part of a quota that an account uses. A lease ends at the latest when its last reference is released.
    public final class Lease: Sendable {
        private let quota: Quota
        private let account: Account
        private let amount = Atomic<Int>(0)

        /// Creates a lease of the amount 0, which `grow(to:)` enlarges.
        public init(of quota: Quota, to account: Account = Account()) {
            self.quota = quota
            self.account = account
        }
        deinit { end() }

        /// Ends the lease. Its whole amount is free again in the quota at once, even if references to the lease remain.
        public func end() {
            let amount = amount.exchange(0, ordering: .relaxed)
            if amount > 0 { quota.give(amount, from: account) }
        }

        /// Enlarges the lease to the amount `wanted`, if the lease is smaller. If the quota refuses, the lease keeps
        /// its amount. Only one caller at a time may call this method on a lease.
        public func grow(to wanted: Int) throws(Refusal) {
            let own = amount.load(ordering: .relaxed)
            guard wanted > own else { return }
            try quota.take(wanted - own, own: own, for: account)
            amount.store(wanted, ordering: .relaxed)
        }

        /// Changes the lease to the amount `wanted`. If the lease is larger, the rest is free again in the quota at
        /// once. If the quota refuses, the lease keeps its amount. Only one caller at a time may call this method on a
        /// lease.
        public func resize(to wanted: Int) throws(Refusal) {
            let own = amount.load(ordering: .relaxed)
            guard wanted < own else { return try grow(to: wanted) }
            amount.store(wanted, ordering: .relaxed)
            quota.give(own - wanted, from: account)
        }
    }
}
