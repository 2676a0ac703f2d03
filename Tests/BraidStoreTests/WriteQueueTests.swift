import BraidStore
import TestSupport
import Testing

@Suite struct WriteQueueTests {
    private struct Write: Hashable {
        let number: Int
        let cost: Int
        var isLarge: Bool { cost >= 1_000 }
    }

    private func groups(of costs: [Int]) -> [[Int]] {
        var queue = WriteQueue<Int>(), groups: [[Int]] = []
        for cost in costs { queue.append(cost, cost: cost) }
        while !queue.isEmpty { groups.append(queue.takeGroup()) }
        return groups
    }

    @Test("All waiting writes that are not large share one transaction") func smallWrites() {
        #expect(groups(of: [1, 999, 20, 0, 100]) == [[1, 999, 20, 0, 100]])
    }

    @Test("If only large writes wait, each of them gets its own transaction") func largeWrites() {
        #expect(groups(of: [1_000, 20_000, 5_000]) == [[1_000], [20_000], [5_000]])
    }

    @Test("Waiting small writes share a transaction with the first large write") func mixedWrites() {
        #expect(groups(of: [5_000, 1, 20_000, 2]) == [[1, 2, 5_000], [20_000]])
    }

    @Test("After a large write, waiting small writes get a transaction before the next large write")
    func smallWritesFirst() {
        var queue = WriteQueue<Int>()
        queue.append(5_000, cost: 5_000)
        #expect(queue.takeGroup() == [5_000])
        for cost in [6_000, 7_000, 1] { queue.append(cost, cost: cost) }
        #expect(queue.takeGroup() == [1])
        queue.append(2, cost: 2)
        #expect(queue.takeGroup() == [2, 6_000])
        queue.append(3, cost: 3)
        #expect(queue.takeGroup() == [3])
        #expect(queue.takeGroup() == [7_000] && queue.isEmpty)
    }

    /// Each write is taken once. A large one waits for at most 2 n + 1 transactions if n large ones wait before it.
    @Test(
        "A small write is in the next transaction, and a large write waits for a bounded number of transactions",
        arguments: 0..<200)
    func waits(seed: UInt64) {
        var random = SeededGenerator(seed: seed), queue = WriteQueue<Write>()
        var arrived: [Write: (transactions: Int, largeBefore: Int)] = [:], transactions: [[Write]] = [], next = 0
        func waitingLarge() -> Int { arrived.keys.count { $0.isLarge } }
        func take() {
            let group = queue.takeGroup()
            #expect(!group.isEmpty && group.count { $0.isLarge } <= 1)
            for write in group {
                guard let (since, largeBefore) = arrived.removeValue(forKey: write) else {
                    Issue.record("\(write) was taken twice, or never came")
                    continue
                }
                let passed = transactions[since...]
                if write.isLarge {
                    #expect(passed.count <= 2 * largeBefore + 1)
                } else {
                    #expect(passed.isEmpty, "what is not large is taken with the next transaction")
                }
            }
            transactions.append(group)
        }
        for _ in 0..<Int.random(in: 1...60, using: &random) {
            if Bool.random(using: &random) || queue.isEmpty {
                let write = Write(number: next, cost: [1, 999, 1_000, 20_000].randomElement(using: &random) ?? 1)
                next += 1
                arrived[write] = (transactions.count, waitingLarge())
                queue.append(write, cost: write.cost)
            } else {
                take()
            }
        }
        while !queue.isEmpty { take() }
        #expect(arrived.isEmpty)
        // Of two in a row, the second had no small write to take.
        func hasLarge(_ group: [Write]) -> Bool { group.contains { $0.isLarge } }
        for (before, after) in zip(transactions, transactions.dropFirst()) where hasLarge(before) && hasLarge(after) {
            #expect(after.count == 1)
        }
    }
}
