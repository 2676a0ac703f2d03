import Synchronization

/// A supply that requests share: bytes, requests, subscribers. One session or token may lease only its part, so none
/// can use it all up; a single lease may exceed the part.
///
///     let lease = try quota.lease(body.count, to: Quota.Account(client: token))
package final class Quota: Sendable {
    /// Who leases: a session (`resource`) and a token (`client`).
    package struct Account: Sendable, Hashable {
        package var resource: String?
        package var client: String?

        package init(resource: String? = nil, client: String? = nil) {
            self.resource = resource
            self.client = client
        }
    }

    package enum Exceeded: Error, Sendable { case quota, share }

    package let limit: Int
    package let resourceShare: Int
    package let clientShare: Int
    private let used = Atomic<Int>(0)
    /// By resource and by client, each as an account of its own.
    private let held = Mutex<[Account: Int]>([:])

    /// With `resourcePart` 2, one resource can lease half.
    package init(_ limit: Int, resourcePart: Int = 1, clientPart: Int = 1) {
        self.limit = limit
        resourceShare = max(1, limit / resourcePart)
        clientShare = max(1, limit / clientPart)
    }

    package var taken: Int { used.load(ordering: .relaxed) }
    package var isShort: Bool { taken > limit / 2 }

    /// Whether so much is free, whatever the shares.
    package func has(_ amount: Int) -> Bool { Self.fits(amount, own: 0, taken: taken, limit) }

    package func lease(_ amount: Int = 1, to account: Account = Account()) throws(Exceeded) -> Lease {
        let lease = Lease(of: self, to: account)
        try lease.grow(to: amount)
        return lease
    }

    /// `own` is what the lease holds. If nobody else holds any, it fits: otherwise an amount above the limit could
    /// never be leased.
    private static func fits(_ amount: Int, own: Int, taken: Int, _ limit: Int) -> Bool {
        taken == own || amount <= limit - taken
    }

    fileprivate func take(_ amount: Int, own: Int, for account: Account) throws(Exceeded) {
        guard charge(amount, own: own, to: account) else { throw .share }
        // Adding first and checking afterwards could refuse a concurrent smaller request for no reason.
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

    package final class Lease: Sendable {
        private let quota: Quota
        private let account: Account
        private let amount = Atomic<Int>(0)

        /// Leases nothing yet; see `grow(to:)`.
        package init(of quota: Quota, to account: Account = Account()) {
            self.quota = quota
            self.account = account
        }
        deinit { end() }

        /// Gives all back now. Otherwise the end of the last reference does.
        package func end() {
            let amount = amount.exchange(0, ordering: .relaxed)
            if amount > 0 { quota.give(amount, from: account) }
        }

        /// If refused, keeps its amount. For one caller at a time, as `resize`.
        package func grow(to wanted: Int) throws(Exceeded) {
            let own = amount.load(ordering: .relaxed)
            guard wanted > own else { return }
            try quota.take(wanted - own, own: own, for: account)
            amount.store(wanted, ordering: .relaxed)
        }

        package func resize(to wanted: Int) throws(Exceeded) {
            let own = amount.load(ordering: .relaxed)
            guard wanted < own else { return try grow(to: wanted) }
            amount.store(wanted, ordering: .relaxed)
            quota.give(own - wanted, from: account)
        }
    }
}
