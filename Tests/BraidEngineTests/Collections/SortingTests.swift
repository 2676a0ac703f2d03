@testable import BraidEngine
import TestSupport
import Testing

@Suite struct SortingTests {
    /// Keys ascend, descend, are random or repeat often; some need more than 32 bits.
    @Test(
        "Elements are sorted, and elements with equal keys keep their order", arguments: [0, 1, 2, 40, 255, 256, 3_000])
    func stableOrder(count: Int) {
        var numbers = SeededGenerator(seed: UInt64(count))
        func keys(_ key: (Int) -> UInt64) -> [UInt64] { (0..<count).map(key) }
        func random(_ bound: UInt64) -> UInt64 { .random(in: 0..<bound, using: &numbers) }
        let lists = [
            keys { UInt64($0) }, keys { UInt64(count - $0) }, keys { UInt64($0 * 2 % (count | 1)) },
            keys { _ in random(7) },
            keys { _ in random(100) << 32 | random(1_000) }, keys { _ in random(3) << 32 | random(1 << 31) },
            keys { _ in random(.max) },
        ]
        for keys in lists {
            var sorted = ContiguousArray(keys.enumerated())
            sorted.sortAscending { $0.element }
            let expected = keys.enumerated().sorted { ($0.element, $0.offset) < ($1.element, $1.offset) }
            #expect(sorted.map(\.offset) == expected.map(\.offset))
        }
    }
}
