import Synchronization
import Testing

@testable import BraidServer

@Suite struct BudgetTests {
    @Test("Shares are refused when the budget is used up, and given back when nobody holds them")
    func shares() {
        let budget = Budget(10)
        var first = budget.share(6)
        #expect(first != nil && budget.taken == 6 && budget.isShort)
        #expect(budget.share(5) == nil && budget.taken == 6)
        #expect(budget.has(4) && !budget.has(5))
        #expect(first?.grow(to: 10) == true && first?.grow(to: 3) == true && budget.taken == 10)
        #expect(first?.grow(to: 11) == false && budget.taken == 10)
        first = nil
        #expect(budget.taken == 0)
    }

    @Test("A share can be given back while it is held, and once only")
    func giveBack() {
        let budget = Budget(10)
        do {
            let share = budget.share(6), other = budget.share(4)
            share?.giveBack()
            share?.giveBack()
            #expect(budget.taken == 4 && other != nil)
            #expect(share?.grow(to: 6) == true && budget.taken == 10)
        }
        #expect(budget.taken == 0)
    }

    @Test("An unfinished line of a streamed body takes of the memory for bodies, and is refused where there is not so much")
    func unfinishedLines() async throws {
        let budget = Budget(300_000), line = [UInt8](repeating: UInt8(ascii: "x"), count: 200_000)
        func read() async throws -> Int? {
            let body = HTTPBodyReader(share: Budget.Share(of: budget))
            line.withUnsafeBufferPointer { body.append($0) }
            body.finish()
            var lines = BodyLines(body, limit: 1 << 20)
            return try await lines.next()?.count
        }
        let others = budget.share(150_000)
        await #expect(throws: HTTPFailure.noRoomForBody) { try await read() }
        others?.giveBack()
        #expect(try await read() == 200_000)
        #expect(budget.taken == 0)
    }

    @Test("What is larger than all there is gets through alone")
    func alone() {
        let budget = Budget(10)
        do {
            let large = budget.share(50)
            #expect(large != nil && budget.share(1) == nil && !budget.has(1))
        }
        #expect(budget.taken == 0 && budget.has(50))
    }

    @Test("Who asks for more than there is takes nothing from those who ask for less at the same moment")
    func refusedTakesNothing() async {
        let budget = Budget(10), held = budget.share(1)
        let hasAsked = Atomic(false), isDone = Atomic(false)
        async let tooMuch: Void = {
            while !isDone.load(ordering: .relaxed) {
                #expect(budget.share(10) == nil)
                hasAsked.store(true, ordering: .relaxed)
            }
        }()
        while !hasAsked.load(ordering: .relaxed) { await Task.yield() }
        let refused = (0..<20_000).count { _ in budget.share(5) == nil }
        isDone.store(true, ordering: .relaxed)
        await tooMuch
        #expect(refused == 0)
        #expect(held != nil && budget.taken == 1)
    }

    @Test("Whatever many threads take and give back, nothing is lost and never more is out than there is")
    func threads() async {
        let budget = Budget(100)
        await withTaskGroup(of: Void.self) { group in
            for task in 1...8 {
                group.addTask {
                    for turn in 0..<2_000 {
                        let share = budget.share(1 + (task * 7 + turn) % 90)
                        if let share { _ = share.grow(to: 95) }
                    }
                }
            }
        }
        #expect(budget.taken == 0)
    }
}
