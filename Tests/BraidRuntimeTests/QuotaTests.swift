import Glibc
import Synchronization
import Testing

@testable import BraidRuntime

@Suite struct QuotaTests {
    @Test("A lease is refused if the quota is used up, and ends when its last reference is released")
    func leases() throws {
        let quota = Quota(10)
        var first: Quota.Lease? = try quota.lease(6)
        #expect(quota.taken == 6 && quota.isShort)
        #expect(throws: Quota.Exceeded.quota) { try quota.lease(5) }
        #expect(quota.taken == 6 && quota.has(4) && !quota.has(5))
        try first?.grow(to: 10)
        try first?.grow(to: 3)
        #expect(quota.taken == 10, "a lease never shrinks")
        first = nil
        #expect(quota.taken == 0)
        let second = try quota.lease(5), third = try quota.lease(5)
        #expect(throws: Quota.Exceeded.quota) { try second.grow(to: 6) }
        #expect(quota.taken == 10)
        second.end()
        third.end()
        #expect(quota.taken == 0)
    }

    @Test("A lease can be ended before it is released, and ending it twice has no further effect")
    func end() throws {
        let quota = Quota(10)
        do {
            let lease = try quota.lease(6), other = try quota.lease(4)
            lease.end()
            lease.end()
            #expect(quota.taken == 4)
            try lease.grow(to: 6)
            #expect(quota.taken == 10)
            withExtendedLifetime(other) {}
        }
        #expect(quota.taken == 0)
    }

    @Test("A lease that becomes smaller gives the rest back to the quota and to the account's share")
    func resize() throws {
        let quota = Quota(10, resourcePart: 2), account = Quota.Account(resource: "s")
        let lease = try quota.lease(5, to: account)
        #expect(throws: Quota.Exceeded.share) { try quota.lease(2, to: account) }
        try lease.resize(to: 3)
        #expect(quota.taken == 3)
        let second = try quota.lease(2, to: account)
        #expect(throws: Quota.Exceeded.share) { try lease.resize(to: 4) }
        #expect(quota.taken == 5, "a refused lease keeps its amount")
        lease.end()
        second.end()
        #expect(quota.taken == 0)
    }

    @Test("A session and a token may use only their shares of a quota; other accounts are not affected")
    func shares() throws {
        let quota = Quota(100, resourcePart: 2, clientPart: 4)
        let account = Quota.Account(resource: "s", client: "t")
        do {
            let first = try quota.lease(25, to: account)
            #expect(throws: Quota.Exceeded.share) { try quota.lease(1, to: account) }
            #expect(throws: Quota.Exceeded.share, "the token's share is for all sessions") {
                try quota.lease(1, to: .init(resource: "other", client: "t"))
            }
            let second = try quota.lease(25, to: .init(resource: "s", client: "u"))
            #expect(throws: Quota.Exceeded.share, "the session's share is for all tokens") {
                try quota.lease(1, to: .init(resource: "s"))
            }
            #expect(quota.taken == 50, "what was refused takes nothing")
            let others = try quota.lease(50, to: .init(resource: "other", client: "v"))
            #expect(throws: Quota.Exceeded.quota) { try quota.lease(1) }
            second.end()
            try first.grow(to: 25)
            withExtendedLifetime((first, second, others)) {}
        }
        #expect(quota.taken == 0)
        withExtendedLifetime(try quota.lease(25, to: account)) {}
    }

    @Test("A session and a token with the same name have separate shares")
    func names() throws {
        let quota = Quota(10, resourcePart: 10, clientPart: 10)
        let session = try quota.lease(to: .init(resource: "x")), token = try quota.lease(to: .init(client: "x"))
        #expect(quota.taken == 2)
        withExtendedLifetime((session, token)) {}
    }

    @Test("A lease that is larger than the quota or the share is granted if it is the only one")
    func alone() throws {
        let quota = Quota(10, resourcePart: 2)
        do {
            let large = try quota.lease(50, to: .init(resource: "s"))
            #expect(throws: Quota.Exceeded.quota) { try quota.lease(1) }
            #expect(!quota.has(1))
            try large.grow(to: 60)
            #expect(quota.taken == 60, "it grows for as long as it is the only one")
        }
        #expect(quota.taken == 0 && quota.has(50))
    }

    @Test("A refused lease does not take anything from a smaller lease that is requested at the same time")
    func refusedTakesNothing() async throws {
        let quota = Quota(10), held = try quota.lease(1)
        final class Flags: Sendable {
            let hasAsked = Atomic(false), isDone = Atomic(false)
        }
        let flags = Flags()
        // In a thread: a task that never suspends would occupy one of the few that run the tests.
        let granted = await withCheckedContinuation { continuation in
            startThread(named: "too-much") {
                var granted = 0
                while !flags.isDone.load(ordering: .relaxed) {
                    if (try? quota.lease(10)) != nil { granted += 1 }
                    flags.hasAsked.store(true, ordering: .relaxed)
                }
                continuation.resume(returning: granted)
            }
            while !flags.hasAsked.load(ordering: .relaxed) { sched_yield() }
            let refused = (0..<20_000).count { _ in (try? quota.lease(5)) == nil }
            #expect(refused == 0)
            flags.isDone.store(true, ordering: .relaxed)
        }
        #expect(granted == 0)
        #expect(quota.taken == 1)
        withExtendedLifetime(held) {}
    }

    @Test("With many threads, no lease is lost, and the leases never exceed the quota")
    func threads() async {
        let quota = Quota(100, resourcePart: 2, clientPart: 3)
        await withTaskGroup(of: Void.self) { group in
            for task in 1...8 {
                group.addTask {
                    for turn in 0..<2_000 {
                        let lease = try? quota.lease(
                            1 + (task * 7 + turn) % 90, to: .init(resource: "\(turn % 3)", client: "\(task)"))
                        try? lease?.grow(to: 95)
                    }
                }
            }
        }
        #expect(quota.taken == 0)
        #expect((try? quota.lease(50, to: .init(resource: "0"))) != nil, "no share is used up")
    }
}
