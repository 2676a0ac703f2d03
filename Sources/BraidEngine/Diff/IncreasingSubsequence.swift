/// Which of a list of things can stay where they are while the others move: a heaviest increasing subsequence.
enum IncreasingSubsequence {
    /// Positions, ascending, of a subsequence of `values` that increases strictly and weighs the most. Of several, the
    /// same one each time.
    ///
    /// Values are distinct. O(n log n); O(n) when all of them increase already. Source: Fredman, "On computing the
    /// length of longest increasing subsequences", with a Fenwick tree of heaviest chains in place of piles.
    static func heaviest<Weight: AdditiveArithmetic & Comparable>(_ values: [Int], weights: [Weight]) -> [Int] {
        if isIncreasing(values) { return Array(values.indices) }
        // Values by rank, so that the tree is as large as the list.
        let order = values.indices.sorted { values[$0] < values[$1] }
        var ranks = [Int](repeating: 0, count: values.count)
        for (rank, position) in order.enumerated() { ranks[position] = rank + 1 }

        // best[r]: the position that ends the heaviest chain among some ranks up to r, or -1.
        var best = [Int](repeating: -1, count: values.count + 1)
        var chain = [Weight](repeating: .zero, count: values.count)
        var previous = [Int](repeating: -1, count: values.count)
        var end = -1
        for position in values.indices {
            var heaviest = -1
            var node = ranks[position] - 1
            while node > 0 {
                if best[node] >= 0, heaviest < 0 || chain[best[node]] > chain[heaviest] { heaviest = best[node] }
                node &= node - 1
            }
            previous[position] = heaviest
            chain[position] = weights[position] + (heaviest < 0 ? .zero : chain[heaviest])
            node = ranks[position]
            while node <= values.count {
                if best[node] < 0 || chain[position] > chain[best[node]] { best[node] = position }
                node += node & -node
            }
            if end < 0 || chain[position] > chain[end] { end = position }
        }
        var result: [Int] = []
        while end >= 0 {
            result.append(end)
            end = previous[end]
        }
        return result.reversed()
    }

    static func isIncreasing(_ values: [Int]) -> Bool {
        zip(values, values.dropFirst()).allSatisfy { $0 < $1 }
    }
}
