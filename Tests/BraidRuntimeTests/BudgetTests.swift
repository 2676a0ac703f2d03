import Synchronization
import Testing

@testable import BraidRuntime

@Suite struct BudgetTests {
    @Test("A lease is refused when the budget is used up, and ends when nobody holds it")
    func leases() throws {
        let budget = Budget(10)
        var first: Budget.Lease? = try budget.lease(6)
        #expect(budget.taken == 6 && budget.isShort)
        #expect(throws: Budget.Refusal.budget) { try budget.lease(5) }
        #expect(budget.taken == 6 && budget.has(4) && !budget.has(5))
        try first?.grow(to: 10)
        try first?.grow(to: 3)
        #expect(budget.taken == 10, "a lease never shrinks")
        first = nil
        #expect(budget.taken == 0)
        let second = try budget.lease(5), third = try budget.lease(5)
        #expect(throws: Budget.Refusal.budget) { try second.grow(to: 6) }
        #expect(budget.taken == 10)
        second.end()
        third.end()
        #expect(budget.taken == 0)
    }

    @Test("A lease can be ended while it is held, and once only")
    func end() throws {
        let budget = Budget(10)
        do {
            let lease = try budget.lease(6), other = try budget.lease(4)
            lease.end()
            lease.end()
            #expect(budget.taken == 4)
            try lease.grow(to: 6)
            #expect(budget.taken == 10)
            withExtendedLifetime(other) {}
        }
        #expect(budget.taken == 0)
    }

    @Test("A session and a token have their shares; others, and what counts for nobody, are not affected")
    func shares() throws {
        let budget = Budget(100, resourcePart: 2, clientPart: 4)
        let account = Budget.Account(resource: "s", client: "t")
        do {
            let first = try budget.lease(25, to: account)
            #expect(throws: Budget.Refusal.share) { try budget.lease(1, to: account) }
            #expect(throws: Budget.Refusal.share, "the token's share is for all sessions") {
                try budget.lease(1, to: .init(resource: "other", client: "t"))
            }
            let second = try budget.lease(25, to: .init(resource: "s", client: "u"))
            #expect(throws: Budget.Refusal.share, "the session's share is for all tokens") {
                try budget.lease(1, to: .init(resource: "s"))
            }
            #expect(budget.taken == 50, "what was refused takes nothing")
            let others = try budget.lease(50, to: .init(resource: "other", client: "v"))
            #expect(throws: Budget.Refusal.budget) { try budget.lease(1) }
            second.end()
            try first.grow(to: 25)
            withExtendedLifetime((first, second, others)) {}
        }
        #expect(budget.taken == 0)
        withExtendedLifetime(try budget.lease(25, to: account)) {}
    }

    @Test("The names of a session and of a token do not meet")
    func names() throws {
        let budget = Budget(10, resourcePart: 10, clientPart: 10)
        let session = try budget.lease(to: .init(resource: "x")), token = try budget.lease(to: .init(client: "x"))
        #expect(budget.taken == 2)
        withExtendedLifetime((session, token)) {}
    }

    @Test("A lease larger than the budget, or than its share, is granted to the first")
    func alone() throws {
        let budget = Budget(10, resourcePart: 2)
        do {
            let large = try budget.lease(50, to: .init(resource: "s"))
            #expect(throws: Budget.Refusal.budget) { try budget.lease(1) }
            #expect(!budget.has(1))
            try large.grow(to: 60)
            #expect(budget.taken == 60, "it grows for as long as it is the only one")
        }
        #expect(budget.taken == 0 && budget.has(50))
    }

    @Test("A refused lease takes nothing from a smaller one at the same moment")
    func refusedTakesNothing() async throws {
        let budget = Budget(10), held = try budget.lease(1)
        let hasAsked = Atomic(false), isDone = Atomic(false)
        async let tooMuch: Void = {
            while !isDone.load(ordering: .relaxed) {
                #expect(throws: Budget.Refusal.budget) { try budget.lease(10) }
                hasAsked.store(true, ordering: .relaxed)
            }
        }()
        while !hasAsked.load(ordering: .relaxed) { await Task.yield() }
        let refused = (0..<20_000).count { _ in (try? budget.lease(5)) == nil }
        isDone.store(true, ordering: .relaxed)
        await tooMuch
        #expect(refused == 0)
        #expect(budget.taken == 1)
        withExtendedLifetime(held) {}
    }

    @Test("Whatever many threads lease and end, nothing is lost and never more is out than there is")
    func threads() async {
        let budget = Budget(100, resourcePart: 2, clientPart: 3)
        await withTaskGroup(of: Void.self) { group in
            for task in 1...8 {
                group.addTask {
                    for turn in 0..<2_000 {
                        let lease = try? budget.lease(
                            1 + (task * 7 + turn) % 90, to: .init(resource: "\(turn % 3)", client: "\(task)"))
                        try? lease?.grow(to: 95)
                    }
                }
            }
        }
        #expect(budget.taken == 0)
        #expect((try? budget.lease(50, to: .init(resource: "0"))) != nil, "no share is used up")
    }
}
