import Synchronization

/// A limited amount of a resource that requests share: bytes of memory, requests, subscribers.
///
/// A lease is a part of the quota that is in use. Each resource (a session) and each client (a token) can lease at most
/// a share of the quota. Therefore no session or token can use up the part of the quota that other sessions and tokens
/// need.
public final class Quota: Sendable {
    /// The session and the token that a lease counts against. An account without a session (`resource`) or a token
    /// (`client`) has no such share that limits it.
    public struct Account: Sendable, Hashable {
        public var resource: String?
        public var client: String?

        public init(resource: String? = nil, client: String? = nil) {
            self.resource = resource
            self.client = client
        }
    }

    /// The reason why a quota refused to lease an amount.
    public enum Refusal: Error, Sendable {
        /// The quota is used up.
        case quota
        /// The lease would exceed the account's share of the quota.
        case share
    }

    public let limit: Int
    /// The most of the quota that all leases of one resource (a session) can hold together.
    public let resourceShare: Int
    /// The most of the quota that all leases of one client (a token) can hold together.
    public let clientShare: Int
    private let used = Atomic<Int>(0)
    private let held = Mutex<[Account: Int]>([:])

    /// Creates a quota. The shares are fractions of the limit: `resourcePart` 2 means that one resource can lease half
    /// of the limit.
    public init(_ limit: Int, resourcePart: Int = 1, clientPart: Int = 1) {
        self.limit = limit
        resourceShare = max(1, limit / resourcePart)
        clientShare = max(1, limit / clientPart)
    }

    /// The leased amount.
    public var taken: Int { used.load(ordering: .relaxed) }
    /// Whether more than half of the quota is leased.
    public var isShort: Bool { taken > limit / 2 }

    /// Returns whether the quota could lease the amount now. This method ignores the shares of sessions and tokens.
    public func has(_ amount: Int) -> Bool { Self.fits(amount, own: 0, taken: taken, limit) }

    /// Returns a lease of the amount. The lease ends with `end()`, or when its last reference is released. Throws a
    /// `Refusal` if the quota or the account's share is used up.
    public func lease(_ amount: Int = 1, to account: Account = Account()) throws(Refusal) -> Lease {
        let lease = Lease(of: self, to: account)
        try lease.grow(to: amount)
        return lease
    }

    /// Returns whether a lease of the amount fits into the limit. If nothing else is leased, it always fits: otherwise
    /// an amount above the limit could never be leased.
    ///
    /// - Parameter own: the part of `taken` that the lease already contains.
    private static func fits(_ amount: Int, own: Int, taken: Int, _ limit: Int) -> Bool {
        taken == own || amount <= limit - taken
    }

    fileprivate func take(_ amount: Int, own: Int, for account: Account) throws(Refusal) {
        guard charge(amount, own: own, to: account) else { throw .share }
        // The amount is added with compare-and-exchange. If it were added first and checked afterwards, a concurrent
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

    /// Returns the accounts whose shares limit a lease, with their shares: the resource alone and the client alone.
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

    /// The part of a quota that an account uses now. A lease ends at the latest when its last reference is released.
    public final class Lease: Sendable {
        private let quota: Quota
        private let account: Account
        private let amount = Atomic<Int>(0)

        /// Creates an empty lease, which `grow(to:)` enlarges.
        public init(of quota: Quota, to account: Account = Account()) {
            self.quota = quota
            self.account = account
        }
        deinit { end() }

        /// Ends the lease: its whole amount is free again in the quota now, even if references to the lease remain.
        public func end() {
            let amount = amount.exchange(0, ordering: .relaxed)
            if amount > 0 { quota.give(amount, from: account) }
        }

        /// Enlarges the lease to `wanted`, if the lease is smaller. If the quota refuses, the lease keeps its size.
        /// Only one caller at a time may call this method on a lease.
        public func grow(to wanted: Int) throws(Refusal) {
            let own = amount.load(ordering: .relaxed)
            guard wanted > own else { return }
            try quota.take(wanted - own, own: own, for: account)
            amount.store(wanted, ordering: .relaxed)
        }
    }
}
