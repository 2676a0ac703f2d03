/// The heaviest strictly increasing subsequence: what may stay where it is while the rest moves around it.
///
/// O(n log n) by a Fenwick tree that holds, for each rank, the heaviest subsequence ending at or below it; O(n) where
/// the values increase already. Ties are settled by position, so the answer is always the same.
/// Source: Fredman, "On computing the length of longest increasing subsequences", 1975, with weights in place of ones;
/// Fenwick, "A new data structure for cumulative frequency tables", 1994, with maxima in place of sums.
enum IncreasingSubsequence {
    /// Positions, ascending, of a subsequence of `values` that increases strictly and weighs the most. Weights must be
    /// positive.
    static func heaviest<Weight: Comparable & AdditiveArithmetic>(_ values: [Int], weights: [Weight]) -> [Int] {
        if isIncreasing(values) { return Array(values.indices) }

        // Equal values must not follow one another: of equal values the later one is ranked lower.
        let order = values.indices.sorted { (values[$0], $1) < (values[$1], $0) }
        var ranks = Array(repeating: 0, count: values.count)
        for (rank, position) in order.enumerated() { ranks[position] = rank + 1 }

        var totals = Array(repeating: Weight.zero, count: values.count)
        var previous = Array(repeating: -1, count: values.count)
        // `tree[r]` is the position at which the heaviest subsequence of the ranks under the node r ends, or -1.
        var tree = Array(repeating: -1, count: values.count + 1)
        var heaviestEnd = -1
        for position in values.indices {
            var best = -1
            var node = ranks[position] - 1
            while node > 0 {
                let end = tree[node]
                if end >= 0, best < 0 || totals[end] > totals[best] { best = end }
                node &= node - 1
            }
            previous[position] = best
            let total = (best < 0 ? .zero : totals[best]) + weights[position]
            totals[position] = total
            node = ranks[position]
            while node <= values.count {
                if tree[node] < 0 || total > totals[tree[node]] { tree[node] = position }
                node += node & -node
            }
            if heaviestEnd < 0 || total > totals[heaviestEnd] { heaviestEnd = position }
        }
        var positions: [Int] = []
        while heaviestEnd >= 0 {
            positions.append(heaviestEnd)
            heaviestEnd = previous[heaviestEnd]
        }
        return positions.reversed()
    }

    /// Positions, ascending, of a longest subsequence that increases strictly: of equal choices the earlier one. O(n log n).
    /// Source: Knuth, "Permutations, matrices, and generalized Young tableaux", 1970, with binary search.
    static func longest(_ values: [Int]) -> [Int] {
        // From the end: `starts[k]` is where the subsequence of k + 1 values starts whose first value is the highest.
        var starts = ContiguousArray<Int>(), highest = ContiguousArray<Int>()
        var next = ContiguousArray(repeating: -1, count: values.count)
        for position in values.indices.reversed() {
            let value = values[position]
            let length = highest.firstPosition { $0 <= value }
            if length > 0 { next[position] = starts[length - 1] }
            if length == starts.count {
                starts.append(position)
                highest.append(value)
            } else {
                starts[length] = position
                highest[length] = value
            }
        }
        var positions: [Int] = []
        positions.reserveCapacity(starts.count)
        var position = starts.last ?? -1
        while position >= 0 {
            positions.append(position)
            position = next[position]
        }
        return positions
    }

    static func isIncreasing(_ values: [Int]) -> Bool {
        for position in values.indices.dropFirst() where values[position] <= values[position - 1] { return false }
        return true
    }
}
