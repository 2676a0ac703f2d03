@testable import BraidEngine
import TestSupport
import Testing

@Suite struct IncreasingSubsequenceTests {
    /// Equal totals are common: values of up to six repeat, weights are 1 or 2. What follows is larger than all and
    /// ascends, so it never changes the choice.
    @Test("A few values are chosen as many are")
    func fewAsMany() {
        var random = SeededGenerator(seed: 1)
        for round in 0..<20_000 {
            let count = 1 + round % 12
            let values = (0..<count).map { _ in Int.random(in: 0..<(round.isMultiple(of: 2) ? 6 : 100), using: &random)
            }
            let weights = values.map { _ in Int.random(in: 1...2, using: &random) }
            let few = IncreasingSubsequence.heaviest(values, weights: weights)
            let many = IncreasingSubsequence.heaviest(
                values + Array(100..<117), weights: weights + Array(repeating: 1, count: 17))
            #expect(few + Array(count..<count + 17) == many)
        }
    }

    @Test("No increasing subsequence is heavier")
    func heaviest() {
        var random = SeededGenerator(seed: 2)
        for count in (0...10).flatMap({ Array(repeating: $0, count: 20) }) {
            let values = (0..<count).map { _ in Int.random(in: 0..<8, using: &random) }
            let weights = values.map { _ in Int.random(in: 1...3, using: &random) }
            func increases(_ positions: [Int]) -> Bool {
                zip(positions, positions.dropFirst()).allSatisfy { values[$0] < values[$1] }
            }
            func weight(_ positions: [Int]) -> Int { positions.reduce(0) { $0 + weights[$1] } }
            let subsets = (0..<1 << count).lazy.map { bits in (0..<count).filter { bits >> $0 & 1 == 1 } }
            let best = subsets.filter(increases).map(weight).max()
            let found = IncreasingSubsequence.heaviest(values, weights: weights)
            #expect(increases(found) && weight(found) == best)
        }
    }
}
